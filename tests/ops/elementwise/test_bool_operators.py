"""Arithmetic operators of bools: the results of NumPy, with JAX's int32 where NumPy has int8."""

import operator

import numpy as np
import pytest

import dualflow as df

A = np.array([[True, False], [True, True]])
B = np.array([[True, True], [False, True]])
ONES = np.ones((2, 2), bool)
OPERATORS = {
    "add": (operator.add, A, B), "mul": (operator.mul, A, B),
    "floordiv": (operator.floordiv, A, ONES), "mod": (operator.mod, A, ONES),
    "pow": (operator.pow, A, B), "matmul": (operator.matmul, A, B),
    "matmul batched": (operator.matmul, np.stack([A, B]), B),
    "matmul vectors": (operator.matmul, A[0], B[1]), "broadcast": (operator.mul, A, B[0, :1]),
    "scalars": (operator.add, A[0, 1], B[1, 0]), "empty": (operator.mul, A[:0], B[:0]),
    "no terms": (operator.matmul, A[:, :0], B[:0]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_bools_combine_as_in_numpy(name):
    function, a, b = OPERATORS[name]
    expected = function(a, b)
    x, y = df.constant(a), df.constant(b)
    eager = function(x, y)
    dtype = "bool" if expected.dtype == bool else "int32"
    assert eager.dtype.name == dtype and eager.shape == expected.shape
    assert eager.numpy().tolist() == expected.tolist()
    unknown = df.function(function, input_signature=[df.TensorSpec([None] * a.ndim, df.bool_),
                                                     df.TensorSpec([None] * b.ndim, df.bool_)])
    v = df.Variable(a)
    for got in (df.function(function)(x, y), unknown(x, y), function(v, y), function(x, b),
                function(a, y), df.function(lambda: function(v, y))()):
        assert got.dtype.name == dtype
        assert got.numpy().tobytes() == eager.numpy().tobytes()


@pytest.mark.parametrize("function", [lambda x: x * True, lambda x: True * x, lambda x: x + False])
def test_a_python_bool_is_an_operand(function):
    x = df.constant(A)
    for got in (function(x), df.function(function)(x)):
        assert got.dtype is df.bool_ and got.numpy().tolist() == A.tolist()


def test_numbers_and_tensors_of_other_dtypes_promote_bools():
    x = df.constant([True, False])
    assert (x * 2).dtype is df.int32 and (2.5 * x).dtype is df.float32
    assert (x * df.constant([1.5, 2.5])).numpy().tolist() == [1.5, 0.0]
    assert (df.constant([1.5, 2.5], df.float64) * x).numpy().tolist() == [1.5, 0.0]


@pytest.mark.parametrize("function", [
    operator.sub, df.add, df.subtract, df.multiply, df.matmul, df.pow, df.math.floordiv,
    df.math.floormod])
def test_differences_and_functions_raise(function):
    x = df.constant(A)
    for f in (function, df.function(function)):
        with pytest.raises(df.errors.DTypeError, match="bool"):
            f(x, x)
