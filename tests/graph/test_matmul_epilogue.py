"""`matmul_cluster` returns the bits of matmul followed by its elementwise ops."""

import struct

import numpy as np
import pytest

import dualflow as df
from dualflow import _core, dtypes
from tests.graph.test_program import RESULT, Builder

# m, k, n: vectors, tiny products, remainders, packed and threaded products, several passes over k
SHAPES = [
    (1, 5, 7), (7, 5, 1), (1, 1, 1), (1, 700, 900), (900, 700, 1), (8, 16, 32), (8, 32, 4),
    (3, 0, 5), (1, 0, 3), (0, 4, 3), (16, 8, 32), (17, 33, 49), (65, 70, 100), (130, 1100, 90),
    (300, 257, 260),
]
DTYPES = ["float32", "float64", "int32", "float16", "bfloat16"]


def tile_code(steps, n_inputs, *results):
    """Return tile code of elementwise steps (op, operand values, attribute words). The output is
    the last step's value unless `results` names values."""
    code = [1, len(steps)]
    for op, operands, *words in steps:
        code += [_core.get_op(op).index, 0, len(operands), *operands, len(words), *words]
    results = results or (n_inputs + len(steps) - 1,)
    return [*code, len(results), *results]


def word(number):
    """Return the bits of a double as the integer of an attribute word."""
    return struct.unpack("q", struct.pack("d", number))[0]


def normal(rng, shape, dtype):
    x = rng.standard_normal(shape) * 8
    return df.cast(df.constant(x.astype("float64")), dtype)


def products(a, b, more, code, transpose_a=False, transpose_b=False):
    return _core.apply("matmul_cluster", a, b, *more, code=code, transpose_a=transpose_a,
                       transpose_b=transpose_b)


def product(*args, **kwargs):
    y, = products(*args, **kwargs)
    return y


def same_bits(got, want):
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.numpy().tobytes() == want.numpy().tobytes()


@pytest.fixture(params=[1, 2])
def threads(request):
    before = df.config.num_threads()
    df.config.set_num_threads(request.param)
    yield request.param
    df.config.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposes", [(False, False), (True, False), (False, True), (True, True)])
def test_bias_and_activation(threads, dtype, transposes):
    rng = np.random.default_rng(1)
    code = tile_code([("add", [0, 1]), ("maximum", [4, 2]), ("multiply", [5, 3])], 4)
    for m, k, n in SHAPES:
        ta, tb = transposes
        a = normal(rng, (k, m) if ta else (m, k), dtype)
        b = normal(rng, (n, k) if tb else (k, n), dtype)
        bias, floor, mask = (normal(rng, s, dtype) for s in [(n,), (), (m, n)])
        want = df.maximum(df.matmul(a, b, ta, tb) + bias, floor) * mask
        same_bits(product(a, b, [bias, floor, mask], code, ta, tb), want)


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_and_rows_of_rank_two(threads, shape):
    m, k, n = shape
    rng = np.random.default_rng(2)
    a, b = normal(rng, (m, k), "float32"), normal(rng, (k, n), "float32")
    column, row, one = (normal(rng, s, "float32") for s in [(m, 1), (1, n), (1, 1)])
    code = tile_code([("multiply", [0, 1]), ("subtract", [4, 2]), ("tanh", [5]),
                      ("multiply", [6, 3])], 4)
    want = df.tanh(df.matmul(a, b) * column - row) * one
    same_bits(product(a, b, [column, row, one], code), want)


def test_batches(threads):
    rng = np.random.default_rng(3)
    code = tile_code([("add", [0, 1]), ("multiply", [3, 2])], 3)
    for batch_a, batch_b, (m, k, n) in [((5,), (5,), (8, 9, 10)), ((5,), (), (8, 9, 10)),
                                        ((2, 3), (3,), (1, 9, 10)), ((4,), (4,), (9, 8, 1)),
                                        ((2, 1), (3,), (70, 3, 40)), ((3,), (1,), (4, 0, 5))]:
        a, b = normal(rng, (*batch_a, m, k), "float32"), normal(rng, (*batch_b, k, n), "float32")
        plain = df.matmul(a, b)
        bias, other = normal(rng, (n,), "float32"), normal(rng, plain.shape, "float32")
        same_bits(product(a, b, [bias, other], code), (plain + bias) * other)


def test_product_as_operand_twice_and_as_output(threads):
    rng = np.random.default_rng(4)
    a, b = normal(rng, (60, 33), "float32"), normal(rng, (33, 70), "float32")
    plain = df.matmul(a, b)
    code = tile_code([("sigmoid", [0]), ("multiply", [0, 1]), ("subtract", [2, 0])], 1)
    same_bits(product(a, b, [], code), plain * df.sigmoid(plain) - plain)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("first", [0, 1])
