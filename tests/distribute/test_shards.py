"""Random numbers of a micro-batch depend only on its indices."""

import dualflow as df
from dualflow.distribute import shard


def noise(step, number, draw=lambda: df.random.normal([2])):
    with shard(step, number):
        return [draw().tolist(), draw().tolist()]


def test_random_numbers_depend_on_the_shard():
    df.random.set_seed(1)
    first = noise(0, 3)
    assert first == noise(0, 3) and first[0] != first[1]
    assert len({str(noise(s, n)) for s in range(3) for n in range(3)}) == 9
    df.random.set_seed(2)
    assert noise(0, 3) != first


def test_generators_do_not_advance_inside_a_shard():
    df.random.set_seed(1)
    plain = df.random.normal([2]).tolist()
    df.random.set_seed(1)
    noise(0, 3)
    assert df.random.normal([2]).tolist() == plain


def test_generator_with_a_counter_variable():
    """A loop in a graph that draws from a generator turns its counter into a variable."""
    generator = df.random.Generator(1)
    draw = lambda: generator.normal([2])  # noqa: E731
    first = noise(0, 3, draw)

    @df.function
    def looped(n):
        total = df.zeros([2])
        for _ in df.range(n):
            total = total + generator.normal([2])
        return total

    looped(df.constant(2))
    count = generator.counter
    assert noise(0, 3, draw) == first != noise(0, 4, draw) and generator.counter == count


def test_eager_and_traced_draws_agree():
    df.random.set_seed(1)
    traced = df.function(lambda: df.random.normal([2]))
    traced()
    assert noise(5, 1) == noise(5, 1, traced)
