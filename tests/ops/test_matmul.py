"""Errors of matmul, and the @ operator."""

import numpy as np
import pytest

import dualflow as df


@pytest.mark.parametrize("a, b", [((2, 3), (4, 5)), ((3,), (3, 2)), ((), (2, 2)),
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
