"""Further methods of Dataset: transformations with a state, saving, and options."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._core import Tensor
from dualflow._util.arguments import integer, shown
from dualflow.data import saved
from dualflow.data.batches import Batch, RaggedBatch, Unbatch
from dualflow.data.cache import FileCache
from dualflow.data.calls import UserFunction
from dualflow.data.choices import Resampled
from dualflow.data.iterables import stage_of
from dualflow.data.iterator import Iterator
from dualflow.data.options import Configured, Options, options_of
from dualflow.data.stateful import GroupByWindow, IgnoreErrors, Rebatch, Scan, Unique
from dualflow.data.structure import as_element
from dualflow.data.transformations import T, Transformations, count_of
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, InvalidArgumentError, UnimplementedError

if TYPE_CHECKING:
    from dualflow.data.dataset import Dataset

UNCOMPRESSED = None, "", "NONE", "AUTO"


def word_of(seed: Any, what: str) -> int | None:
    """Return a seed as a 64-bit number; None for None."""
    return None if seed is None else integer(seed, what) % (1 << 64)


def distribution_of(value: Any, what: str) -> list[float]:
    """Return probabilities as Python floats; raise an error if they are not a distribution."""
    found = as_element(value, "rejection_resample").tolist()
    if (not isinstance(found, list) or not all([isinstance(p, float | int) for p in found])
            or not all([0 <= p <= 1 for p in found]) or abs(sum(found) - 1) > 1e-3):
        raise InvalidArgumentError(f"rejection_resample: {what} is {found}, expected "
                                   "probabilities with the sum 1")
    return list(map(float, found))


def refuse_compression(compression: Any, caller: str) -> None:
    if compression not in UNCOMPRESSED:
        raise UnimplementedError(f"{caller}: compression is {shown(compression)}, but saved "
                                 "datasets are not compressed; expected None")


class MoreTransformations(Transformations[T]):
    """The methods that derive datasets with a state, save them, and attach options."""

    # --- functions and errors ---

    def scan(self, initial_state: Any, scan_func: Callable[[Any, Any], Any],
             name: str | None = None) -> Dataset[Any]:
        """Apply a function of a state and an element to each element.

        Parameters
        ----------
        initial_state : structure of Tensor
            The state that is passed with the first element.
        scan_func : callable
            Called with a state and an element, which is not unpacked. Returns a pair of the next
            state, with the structure and dtypes of `initial_state`, and an element of the result.

        Raises
        ------
        DTypeError
            During iteration: if a new state has another structure or other dtypes.

        Examples
        --------
        >>> import dualflow as df
        >>> total = df.constant(0, df.int64)
        >>> dataset = df.data.Dataset.range(4).scan(total, lambda s, x: (s + x, s + x))
        >>> [x.item() for x in dataset]
        [0, 1, 3, 6]
        """
        return self._new(Scan(self._stage, as_element(initial_state, "scan"),
                              UserFunction(scan_func, "scan")))

    def unique(self, name: str | None = None) -> Dataset[T]:
        """Drop elements that equal an earlier element. All elements that were returned are kept in
        memory and are part of an iterator's state.

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.from_tensor_slices([2, 1, 2, 3, 1]).unique()]
        [2, 1, 3]
        """
        return self._new(Unique(self._stage))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset[T]:
        """Drop elements whose computation raises an exception.

        An exception that a source repeats, without moving on to another element, is raised.

        Parameters
        ----------
        log_warning : bool, default False
            Whether to issue a warning for each exception.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.range(3).map(lambda x: 6 // (x.item() - 1))
        >>> [x.item() for x in dataset.ignore_errors()]
        [-6, 6]
        """
        return self._new(IgnoreErrors(self._stage, bool(log_warning)))

    # --- groups ---

    def group_by_window(self, key_func: Callable[..., Any],
                        reduce_func: Callable[[Any, Any], Any], window_size: int | None = None,
                        window_size_func: Callable[[Any], Any] | None = None,
                        name: str | None = None) -> Dataset[Any]:
        """Collect elements with the same key, and return the elements of a dataset for each group.

        Parameters
        ----------
        key_func : callable
            Returns the key of an element, an integer.
        reduce_func : callable
            Called with a key, an int64 tensor, and a dataset of consecutive elements with the key;
            returns a dataset.
        window_size : int, optional
            Number of elements of a group; remaining elements form smaller groups at the end.
        window_size_func : callable, optional
            Returns the number of elements for a key. Exactly one of both is required.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.range(7).group_by_window(
        ...     lambda x: x % 2, lambda key, group: group.batch(3), window_size=3)
        >>> [x.tolist() for x in dataset]
        [[0, 2, 4], [1, 3, 5], [6]]
        """
        caller = "group_by_window"
        if (window_size is None) == (window_size_func is None):
            raise InvalidArgumentError(f"{caller}: got {'no' if window_size is None else 'a'} "
                                       "window_size and window_size_func, expected one of them")
        n = 0 if window_size is None else count_of(window_size, f"{caller}: window_size")
        return self._new(GroupByWindow(
            self._stage, UserFunction(key_func, caller), UserFunction(reduce_func, caller),
            UserFunction(window_size_func or (lambda key: n), caller), self._new, stage_of))

    def rebatch(self, batch_size: Any, drop_remainder: bool = False,
                name: str | None = None) -> Dataset[T]:
        """Change the size of batches: like `unbatch` followed by `batch`.

        Parameters
        ----------
        batch_size : int or sequence of int
            Several sizes are used in turn.
        drop_remainder : bool, default False
            Whether to drop an incomplete last batch.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.range(6).batch(4)
        >>> [x.tolist() for x in dataset.rebatch([1, 2])]
        [[0], [1, 2], [3], [4, 5]]
        """
        given = batch_size.tolist() if isinstance(batch_size, Tensor) else batch_size
        listed = list(given) if isinstance(given, Sequence) or hasattr(given, "tolist") else [given]
        sizes = [count_of(n, "rebatch: batch_size") for n in listed]
        rows, drop = Unbatch(self._stage), bool(drop_remainder)
        if not sizes:
            raise InvalidArgumentError("rebatch: batch_size is empty, expected at least one size")
        return self._new(Batch(rows, sizes[0], drop) if len(sizes) == 1
                         else Rebatch(rows, sizes, drop))

    def ragged_batch(self, batch_size: int, drop_remainder: bool = False,
                     row_splits_dtype: Any = int64, name: str | None = None) -> Dataset[Any]:
        """Stack consecutive elements, whose sizes may differ, as ragged tensors.

        Parameters
        ----------
        batch_size : int
        drop_remainder : bool, default False
            Whether to drop an incomplete last batch.
        row_splits_dtype
            Accepted for compatibility with TensorFlow: splits are int64.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.range(1, 4).map(lambda n: df.range(n))
        >>> [x.to_list() for x in dataset.ragged_batch(2)]
        [[[0], [0, 1]], [[0, 1, 2]]]
        """
        n = count_of(batch_size, "ragged_batch: batch_size")
        return self._new(RaggedBatch(self._stage, n, bool(drop_remainder)))

    def rejection_resample(self, class_func: Callable[..., Any], target_dist: Any,
                           initial_dist: Any = None, seed: int | None = None,
                           name: str | None = None) -> Dataset[Any]:
        """Drop elements at random, so that their classes have a given distribution.

        Parameters
        ----------
        class_func : callable
            Returns the class of an element, an integer from 0.
        target_dist : sequence of float, shape (classes,)
            The probability of each class.
        initial_dist : sequence of float, shape (classes,), optional
            The probability of each class in this dataset; estimated from the elements by default.
        seed : int, optional
            By default it is drawn from the global generator.

        Returns
        -------
        Dataset
            Its elements are pairs of a class and an element.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.range(1000).rejection_resample(
        ...     lambda x: x % 2, [0.25, 0.75], [0.5, 0.5], seed=1)
        >>> classes = [label.item() for label, x in dataset]
        >>> sum(classes) == 500 and 100 < classes.count(0) < 230
        True
        """
        target = distribution_of(target_dist, "target_dist")
        initial = None if initial_dist is None else distribution_of(initial_dist, "initial_dist")
        if initial is not None and len(initial) != len(target):
            raise InvalidArgumentError(f"rejection_resample: target_dist has {len(target)} classes "
                                       f"and initial_dist {len(initial)}")
        return self._new(Resampled(self._stage, UserFunction(class_func, "rejection_resample"),
                                   target, initial, word_of(seed, "rejection_resample: seed")))

    # --- files ---

    def save(self, path: Any, compression: str | None = None, shard_func: Any = None,
             checkpoint_args: Any = None) -> None:
        """Save all elements to a folder, which `Dataset.load` reads.

        The folder has an index in JSON, and files with the bytes of the tensors. An existing saved
        dataset is replaced.

        Parameters
        ----------
        path : str or PathLike
        compression : None
            Saved datasets are not compressed.
        shard_func, checkpoint_args : None
            Not supported.

        Raises
        ------
        UnimplementedError
            If elements have leaves other than tensors and strings.

        Examples
        --------
        >>> import dualflow as df, tempfile
        >>> with tempfile.TemporaryDirectory() as path:
        ...     df.data.Dataset.range(3).save(path)
        ...     [x.item() for x in df.data.Dataset.load(path)]
        [0, 1, 2]
        """
        refuse_compression(compression, "save")
        for what, value in [("shard_func", shard_func), ("checkpoint_args", checkpoint_args)]:
            if value is not None:
                raise UnimplementedError(f"save: {what} is not supported, expected None")
        saved.write(self._stage, Iterator(self._stage), os.fspath(path))

    def snapshot(self, path: Any, compression: str | None = "AUTO",
                 reader_func: Callable[[Any], Any] | None = None, shard_func: Any = None,
                 name: str | None = None) -> Dataset[T]:
        """Save the elements of the first complete pass in a folder; later passes, of this process
        or another, read them from there.

        It is `cache` with a file in the folder `path`: the elements are held in memory as well.

        Parameters
        ----------
        path : str or PathLike
        compression
            Snapshots are not compressed.
        reader_func, shard_func : None
            Not supported.
        """
        refuse_compression(compression, "snapshot")
        if reader_func is not None or shard_func is not None:
            raise UnimplementedError("snapshot: reader_func and shard_func are not supported")
        return self._new(FileCache(self._stage, os.path.join(os.fspath(path), "snapshot")))

    # --- options ---

    def with_options(self, options: Options, name: str | None = None) -> Dataset[T]:
        """Attach options, which `options()` returns. They have no effect on the elements.

        Options of earlier calls are kept if `options` does not set them.
        """
        if not isinstance(options, Options):
            raise DTypeError(f"with_options: got {shown(options)}, expected df.data.Options")
        return self._new(Configured(self._stage, options))

    def options(self) -> Options:
        """Return the options of this dataset and of the datasets that it was derived from."""
        return options_of(self._stage)
