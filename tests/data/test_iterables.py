"""Iterables accepted in place of a dataset: like PyTorch's DataLoader and Keras's PyDataset."""

import numpy as np
import pytest

import dualflow as df
from dualflow.data.dataset import as_dataset

D = df.data.Dataset


class Foreign:
    """A tensor of another package, with only DLPack and `__array__`."""

    def __init__(self, x):
        self.x, self.shape = np.asarray(x), np.shape(x)

    def __array__(self, dtype=None, copy=None):
        return self.x

    def __dlpack__(self, **options):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


class Loader:
    """Like a DataLoader: lists of batches, another order in each pass, and a length."""

    def __init__(self, n):
        self.n, self.passes = n, 0

    def __len__(self):
        return self.n

    def __iter__(self):
        self.passes += 1
        for k in range(self.n):
            yield [Foreign(np.full((2, 3), k + self.passes, np.float32)), Foreign([k, k])]


class Sequence:
    """Like a PyDataset: batches by index, and a callback after each pass."""

    def __init__(self, n, num_batches=...):
        self.n, self.ends, self.got = n, 0, []
        if num_batches is not ...:
            self.num_batches = num_batches

    def __len__(self):
        return self.n

    def __getitem__(self, k):
        if not 0 <= k < 100:
            raise IndexError(k)
        self.got.append(k)
        return np.full((2, 3), k, np.float32), np.array([k, k])

    def on_epoch_end(self):
        self.ends += 1


def labels(dataset):
    return [y.tolist() for _, y in dataset]


def test_loader():
    loader = Loader(3)
    dataset = D.from_iterable(loader)
    assert len(dataset) == 3 and loader.passes == 0
    for k in (1, 2):
        (x, y), *_ = list(dataset)
        assert type(x) is df.Tensor and x.tolist() == [[float(k)] * 3] * 2
        assert y.tolist() == [0, 0]
    assert labels(dataset.prefetch(2).map(lambda x, y: (x, y + 1))) == [[1, 1], [2, 2], [3, 3]]


def test_loaders_without_a_length():
    class Endless(Loader):
        def __len__(self):
            raise TypeError("no length")

    assert D.from_iterable(Endless(2)).cardinality() == df.data.UNKNOWN_CARDINALITY


@pytest.mark.parametrize("value", [Sequence(3), Sequence(3, 3)])
def test_py_dataset(value):
    dataset = as_dataset(value)
    assert len(dataset) == 3
    assert labels(dataset) == [[0, 0], [1, 1], [2, 2]] and value.ends == 1
    assert labels(dataset.unbatch().batch(3)) == [[0, 0, 1], [1, 2, 2]] and value.ends == 2
    assert dataset.element_spec[0] == df.TensorSpec([None, None], df.float32)


def test_py_dataset_resumes_without_earlier_batches():
    value = Sequence(6)
    it = iter(D.from_iterable(value))
    next(it), next(it)
    other = iter(D.from_iterable(value))
    other.restore(it.state())
    del value.got[:]
    assert labels(other) == [[k, k] for k in range(2, 6)] and value.got == [2, 3, 4, 5]


def test_infinite_py_dataset():
    dataset = D.from_iterable(Sequence(0, None))
    assert dataset.cardinality() == df.data.INFINITE_CARDINALITY
    assert len(labels(dataset.take(7))) == 7


def test_plain_iterables():
    assert [x.tolist() for x in D.from_iterable([[1, 2], [3]])] == [[1, 2], [3]]
    assert [x.item() for x in D.from_iterable(range(3)).batch(3).unbatch()] == [0, 1, 2]
    assert [x["a"].item() for x in D.from_iterable({"a": k} for k in range(2))] == [0, 1]
    pairs = D.from_iterable([(1, [np.ones(2), {"b": 3}])])
    x, (ones, rest) = next(iter(pairs))
    assert x.item() == 1 and ones.shape == (2,) and rest["b"].item() == 3
    dataset = D.range(3)
    assert as_dataset(dataset) is dataset


def test_iterables_as_dataset_arguments():
    assert [x.item() for x in D.range(2).concatenate([7, 8])] == [0, 1, 7, 8]
    assert [(a.item(), b) for a, b in D.zip(D.range(2), ["a", "b"])] == [(0, "a"), (1, "b")]
    assert [x.item() for x in D.range(3).flat_map(lambda n: range(n.item()))] == [0, 0, 1]
    assert [x.item() for x in D.range(2).interleave(lambda n: (n + k for k in range(2)))] == [
        0, 1, 1, 2]
