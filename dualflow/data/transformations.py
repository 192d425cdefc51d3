"""The transformations of datasets, as methods of a base class of Dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from dualflow._util.arguments import integer, shown
from dualflow.data.batches import Batch, PaddedBatch, Padding, Unbatch
from dualflow.data.cache import Cache, FileCache
from dualflow.data.calls import UserFunction
from dualflow.data.iterables import stage_of
from dualflow.data.mapping import Filter, Map
from dualflow.data.nested import Interleave
from dualflow.data.order import Shuffle
from dualflow.data.prefetch import AUTOTUNE, READY, ParallelMap, Prefetch
from dualflow.data.selection import AssertCardinality, Concatenate, Repeat, Selection, Zip
from dualflow.data.sources import Range
from dualflow.data.stage import MANY, Stage
from dualflow.data.windows import Bucketed, Window
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from dualflow._core import Tensor
    from dualflow.data.dataset import Dataset

T = TypeVar("T", covariant=True)        # the type of the elements
R = TypeVar("R")
CYCLE = 4               # default number of datasets that interleave keeps open


def count_of(value: Any, what: str, least: int = 1) -> int:
    """Return a count of at least `least`, clipped to `MANY`."""
    n = min(integer(value, what), MANY)
    if n < least:
        raise InvalidArgumentError(f"{what} is {n}, expected {least} or more")
    return n


def threads_of(value: Any, what: str) -> int:
    """Return a number of threads: 0 for None; AUTOTUNE is returned unchanged."""
    if value is None:
        return 0
    n = integer(value, what)
    if n < 1 and n != AUTOTUNE:
        raise InvalidArgumentError(f"{what} is {n}, expected 1 or more, or AUTOTUNE")
    return n


class Transformations(Generic[T]):
    """The methods that derive new datasets. TensorFlow's argument `name` is accepted and unused."""

    _stage: Stage

    def _new(self, stage: Stage) -> Dataset[Any]:
        raise NotImplementedError

    # --- selection ---

    def take(self, count: int, name: str | None = None) -> Dataset[T]:
        """Return the first `count` elements, or all if `count` is -1.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.range(9).take(2)]
        [0, 1]
        """
        n = count_of(count, "take: count", -1)
        return self._new(Selection(self._stage, 0, None if n < 0 else n, 1))

    def skip(self, count: int, name: str | None = None) -> Dataset[T]:
        """Skip the first `count` elements, or all if `count` is -1."""
        n = count_of(count, "skip: count", -1)
        return self.take(0) if n < 0 else self._new(Selection(self._stage, n, None, 1))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset[T]:
        """Return the elements whose index modulo `num_shards` equals `index`. Call `shard` before
        `shuffle`: otherwise each shard is taken from a different order.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        n = count_of(num_shards, "shard: num_shards")
        k = count_of(index, "shard: index", 0)
        if k >= n:
            raise InvalidArgumentError(f"shard: index is {k}, expected less than num_shards, {n}")
        return self._new(Selection(self._stage, k, None, n))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset[T]:
        """Return the elements for which `predicate` is true. A tuple is unpacked into arguments.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.range(6).filter(lambda x: x % 2 == 0)]
        [0, 2, 4]
        """
        return self._new(Filter(self._stage, UserFunction(predicate, "filter"), False))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset[T]:
        """Return the elements before the first one for which `predicate` is false."""
        return self._new(Filter(self._stage, UserFunction(predicate, "take_while"), True))

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset[T]:
        """Repeat the dataset `count` times, or indefinitely if `count` is None or -1.

        An earlier shuffle uses a new order in each repetition, as in each iteration.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        n = -1 if count is None else count_of(count, "repeat: count", -1)
        return self._new(Repeat(self._stage, None if n < 0 else n))

    def concatenate(self, dataset: Any, name: str | None = None) -> Dataset[T]:
        """Return the elements, followed by the elements of another dataset."""
        return self._new(Concatenate(self._stage, stage_of(dataset, "concatenate")))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset[tuple[Tensor, T]]:
        """Return pairs of an int64 index and an element."""
        first = integer(start, "enumerate: start")
        return self._new(Zip([Range(first, None, 1, int64), self._stage], (0, 1)))

    def shuffle(self, buffer_size: int, seed: int | None = None,
                reshuffle_each_iteration: bool | None = None,
                name: str | None = None) -> Dataset[T]:
        """Shuffle the elements.

        Parameters
        ----------
        buffer_size : int
            If it is at least the number of elements, all orders are equally likely; otherwise
            elements are shuffled within consecutive windows of this size.
        seed : int, optional
            Together with the number of the iteration, it determines the order. By default it is
            drawn from the global generator, and thus determined by `df.random.set_seed`.
        reshuffle_each_iteration : bool, default True
            Whether the order differs between iterations.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.range(5).shuffle(5, seed=1)
        >>> [sorted(x.item() for x in dataset) for epoch in range(2)]
        [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
        """
        n = count_of(buffer_size, "shuffle: buffer_size")
        word = None if seed is None else integer(seed, "shuffle: seed") % (1 << 64)
        return self._new(Shuffle(self._stage, n, word, reshuffle_each_iteration is not False))

    def assert_cardinality(self, expected_cardinality: int) -> Dataset[T]:
        """Declare the number of elements. An iteration with more or fewer raises an error."""
        return self._new(AssertCardinality(self._stage, count_of(
            expected_cardinality, "assert_cardinality: expected_cardinality", -2)))

    # --- functions ---

    def map(self, map_func: Callable[..., R], num_parallel_calls: int | None = None,
            deterministic: bool | None = None, name: str | None = None) -> Dataset[R]:
        """Apply a function to each element.

        Parameters
        ----------
        map_func : callable
            Called with an element; a tuple is unpacked into arguments. It runs as Python code, or
            as a program if it is a `df.function`. Its results are converted to tensors.
        num_parallel_calls : int, optional
            Number of threads that call it in advance of consumption; `AUTOTUNE` is one per core.
            Under the GIL, Python code of only one thread runs at a time.
        deterministic : bool, optional
            If False, results are returned as they complete, possibly out of order.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.range(3).map(lambda x: x * x)]
        [0, 1, 4]
        """
        function = UserFunction(map_func, "map")
        n = threads_of(num_parallel_calls, "map: num_parallel_calls")
        if not n:
            return self._new(Map(self._stage, function))
        return self._new(ParallelMap(self._stage, function, n, deterministic is not False))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset[Any]:
        """Concatenate the datasets that a function returns for each element.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.range(3).flat_map(lambda n: df.data.Dataset.range(n.item()))
        >>> [x.item() for x in dataset]
        [0, 0, 1]
        """
        function = UserFunction(map_func, "flat_map")
        return self._new(Interleave(self._stage, function, 1, 1, 0, stage_of))

    def interleave(self, map_func: Callable[..., Any], cycle_length: int | None = None,
                   block_length: int | None = None, num_parallel_calls: int | None = None,
                   deterministic: bool | None = None, name: str | None = None) -> Dataset[Any]:
        """Like `flat_map`, but alternate between several open datasets.

        Parameters
        ----------
        map_func : callable
            Returns a dataset, or an iterable, for an element.
        cycle_length : int, default 4
            Number of open datasets; an exhausted one is replaced by the next.
        block_length : int, default 1
            Number of consecutive elements from a dataset.
        num_parallel_calls : int, optional
            If given, one thread per open dataset prefetches its elements.
        deterministic : bool, optional
            Accepted for compatibility with TensorFlow: the order is always deterministic.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.range(2).interleave(
        ...     lambda x: df.data.Dataset.from_tensors(x).repeat(2))
        >>> [x.item() for x in dataset]
        [0, 1, 0, 1]
        """
        function = UserFunction(map_func, "interleave")
        cycle = CYCLE if cycle_length in (None, AUTOTUNE) else count_of(
            cycle_length, "interleave: cycle_length")
        block = 1 if block_length is None else count_of(block_length, "interleave: block_length")
        threads = threads_of(num_parallel_calls, "interleave: num_parallel_calls")
        ahead = max(READY, block) if threads else 0
        return self._new(Interleave(self._stage, function, cycle, block, ahead, stage_of))

    def apply(self, transformation_func: Callable[[Dataset[T]], Any]) -> Dataset[Any]:
        """Return the result of a function applied to this dataset."""
        made = transformation_func(cast("Dataset[T]", self))
        if not isinstance(made, Transformations):
            raise DTypeError(f"apply: transformation_func returned {shown(made)}, expected a "
                             "Dataset")
        return cast("Dataset[Any]", made)

    # --- grouping ---

    def batch(self, batch_size: int, drop_remainder: bool = False,
              num_parallel_calls: int | None = None, deterministic: bool | None = None,
              name: str | None = None) -> Dataset[T]:
        """Stack consecutive elements in batches of `batch_size`.

        Parameters
        ----------
        batch_size : int
        drop_remainder : bool, default False
            Whether to drop an incomplete last batch.
        num_parallel_calls, deterministic
            Accepted for compatibility with TensorFlow: dualflow's threads copy the rows.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.tolist() for x in df.data.Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        n = count_of(batch_size, "batch: batch_size")
        return self._new(Batch(self._stage, n, bool(drop_remainder)))

    def padded_batch(self, batch_size: int, padded_shapes: Any = None, padding_values: Any = None,
                     drop_remainder: bool = False, name: str | None = None) -> Dataset[T]:
        """Like `batch`, for elements of different sizes, which are padded to a common shape.

        Parameters
        ----------
        batch_size : int
        padded_shapes : shape, or structure of shapes, optional
            None as a size, the default for all sizes, is the largest size in the batch.
        padding_values : number, or structure of numbers, default 0
        drop_remainder : bool, default False

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.range(1, 4).map(lambda n: df.ones([n.item()], df.int32))
        >>> [x.tolist() for x in dataset.padded_batch(3)]
        [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
        """
        n = count_of(batch_size, "padded_batch: batch_size")
        return self._new(PaddedBatch(self._stage, n, padded_shapes, padding_values,
                                     bool(drop_remainder)))

    def unbatch(self, name: str | None = None) -> Dataset[T]:
        """Return the rows of each element."""
        return self._new(Unbatch(self._stage))

    def window(self, size: int, shift: int | None = None, stride: int = 1,
               drop_remainder: bool = False, name: str | None = None) -> Dataset[Any]:
        """Return windows of consecutive elements, as datasets.

        Parameters
        ----------
        size : int
            Number of elements of a window.
        shift : int, default size
            Distance between the starts of consecutive windows.
        stride : int, default 1
            Distance between the elements of a window.
        drop_remainder : bool, default False
            Whether to drop incomplete windows at the end.

        Returns
        -------
        Dataset
            Its elements have a dataset for each leaf of an input element.

        Examples
        --------
        >>> import dualflow as df
        >>> windows = df.data.Dataset.range(5).window(3, shift=1, drop_remainder=True)
        >>> [x.tolist() for x in windows.flat_map(lambda w: w.batch(3))]
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        """
        n = count_of(size, "window: size")
        by = n if shift is None else count_of(shift, "window: shift")
        return self._new(Window(self._stage, n, by, count_of(stride, "window: stride"),
                                bool(drop_remainder), self._new))

    def bucket_by_sequence_length(self, element_length_func: Callable[..., Any],
                                  bucket_boundaries: Sequence[int],
                                  bucket_batch_sizes: Sequence[int], padded_shapes: Any = None,
                                  padding_values: Any = None,
                                  pad_to_bucket_boundary: bool = False, no_padding: bool = False,
                                  drop_remainder: bool = False,
                                  name: str | None = None) -> Dataset[T]:
        """Batch elements of similar length, with padding.

        Parameters
        ----------
        element_length_func : callable
            Returns the length of an element.
        bucket_boundaries : sequence of int
            Ascending lengths; each is the lower bound of the next bucket.
        bucket_batch_sizes : sequence of int
            The batch size of each bucket, one more than there are boundaries.
        padded_shapes, padding_values
            As for `padded_batch`.
        pad_to_bucket_boundary : bool, default False
            Whether to pad unknown sizes to the bucket's boundary minus 1, instead of the largest
            size in the batch.
        no_padding : bool, default False
        drop_remainder : bool, default False
        """
        caller = "bucket_by_sequence_length"
        bounds = [integer(x, f"{caller}: bucket_boundaries") for x in bucket_boundaries]
        sizes = [count_of(x, f"{caller}: bucket_batch_sizes") for x in bucket_batch_sizes]
        if len(sizes) != len(bounds) + 1 or bounds != sorted(set(bounds)):
            raise InvalidArgumentError(
                f"{caller}: got {len(sizes)} bucket_batch_sizes and bucket_boundaries {bounds}, "
                "expected ascending boundaries and one more size than boundaries")
        padding = None if no_padding else Padding(padded_shapes, padding_values)
        return self._new(Bucketed(self._stage, UserFunction(element_length_func, caller), bounds,
                                  sizes, padding, bool(pad_to_bucket_boundary),
                                  bool(drop_remainder)))

    # --- prefetching and caching ---

    def prefetch(self, buffer_size: int, name: str | None = None) -> Dataset[T]:
        """Prefetch `buffer_size` elements in a thread; `AUTOTUNE` prefetches 4.

        No thread is started if elements are only rows of tensors: passing them between threads
        would take longer.
        """
        n = count_of(buffer_size, "prefetch: buffer_size", -1)
        return self._new(Prefetch(self._stage, n))

    def cache(self, filename: str = "", name: str | None = None) -> Dataset[T]:
        """Cache the elements of the first pass in memory or in a file.

        Parameters
        ----------
        filename : str, optional
            A file that is created when all elements have been read. An existing file is read
            instead of the dataset, which must be the same pipeline. Without a file name, rows of
            tensors, which are in memory already, are not cached.
        """
        path = str(filename)
        if path:
            return self._new(FileCache(self._stage, path))
        return self._new(self._stage if self._stage.addressable else Cache(self._stage))


