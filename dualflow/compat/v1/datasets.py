"""Datasets: pipelines of `df.data`, which may be made of tensors of a graph; then a session makes
them when an iterator is initialized."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dualflow as df
from dualflow._core import Symbol
from dualflow.compat.v1.iterators import Iterator
from dualflow.data import Dataset as Pipeline, TextLineDataset as Lines
from dualflow.data.structure import common

__all__ = ["Dataset", "TextLineDataset"]

TRACED = {"map", "filter", "take_while"}        # their functions may use functions of this package


class Dataset:
    """Elements for the runs of a graph, under the names of tf.data.

    Has the methods of `df.data.Dataset`, which make another dataset, and iterators.

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

    # --- making ---

    def made_with(self, values: Sequence[Any]) -> Any:
        """The pipeline for the values of the tensors."""
        return self._made(dict(zip(self.symbols, values, strict=True)))

    def _made(self, values: dict[Any, Any]) -> Any:
        args, kwargs = with_values((self._args, self._kwargs), values)
        return self._make(*args, **kwargs)

    @property
    def element_spec(self) -> Any:
        """Dtypes and shapes of an element."""
        found = [self.made_with([stand_in(x, size) for x in self.symbols]).element_spec
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
        """The rows of tensors."""
        return Dataset(Pipeline.from_tensor_slices, [tensors])

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """One element."""
        return Dataset(Pipeline.from_tensors, [tensors])

    @staticmethod
    def from_generator(generator: Callable[..., Any], output_types: Any = None,
                       output_shapes: Any = None, args: Sequence[Any] | None = None) -> Dataset:
        """What an iterator of Python gives."""
        return Dataset(Pipeline.from_generator, [generator, output_types, output_shapes, args])

    @staticmethod
    def range(*args: Any) -> Dataset:
        """The numbers of Python's `range`."""
        return Dataset(Pipeline.range, args)

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Elements of several datasets together."""
        return Dataset(Pipeline.zip, [], {"datasets": datasets})

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None,
                   seed: int | None = None) -> Dataset:
        """The names of the files that patterns match."""
        return Dataset(Pipeline.list_files, [file_pattern, shuffle, seed])

    # --- of others ---

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not callable(getattr(Pipeline, name, None)):
            raise AttributeError(f"'Dataset' object has no attribute {name!r}")

        def transformed(*args: Any, **kwargs: Any) -> Dataset:
            if name in TRACED:
                args = (df.function(args[0]), *args[1:])
            return Dataset(getattr(Pipeline, name), [self, *args], kwargs)

        return transformed

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """What a function makes of it."""
        return transformation_func(self)

    # --- iterators ---

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that begins by itself in each session."""
        if self.symbols:
            raise ValueError("Cannot capture a placeholder (name:" + str(self.symbols[0].op.name) +
                             ", type:Placeholder) by value: a one-shot iterator's dataset is made "
                             "of no tensors; use make_initializable_iterator().")
        return Iterator(self.element_spec, lambda: self.made_with(()))

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that begins when its `initializer` runs."""
        return Iterator(self.element_spec).with_initializer(self)

    def __iter__(self) -> Any:
        return iter(self.made_with(()))


class TextLineDataset(Dataset):
    """The lines of text files."""

    def __init__(self, filenames: Any, compression_type: str | None = None,
                 buffer_size: int | None = None) -> None:
        super().__init__(Lines, [filenames, compression_type])


def flatten_given(structure: Any) -> list[Any]:
    """The tensors and datasets among arguments."""
    found: list[Any] = []
    with_values(structure, None, found.append)
    return found


def with_values(structure: Any, values: Any, seen: Callable[[Any], Any] | None = None) -> Any:
    """Arguments with values in the place of tensors, and pipelines in that of datasets."""
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


def stand_in(x: Any, size: int) -> Any:
    """An array like a tensor, with a size in the place of those that are unknown, and as numbers,
    which may be sizes."""
    import numpy as np

    shape = [size if n is None else n for n in x.known_shape]
    return np.full(shape, size, x.dtype.as_numpy_dtype)
