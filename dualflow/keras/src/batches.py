"""The batches of an epoch for any data that Keras accepts."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from keras.src import tree
from keras.src.trainers.data_adapters import array_slicing
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.epoch_iterator import EpochIterator

from dualflow.data import Dataset
from dualflow.keras.src.datasets import DatasetAdapter
from dualflow.ops.sparse.sparse_tensor import SparseTensor


class Batches(EpochIterator):
    """An epoch iterator that slices batches from plain arrays directly."""

    def __init__(self, x: Any, y: Any = None, sample_weight: Any = None,
                 steps_per_epoch: int | None = None, class_weight: Any = None,
                 **options: Any) -> None:
        if any([isinstance(part, SparseTensor) for part in tree.flatten(x)]):
            x, y, sample_weight = _rows(x, y, sample_weight, **options), None, None
        if isinstance(x, Dataset):
            x = DatasetAdapter(x, y, sample_weight, class_weight, steps_per_epoch)
        super().__init__(x, y, sample_weight, steps_per_epoch=steps_per_epoch,
                         class_weight=class_weight, **options)

    def __next__(self) -> Any:
        begin_step, end_step, iterator = next(self._epoch_iterator)
        batches: list[Any] = []
        try:
            for _ in range(self.steps_per_execution):
                batches.append(next(iterator))
        except StopIteration:
            with self.catch_stop_iteration():       # warns if there are too few batches
                raise
            if not batches:
                raise StopIteration from None
        return begin_step, end_step, batches

    def _get_iterator(self) -> Any:
        adapter = self.data_adapter
        if type(adapter) is ArrayDataAdapter and type(adapter._inputs) is tuple:
            parts = array_slicing.convert_to_sliceable(adapter._inputs, target_backend="numpy")
            if all([type(p) is array_slicing.NumpySliceable for p in parts if p is not None]):
                return _cut(adapter, [None if p is None else p.array for p in parts])
        return adapter.get_numpy_iterator()


def _rows(x: Any, y: Any, sample_weight: Any, batch_size: int | None = None,
          shuffle: Any = False, **_: Any) -> Dataset[Any]:
    """Return the batches of data with sparse tensors."""
    parts = [part for part in (x, y, sample_weight) if part is not None]
    made = Dataset.from_tensor_slices(tuple(parts))
    if shuffle:
        made = made.shuffle(len(made))
    return made.batch(batch_size or 32)


def _cut(adapter: Any, arrays: list[Any]) -> Iterator[Any]:
    """Yield the batches of one epoch in the order of the adapter's own iterator."""
    n, size, shuffle = adapter._num_samples, adapter.batch_size, adapter._shuffle
    order = np.random.permutation(n) if shuffle and shuffle != "batch" else None
    for start in range(0, n, size):
        stop = min(start + size, n)
        if shuffle == "batch":
            rows = np.random.permutation(stop - start) + start
        elif order is not None:
            rows = order[start:stop]
        else:
            yield tuple([None if a is None else a[start:stop] for a in arrays])
            continue
        yield tuple([None if a is None else a.take(rows, 0) for a in arrays])
