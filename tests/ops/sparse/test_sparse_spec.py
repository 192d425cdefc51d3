"""Specs of sparse tensors and of other composites, in signatures of traced functions."""

import copy

import numpy as np
import pytest

import dualflow as df
from dualflow import errors

SPEC = df.SparseTensorSpec([None, 2])


class Pair(df.experimental.ExtensionType):
    n: int
    x: df.Tensor
    s: df.SparseTensor


def test_spec():
    x = df.sparse.eye(3, 2)
    spec = df.SparseTensorSpec.from_value(x)
    assert spec == df.SparseTensorSpec([3, 2], df.float32) != SPEC
    assert hash(spec) == hash(df.SparseTensorSpec((3, 2))) and spec.rank == 2
    assert spec.value_type is df.SparseTensor and spec.dtype is df.float32
    assert spec.shape == (3, 2) and SPEC.shape.as_list() == [None, 2]
    assert SPEC.is_compatible_with(x) and SPEC.is_compatible_with(spec)
    assert not SPEC.is_compatible_with(df.sparse.eye(3))
    assert not SPEC.is_compatible_with(df.sparse.eye(3, 2, df.int32))
    assert repr(SPEC) == "SparseTensorSpec((None, 2), dualflow.float32)"
    assert copy.copy(SPEC) == SPEC
    for bad, error in (([-1], errors.ShapeError), ([2.5], errors.DTypeError)):
        with pytest.raises(error):
            df.SparseTensorSpec(bad)


def test_one_trace_for_all_sizes():
    @df.function(input_signature=[SPEC, df.TensorSpec([])])
    def f(s, y):
        b = df.reshape(df.stack([1., y]), [2, 1])
        return s * 2., df.sparse.reduce_sum(s, 1) + y, df.sparse.sparse_dense_matmul(s, b)

    for n in (0, 1, 3):
        x = df.sparse.eye(n, 2) * 3.
        double, total, product = f(x, 1.)
        assert double.shape == (n, 2)
        np.testing.assert_array_equal(double.numpy(), 2. * x.numpy())
        np.testing.assert_array_equal(total, x.numpy().sum(1) + 1.)
        np.testing.assert_array_equal(product, x.numpy() @ [[1.], [1.]])
    assert len(f.concrete_functions) == 1


@pytest.mark.parametrize("value, error, why", [
    (df.sparse.eye(3), errors.ShapeError, "expected 2"),
    (df.sparse.eye(3, 2, df.float64), errors.DTypeError, "float64"),
    (df.ones([3, 2]), errors.ShapeError, "structure of the input_signature"),
])
def test_signatures_are_checked(value, error, why):
    f = df.function(df.sparse.to_dense, input_signature=[SPEC])
    with pytest.raises(error, match=why):
        f(value)


def test_concrete_functions():
    f = df.function(lambda s: s * 2.)
    concrete = f.get_concrete_function(SPEC)
    for n in (2, 5):
        np.testing.assert_array_equal(concrete(df.sparse.eye(n, 2)).numpy(), 2. * np.eye(n, 2))
    exact = f.get_concrete_function(df.SparseTensorSpec([3, 2]))
    assert exact(df.sparse.eye(3, 2)).shape == (3, 2)


def test_specs_of_other_composites():
    x = Pair(3, [1., 2.], df.sparse.eye(2))
    assert Pair.Spec.from_value(x) == Pair.Spec(3, df.TensorSpec([2]), df.SparseTensorSpec([2, 2]))
    spec = Pair.Spec(3, df.TensorSpec([None]), SPEC)
    f = df.function(lambda p: p.x * p.n + df.sparse.reduce_sum(p.s), input_signature=[spec])
    assert f(x).tolist() == [5., 8.]
    with pytest.raises(errors.ShapeError, match="n is 4, expected 3"):
        f(Pair(4, [1., 2.], df.sparse.eye(2)))
    rows = df.IndexedSlices(df.TensorSpec([None, 1]), df.TensorSpec([None], df.int64), (3, 1))
    g = df.function(df.convert_to_tensor, input_signature=[rows])
    assert g(df.IndexedSlices(df.ones([1, 1]), df.constant([2], df.int64), (3, 1))).tolist() == [
        [0.], [0.], [1.]]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_loops_and_branches(n):
    """The sizes of a sparse tensor may change in a loop; static fields of a composite may not."""
    x = df.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2])

    def grown(i, s):
        return i + 1, df.SparseTensor(s.indices, s.values * 2., [s.dense_shape[0] + 1, 4])

    def f(s, n):
        same = df.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * 2.), (0, s))[1]
        more = df.while_loop(lambda i, s: i < n, grown, (0, s))[1]
        one = df.cond(n > 1, lambda: grown(0, s)[1], lambda: -s)
        last = df.while_loop(lambda i, p: i < n, lambda i, p: (i + 1, Pair(3, p.x * 2., p.s)),
                             (0, Pair(3, [1., 2.], same)))[1]
        field = df.cond(n > 1, lambda: last, lambda: Pair(3, last.x + 1., last.s))
        block = df.sparse.slice(df.sparse.reshape(more, [-1, more.dense_shape[0]]), [0, 0], [9, 4])
        return [same, more, one, field.s, block], field.x * field.n

    for mode in (lambda f: f, df.function):
        (same, more, one, s, block), y = mode(f)(x, df.constant(n))
        assert same.shape == s.shape == (3, 2) and same.values.tolist() == [5. * 2**n, 7. * 2**n]
        assert more.shape == ((3 + n, 4) if n else (3, 2))
        assert one.shape == ((4, 4) if n > 1 else (3, 2))
        assert block.shape == ((4, 4) if n else (2, 3))
        np.testing.assert_array_equal(y, [[6., 9.], [9., 15.], [12., 24.]][n])


@pytest.mark.parametrize("f", [
    lambda p: df.while_loop(lambda i, p: i < 2, lambda i, p: (i + 1, Pair(4, p.x, p.s)), (0, p)),
    lambda p: df.cond(df.reduce_sum(p.x) > 1., lambda: p, lambda: Pair(4, p.x, p.s))])
def test_static_fields_do_not_change(f):
    with pytest.raises(errors.InvalidArgumentError, match="4"):
        df.function(f)(Pair(3, [1., 2.], df.sparse.eye(2)))


def test_computed_shape_of_an_argument():
    """The argument of an inner function has a tensor as dense_shape, its signature has sizes."""
    inner = df.function(lambda x: df.sparse.to_dense(x), input_signature=[
        df.SparseTensorSpec([None, None], df.float32)])

    def outer(x):
        n = df.cast(df.reduce_sum(x), df.int64)
        return inner(df.SparseTensor([[0, 1]], [5.], df.stack([n, n])))

    for k in (2., 3.):
        assert df.function(outer)(df.constant([k])).tolist() == outer(df.constant([k])).tolist()
