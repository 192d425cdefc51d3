"""df.sets against Python's sets."""

import numpy as np
import pytest

import dualflow as df

OPERATORS = {"union": set.__or__, "intersection": set.__and__, "difference": set.__sub__}


def rows_of(found):
    """Return the rows of a sparse result as lists, and check the order of its indices."""
    indices, shape = found.indices.numpy(), tuple(found.dense_shape.numpy())
    rows = {}
    for index, value in zip(indices.tolist(), found.values.tolist(), strict=True):
        row = rows.setdefault(tuple(index[:-1]), [])
        assert index[-1] == len(row)
        row.append(value)
    assert shape[-1] == max(map(len, rows.values()), default=0)
    assert indices.tolist() == sorted(indices.tolist())
    return rows, shape[:-1]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 3, 4), (2, 0), (0, 3), (3, 1)])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_dense(name, shape, dtype):
    rng = np.random.default_rng(sum(shape))
    a, b = rng.integers(-3, 4, shape).astype(dtype), rng.integers(-3, 4, shape).astype(dtype)
    for mode in (lambda f: f, df.function):
        found = mode(getattr(df.sets, name))(df.constant(a), df.constant(b))
        rows, leading = rows_of(found)
        assert leading == shape[:-1] and found.values.dtype.name == dtype
        for index in np.ndindex(*shape[:-1]):
            expected = OPERATORS[name](set(a[index].tolist()), set(b[index].tolist()))
            assert rows.get(index, []) == sorted(expected)


def test_sparse_operands():
    a = df.SparseTensor([[0, 0], [0, 2], [2, 1]], [4, 2, 4], [3, 3])
    b = df.SparseTensor([[0, 1], [1, 0]], [2, 9], [3, 2])
    assert rows_of(df.sets.union(a, b))[0] == {(0,): [2, 4], (1,): [9], (2,): [4]}
    assert rows_of(df.sets.intersection(a, b))[0] == {(0,): [2]}
    assert rows_of(df.sets.difference(a, b))[0] == {(0,): [4], (2,): [4]}
    assert rows_of(df.sets.difference(a, b, aminusb=False))[0] == {(1,): [9]}
    assert rows_of(df.sets.intersection(a, [[4], [1], [4]]))[0] == {(0,): [4], (2,): [4]}
    assert df.sets.size(a).tolist() == [2, 0, 1] and df.sets.size(a).dtype is df.int32


def test_errors():
    with pytest.raises(df.errors.ShapeError, match="union: a and b have the shapes"):
        df.sets.union([[1]], [[1], [2]])
    with pytest.raises(df.errors.DTypeError, match="intersection: a is int32 and b float32"):
        df.sets.intersection([[1]], [[1.]])
    with pytest.raises(df.errors.ShapeError, match="difference: got a scalar"):
        df.sets.difference(1, 2)
