"""Sparse tensors and extension types as elements of datasets."""

import numpy as np
import pytest

import dualflow as df
from dualflow import errors

D = df.data.Dataset


class Pair(df.experimental.ExtensionType):
    x: df.Tensor
    s: df.SparseTensor
    n: int = 3


def array(seed, *shape):
    rng = np.random.default_rng(seed)
    return (rng.integers(1, 9, shape) * (rng.random(shape) < 0.4)).astype("float32")


def dense(elements):
    return [x.numpy() for x in elements]


def same(got, want):
    got, want = list(got), list(want)
    assert len(got) == len(want)
    for x, y in zip(got, want, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("shape", [(7, 4), (5, 2, 3), (4,), (0, 3), (3, 0)])
@pytest.mark.parametrize("mixed", [False, True])
def test_rows_of_a_sparse_tensor(shape, mixed):
    a = array(1, *shape)
    x = df.sparse.from_dense(a)
    if mixed:
        order = np.random.default_rng(2).permutation(len(x.values))
        x = df.SparseTensor(x.indices.numpy()[order], x.values.numpy()[order], shape)
    rows = D.from_tensor_slices(x)
    assert len(rows) == len(a) and rows.element_spec == df.SparseTensorSpec(shape[1:])
    same(dense(rows), a)
    batches = rows.batch(3)
    assert batches.element_spec == df.SparseTensorSpec([None, *shape[1:]])
    same(dense(batches), [a[k:k + 3] for k in range(0, len(a), 3)])
    same(dense(batches.unbatch()), a)
    assert batches.unbatch().element_spec == rows.element_spec
    same(dense(batches.unbatch().batch(2)), [a[k:k + 2] for k in range(0, len(a), 2)])
    same(dense(rows.batch(2, drop_remainder=True)), [a[k:k + 2] for k in range(0, len(a) - 1, 2)])
    order = [int(i) for i in D.range(len(a)).shuffle(10, seed=1)]
    same(dense(rows.shuffle(10, seed=1)), a[order])
    same(dense(rows.shuffle(10, seed=1).batch(2)),
         [a[order[k:k + 2]] for k in range(0, len(a), 2)])


def test_whole_elements():
    a = array(3, 4, 5)
    x = df.sparse.from_dense(a)
    one = D.from_tensors(x)
    assert one.element_spec == df.SparseTensorSpec([4, 5])
    same(dense(one), [a])
    same(dense(one.batch(1)), [a[None]])
    same(dense(one.repeat(3).batch(2)), [np.stack([a, a]), a[None]])
    same(dense(one.unbatch()), a)
    made = D.from_generator(lambda: iter([x, x]), output_signature=df.SparseTensorSpec([None, 5]))
    assert made.element_spec == df.SparseTensorSpec([None, 5])
    same(dense(made), [a, a])
    wrong = D.from_generator(lambda: iter([x]), output_signature=df.SparseTensorSpec([None, 6]))
    with pytest.raises(errors.DTypeError, match="expected SparseTensorSpec"):
        list(wrong)


def test_map():
    a = array(4, 6, 3)
    rows = D.from_tensor_slices({"s": df.sparse.from_dense(a), "y": np.arange(6.)})
    twice = rows.map(lambda e: (e["s"] * 2., df.sparse.to_dense(e["s"]), e["y"]))
    assert twice.element_spec == (df.SparseTensorSpec([3]), df.TensorSpec([3]),
                                  df.TensorSpec([], df.float64))
    for k, (s, d, y) in enumerate(twice):
        np.testing.assert_array_equal(s.numpy(), 2. * a[k])
        np.testing.assert_array_equal(d, a[k])
        assert y.item() == k
    made = D.range(3).map(lambda n: df.sparse.eye(3) * df.cast(n, df.float32))
    assert made.element_spec == df.SparseTensorSpec([3, 3])
    same(dense(made.batch(3)), [np.stack([k * np.eye(3) for k in range(3)])])
    same(dense(rows.map(lambda e: e["s"], num_parallel_calls=2).prefetch(1).cache().take(2)), a[:2])
    same(dense(rows.filter(lambda e: e["y"] > 3.).map(lambda e: e["s"])), a[4:])
    same(dense(df.data.Dataset.zip(rows, rows).map(lambda e, f: f["s"])), a)
    same(dense(rows.concatenate(rows).map(lambda e: e["s"])), [*a, *a])


def test_batches_of_different_sizes():
    made = D.from_generator(lambda: (df.sparse.eye(k) for k in (1, 3)),
                            output_signature=df.SparseTensorSpec([None, None]))
    batch, = made.batch(2)
    assert batch.shape == (2, 3, 3)
    np.testing.assert_array_equal(batch.numpy()[1], np.eye(3))


def test_extension_types():
    a = array(5, 4, 3)
    whole = Pair(np.arange(4.), df.sparse.from_dense(a))
    rows = D.from_tensor_slices(whole)
    assert rows.element_spec == Pair.Spec(df.TensorSpec([], df.float64), df.SparseTensorSpec([3]),
                                          3)
    for k, p in enumerate(rows):
        assert type(p) is Pair and p.x.item() == k and p.n == 3
        np.testing.assert_array_equal(p.s.numpy(), a[k])
    first, second = rows.batch(3)
    assert first.x.tolist() == [0., 1., 2.] and second.s.shape == (1, 3) and first.n == 3
    assert rows.batch(3).element_spec == Pair.Spec(
        df.TensorSpec([None], df.float64), df.SparseTensorSpec([None, 3]), 3)
    assert [p.x.item() for p in rows.batch(3).unbatch()] == [0., 1., 2., 3.]
    mapped = rows.map(lambda p: Pair(p.x * 2., p.s, 5))
    assert mapped.element_spec.n == 5 and [p.x.item() for p in mapped] == [0., 2., 4., 6.]
    with pytest.raises(errors.DTypeError, match="static fields are 3 and 5"):
        list(rows.concatenate(mapped).batch(8))


def test_errors():
    with pytest.raises(errors.ShapeError, match="lengths differ"):
        D.from_tensor_slices((df.sparse.eye(3), df.ones([2])))
    with pytest.raises(errors.ShapeError):
        D.from_tensor_slices(Pair(df.ones([2]), df.sparse.eye(3)))
    with pytest.raises(errors.DualflowError, match="of a batch differ"):
        list(D.from_generator(lambda: iter([df.sparse.eye(2), df.ones([2])])).batch(2))
