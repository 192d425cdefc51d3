"""What makes a dataset of another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from dualflow.arguments import integer, shown
from dualflow.data.ahead import AUTOTUNE, READY, Ahead, ParallelMap
from dualflow.data.batches import Batch, PaddedBatch, Padding, Unbatch
from dualflow.data.cache import Cache, FileCache
from dualflow.data.calls import UserFunction
from dualflow.data.choosing import Concatenate, Promised, Repeat, Selection, Zip
from dualflow.data.iterables import stage_of
from dualflow.data.mapping import Filter, Map
from dualflow.data.nested import Interleave
from dualflow.data.order import Shuffle
from dualflow.data.sources import Range
from dualflow.data.stage import MANY, Stage
from dualflow.data.windows import Bucketed, Window
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from dualflow.data.dataset import Dataset

CYCLE = 4               # datasets that interleave has open, on any machine


def count_of(value: Any, what: str, least: int = 1) -> int:
    """A number that is `least` at least; what is more than there can be is as good as `MANY`."""
    n = min(integer(value, what), MANY)
    if n < least:
        raise InvalidArgumentError(f"{what} is {n}, want {least} or more")
    return n


def threads_of(value: Any, what: str) -> int:
    """How many threads: 0 for None, AUTOTUNE as it is."""
    if value is None:
        return 0
    n = integer(value, what)
    if n < 1 and n != AUTOTUNE:
        raise InvalidArgumentError(f"{what} is {n}, want 1 or more, or AUTOTUNE")
    return n


class Transformations:
    """The methods of a Dataset that make other ones. Arguments `name` are for TensorFlow's sake."""

    _stage: Stage

    def _new(self, stage: Stage) -> Dataset:
        raise NotImplementedError

    # --- which elements ---

    def take(self, count: int, name: str | None = None) -> Dataset:
        """The first `count` elements; -1: all.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.range(9).take(2)]
        [0, 1]
        """
        n = count_of(count, "take: count", -1)
        return self._new(Selection(self._stage, 0, None if n < 0 else n, 1))

    def skip(self, count: int, name: str | None = None) -> Dataset:
        """The elements after the first `count`; -1: none."""
        n = count_of(count, "skip: count", -1)
        return self.take(0) if n < 0 else self._new(Selection(self._stage, n, None, 1))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Every element of which the number, modulo `num_shards`, is `index`. Shard before you
        shuffle: else each shard has an order of its own.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        n = count_of(num_shards, "shard: num_shards")
        k = count_of(index, "shard: index", 0)
        if k >= n:
            raise InvalidArgumentError(f"shard: index is {k}, want less than num_shards, {n}")
        return self._new(Selection(self._stage, k, None, n))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of which `predicate` is true. It gets the parts of a tuple as arguments.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.range(6).filter(lambda x: x % 2 == 0)]
        [0, 2, 4]
        """
        return self._new(Filter(self._stage, UserFunction(predicate, "filter"), False))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first of which `predicate` is false."""
        return self._new(Filter(self._stage, UserFunction(predicate, "take_while"), True))

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """`count` passes, one after another; without it, or -1: for ever.

        A shuffle before it has another order in each pass, that of an iteration of its own.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        n = -1 if count is None else count_of(count, "repeat: count", -1)
        return self._new(Repeat(self._stage, None if n < 0 else n))

    def concatenate(self, dataset: Any, name: str | None = None) -> Dataset:
        """The elements, then those of another dataset."""
        return self._new(Concatenate(self._stage, stage_of(dataset, "concatenate")))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Pairs of a number, int64, and an element."""
        first = integer(start, "enumerate: start")
        return self._new(Zip([Range(first, None, 1, int64), self._stage], (0, 1)))

    def shuffle(self, buffer_size: int, seed: int | None = None,
                reshuffle_each_iteration: bool | None = None, name: str | None = None) -> Dataset:
        """Elements in random order.

        Parameters
        ----------
        buffer_size : int
            If it is as many elements as there are, or more, any order is as likely as another;
            else elements are shuffled within windows of so many, one window after another.
        seed : int, optional
            The order is a function of it and of the number of the iteration. By default one is
            drawn from the global generator, so `df.random.set_seed` decides.
        reshuffle_each_iteration : bool, default True
            Whether each iteration has another order.

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

    def assert_cardinality(self, expected_cardinality: int) -> Dataset:
        """The same elements; more or fewer than promised raise where it shows."""
        return self._new(Promised(self._stage, count_of(
            expected_cardinality, "assert_cardinality: expected_cardinality", -2)))

    # --- functions ---

    def map(self, map_func: Callable[..., Any], num_parallel_calls: int | None = None,
            deterministic: bool | None = None, name: str | None = None) -> Dataset:
        """What a function makes of each element.

        Parameters
        ----------
        map_func : callable
            Gets the parts of a tuple as arguments; anything else is one. It is Python's, and may be
            a `df.function`, which runs as a program. What it gives becomes tensors.
        num_parallel_calls : int, optional
            How many threads call it at a time, ahead of who wants the elements; `AUTOTUNE`: one for
            each core. Python's own code takes turns in them.
        deterministic : bool, optional
            False lets elements come as they are ready, out of order.

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

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the datasets that a function makes of each element, one after another.

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
                   deterministic: bool | None = None, name: str | None = None) -> Dataset:
        """The same, of several datasets in turns.

        Parameters
        ----------
        map_func : callable
            Makes a dataset, or an iterable, of an element.
        cycle_length : int, default 4
            How many datasets are open: the first, when it ends, makes place for the next one.
        block_length : int, default 1
            How many elements each gives in its turn.
        num_parallel_calls : int, optional
            If given, a thread for each open dataset prepares its elements.
        deterministic : bool, optional
            Taken for TensorFlow's sake: the order is always the same.

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

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Dataset:
        """What a function of datasets makes of this one."""
        made = transformation_func(cast("Dataset", self))
        if not isinstance(made, Transformations):
            raise DTypeError(f"apply: transformation_func gave {shown(made)}, want a Dataset")
        return cast("Dataset", made)

    # --- how they are grouped ---

    def batch(self, batch_size: int, drop_remainder: bool = False,
              num_parallel_calls: int | None = None, deterministic: bool | None = None,
              name: str | None = None) -> Dataset:
        """Elements stacked, `batch_size` at a time.

        Parameters
        ----------
        batch_size : int
        drop_remainder : bool, default False
            Whether a last batch that is smaller is left out.
        num_parallel_calls, deterministic
            Taken for TensorFlow's sake: rows are copied by the threads of dualflow.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.tolist() for x in df.data.Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        n = count_of(batch_size, "batch: batch_size")
        return self._new(Batch(self._stage, n, bool(drop_remainder)))

    def padded_batch(self, batch_size: int, padded_shapes: Any = None, padding_values: Any = None,
                     drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """The same for elements whose sizes differ, padded to one shape.

        Parameters
        ----------
        batch_size : int
        padded_shapes : shape, or structure of them, optional
            None in it, as by default everywhere, is the largest size of the batch.
        padding_values : number, or structure of them, default 0
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

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of each element."""
        return self._new(Unbatch(self._stage))

    def window(self, size: int, shift: int | None = None, stride: int = 1,
               drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Elements that follow each other, as datasets.

        Parameters
        ----------
        size : int
            How many elements a window has.
        shift : int, default size
            How far it moves on.
        stride : int, default 1
            How far its elements are apart.
        drop_remainder : bool, default False
            Whether windows that are smaller, at the end, are left out.

        Returns
        -------
        Dataset
            For each leaf of an element, each of its elements has a dataset.

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
                                  drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Batches of elements of similar length, padded.

        Parameters
        ----------
        element_length_func : callable
            Gives the length of an element.
        bucket_boundaries : sequence of int
            Lengths, ascending, at which the next bucket begins.
        bucket_batch_sizes : sequence of int
            For each bucket; one more than boundaries.
        padded_shapes, padding_values
            As for `padded_batch`.
        pad_to_bucket_boundary : bool, default False
            Whether unknown sizes are padded to the boundary of the bucket less 1, not to the
            largest of the batch.
        no_padding : bool, default False
        drop_remainder : bool, default False
        """
        who = "bucket_by_sequence_length"
        bounds = [integer(x, f"{who}: bucket_boundaries") for x in bucket_boundaries]
        sizes = [count_of(x, f"{who}: bucket_batch_sizes") for x in bucket_batch_sizes]
        if len(sizes) != len(bounds) + 1 or bounds != sorted(set(bounds)):
            raise InvalidArgumentError(
                f"{who}: got {len(sizes)} bucket_batch_sizes and bucket_boundaries {bounds}, want "
                "ascending boundaries and one size more than them")
        padding = None if no_padding else Padding(padded_shapes, padding_values)
        return self._new(Bucketed(self._stage, UserFunction(element_length_func, who), bounds,
                                  sizes, padding, bool(pad_to_bucket_boundary),
                                  bool(drop_remainder)))

    # --- when they are computed ---

    def prefetch(self, buffer_size: int, name: str | None = None) -> Dataset:
        """The same elements, of which a thread prepares `buffer_size` ahead; `AUTOTUNE`: 4.

        Where all that is to be done is picking rows of tensors, none is started: handing elements
        over would take longer.
        """
        n = count_of(buffer_size, "prefetch: buffer_size", -1)
        return self._new(Ahead(self._stage, n))

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """The elements of the first pass, kept in memory, or in a file.

        Parameters
        ----------
        filename : str, optional
            The file appears when all elements have been given; if it exists, it is read instead of
            the dataset, which must be the same pipeline. Without it, rows of tensors, which are in
            memory, are left as they are.
        """
        path = str(filename)
        if path:
            return self._new(FileCache(self._stage, path))
        return self._new(self._stage if self._stage.addressable else Cache(self._stage))


