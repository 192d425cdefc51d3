"""Datasets of TensorFlow 1: pipelines of `df.data` whose arguments may be tensors of a graph.

Such a pipeline is built when a session initializes an iterator, from the values of the tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dualflow as df
from dualflow._core import Symbol
from dualflow.compat.v1.iterators import Iterator
from dualflow.data import (
    Dataset as Pipeline,
    TextLineDataset as Lines,
    TFRecordDataset as Records,
)
from dualflow.data.structure import common

__all__ = ["Dataset", "TFRecordDataset", "TextLineDataset"]

TRACED = {"map", "filter", "take_while"}  # stages whose functions may use functions of this package


class Dataset:
    """Elements for the runs of a graph, under the names of tf.data.

    Has all methods of `df.data.Dataset`, which return another dataset, and methods for iterators.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [None])
    ...     dataset = tf.data.Dataset.from_tensor_slices(x).map(lambda v: v * 2.).batch(2)
    ...     iterator = dataset.make_initializable_iterator()
    ...     row = iterator.get_next()
    ...     sess.run(iterator.initializer, {x: [1., 2., 3.]})
    ...     print(sess.run(row), sess.run(row))
    [2. 4.] [6.]
    """

    def __init__(self, make: Callable[..., Any], args: Sequence[Any] = (),
                 kwargs: Any = None) -> None:
        found = flatten_given([list(args), kwargs or {}])
        self._make, self._args, self._kwargs = make, tuple(args), kwargs or {}
        self.symbols: tuple[Symbol, ...] = tuple(dict.fromkeys(
            [s for x in found for s in (x.symbols if isinstance(x, Dataset) else (x,))]))

    # --- building ---

    def made_with(self, values: Sequence[Any]) -> Any:
        """Return the pipeline for the values of `symbols`."""
        return self._made(dict(zip(self.symbols, values, strict=True)))

    def _made(self, values: dict[Any, Any]) -> Any:
        args, kwargs = with_values((self._args, self._kwargs), values)
        return self._make(*args, **kwargs)

    @property
    def element_spec(self) -> Any:
        """The dtypes and shapes of an element."""
        found = [self.made_with([sample_array(x, size) for x in self.symbols]).element_spec
                 for size in ((2, 3) if self.symbols else (2,))]
        return found[0] if len(found) == 1 else common(found[0], found[1], "a dataset")

    @property
    def output_types(self) -> Any:
        """The dtypes of an element."""
        return Iterator(self.element_spec).output_types

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element."""
        return Iterator(self.element_spec).output_shapes

    # --- sources ---

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """Return a dataset of the rows of tensors."""
        return Dataset(Pipeline.from_tensor_slices, [tensors])

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """Return a dataset of one element."""
        return Dataset(Pipeline.from_tensors, [tensors])

    @staticmethod
    def from_generator(generator: Callable[..., Any], output_types: Any = None,
                       output_shapes: Any = None, args: Sequence[Any] | None = None) -> Dataset:
        """Return a dataset of the items of a Python generator."""
        return Dataset(Pipeline.from_generator, [generator, output_types, output_shapes, args])

    @staticmethod
    def range(*args: Any) -> Dataset:
        """Return a dataset of the integers of Python's `range`."""
        return Dataset(Pipeline.range, args)

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Return a dataset of tuples with one element of each dataset."""
        return Dataset(Pipeline.zip, [], {"datasets": datasets})

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None,
                   seed: int | None = None) -> Dataset:
        """Return a dataset of the names of the files that match patterns."""
        return Dataset(Pipeline.list_files, [file_pattern, shuffle, seed])

    # --- transformations ---

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not callable(getattr(Pipeline, name, None)):
            raise AttributeError(f"'Dataset' object has no attribute {name!r}")

        def transformed(*args: Any, **kwargs: Any) -> Dataset:
            if name in TRACED:
                args = (df.function(args[0]), *args[1:])
            return Dataset(getattr(Pipeline, name), [self, *args], kwargs)

        return transformed

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """Return `transformation_func(self)`."""
        return transformation_func(self)

    # --- iterators ---

    def make_one_shot_iterator(self) -> Iterator:
        """Return an iterator that each session initializes at its first use."""
        if self.symbols:
            raise ValueError("Cannot capture a placeholder (name:" + str(self.symbols[0].op.name) +
                             ", type:Placeholder) by value: a one-shot iterator's dataset cannot "
                             "depend on tensors; use make_initializable_iterator().")
        return Iterator(self.element_spec, lambda: self.made_with(()))

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Return an iterator that begins when its `initializer` runs."""
        return Iterator(self.element_spec).with_initializer(self)

    def __iter__(self) -> Any:
        return iter(self.made_with(()))


class TextLineDataset(Dataset):
    """The lines of text files."""

    def __init__(self, filenames: Any, compression_type: str | None = None,
                 buffer_size: int | None = None) -> None:
        super().__init__(Lines, [filenames, compression_type])


class TFRecordDataset(Dataset):
    """The records of TFRecord files."""

    def __init__(self, filenames: Any, compression_type: str | None = None,
                 buffer_size: int | None = None, num_parallel_reads: int | None = None) -> None:
        super().__init__(Records, [filenames, compression_type])


def flatten_given(structure: Any) -> list[Any]:
    """Return the tensors and datasets in arguments."""
    found: list[Any] = []
    with_values(structure, None, found.append)
    return found


def with_values(structure: Any, values: Any, seen: Callable[[Any], Any] | None = None) -> Any:
    """Replace tensors in arguments by their values and datasets by pipelines. If `seen` is given,
    call it on each tensor and dataset instead."""
    if isinstance(structure, Dataset):
        return seen(structure) if seen else structure._made(values)
    if isinstance(structure, Symbol):
        return seen(structure) if seen else values[structure]
    if isinstance(structure, dict):
        return {k: with_values(x, values, seen) for k, x in structure.items()}
    if isinstance(structure, list | tuple):
        made = [with_values(x, values, seen) for x in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*made)
        return type(structure)(made)
    return structure


def sample_array(x: Any, size: int) -> Any:
    """Return a sample array for a tensor: unknown sizes and all elements are `size`, since the
    elements may be used as sizes."""
    import numpy as np

    shape = [size if n is None else n for n in x.known_shape]
    return np.full(shape, size, x.dtype.as_numpy_dtype)
