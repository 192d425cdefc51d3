"""Clusters return the bits of their ops run one by one."""

import itertools

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests.graph.tile_code import FOLD, FULL, ROW, Cluster
from tests.ops.case import INTS


def normal(*shape, dtype=np.float32, seed=0):
    x = np.random.default_rng([seed, *shape]).normal(size=shape)
    return df.constant((x * 3).astype(dtype) if np.dtype(dtype) != bool else x > 0)


def number(x, dtype=np.float32):
    return df.constant(np.asarray(x, dtype))


def same(got, want, shape=None):
    got, want = got.numpy(), want.numpy()
    assert got.dtype == want.dtype
    if shape is not None:
        want = np.broadcast_to(want, shape)
    assert got.shape == want.shape
    assert got.tobytes() == np.ascontiguousarray(want).tobytes()


def check(cluster, *outputs, threads=(1, 2)):
    """Compare the cluster with its ops, on 1 and 2 threads."""
    row_shape = cluster.shape[:len(cluster.shape) - cluster.row_dims] + (1,) * cluster.row_dims
    spaces = cluster.value_spaces()
    before = _core.num_threads()
    try:
        for count in threads:
            _core.set_num_threads(count)
            got = cluster.run(*outputs)
            assert len(got) == len(outputs)
            for y, want, v in zip(got, cluster.eager(*outputs), outputs, strict=True):
                same(y, want, {FULL: cluster.shape, ROW: row_shape, FOLD: None}[spaces[v]])
    finally:
        _core.set_num_threads(before)


def gelu(x):
    c = Cluster(x, *map(number, (0.044715, np.sqrt(2 / np.pi), 1, 0.5)), shape=x.shape)
    cube = c.step("multiply", c.step("multiply", 0, 0), 0)
    inner = c.step("multiply", c.step("add", 0, c.step("multiply", cube, 1)), 2)
    one = c.step("add", c.step("tanh", inner), 3)
    return c, c.step("multiply", c.step("multiply", 0, 4), one)


def softmax(x):
    c = Cluster(x, shape=x.shape, row_dims=1)
    e = c.step("exp", c.step("subtract", 0, c.reduce("reduce_max", 0)))
    return c, c.step("divide", e, c.reduce("reduce_sum", e))


def layer_norm(x, gamma, beta, eps=1e-5):
    c = Cluster(x, gamma, beta, number(eps), shape=x.shape, row_dims=1)
    mean = c.reduce("reduce_mean", 0)
    centered = c.step("subtract", 0, mean)
    variance = c.reduce("reduce_mean", c.step("square", centered))
    scale = c.step("rsqrt", c.step("add", variance, 3, space=ROW), space=ROW)
    y = c.step("add", c.step("multiply", c.step("multiply", centered, scale), 1), 2)
    return c, y, mean, variance


@pytest.mark.parametrize("shape", [(), (1,), (16,), (1000,), (3, 5, 7), (100_003,), (0,), (3, 0)])
def test_gelu(shape):
    check(*gelu(normal(*shape)))


ROWS = [(1, 1), (5, 3), (100, 3), (7, 17), (1000, 17), (3, 100), (700, 100), (40, 1024), (5, 5000),
        (2, 8192), (3, 8193), (2, 40_000), (4, 1), (0, 4), (2, 3, 33)]


@pytest.mark.parametrize("shape", ROWS)
def test_softmax(shape):
    check(*softmax(normal(*shape)))


@pytest.mark.parametrize("shape", ROWS)
def test_layer_norm(shape):
    n = shape[-1]
    check(*layer_norm(normal(*shape), normal(n, seed=1), normal(n, seed=2)))


REDUCTIONS = [name for name in _core.ops() if "float32" in _core.get_op(name).reduces]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reductions(name, dtype):
    for shape in [(1, 1), (33, 3), (70, 16), (9, 17), (20, 33), (6, 1000), (3, 5000), (300, 40)]:
        c = Cluster(normal(*shape, dtype=dtype), shape=shape, row_dims=1)
        check(c, c.reduce(name, 0))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_long_rows(name):
    for n in (8193, 16385, 32_768, 65_536):
        c = Cluster(normal(3, n), shape=(3, n), row_dims=1)
        check(c, c.reduce(name, 0))


