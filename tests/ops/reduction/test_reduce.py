"""Reductions beyond the rows of the table: invalid input, no elements, infinities, NaN,
accuracy."""

import numpy as np
import pytest

import dualflow as df
from tests.ops.case import INTS

REDUCTIONS = [df.reduce_sum, df.reduce_mean, df.reduce_max, df.reduce_min, df.reduce_prod,
              df.reduce_logsumexp, df.math.reduce_variance, df.math.reduce_std,
              df.math.reduce_euclidean_norm]
OF_NONE = [0, np.nan, -np.inf, np.inf, 1, -np.inf, np.nan, np.nan, 0]


@pytest.mark.parametrize("reduction, value", list(zip(REDUCTIONS, OF_NONE, strict=True)))
def test_no_elements(reduction, value):
    empty = df.zeros([0, 3])
    np.testing.assert_array_equal(reduction(empty, axis=0).numpy(), np.full(3, value, "float32"))
    assert reduction(empty, axis=1).shape == (0,)
    assert reduction(empty, axis=(0, 1)).shape == ()


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_bad_axes(reduction):
    x = df.zeros([2, 3])
    with pytest.raises(df.errors.InvalidArgumentError, match=r"reduce_\w+: axis 2 of 2 dim"):
        reduction(x, axis=2)
    with pytest.raises(df.errors.InvalidArgumentError, match=r"\(2, 3\) is given twice"):
        reduction(x, axis=(1, -1))


@pytest.mark.parametrize("dtype", INTS)
def test_extremes_of_empty_integer_tensors(dtype):
    x = df.zeros([0], dtype)
    assert df.reduce_max(x).numpy() == np.iinfo(dtype).min
    assert df.reduce_min(x).numpy() == np.iinfo(dtype).max


def test_unsupported_dtypes_raise():
    with pytest.raises(df.errors.DTypeError, match=r"reduce_logsumexp: .* int32 \(2,\)"):
        df.reduce_logsumexp([1, 2])
    with pytest.raises(df.errors.DTypeError, match=r"reduce_any: .* expected bool"):
        df.reduce_any([1, 2])
    with pytest.raises(df.errors.DTypeError, match=r"argmax: output_type is int8"):
        df.argmax([1, 2], output_type=df.int8)
    with pytest.raises(df.errors.DTypeError, match="axes"):
        df.reduce_sum([1, 2], axis=0.5)


@pytest.mark.parametrize("function", [df.argmax, df.argmin])
def test_arg_reduction_of_an_empty_axis_raises(function):
    with pytest.raises(df.errors.InvalidArgumentError, match=r"axis 0 of shape \(0, 3\) has no"):
        function(df.zeros([0, 3]))
    assert function(df.zeros([3, 0])).shape == (0,)


@pytest.mark.parametrize("shape, axis", [((50_000,), 0), ((3, 70), 1), ((70, 3), 0)])
def test_extremes_propagate_nan(shape, axis):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    x.flat[x.size // 2] = x.flat[x.size // 2 + 1] = np.nan
    for name in ("max", "min"):
        got = getattr(df, f"reduce_{name}")(x, axis).numpy()
        np.testing.assert_array_equal(got, getattr(np, name)(x, axis))
        got = getattr(df, f"arg{name}")(x, axis).numpy()
        np.testing.assert_array_equal(got, getattr(np, f"arg{name}")(x, axis))


def test_gradient_of_logsumexp_of_infinities():
    x = df.constant([[-np.inf] * 3, [1.0, -np.inf, 1.0]])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.reduce_logsumexp(x, 1)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), [[0.0] * 3, [0.5, 0.0, 0.5]], rtol=1e-6)


def test_logsumexp_of_infinities():
    inf = np.inf
    x = [[-inf, -inf], [inf, 1], [-inf, 2], [1e4, 1e4], [np.nan, 0], [inf, -inf]]
    want = [-inf, inf, 2, 1e4 + np.log(2), np.nan, inf]
    np.testing.assert_allclose(df.reduce_logsumexp(x, 1).numpy(), want, rtol=1e-7)


@pytest.mark.parametrize("shape, axis", [((10_000_000,), 0), ((2_500_000, 4), 0)])
def test_long_sums_stay_accurate(shape, axis):
    x = np.random.default_rng(0).random(shape, "float32")
    want = x.sum(axis, dtype="float64")
    np.testing.assert_allclose(df.reduce_sum(x, axis).numpy(), want, rtol=2e-7)


def grad(f, x):
    x = df.constant(x)
    with df.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x).numpy()


def test_gradient_of_a_product_with_zeros():
    np.testing.assert_array_equal(grad(df.reduce_prod, [2., 0., 3.]), [0, 6, 0])
    np.testing.assert_array_equal(grad(df.reduce_prod, [[2., 0.], [0., 3.]]), np.zeros((2, 2)))
    np.testing.assert_array_equal(grad(df.math.cumprod, [2., 0., 3.]), [1, 8, 0])


def test_second_derivatives_of_a_product_with_zeros():
    x = df.constant([2., 0., 3.])
    with df.GradientTape() as outer:
        outer.watch(x)
        with df.GradientTape() as inner:
            inner.watch(x)
            y = df.reduce_prod(x)
        first = inner.gradient(y, x)
    np.testing.assert_array_equal(outer.gradient(first, x).numpy(), [3, 5, 2])


def test_gradient_of_tied_extremes_is_split():
    np.testing.assert_array_equal(grad(df.reduce_max, [1., 3., 3.]), [0, 0.5, 0.5])
    np.testing.assert_array_equal(grad(df.reduce_min, [1., 1., 3.]), [0.5, 0.5, 0])


def test_gradients_of_roots_are_0_at_0():
    np.testing.assert_array_equal(grad(df.norm, [0., 0.]), [0, 0])
    np.testing.assert_array_equal(grad(df.math.reduce_std, [1., 1.]), [0, 0])


def test_unsupported_norm_orders_raise():
    with pytest.raises(df.errors.InvalidArgumentError, match="ord of a vector is -1"):
        df.norm([1., 2.], -1)
    with pytest.raises(df.errors.UnimplementedError, match="singular"):
        df.norm(df.ones([2, 2]), 2, axis=(0, 1))
    with pytest.raises(df.errors.InvalidArgumentError, match="one axis, two axes"):
        df.norm(df.ones([2, 2, 2]), axis=(0, 1, 2))


def test_gradient_of_logsumexp_of_all_minus_infinity():
    x = df.constant([[-np.inf, -np.inf], [0., -np.inf]])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.reduce_logsumexp(x, 1)
    assert tape.gradient(y, x).numpy().tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "bfloat16"])
@pytest.mark.parametrize("n", [0, 5, 1 << 15, (1 << 15) + 2])
def test_count_nonzero_of_few_and_many(n, dtype):
    """Eager counts of many elements are sums of int32."""
    values = np.random.default_rng(n).integers(0, 3, (2, n))
    x = df.cast(values, dtype)
    for axis in (None, 0, 1):
        want = np.count_nonzero(values, axis=axis)
        for kind in ("int64", "int32", "float64"):
            got = df.math.count_nonzero(x, axis, dtype=kind)
            assert got.dtype.name == kind
            np.testing.assert_array_equal(got.numpy(), want)
    assert df.math.count_nonzero([-0.0, np.nan, np.inf, 1e-45]).item() == 3
