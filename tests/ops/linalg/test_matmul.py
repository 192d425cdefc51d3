"""Errors of matmul, and the @ operator."""

import numpy as np
import pytest

import dualflow as df


@pytest.mark.parametrize("a, b", [((2, 3), (4, 5)), ((3,), (2, 2)), ((), (2, 2)),
                                  ((2, 3, 4), (3, 4, 5))])
def test_bad_shapes(a, b):
    with pytest.raises(ValueError, match=r"matmul: a has shape .* and b"):
        df.matmul(np.ones(a, "float32"), np.ones(b, "float32"))


def test_bad_dtype():
    with pytest.raises(TypeError, match="matmul"):
        df.matmul(np.ones((2, 2), "int8"), np.ones((2, 2), "int8"))


def test_operator():
    x = df.constant([[1.0, 2.0], [3.0, 4.0]])
    assert (x @ x).numpy().tolist() == [[7, 10], [15, 22]]
    left = np.eye(2, dtype="float32") @ x
    assert isinstance(left, df.Tensor) and left.numpy().tolist() == x.numpy().tolist()
    assert df.linalg.matmul is df.matmul


def int32_product(a, b, transpose_a, transpose_b):
    a, b = (x.astype("int32") for x in (a, b))
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    return a @ (np.swapaxes(b, -1, -2) if transpose_b else b)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("transposes", [(False, False), (True, False), (False, True), (True, True)])
def test_sums_in_int32(dtype, transposes):
    """Cover odd and even depths, partial panels and blocks, vectors, several passes, batches,
    empty."""
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    for m, k, n in [(1, 1, 1), (1, 7, 5), (7, 8, 1), (3, 0, 4), (0, 3, 4), (8, 16, 48),
                    (9, 17, 49), (33, 1025, 70), (150, 2100, 20), (5, 3, 300), (2100, 3, 17)]:
        shapes = [(2, m, k), (k, n)]
        shapes = [(*s[:-2], s[-1], s[-2]) if t else s
                  for s, t in zip(shapes, transposes, strict=True)]
        a, b = (rng.integers(info.min, info.max, s, endpoint=True).astype(dtype) for s in shapes)
        got = df.matmul(a, b, *transposes, output_type=df.int32)
        assert got.dtype == df.int32
        np.testing.assert_array_equal(got.numpy(), int32_product(a, b, *transposes))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_int32_of_extremes_and_threads(dtype):
    lowest = np.full((300, 1000), np.iinfo(dtype).min or 255, dtype)
    before = df.config.num_threads()
    try:
        for threads in (1, 2, 3):
            df.config.set_num_threads(threads)
            got = df.matmul(lowest, lowest, transpose_b=True, output_type="int32").numpy()
            assert (got == 1000 * int(lowest[0, 0]) ** 2).all()
    finally:
        df.config.set_num_threads(before)


def test_output_type_equal_to_the_default():
    x = df.constant([[1.0, 2.0], [3.0, 4.0]])
    assert df.matmul(x, x, output_type=df.float32).numpy().tolist() == [[7, 10], [15, 22]]


@pytest.mark.parametrize("a, b, output", [
    ("int8", "int16", "int32"), ("int8", "int8", "int8"), ("int8", "int8", "int64"),
    ("float32", "float32", "float64"), ("int32", "int8", "int32"), ("int8", "int8", "float32")])
def test_unsupported_output_types_raise(a, b, output):
    x, y = np.ones((2, 2), a), np.ones((2, 2), b)
    with pytest.raises(df.errors.DTypeError, match="matmul"):
        df.matmul(x, y, output_type=output)


def test_int32_products_in_a_trace():
    x = np.arange(12, dtype="int8").reshape(3, 4)

    @df.function
    def f(x):
        return df.matmul(x, x, transpose_b=True, output_type=df.int32) + 1

    np.testing.assert_array_equal(f(x).numpy(), int32_product(x, x, False, True) + 1)
    with pytest.raises(df.errors.ShapeError, match="matmul_int32: a has shape"):
        df.matmul(x, x, output_type=df.int32)


@pytest.mark.parametrize("a, b, wanted", [
    ("int8", "int8", "int8"), ("uint8", "uint8", "uint8"), ("int16", "int8", "int16"),
    ("uint16", "uint16", "uint16"), ("uint8", "int8", "int16"), ("uint16", "int16", "int32"),
    ("int8", "int32", "int32"), ("int8", "float32", "float32")])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 2)), ((4,), (4, 2)), ((2, 3, 4), (4,))])
def test_operator_of_narrow_integers(a, b, wanted, shapes):
    x = (np.arange(np.prod(shapes[0])) * 37).reshape(shapes[0]).astype(a)
    y = (np.arange(np.prod(shapes[1])) * 91).reshape(shapes[1]).astype(b)
    for left in (df.constant(x), df.Variable(x)):
        for product in (left @ df.constant(y), df.function(lambda p, q: p @ q)(left, y)):
            assert product.dtype == wanted
            np.testing.assert_array_equal(product.numpy(), x.astype(wanted) @ y.astype(wanted))