def test_rows_that_are_too_long_raise():
    for n, dtype in [(65_537, np.float32), (8193, np.float16)]:
        c = Cluster(normal(1, n, dtype=dtype), shape=(1, n), row_dims=1)
        with pytest.raises(df.errors.DualflowError, match=r"row length|reduced"):
            c.run(c.reduce("reduce_sum", 0))


FOLDED = [name for name in _core.ops() if "float32" in _core.get_op(name).folds]
FOLDS = [(1, 5, 7), (1, 64, 512), (3, 17, 33), (1, 1000, 300), (2, 700, 3), (1, 9000, 5), (1, 3, 1),
         (1, 20_000, 1), (2, 40_000, 1), (5, 1, 9), (1, 24, 4096), (40, 30, 50), (1, 1100, 600)]


@pytest.mark.parametrize("name", FOLDED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_column_reductions(name, dtype):
    for outer, n, inner in FOLDS:
        shape = (outer, n, inner)
        c = Cluster(normal(*shape, dtype=dtype), normal(inner, dtype=dtype, seed=1), shape=shape)
        y = c.step("add", c.step("multiply", 0, 1), 0)
        check(c, c.fold(name, y, outer, n), threads=(1, 2, 3, 8))


def test_column_reductions_of_inputs_outputs_and_broadcasts():
    for shape in [(90, 40), (600, 200), (3000, 1)]:
        n, inner = shape
        c = Cluster(normal(*shape), normal(inner, seed=1), normal(n, 1, seed=2), number(3),
                    shape=shape)
        y = c.step("exp", c.step("multiply", 0, 3))
        wide = c.cast(y, df.float64)
        folds = [c.fold("reduce_sum", v, 1, n) for v in (0, 1, 2, 3, y, wide)]
        again = c.fold("reduce_max", y, 1, n)
        c.fold("reduce_min", y, 1, n)                       # unused
        check(c, folds[0], y, *folds[1:], folds[4], again, c.step("negative", wide), folds[0])


def test_column_and_row_reductions_in_one_cluster():
    for outer, n, inner in [(1, 300, 64), (1, 33, 1000), (2, 50, 6)]:
        shape = (outer, n, inner)
        c = Cluster(normal(*shape), normal(*shape, seed=1), shape=shape, row_dims=1)
        mean = c.reduce("reduce_mean", 0)
        centered = c.step("subtract", 0, mean)
        y = c.step("multiply", centered, 1)
        folds = [c.fold("reduce_sum", v, outer, n) for v in (centered, y, 1)]
        check(c, c.step("exp", y), c.reduce("reduce_max", y), mean, *folds)


def test_column_reductions_of_special_values():
    x = np.resize(np.asarray([*SPECIAL[:2], -0., *SPECIAL[2:], -1.], np.float32), (50, 30)).copy()
    x[:, :3] = -0.
    c = Cluster(df.constant(x), shape=x.shape)
    for name in FOLDED:
        c.fold(name, 0, 1, 50)
        c.fold(name, c.step("negative", 0), 1, 50)
    folds = [1 + k for k, space in enumerate(c.value_spaces()[1:]) if space == FOLD]
    with np.errstate(all="ignore"):
        for got, want in zip(c.run(*folds), c.eager(*folds), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())
            zeros = want.numpy() == 0
            assert (np.signbit(got.numpy()) == np.signbit(want.numpy()))[zeros].all()


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max", "reduce_min", "reduce_prod"])
@pytest.mark.parametrize("dtype", INTS)
def test_integer_reductions(name, dtype):
    c = Cluster(normal(50, 37, dtype=dtype), shape=(50, 37), row_dims=1)
    check(c, c.reduce(name, 0))


@pytest.mark.parametrize("name", ["reduce_any", "reduce_all"])
def test_bool_reductions(name):
    x = normal(40, 9, dtype=bool)
    c = Cluster(x, shape=x.shape, row_dims=1)
    check(c, c.reduce(name, 0))


def test_reductions_of_no_elements():
    c = Cluster(normal(5, 0), shape=(5, 0), row_dims=1)
    check(c, c.reduce("reduce_sum", 0), c.reduce("reduce_mean", 0), c.reduce("reduce_max", 0))


def test_bits_of_a_row_sum_depend_only_on_the_row():
    x = normal(37, 7)
    whole = df.reduce_sum(x, 1).numpy()
    for i in range(37):
        assert df.reduce_sum(x[i:i + 1], 1).numpy().tobytes() == whole[i:i + 1].tobytes()


def test_rows_of_several_dimensions():
    x = normal(6, 3, 5, 7)
    c = Cluster(x, normal(5, 7, seed=3), shape=x.shape, row_dims=2)
    centered = c.step("subtract", 0, c.reduce("reduce_mean", 0))
    check(c, c.step("multiply", centered, 1), c.reduce("reduce_variance", centered))


def test_many_outputs_and_a_repeated_output():
    x = normal(50_000)
    c = Cluster(x, number(2), shape=x.shape)
    a = c.step("multiply", 0, 1)
    b = c.step("subtract", a, 0)
    s = c.step("square", b)
    check(c, s, a, b, a, s)


def test_mixed_dtypes():
    x, k = normal(5000), normal(5000, dtype=np.int32, seed=1)
    c = Cluster(x, k, number(0.5), shape=x.shape)
    wide = c.cast(0, df.float64)
    small = c.cast(c.step("abs", 1), df.uint8)
    back = c.cast(c.step("square", wide), df.float32)
    less = c.step("less", 0, 2)
    picked = c.step("where", less, back, 0)
    half = c.cast(picked, df.float16)
    bits = c.step("logical_not", less)
    check(c, wide, small, back, less, picked, half, bits)


def test_attributes():
    x = normal(3000)
    c = Cluster(x, shape=x.shape)
    a = c.step("leaky_relu", 0, alpha=0.3)
    check(c, c.step("gelu", a, approximate=1), a)


SHAPES = [(), (1,), (7,), (5, 1), (5, 7), (4, 1, 1), (4, 1, 7), (1, 5, 1), (4, 5, 1), (4, 5, 7)]


@pytest.mark.parametrize("a, b", list(itertools.product(SHAPES, SHAPES)))
def test_broadcasts(a, b):
    c = Cluster(normal(4, 5, 7), normal(*a, seed=1), normal(*b, seed=2), shape=(4, 5, 7))
    check(c, c.step("add", c.step("multiply", 0, 1), c.step("subtract", 0, 2)))


@pytest.mark.parametrize("shape", [(2000,), (1, 1), (30, 1), (30, 2000), (6, 5, 1), (5, 2000),
                                   (6, 1, 2000), (1, 5, 1), (6, 1, 1)])
def test_broadcasts_with_row_reductions(shape):
    x = normal(6, 5, 2000)
    shape = (6, 5, 2000) if shape == (30, 2000) else (6, 5, 1) if shape == (30, 1) else shape
    c = Cluster(x, normal(*shape, seed=1), shape=x.shape, row_dims=1)
    top = c.reduce("reduce_max", c.step("multiply", 0, 1))
    if shape[-1] == 1:
        top = c.step("add", top, 1, space=ROW)
    check(c, c.step("subtract", 1, top), top)


def test_many_scalars():
    """There are more scalar inputs than registers."""
    x = normal(30_000)
    c = Cluster(x, *map(number, range(1, 40)), shape=x.shape)
    y = 0
    for i in range(1, 40):
        y = c.step("add", c.step("multiply", y, i), 40 - i)
    check(c, y)


@pytest.mark.parametrize("n", [1, 16, 5000])
def test_chain_of_ten_thousand_steps(n):
    x = normal(n)
    c = Cluster(x, number(0.999), number(0.001), shape=x.shape)
    y = 0
    for i in range(10_000):
        y = c.step(("multiply", "add", "sin")[i % 3], *([y] if i % 3 == 2 else [y, 1 + i % 3]))
    check(c, y)


WITH_ONE = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "squared_difference"]
SPECIAL = [0., -0., np.inf, -np.inf, np.nan, 1e-40, 3.]


