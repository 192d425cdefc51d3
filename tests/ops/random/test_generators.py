"""Generators by the names of TensorFlow: their states, streams, and use in functions and
checkpoints."""

import copy
import pickle

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError

Generator, Algorithm = df.random.Generator, df.random.Algorithm


def draws(g, n=4):
    return [float(g.normal([])) for _ in range(n)]


def test_from_seed():
    assert draws(Generator.from_seed(7)) == draws(Generator(7))
    assert draws(Generator.from_seed(7)) != draws(Generator.from_seed(8))
    assert draws(Generator.from_seed([7])) == draws(Generator.from_seed(np.int32(7)))
    distinct = [0, -1, 2**64, 2**127, -2**100, [1, 2], [2, 2], [1, 1, 2], [3, 1, 2]]
    assert len({tuple(draws(Generator.from_seed(s))) for s in distinct}) == len(distinct)
    assert draws(Generator.from_seed(np.uint64(2**64 - 1))) == draws(Generator(-1))
    one, other = (Generator.from_non_deterministic_state() for _ in range(2))
    assert draws(one) != draws(other)


def test_algorithms():
    for alg in (None, "philox", "auto_select", Algorithm.PHILOX, Algorithm.AUTO_SELECT):
        assert Generator.from_seed(7, alg=alg).algorithm == Algorithm.PHILOX
        Generator.from_non_deterministic_state(alg)
        if alg:
            df.random.stateless_normal([2], [1, 2], alg=alg)
            df.random.create_rng_state(3, alg)
    for alg in ("threefry", Algorithm.THREEFRY):
        for call in (lambda a: Generator.from_seed(7, a), Generator.from_non_deterministic_state,
                     lambda a: Generator.from_state([0, 0, 1], a),
                     lambda a: Generator.from_key_counter(1, [0, 0], a),
                     lambda a: df.random.create_rng_state(1, a),
                     lambda a: df.random.stateless_uniform([2], [1, 2], alg=a)):
            with pytest.raises(UnimplementedError, match="ThreeFry is not implemented"):
                call(alg)
    with pytest.raises(InvalidArgumentError, match="alg is 'mersenne'"):
        Generator.from_seed(7, "mersenne")


def test_states():
    g = Generator.from_seed(7)
    assert g.state.dtype is df.int64 and g.state.tolist() == [0, 0, 7] and int(g.key) == 7
    assert df.random.create_rng_state(7, "philox").tolist() == [0, 0, 7]
    assert df.random.create_rng_state([5, 6], "philox").tolist() == [0, 5, 6]
    assert df.random.create_rng_state(df.constant([4, 5, 6, 9]), "philox").tolist() == [4, 5, 6]
    assert df.random.create_rng_state(2**64 - 1, "philox").tolist() == [0, 0, -1]
    x = g.normal([1000])
    state = g.state
    assert state.tolist() == [1, 0, 7]
    want = draws(g)
    for same in (Generator.from_state(state, "philox"), Generator.from_state([1, 0, 7], 1),
                 Generator.from_state(state.numpy().astype(np.uint64), g.algorithm),
                 Generator.from_state(df.Variable(state), "philox"),
                 Generator.from_key_counter(7, [1, 0], "philox"),
                 Generator.from_key_counter(g.key, state[:2], None)):
        assert draws(same) == want
    g.reset(state)
    assert draws(g) == want
    g.reset_from_key_counter(7, [1, 0])
    assert draws(g) == want
    g.reset_from_seed(7)
    assert (g.normal([1000]) == x).numpy().all() and draws(g) == want
    high = [Generator.from_state([1, h, 7], "philox") for h in (0, 1, -1, 2**40)]
    assert len({tuple(draws(h)) for h in high}) == 4
    assert draws(copy.deepcopy(g)) == draws(pickle.loads(pickle.dumps(g)))


@pytest.mark.parametrize("draw", [
    lambda g: g.normal([3]), lambda g: g.uniform([3]), lambda g: g.truncated_normal([5]),
    lambda g: g.uniform_full_int([2]), lambda g: g.binomial([2], 10.0, 0.5),
    lambda g: g.make_seeds(2), lambda g: g.split(3)])