def test_two_outputs(threads, dtype, first):
    """Either output may take the product's memory, which later steps still read."""
    rng = np.random.default_rng(7)
    steps = [("add", [0, 1]), ("maximum", [3, 2]), ("subtract", [4, 0]),
             ("cast", [0], dtypes.ALL.index(getattr(df, dtype)))]
    for m, k, n in SHAPES:
        a, b = normal(rng, (m, k), dtype), normal(rng, (k, n), dtype)
        bias, floor = normal(rng, (n,), dtype), normal(rng, (), dtype)
        plain = df.matmul(a, b)
        values = {3: plain + bias, 4: df.maximum(plain + bias, floor), 6: plain}
        values[5] = values[4] - plain
        for pair in [(3, 5), (6, 4), (3, 3), (5, 6), (4, 3)]:
            pair = pair[::-1] if first else pair
            got = products(a, b, [bias, floor], tile_code(steps, 3, *pair))
            for y, which in zip(got, pair, strict=True):
                same_bits(y, values[which])


def test_two_outputs_of_different_dtypes(threads):
    rng = np.random.default_rng(8)
    casts = [("cast", [0], dtypes.ALL.index(t)) for t in (df.float64, df.int8, df.float32)]
    for m, k, n in SHAPES:
        a, b = normal(rng, (m, k), "float32"), normal(rng, (k, n), "float32")
        plain = df.matmul(a, b)
        for pair in [(1, 2), (2, 1), (2, 3), (3, 1)]:
            want = {1: df.float64, 2: df.int8, 3: df.float32}
            for y, which in zip(products(a, b, [], tile_code(casts, 1, *pair)), pair, strict=True):
                same_bits(y, df.cast(plain, want[which]))


@pytest.mark.parametrize("target", [df.bool_, df.float64, df.int8, df.int32, df.float16])
def test_output_of_another_dtype(threads, target):
    rng = np.random.default_rng(5)
    code = tile_code([("cast", [0], dtypes.ALL.index(target))], 1)
    for m, k, n in SHAPES:
        a, b = normal(rng, (m, k), "float32"), normal(rng, (k, n), "float32")
        same_bits(product(a, b, [], code), df.cast(df.matmul(a, b), target))


def test_attributes(threads):
    rng = np.random.default_rng(6)
    a, b = normal(rng, (40, 30), "float64"), normal(rng, (30, 50), "float64")
    code = tile_code([("leaky_relu", [0], word(0.3))], 1)
    same_bits(product(a, b, [], code), df.nn.leaky_relu(df.matmul(a, b), 0.3))


@pytest.mark.parametrize("transposes", [(False, False), (True, False), (False, True)])
def test_prepared_instruction_runs_repeatedly(threads, transposes):
    """A program prepares its instructions once; all runs share the preparation."""
    rng = np.random.default_rng(9)
    ta, tb = transposes
    steps = [("add", [0, 1]), ("relu", [2]), ("cast", [3], df.float64.index)]
    for m, k, n in SHAPES:
        shapes = [(k, m) if ta else (m, k), (n, k) if tb else (k, n), (n,)]
        b = Builder()
        slots = tuple(b.arg(i, shape) for i, shape in enumerate(shapes))
        results = b.result(0, (m, n)), b.result(1, (m, n), df.float64)
        workspace_slot = b.reserve(1 << 23)
        both = {"transpose_a": ta, "transpose_b": tb, "workspace": workspace_slot}
        b.add("matmul", slots[:2], results[:1], **both)
        b.add("matmul_cluster", slots, results[1:], code=tile_code(steps, 2), **both)
        program = b.build(3, [(RESULT, 0, df.float32, (m, n)),
                              (RESULT, 1, df.float64, (m, n))])
        for _ in range(3):
            x, w, bias = (normal(rng, shape, "float32") for shape in shapes)
            plain, fused = program.run([x, w, bias])
            same_bits(plain, df.matmul(x, w, ta, tb))
            same_bits(fused, df.cast(df.nn.relu(plain + bias), "float64"))


def test_prepared_batch(threads):
    rng = np.random.default_rng(10)
    shapes, out = [(5, 2, 9, 8), (2, 8, 7)], (5, 2, 9, 7)
    b = Builder()
    slots = tuple(b.arg(i, shape) for i, shape in enumerate(shapes))
    b.add("matmul", slots, (b.result(0, out),), transpose_a=False, transpose_b=False,
          workspace=b.reserve(1 << 16))
    program = b.build(2, [(RESULT, 0, df.float32, out)])
    for _ in range(3):
        x, w = (normal(rng, shape, "float32") for shape in shapes)
        same_bits(program.run([x, w])[0], df.matmul(x, w))


def test_many_steps():
    rng = np.random.default_rng(7)
    a, b, c = (normal(rng, (9, 9), "float32") for _ in range(3))
    code = tile_code([("add", [i + 1 if i else 0, 1]) for i in range(200)], 2)
    want = df.matmul(a, b)
    for _ in range(200):
        want = want + c
    same_bits(product(a, b, [c], code), want)


GOOD = tile_code([("add", [0, 1])], 2)
ADD = _core.get_op("add").index