@pytest.mark.parametrize("name", WITH_ONE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_scalar_and_per_row_operands(name, dtype):
    """On either side; rows are shorter and longer than vectors or have tails; special values."""
    for shape in [(40, 3), (9, 64), (7, 129), (3, 1030)]:
        x, rows = normal(*shape, dtype=dtype), normal(shape[0], 1, dtype=dtype, seed=1)
        with np.errstate(over="ignore"):
            special = df.constant(np.resize(np.asarray(SPECIAL, dtype), (shape[0], 1)))
        c = Cluster(x, rows, special, number(1.5, dtype), number(-0., dtype), shape=shape,
                    row_dims=1)
        top = c.reduce("reduce_max", 0)
        ones = [1, 2, 3, 4, top, c.step(name, top, 3, space=ROW), c.step(name, 4, 1, space=ROW)]
        made = [c.step(name, *pair) for one in ones for pair in [(0, one), (one, 0), (one, 3)]]
        check(c, *made, *ones[-2:])


def test_scalar_operand_of_a_unary_step():
    x = normal(5000)
    c = Cluster(x, number(0.5), shape=x.shape)
    check(c, c.step("multiply", c.step("add", 0, 1), c.step("tanh", 1)))


def test_result_reuses_the_memory_of_a_row_operand():
    """In a program, the buffer of an input after its last reader is reused for results."""
    @df.function
    def f(x, y):
        rows = df.reduce_sum(y, 1, keepdims=True)           # not fused, so in the arena
        d = x * rows
        return df.reduce_max(d, 1, keepdims=True) + df.sqrt(df.abs(rows)), df.exp(d - rows) / rows

    for n in (3, 200):
        x, y = normal(50, n), normal(50, n, seed=1)
        for got, want in zip(f(x, y), f.python_function(x, y), strict=True):
            same(got, want)


def test_many_live_values():
    x = normal(3000)
    c = Cluster(x, number(1.5), shape=x.shape)
    values = [0]
    for _ in range(600):
        values.append(c.step("multiply", values[-1], 1))
        values[-1] = c.step("sin", values[-1])
    y = values[0]
    for v in values[1:]:
        y = c.step("add", y, v)
    check(c, y, *values[1:600:7])


def test_unused_step():
    x = normal(100)
    c = Cluster(x, shape=x.shape)
    c.step("exp", 0)
    check(c, c.step("square", 0))


def test_random_programs():
    rng = np.random.default_rng(5)
    unary, binary = ["sin", "square", "relu", "negative"], ["add", "multiply", "maximum"]
    for n in (3, 33, 1500):
        for _ in range(20):
            shapes = [(40, n), (n,), (40, 1), (), (1, n)]
            c = Cluster(*(normal(*s, seed=i) for i, s in enumerate(shapes)), shape=(40, n),
                        row_dims=1)
            full, row = list(range(5)), [2, 3]
            made = []
            for _ in range(40):
                kind = rng.integers(4)
                if kind == 0:
                    made.append(c.reduce("reduce_mean", rng.choice(full)))
                    row.append(made[-1])
                elif kind == 1:
                    made.append(c.step(rng.choice(binary), *rng.choice(row, 2), space=ROW))
                    row.append(made[-1])
                elif kind == 2:
                    made.append(c.step(rng.choice(unary), rng.choice(full + row)))
                    full.append(made[-1])
                else:
                    made.append(c.step(rng.choice(binary), *rng.choice(full + row, 2)))
                    full.append(made[-1])
            check(c, *sorted({made[-1], *rng.choice(made, 4)}))


def test_malformed_code_does_not_crash():
    """Valid code with one word replaced or the end cut off gives an error or a result."""
    x = normal(8, 6)
    c, y, mean, _ = layer_norm(x, normal(6), normal(6))
    good = c.code(y, mean, c.fold("reduce_sum", y, 1, 8))

    def run(code):
        _core.apply("cluster", *c.inputs, shape=c.shape, code=code)

    for n in range(len(good)):
        with pytest.raises(df.errors.DualflowError):
            run(good[:n])
    with pytest.raises(df.errors.InvalidArgumentError, match="cluster"):
        run([*good, 0])
    raised = 0
    for i, bad in itertools.product(range(len(good)), [-1, 0, 1, 5, 99, 2**31, 2**62, -2**63]):
        try:
            run([*good[:i], bad, *good[i + 1:]])
        except df.errors.DualflowError:
            raised += 1
    assert raised > 4 * len(good)


def code_of(*steps, outputs, row_length=1):
    return [row_length, len(steps), *itertools.chain(*steps), len(outputs), *outputs]


def index(name):
    return _core.get_op(name).index


@pytest.mark.parametrize("code, text", [
    (code_of([index("add"), FULL, 2, 0, 1, 0], outputs=[1]), "undefined value"),
    (code_of([index("exp"), FULL, 1, -1, 0], outputs=[1]), "undefined value"),
    (code_of([index("exp"), FULL, 1, 0, 0], outputs=[0]), "not the result of a step"),
    (code_of([index("exp"), FULL, 1, 0, 0], outputs=[2]), "not the result of a step"),
    (code_of([index("exp"), ROW, 1, 0, 0], [index("exp"), FULL, 1, 1, 0],
             [index("exp"), ROW, 1, 2, 0], outputs=[2], row_length=3), r"input 0|another space"),
    (code_of([index("add"), FULL, 1, 0, 0], outputs=[1]), "number of operands"),
    (code_of([index("matmul"), FULL, 1, 0, 0], outputs=[1]), "elementwise"),
    (code_of([index("cluster"), FULL, 1, 0, 0], outputs=[1]), "not elementwise"),
    (code_of([index("assign"), FULL, 1, 0, 0], outputs=[1]), "cannot be a step"),
    (code_of([index("reduce_sum"), FULL, 1, 0, 0], outputs=[1]), "ROW"),
    (code_of([index("reduce_sum"), ROW, 1, 0, 1, 0], outputs=[1]), "attributes"),
    (code_of([index("exp"), FOLD, 1, 0, 2, 1, 2], outputs=[1]), "only a reduction"),
    (code_of([index("reduce_sum"), FOLD, 1, 0, 0], outputs=[1]), "two words"),
    (code_of([index("reduce_sum"), FOLD, 1, 0, 2, 1, 4], outputs=[1]), "does not fold"),
    (code_of([index("reduce_sum"), FOLD, 1, 0, 2, 0, 2], outputs=[1]), "does not fold"),
    (code_of([index("reduce_sum"), FOLD, 1, 0, 2, 2**40, 2**40], outputs=[1]), "does not fold"),
    (code_of([index("reduce_sum"), FOLD, 1, 0, 2, 1, 6], outputs=[1], row_length=3),
     "parts of rows"),
    (code_of([index("reduce_sum"), FOLD, 1, 0, 2, 1, 2],
             [index("reduce_sum"), FOLD, 1, 0, 2, 2, 3], outputs=[1, 2]), "another shape"),
    (code_of([index("reduce_sum"), FOLD, 1, 0, 2, 1, 2],
             [index("exp"), FULL, 1, 1, 0], outputs=[2]), "another space"),
    (code_of([index("reduce_variance"), FOLD, 1, 0, 2, 1, 2], outputs=[1]), "dtype"),
    (code_of([index("cast"), FULL, 1, 0, 1, 77], outputs=[1]), "dtype"),
    (code_of([index("cast"), FULL, 1, 0, 0], outputs=[1]), "attributes"),
    (code_of([index("exp"), FULL, 1, 0, 0], outputs=[1], row_length=4), "trailing"),
    (code_of([index("exp"), FULL, 1, 0, 0], outputs=[1], row_length=10**6), "row length"),
    (code_of([index("logical_and"), FULL, 2, 0, 0, 0], outputs=[1]), "logical_and"),
])
def test_invalid_code_raises(code, text):
    with pytest.raises(df.errors.DualflowError, match=text):
        _core.apply("cluster", normal(2, 3), shape=(2, 3), code=code)


def test_input_that_does_not_broadcast_raises():
    with pytest.raises(df.errors.ShapeError, match="input 0"):
        _core.apply("cluster", normal(4), shape=(2, 3),
                    code=code_of([index("exp"), FULL, 1, 0, 0], outputs=[1]))


def test_effects_keep_their_order_around_clusters(capsys):
    @df.function
    def f(x):
        y = df.exp(x)
        df.print("first", y)
        df.print("second")
        df.print("third", x)
        return y * 2. + df.tanh(y), y - 1.      # in one cluster with exp, after all prints

    f(df.zeros([3]))
    lines = capsys.readouterr().out.split("\n")
    assert [line.split()[0] for line in lines if line] == ["first", "second", "third"]