def test_skip_advances_as_draws_do(draw):
    a, b = Generator(3), Generator(3)
    for n in (1, 0, 4):
        before = b.state.tolist()
        for _ in range(n):
            draw(a)
        assert b.skip(n).tolist() == before
        assert a.state.tolist() == b.state.tolist()
    assert draws(a) == draws(b)
    b.reset([2**63 - 1, 0, 3])
    b.skip(1)
    assert b.state.tolist() == [-2**63, 0, 3]


def test_split_streams_are_independent():
    g, n = Generator.from_seed(1), 4000
    parts = g.split(3)
    assert draws(Generator.from_seed(1).split(3)[2]) == draws(copy.deepcopy(parts[2]))
    parts += g.split(2) + parts[0].split(2) + [g]
    drawn = np.array([x.normal([n]).numpy() for x in parts for _ in range(2)], np.float64)
    assert np.abs(np.corrcoef(drawn) - np.eye(len(drawn))).max() < 5 / n**0.5
    assert len(np.unique(drawn)) > 0.99 * drawn.size
    assert g.split(0) == [] and len(g.split()) == 1


def test_make_seeds():
    g = Generator.from_seed(1)
    seeds = g.make_seeds(5)
    assert seeds.shape == (2, 5) and seeds.dtype is df.int64 and g.make_seeds().shape == (2, 1)
    assert seeds.tolist() == Generator.from_seed(1).make_seeds(5).tolist()
    assert len({*seeds.numpy().ravel().tolist(), *g.make_seeds(5).numpy().ravel().tolist()}) == 20
    assert df.random.stateless_uniform([2], seeds[:, 4]).shape == (2,)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                                   "uint64"])
def test_full_range_integers(dtype):
    g, info = Generator.from_seed(1), np.iinfo(dtype)
    x = g.uniform_full_int([3000, 2], dtype).numpy()
    assert x.dtype == dtype and x.shape == (3000, 2)
    bits = np.unpackbits(np.ascontiguousarray(x.reshape(-1, 1)).view(np.uint8), axis=1)
    assert np.abs(bits.mean(0) - 0.5).max() < 5 * 0.5 / 6000**0.5
    correlation = np.corrcoef(bits.T) - np.eye(bits.shape[1])
    assert np.abs(correlation).max() < 5.5 / 6000**0.5
    span = float(info.max) - float(info.min)
    assert x.min() < info.min + span / 50 and x.max() > info.max - span / 50
    again = Generator.from_seed(1).uniform([3000, 2], None, None, dtype)
    assert again.numpy().tobytes() == x.tobytes()
    key = Generator.from_seed(1).next_key()
    assert df.random.stateless_uniform([3000, 2], key, None, None, dtype).numpy().tobytes() == (
        x.tobytes())
    assert g.uniform_full_int([0], dtype).shape == (0,)
    assert g.uniform_full_int([], dtype).shape == ()


def test_seeds_of_all_integer_dtypes():
    want = df.random.stateless_normal([3], [1, 2]).tolist()
    for dtype in ("int32", "int64", "uint32", "uint64", "uint8"):
        assert df.random.stateless_normal([3], df.constant([1, 2], dtype)).tolist() == want
    large = df.random.stateless_normal([3], df.constant([2**64 - 1, 2], df.uint64))
    assert large.tolist() == df.random.stateless_normal([3], [-1, 2]).tolist()


def both(steps):
    """Run steps with a generator eagerly and three times in a traced function."""
    eager, traced = Generator.from_seed(5), Generator.from_seed(5)
    f = df.function(lambda n: steps(traced, n))
    for n in (2, 0, 3):
        want, got = steps(eager, df.constant(n)), f(df.constant(n))
        assert [x.numpy().tobytes() for x in want] == [x.numpy().tobytes() for x in got]
        assert eager.state.tolist() == traced.state.tolist()
    assert draws(eager) == draws(traced)


def test_functions_draw_as_eager_mode_does():
    both(lambda g, n: [g.normal([2]), g.uniform_full_int([3]), g.make_seeds(2),
                       g.truncated_normal([2]), g.binomial([3], 9.0, 0.5)])


def test_functions_read_the_state():
    both(lambda g, n: [g.normal([2]), g.state, g.key, g.normal([2]), g.state])


