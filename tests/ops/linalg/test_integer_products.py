"""Products of int8 and uint8 with int32 sums, against NumPy's int64 arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from tests.ops import harness

DTYPES = ("int8", "uint8")
SIZES = st.sampled_from([1, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 25, 31, 33, 49, 65, 130])


def drawn(rng, shape, dtype):
    """Return random integers of the whole range, which includes the extremes."""
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def product(a, b, transpose_a=False, transpose_b=False):
    a, b = a.astype("int64"), b.astype("int64")
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    return (a @ (np.swapaxes(b, -1, -2) if transpose_b else b)).astype("int32")


def instructions(f, *args):
    """Return the names of the ops that a traced function executes."""
    return [node.op.name for node in f.graph_for(*args).nodes if node.inputs]


def shapes(m, k, n, batch_a, batch_b, transposes):
    return [(*batch, *(size[::-1] if turned else size)) for batch, size, turned in zip(
        (batch_a, batch_b), ((m, k), (k, n)), transposes, strict=True)]


@settings(max_examples=60)
@given(sizes=st.tuples(SIZES, SIZES | st.sampled_from([0, 700, 1500, 2100]), SIZES),
       batches=st.sampled_from([((), ()), ((3,), ()), ((), (2,)), ((2, 1), (3,)), ((0,), (0,))]),
       transposes=st.tuples(st.booleans(), st.booleans()),
       dtypes=st.tuples(*[st.sampled_from(DTYPES)] * 2), seed=st.integers(0, 2**32 - 1))
def test_random_products(sizes, batches, transposes, dtypes, seed):
    rng = np.random.default_rng(seed)
    a, b = (drawn(rng, s, dtype) for s, dtype in zip(shapes(*sizes, *batches, transposes), dtypes,
                                                     strict=True))

    def multiply(a, b):
        return df.matmul(a, b, *transposes, output_type=df.int32)

    expected = product(a, b, *transposes)
    for threads in (1, 2):
        with harness.threads(threads):
            results = (multiply(a, b), df.function(multiply)(a, b))
        for made in results:
            assert made.dtype == df.int32
            np.testing.assert_array_equal(made.numpy(), expected)


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 70000, 40), (40, 70000, 1), (5, 70000, 40)])
def test_extremes_wrap_around(a, b, sizes):
    """All products are of the largest magnitude: 70,000 of 255 * 255 exceed int32."""
    m, k, n = sizes
    x, y = (np.full(shape, np.iinfo(dtype).min or 255, dtype)
            for shape, dtype in (((m, k), a), ((k, n), b)))
    made = df.matmul(x, y, output_type=df.int32).numpy()
    np.testing.assert_array_equal(made, product(x, y))
    turned = df.matmul(x, np.ascontiguousarray(y.T), transpose_b=True, output_type=df.int32)
    np.testing.assert_array_equal(turned.numpy(), made)


@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8")])
@pytest.mark.parametrize("rows", [1, 2, 9])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_constant_matrix_is_packed_once(dtypes, rows, transpose_b):
    rng = np.random.default_rng(3)
    a = drawn(rng, (rows, 70), dtypes[0])
    b = drawn(rng, (250, 70) if transpose_b else (70, 250), dtypes[1])
    scale = np.linspace(0.01, 0.2, 250).astype("float32")

    @df.function
    def scaled(a):
        y = df.matmul(a, b, transpose_b=transpose_b, output_type=df.int32)
        return df.saturate_cast(df.round(df.cast(y, df.float32) * scale), df.int8)

    expected = product(a, b, transpose_b=transpose_b).astype("float32") * scale
    for _ in range(2):
        np.testing.assert_array_equal(scaled(a).numpy(),
                                      np.clip(np.rint(expected), -128, 127).astype("int8"))
    expected = ["matmul_packed_cluster" if rows > 1 else "matmul_int32_cluster"]
    assert instructions(scaled, df.constant(a)) == expected