@pytest.mark.parametrize("code", [
    [], [1], [2, *GOOD[1:]], GOOD[:-1], [*GOOD, 0], [1, 0, 0], [1, -1, 1, 0], [1, 1 << 62, 1, 0],
    tile_code([("add", [0, 2])], 2), tile_code([("add", [0, -1])], 2),
    tile_code([("add", [0])], 2), tile_code([("add", [0, 1], 7)], 2),
    tile_code([("reduce_sum", [0])], 2), tile_code([("matmul", [0, 1], 0, 0)], 2),
    tile_code([("cast", [0], 99)], 2), tile_code([("cast", [0], -1)], 2),
    tile_code([("add", [0, 1])], 2, 9), [*GOOD[:-2], 2, 2, 0], [*GOOD[:-2], 0],
    [*GOOD[:-2], 1 << 40, 2, 2], [*GOOD[:-2], -1],
    [1, 1, 1 << 40, *GOOD[3:]], [1, 1, -1, *GOOD[3:]], [1, 1, ADD, 2, *GOOD[4:]],
    [1, 1, ADD, 0, 1 << 33, *GOOD[5:]],
])
def test_invalid_code_raises(code):
    x = df.zeros((2, 2))
    with pytest.raises((ValueError, TypeError), match=r"matmul_cluster|cast|add"):
        product(x, x, [x], code)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 2, 2), (2, 2, 1), (5, 2, 2)])
def test_incompatible_operands_raise(shape):
    x = df.zeros((2, 2))
    with pytest.raises(df.errors.ShapeError, match="matmul_cluster"):
        product(x, x, [df.zeros(shape)], GOOD)


@pytest.mark.parametrize("shape", [(2, 1), (2, 5), (3, 1, 1), (3, 1, 5), (3, 2, 1)])
def test_broadcast_operands_of_a_batch(threads, shape):
    rng = np.random.default_rng(8)
    for k in [0, 4]:
        a, b, c = (normal(rng, s, "float32") for s in [(3, 2, k), (3, k, 5), shape])
        same_bits(product(a, b, [c], GOOD), df.matmul(a, b) + c)


def folding(op, rows, outer=1):
    """Return tile code that adds value 1 to the product and reduces the rows of the sum."""
    steps = [("add", [0, 1])]
    code = tile_code(steps, 2)[:-2]
    code[1] += 1
    return [*code, _core.get_op(op).index, 2, 1, 2, 2, outer, rows, 2, 2, 3]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["reduce_sum", "reduce_max", "reduce_mean"])
@pytest.mark.parametrize("shape", [(8, 16, 32), (17, 33, 49), (130, 700, 90), (300, 257, 260),
                                   (6000, 3, 20), (1030, 40, 130), (3, 0, 5), (900, 700, 2)])
def test_row_reduction_of_an_output(threads, shape, op, dtype):
    """The sum has the bits of the op, whether or not chunks start at a block boundary."""
    m, k, n = shape
    rng = np.random.default_rng(9)
    a, b, c = (normal(rng, s, dtype) for s in [(m, k), (k, n), (n,)])
    y, total = products(a, b, [c], folding(op, m))
    want = df.matmul(a, b) + c
    same_bits(y, want)
    same_bits(total, _core.apply(op, want, axes=(0,), keepdims=True))


def test_row_reduction_of_a_batch(threads):
    rng = np.random.default_rng(10)
    for size, m in [(3, 16), (5, 7), (2, 900)]:
        a, b, c = (normal(rng, s, "float32") for s in [(size, m, 9), (size, 9, 20), (20,)])
        y, total = products(a, b, [c], folding("reduce_sum", size * m))
        want = df.matmul(a, b) + c
        same_bits(y, want)
        same_bits(df.reshape(total, [20]), df.reduce_sum(want, [0, 1]))


@pytest.mark.parametrize("rows, outer", [(4, 2), (2, 4), (1, 8), (16, 1), (1, 1), (0, 1), (8, 1)])
def test_unsupported_reductions_raise(rows, outer):
    x = df.zeros((8, 2))
    if (rows, outer) == (8, 1):
        code = tile_code([("add", [0, 1])], 2)[:-2]
        code[1] += 1        # reduces an input
        code += [_core.get_op("reduce_sum").index, 2, 1, 1, 2, 1, 8, 2, 2, 3]
    else:
        code = folding("reduce_sum", rows, outer)
    with pytest.raises(df.errors.InvalidArgumentError, match="matmul_cluster: "):
        products(x, df.zeros((2, 2)), [x], code)


def test_too_many_operands_raise():
    x = df.zeros((2, 2))
    with pytest.raises(df.errors.InvalidArgumentError, match="expected 2 to 64"):
        product(x, x, [x] * 63, GOOD)


def test_empty_products(threads):
    code = tile_code([("add", [0, 1])], 2)
    for m, n in [(0, 3), (3, 0)]:
        assert product(df.zeros((m, 2)), df.zeros((2, n)), [df.zeros(())], code).shape == (m, n)
