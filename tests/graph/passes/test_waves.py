"""Which steps are put side by side, and that they compute what they did alone."""

import numpy as np

import dualflow as df

N = 200_000


def two_counts(a, b):
    x, y = df.math.confusion_matrix(a, b, num_classes=10), a + 1
    return x, y, df.math.confusion_matrix(b, a, num_classes=10)


def arguments(n):
    rng = np.random.default_rng(1)
    return [df.constant(rng.integers(0, 10, n).astype(np.int32)) for _ in range(2)]


def test_independent_serial_steps_are_one_wave():
    args = arguments(N)
    f = df.function(two_counts)
    waves = [step.wave for step in f.compiled_for(*args).plan.steps]
    assert sorted(waves)[-2:] == [1, 1]
    first = waves.index(1)
    assert waves[first:first + 2] == [1, 1]
    for got, want in zip(f(*args), two_counts(*args), strict=True):
        assert got.tolist() == want.tolist()


def test_small_or_dependent_steps_stay():
    f = df.function(two_counts)
    assert not any(s.wave for s in f.compiled_for(*arguments(100)).plan.steps)

    @df.function
    def chain(a):
        return df.concat([df.concat([a, a], 0), a], 0)

    assert not any(s.wave for s in chain.compiled_for(df.zeros([N])).plan.steps)


def test_memory_of_a_wave_does_not_overlap():
    @df.function
    def f(a, b):
        x, y = df.concat([a, a], 0), df.concat([b, b], 0)
        return df.reduce_sum(x), df.reduce_sum(y)

    plan = f.compiled_for(df.ones([N]), df.ones([N])).plan
    joined = [plan.where[s.outputs[0]][0] for s in plan.steps if s.wave]
    assert len(joined) == 2
    low, high = sorted(joined, key=lambda b: b.offset)
    assert low.offset + low.size <= high.offset
    assert [y.item() for y in f(df.ones([N]), df.ones([N]))] == [2. * N, 2. * N]


def test_same_bits_on_one_thread():
    args = arguments(N)
    f = df.function(two_counts)
    two = [y.numpy().tobytes() for y in f(*args)]
    before = df.config.num_threads()
    df.config.set_num_threads(1)
    try:
        assert [y.numpy().tobytes() for y in f(*args)] == two
    finally:
        df.config.set_num_threads(before)
