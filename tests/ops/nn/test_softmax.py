"""Softmax and cross entropies beyond the rows of the table: invalid input, large values."""

import numpy as np
import pytest

import dualflow as df


def test_large_logits():
    x = np.array([[1e4, 1e4], [-1e4, 1e4], [-np.inf, 0]], "float32")
    np.testing.assert_array_equal(df.nn.softmax(x).numpy(), [[.5, .5], [0, 1], [0, 1]])
    np.testing.assert_allclose(df.nn.log_softmax(x).numpy(),
                               [[-np.log(2)] * 2, [-2e4, 0], [-np.inf, 0]], rtol=1e-6)
    np.testing.assert_array_equal(df.nn.softmax(x.T, axis=0).numpy(), df.nn.softmax(x).numpy().T)


@pytest.mark.parametrize("label", [-1, 3])
def test_labels_are_checked(label):
    with pytest.raises(df.errors.OutOfRangeError,
                       match=rf"cross_entropy: label {label}, element 1 .* not in 0 to 2"):
        df.nn.sparse_softmax_cross_entropy_with_logits([0, label], df.zeros([2, 3]))


def test_shapes_and_dtypes_are_checked():
    with pytest.raises(df.errors.ShapeError, match=r"labels have shape \(3,\) and logits \(2, 3\)"):
        df.nn.sparse_softmax_cross_entropy_with_logits([0, 1, 2], df.zeros([2, 3]))
    with pytest.raises(df.errors.DTypeError, match="labels of int32 or int64"):
        df.nn.sparse_softmax_cross_entropy_with_logits([0., 1.], df.zeros([2, 3]))
    with pytest.raises(df.errors.DTypeError, match=r"softmax: .*int32"):
        df.nn.softmax([1, 2])
    with pytest.raises(df.errors.InvalidArgumentError, match="softmax: axis 1 of 1 dim"):
        df.nn.softmax([1., 2.], axis=1)


def test_no_elements():
    assert df.nn.softmax(df.zeros([0, 3])).shape == (0, 3)
    assert df.nn.softmax(df.zeros([3, 0])).shape == (3, 0)
    assert df.nn.sparse_softmax_cross_entropy_with_logits(
        df.zeros([0], "int32"), df.zeros([0, 3])).shape == (0,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 70, 600])
def test_bits_of_a_column_do_not_depend_on_other_columns(n, dtype):
    """Narrow rows are processed several at a time, rows of a wide block one by one."""
    rng = np.random.default_rng(n)
    x, labels = rng.normal(size=(n, 200)).astype(dtype), rng.random((n, 200)).astype(dtype)

    def results(cols):
        logits = df.constant(x[:, :cols])
        with df.GradientTape(persistent=True) as tape:
            tape.watch(logits)
            outputs = [df.nn.softmax(logits, 0), df.nn.log_softmax(logits, 0),
                       df.nn.softmax_cross_entropy_with_logits(labels[:, :cols], logits, 0)]
            squares = [df.square(y) for y in outputs]
        return [y.numpy() for y in outputs + [tape.gradient(y, logits) for y in squares]]

    wide = results(200)
    for cols in (2, 3, 7, 17, 64, 65, 128):     # one column is a row, with another order of sums
        for narrow, all_columns in zip(results(cols), wide, strict=True):
            np.testing.assert_array_equal(narrow, all_columns[..., :cols])


def test_infinities_in_cumulative_logsumexp():
    inf = np.inf
    x = np.array([-inf, -inf, 1.0, -inf, 700.0, 1e4, inf, 2.0, -inf, np.nan, inf], "float64")
    with np.errstate(invalid="ignore"):
        want = np.logaddexp.accumulate(x)
    np.testing.assert_allclose(df.math.cumulative_logsumexp(x).numpy(), want, rtol=1e-15)
    x = df.constant([-inf, 1.0, -inf, 2.0])
    for exclusive in (False, True):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.math.cumulative_logsumexp(x, exclusive=exclusive)
        slope = tape.gradient(y, x, output_gradients=df.constant([1.0, 1.0, -1.0, 1.0]))
        p = 1 / (1 + np.exp(1.0))
        want = [0, p, 0, 1 - p] if not exclusive else [0, 0, 0, 0]
        np.testing.assert_allclose(slope.numpy(), want, rtol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_gradient_of_exclusive_cumulative_logsumexp(reverse):
    x = np.random.default_rng(0).normal(size=6)
    w = np.random.default_rng(1).normal(size=5)

    def f(x):
        y = df.math.cumulative_logsumexp(x, exclusive=True, reverse=reverse)
        return df.reduce_sum((y[:-1] if reverse else y[1:]) * w)

    got = df.grad(f)(df.constant(x)).numpy()
    steps = 1e-6 * np.eye(6)
    want = [(f(x + h).item() - f(x - h).item()) / 2e-6 for h in steps]
    np.testing.assert_allclose(got, want, atol=1e-8)
