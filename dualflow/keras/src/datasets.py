"""Batches from a `df.data.Dataset` of inputs, or of tuples of inputs, targets and weights."""

from collections.abc import Iterator
from typing import Any

from keras.src import tree
from keras.src.trainers.data_adapters import data_adapter_utils
from keras.src.trainers.data_adapters.data_adapter import DataAdapter

from dualflow._core import TensorSpec
from dualflow.data import INFINITE_CARDINALITY, Dataset
from dualflow.data.dataset import peek
from dualflow.keras.src.ops.convert import convert_to_numpy


class DatasetAdapter(DataAdapter):
    """Keras's data adapter for a dataset: each epoch is one pass."""

    def __init__(self, dataset: Dataset, y: Any = None, sample_weight: Any = None,
                 class_weight: Any = None, steps: int | None = None) -> None:
        for name, given in (("y", y), ("sample_weight", sample_weight)):
            if given is not None:
                raise ValueError(f"x is a Dataset, so `{name}` should not be passed: its elements "
                                 "are (x, y) or (x, y, sample_weight)")
        self.dataset: Dataset = dataset
        self._class_weight = class_weight
        self._size = int(dataset.cardinality())
        if self._size == 0:
            raise ValueError("x is a Dataset with no elements")
        if self._size == INFINITE_CARDINALITY and not steps:
            raise ValueError("x is an infinite Dataset: pass the number of steps of an epoch "
                             "(steps_per_epoch, validation_steps or steps)")

    def get_numpy_iterator(self) -> Iterator[Any]:
        return iter(self.dataset) if self._class_weight is None else self._weighted()

    def _weighted(self) -> Iterator[Any]:
        for element in self.dataset:
            x, y, weight = data_adapter_utils.unpack_x_y_sample_weight(element)
            if weight is not None:
                raise ValueError("class_weight: the elements of the Dataset have weights already")
            yield x, y, data_adapter_utils.class_weight_to_sample_weights(
                convert_to_numpy(y), self._class_weight)

    def specs(self) -> Iterator[Any]:
        """Yield a placeholder batch for building variables, in the form of an epoch iterator. No
        element is consumed unless there is text or a size is unknown, so the first epoch has the
        first shuffle."""
        spec = self.dataset.element_spec
        sized = all([isinstance(leaf, TensorSpec) and leaf.shape
                     and None not in tuple(leaf.shape)[1:] for leaf in tree.flatten(spec)])
        yield 0, 0, [spec if sized else peek(self.dataset)]

    @property
    def num_batches(self) -> int | None:
        return self._size if self._size >= 0 else None

    @property
    def batch_size(self) -> int | None:
        return None

    @property
    def has_partial_batch(self) -> bool | None:
        return None

    @property
    def partial_batch_size(self) -> int | None:
        return None
