"""What rows cannot say of softmax and cross entropies: bad input, large numbers."""

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