def test_functions_skip():
    both(lambda g, n: [g.normal([2]), g.skip(n), g.normal([2]), g.skip(4), g.state])


@pytest.mark.parametrize("reset", [
    lambda g, n: g.reset_from_seed(3), lambda g, n: g.reset_from_seed([3, 1, 4]),
    lambda g, n: g.reset([9, 0, 3]), lambda g, n: g.reset(g.state + 1),
    lambda g, n: g.reset(df.stack([n, n, n])), lambda g, n: g.reset_from_key_counter(n, [n, 0]),
    lambda g, n: g.reset_from_seed(n)])
def test_functions_reset(reset):
    both(lambda g, n: [g.normal([2]), reset(g, n) or g.state, g.normal([2])])


def test_loops_draw_and_skip():
    def steps(g, n):
        x = g.normal([2])
        for _ in df.range(n):
            x += g.normal([2])
            g.skip(2)
        return [x, g.state, g.uniform([2])]

    eager, traced = Generator.from_seed(5), Generator.from_seed(5)
    f = df.function(lambda n: steps(traced, n))
    for n in (2, 0, 3):
        want, got = steps(eager, n), f(df.constant(n))
        assert [x.numpy().tobytes() for x in want] == [x.numpy().tobytes() for x in got]


def test_split_in_functions():
    g = Generator.from_seed(5)
    with pytest.raises(InvalidArgumentError, match=r"split: a traced function.*make_seeds"):
        df.function(lambda: g.split(2)[0].normal([]))()
    inside = df.function(lambda: [x.normal([]) for x in Generator.from_seed(5).split(2)])
    want = [float(x.normal([])) for x in Generator.from_seed(5).split(2)]
    assert [float(x) for x in inside()] == [float(x) for x in inside()] == want


def test_generators_as_arguments():
    f = df.function(lambda g: g.normal([]))
    a, b = Generator.from_seed(1), Generator.from_seed(2)
    assert [float(f(a)), float(f(b)), float(f(a))] == [
        *draws(Generator(1), 1), *draws(Generator(2), 1), draws(Generator(1), 2)[1]]


def lazily(make, n=6):
    """Return the draws of a function that creates its generator in the first call."""
    kept = []

    def f(x):
        if not kept:
            kept.append(Generator.from_seed(3))
        return x + kept[0].normal([])

    called = make(f)
    return [float(called(df.constant(0.0))) for _ in range(n)]


@pytest.mark.filterwarnings("ignore::dualflow.errors.RetracingWarning")
@pytest.mark.parametrize("make", [
    df.function, lambda f: df.function(lambda x: df.function(f)(x))])
def test_generators_created_in_the_first_call(make):
    assert lazily(make) == lazily(lambda f: f) == draws(Generator(3), 6)


class Lazy(df.Module):
    def __init__(self):
        self.g = None

    @df.function
    def __call__(self, n):
        if self.g is None:
            self.g = Generator.from_seed(3)
        return self.g.normal([])


def test_generators_created_by_methods():
    for _ in range(2):
        lazy = Lazy()
        assert [float(lazy(1)), float(lazy(1)), float(lazy(2))] == draws(Generator(3), 3)


def test_generators_split_in_the_first_call():
    class Parts(df.Module):
        def __init__(self):
            self.g, self.parts = None, []

        @df.function
        def __call__(self):
            if self.g is None:
                self.g = Generator.from_seed(3)
                self.g.skip(4)
                self.parts = self.g.split(2)
            return self.g.normal([]), self.parts[0].normal([]), self.parts[1].normal([])

    g = Generator.from_seed(3)
    g.skip(4)
    parts = g.split(2)
    want = [*zip(draws(g), draws(parts[0]), draws(parts[1]), strict=True)]
    made = Parts()
    assert [tuple(map(float, made())) for _ in range(4)] == want


@pytest.mark.filterwarnings("ignore::dualflow.errors.RetracingWarning")
def test_generators_replaced_by_each_call():
    kept = [None]

    def f():
        kept[0] = Generator.from_seed(3)
        return kept[0].normal([])

    g = df.function(f)
    assert [float(g()) for _ in range(3)] == [draws(Generator(3), 1)[0]] * 3


def test_set_seed_in_a_function():
    def f():
        x = df.random.normal([2])
        df.random.set_seed(3)
        return [x, df.random.normal([2])]

    first, second = df.function(f), f()
    runs = [first() for _ in range(2)]
    assert runs[0][1].tolist() == runs[1][1].tolist() == second[1].tolist()


def test_global_generator():
    before = df.random.get_global_generator()
    try:
        g = Generator.from_seed(9)
        df.random.set_global_generator(g)
        assert df.random.get_global_generator() is g
        assert float(df.random.normal([])) == draws(Generator(9), 1)[0]
        f = df.function(lambda: df.random.normal([]))
        assert float(f()) == draws(Generator(9), 2)[1]
        df.random.get_global_generator().reset_from_seed(9)
        assert float(f()) == draws(Generator(9), 1)[0]
        with pytest.raises(DTypeError, match="expected a Generator"):
            df.random.set_global_generator(7)
    finally:
        df.random.set_global_generator(before)


@pytest.mark.parametrize("in_graph", [False, True])
def test_checkpoints(tmp_path, in_graph):
    g = Generator.from_seed(4)
    if in_graph:
        df.function(lambda: g.skip(3))()
        df.function(lambda: g.reset_from_seed(8))()
    g.normal([3])
    split = g.split(2)
    path = df.train.Checkpoint(g=g, split=split).save(str(tmp_path / "c"))
    want = draws(g), draws(split[1])
    new = Generator.from_seed(0)
    others = Generator.from_seed(1).split(2)
    if in_graph:
        df.function(lambda: new.skip(1))()
    df.train.Checkpoint(g=new, split=others).restore(path)
    assert (draws(new), draws(others[1])) == want
    df.train.Checkpoint(g=g, split=split).restore(path)
    assert (draws(g), draws(split[1])) == want


def test_saved_modules_reset_and_skip(tmp_path):
    class Model(df.Module):
        def __init__(self):
            self.g = Generator.from_seed(3)

        @df.function(input_signature=[])
        def draw(self):
            x = self.g.normal([2])
            self.g.skip(2)
            return x + self.g.normal([2])

    model = Model()
    model.draw()
    df.saved_model.save(model, str(tmp_path / "m"))
    loaded = df.saved_model.load(str(tmp_path / "m"))
    assert [loaded.draw().tolist() for _ in range(3)] == [model.draw().tolist() for _ in range(3)]


@pytest.mark.parametrize("call, error, text", [
    (lambda: Generator.from_seed("a"), DTypeError, "seed"),
    (lambda: Generator.from_seed(1.5), DTypeError, "1.5.*integer"),
    (lambda: Generator.from_seed(df.constant([1.0])), DTypeError, "float32.*integer"),
    (lambda: Generator.from_state([1, 2], "philox"), ShapeError, "2 words, expected 3"),
    (lambda: Generator.from_key_counter(1, [2], "philox"), ShapeError, "1 words.*expected 2"),
    (lambda: Generator(1).skip(-1), InvalidArgumentError, "delta is -1"),
    (lambda: Generator(1).skip(1.5), DTypeError, "delta is 1.5"),
    (lambda: Generator(1).split(-1), ShapeError, "-1"),
    (lambda: Generator(1).uniform_full_int([2], "float32"), DTypeError, "float32"),
    (lambda: Generator(1).uniform([2], None, 3, "int32"), InvalidArgumentError, "int32"),
    (lambda: Generator(1).reset([1, 2]), ShapeError, "2 words"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_program_files_carry_the_state(tmp_path):
    g = Generator.from_seed(5)

    @df.function
    def f(n):
        x = g.normal([2])
        g.skip(n)
        y = g.normal([2])
        return x, y, g.state, g.make_seeds(2), df.random.fold_in(g.make_seeds()[:, 0], n)

    n = df.constant(3)
    f(n)
    df.save_program(f.get_concrete_function(n), tmp_path / "f.df")
    loaded = df.load_program(tmp_path / "f.df")
    for k in (0, 2, 1):
        want, got = f(df.constant(k)), loaded(df.constant(k))
        assert [x.numpy().tobytes() for x in want] == [x.numpy().tobytes() for x in got]
