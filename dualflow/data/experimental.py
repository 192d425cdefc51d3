"""The functions of tf.data.experimental. Transformations are functions that `Dataset.apply` takes;
each calls the method of Dataset with its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Tensor
from dualflow.data.csv_files import CsvDataset as CsvDataset, make_csv_dataset as make_csv_dataset
from dualflow.data.dataset import Dataset, as_dataset
from dualflow.data.options import (
    AutoShardPolicy as AutoShardPolicy,
    AutotuneAlgorithm as AutotuneAlgorithm,
    AutotuneOptions as AutotuneOptions,
    DistributeOptions as DistributeOptions,
    ExternalStatePolicy as ExternalStatePolicy,
    OptimizationOptions as OptimizationOptions,
    ThreadingOptions as ThreadingOptions,
)
from dualflow.data.prefetch import AUTOTUNE as AUTOTUNE
from dualflow.data.stage import (
    INFINITE as INFINITE_CARDINALITY,
    UNKNOWN as UNKNOWN_CARDINALITY,
)
from dualflow.dtypes import int64
from dualflow.ops.types import DTypeLike

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "AutoShardPolicy",
    "AutotuneAlgorithm", "AutotuneOptions", "Counter", "CsvDataset", "DistributeOptions",
    "ExternalStatePolicy", "OptimizationOptions", "RandomDataset", "ThreadingOptions",
    "assert_cardinality", "at", "bucket_by_sequence_length", "cardinality", "choose_from_datasets",
    "copy_to_device", "dense_to_ragged_batch", "enumerate_dataset", "from_list",
    "get_single_element", "get_structure", "group_by_window", "ignore_errors", "load",
    "make_csv_dataset", "map_and_batch", "parallel_interleave", "prefetch_to_device",
    "rejection_resample", "sample_from_datasets", "save", "scan", "shuffle_and_repeat", "snapshot",
    "take_while", "unbatch", "unique"]

Change = Callable[[Any], Dataset[Any]]

sample_from_datasets = Dataset.sample_from_datasets
choose_from_datasets = Dataset.choose_from_datasets
load = Dataset.load
RandomDataset = Dataset.random


def __dir__() -> list[str]:
    return __all__


def Counter(start: int = 0, step: int = 1, dtype: DTypeLike = int64) -> Dataset[Tensor]:
    """Create an infinite dataset of `start`, `start + step`, ... of a `dtype`: `Dataset.counter`.

    Examples
    --------
    >>> import dualflow as df
    >>> [x.item() for x in df.data.experimental.Counter(5, 2).take(3)]
    [5, 7, 9]
    """
    return Dataset.counter(start, step, dtype)


# --- queries ---

def cardinality(dataset: Any) -> Tensor:
    """Return the number of elements of `dataset`, or one of the constants for infinite and unknown.

    Examples
    --------
    >>> import dualflow as df
    >>> df.data.experimental.cardinality(df.data.Dataset.range(4)).item()
    4
    """
    return as_dataset(dataset, "cardinality").cardinality()


def get_single_element(dataset: Any) -> Any:
    """Return the only element of `dataset`. Raise InvalidArgumentError unless there is exactly
    one.

    Examples
    --------
    >>> import dualflow as df
    >>> df.data.experimental.get_single_element(df.data.Dataset.range(4, 5)).item()
    4
    """
    return as_dataset(dataset, "get_single_element").get_single_element()


def get_structure(dataset_or_iterator: Any) -> Any:
    """Return dtypes and shapes of an element of `dataset_or_iterator`: its `element_spec`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.data.experimental.get_structure(df.data.Dataset.range(4))
    TensorSpec(shape=(), dtype=int64)
    """
    return dataset_or_iterator.element_spec


def at(dataset: Any, index: int) -> Any:
    """Return the element of `dataset` with the given `index`. Raise InvalidArgumentError if
    there is none.

    Examples
    --------
    >>> import dualflow as df
    >>> df.data.experimental.at(df.data.Dataset.range(5, 9), 2).item()
    7
    """
    return as_dataset(dataset, "at").skip(index).take(1).get_single_element()


def save(dataset: Any, path: Any, compression: str | None = None, shard_func: Any = None,
         checkpoint_args: Any = None) -> None:
    """Save the elements of `dataset` to a folder: `Dataset.save` with the arguments `path`,
    `compression`, `shard_func` and `checkpoint_args`.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     df.data.experimental.save(df.data.Dataset.range(3), path)
    ...     len(df.data.experimental.load(path))
    3
    """
    as_dataset(dataset, "save").save(path, compression, shard_func, checkpoint_args)


def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset[Any]:
    """Create a dataset of the elements of a list, `elements`.

    Examples
    --------
    >>> import dualflow as df
    >>> [(x.item(), y) for x, y in df.data.experimental.from_list([(1, "a"), (2, "b")])]
    [(1, 'a'), (2, 'b')]
    """
    return Dataset.from_iterable(list(elements))


# --- transformations for Dataset.apply ---

def scan(initial_state: Any, scan_func: Callable[[Any, Any], Any]) -> Change:
    """Return the transformation `Dataset.scan` for `initial_state` and `scan_func`.

    Examples
    --------
    >>> import dualflow as df
    >>> running = df.data.experimental.scan(df.constant(0, df.int64), lambda s, x: (s + x, s))
    >>> [x.item() for x in df.data.Dataset.range(4).apply(running)]
    [0, 0, 1, 3]
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)


def unique() -> Change:
    """Return the transformation `Dataset.unique`.

    Examples
    --------
    >>> import dualflow as df
    >>> words = df.data.Dataset.from_tensor_slices(["a", "b", "a"])
    >>> list(words.apply(df.data.experimental.unique()))
    ['a', 'b']
    """
    return lambda dataset: dataset.unique()


def take_while(predicate: Callable[..., Any]) -> Change:
    """Return the transformation `Dataset.take_while` for `predicate`.

    Examples
    --------
    >>> import dualflow as df
    >>> first = df.data.experimental.take_while(lambda x: x < 2)
    >>> [x.item() for x in df.data.Dataset.range(5).apply(first)]
    [0, 1]
    """
    return lambda dataset: dataset.take_while(predicate)


def ignore_errors(log_warning: bool = False) -> Change:
    """Return the transformation `Dataset.ignore_errors` for `log_warning`.

    Examples
    --------
    >>> import dualflow as df
    >>> dataset = df.data.Dataset.range(3).map(lambda x: 6 // x.item())
    >>> [x.item() for x in dataset.apply(df.data.experimental.ignore_errors())]
    [6, 3]
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


def assert_cardinality(expected_cardinality: int) -> Change:
    """Return the transformation `Dataset.assert_cardinality` for `expected_cardinality`.

    Examples
    --------
    >>> import dualflow as df
    >>> odd = df.data.Dataset.range(5).filter(lambda x: x % 2)
    >>> len(odd.apply(df.data.experimental.assert_cardinality(2)))
    2
    """
    return lambda dataset: dataset.assert_cardinality(expected_cardinality)


def enumerate_dataset(start: int = 0) -> Change:
    """Return the transformation `Dataset.enumerate` for `start`.

    Examples
    --------
    >>> import dualflow as df
    >>> words = df.data.Dataset.from_tensor_slices(["a", "b"])
    >>> numbered = words.apply(df.data.experimental.enumerate_dataset(5))
    >>> [(k.item(), word) for k, word in numbered]
    [(5, 'a'), (6, 'b')]
    """
    return lambda dataset: dataset.enumerate(start)


def unbatch() -> Change:
    """Return the transformation `Dataset.unbatch`.

    Examples
    --------
    >>> import dualflow as df
    >>> batches = df.data.Dataset.range(4).batch(3)
    >>> len(list(batches.apply(df.data.experimental.unbatch())))
    4
    """
    return lambda dataset: dataset.unbatch()


def snapshot(path: Any, compression: str | None = "AUTO", reader_func: Any = None,
             shard_func: Any = None) -> Change:
    """Return the transformation `Dataset.snapshot` for `path`, `compression`, `reader_func`
    and `shard_func`.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     dataset = df.data.Dataset.range(3).apply(df.data.experimental.snapshot(path))
    ...     [x.item() for x in dataset]
    [0, 1, 2]
    """
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def group_by_window(key_func: Callable[..., Any], reduce_func: Callable[[Any, Any], Any],
                    window_size: int | None = None,
                    window_size_func: Callable[[Any], Any] | None = None) -> Change:
    """Return the transformation `Dataset.group_by_window` for `key_func`, `reduce_func` and
    either `window_size` or `window_size_func`.

    Examples
    --------
    >>> import dualflow as df
    >>> by_parity = df.data.experimental.group_by_window(
    ...     lambda x: x % 2, lambda key, group: group.batch(2), window_size=2)
    >>> [x.tolist() for x in df.data.Dataset.range(4).apply(by_parity)]
    [[0, 2], [1, 3]]
    """
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size,
                                                   window_size_func)


def bucket_by_sequence_length(element_length_func: Callable[..., Any],
                              bucket_boundaries: Sequence[int], bucket_batch_sizes: Sequence[int],
                              padded_shapes: Any = None, padding_values: Any = None,
                              pad_to_bucket_boundary: bool = False, no_padding: bool = False,
                              drop_remainder: bool = False) -> Change:
    """Return the transformation `Dataset.bucket_by_sequence_length` for `element_length_func`,
    `bucket_boundaries`, `bucket_batch_sizes`, `padded_shapes`, `padding_values`,
    `pad_to_bucket_boundary`, `no_padding` and `drop_remainder`.

    Examples
    --------
    >>> import dualflow as df
    >>> buckets = df.data.experimental.bucket_by_sequence_length(len, [2], [2, 2])
    >>> ones = df.data.Dataset.range(1, 5).map(lambda n: df.ones([n.item()]))
    >>> [x.shape for x in ones.apply(buckets)]
    [(2, 3), (1, 1), (1, 4)]
    """
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values,
        pad_to_bucket_boundary, no_padding, drop_remainder)


def dense_to_ragged_batch(batch_size: int, drop_remainder: bool = False,
                          row_splits_dtype: DTypeLike = int64) -> Change:
    """Return the transformation `Dataset.ragged_batch` for `batch_size`, `drop_remainder` and
    `row_splits_dtype`.

    Examples
    --------
    >>> import dualflow as df
    >>> dataset = df.data.Dataset.range(1, 3).map(df.range)
    >>> [x.to_list() for x in dataset.apply(df.data.experimental.dense_to_ragged_batch(2))]
    [[[0], [0, 1]]]
    """
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def rejection_resample(class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None,
                       seed: int | None = None) -> Change:
    """Return the transformation `Dataset.rejection_resample` for `class_func`, `target_dist`,
    `initial_dist` and `seed`.

    Examples
    --------
    >>> import dualflow as df
    >>> even = df.data.experimental.rejection_resample(lambda x: x % 2, [1., 0.], [.5, .5])
    >>> [x.item() for label, x in df.data.Dataset.range(5).apply(even)]
    [0, 2, 4]
    """
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def map_and_batch(map_func: Callable[..., Any], batch_size: int,
                  num_parallel_batches: int | None = None, drop_remainder: bool = False,
                  num_parallel_calls: int | None = None) -> Change:
    """Return a transformation that applies `Dataset.map` with `map_func` and
    `num_parallel_calls`, or `num_parallel_batches`, threads, then `Dataset.batch` with
    `batch_size` and `drop_remainder`.

    Examples
    --------
    >>> import dualflow as df
    >>> change = df.data.experimental.map_and_batch(lambda x: x * x, 2)
    >>> [x.tolist() for x in df.data.Dataset.range(3).apply(change)]
    [[0, 1], [4]]
    """
    threads = num_parallel_calls or num_parallel_batches
    return lambda dataset: dataset.map(map_func, threads).batch(batch_size, drop_remainder)


def shuffle_and_repeat(buffer_size: int, count: int | None = None,
                       seed: int | None = None) -> Change:
    """Return a transformation that applies `Dataset.shuffle` with `buffer_size` and `seed`,
    then `Dataset.repeat` with `count`.

    Examples
    --------
    >>> import dualflow as df
    >>> twice = df.data.experimental.shuffle_and_repeat(3, count=2)
    >>> sorted(x.item() for x in df.data.Dataset.range(3).apply(twice))
    [0, 0, 1, 1, 2, 2]
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(map_func: Callable[..., Any], cycle_length: int, block_length: int = 1,
                        sloppy: bool | None = False, buffer_output_elements: int | None = None,
                        prefetch_input_elements: int | None = None) -> Change:
    """Return the transformation `Dataset.interleave` for `map_func`, `cycle_length` and
    `block_length`, with a thread for each open dataset. The order is deterministic, also if
    `sloppy` is true; `buffer_output_elements` and `prefetch_input_elements` have no effect.

    Examples
    --------
    >>> import dualflow as df
    >>> pairs = df.data.experimental.parallel_interleave(
    ...     lambda x: df.data.Dataset.from_tensors(x).repeat(2), cycle_length=2)
    >>> [x.item() for x in df.data.Dataset.range(2).apply(pairs)]
    [0, 1, 0, 1]
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, AUTOTUNE)


def prefetch_to_device(device: str, buffer_size: int | None = None) -> Change:
    """Return the transformation `Dataset.prefetch` for `buffer_size`. The `device` is not
    used: ops run on the CPU.

    Examples
    --------
    >>> import dualflow as df
    >>> dataset = df.data.Dataset.range(3).apply(df.data.experimental.prefetch_to_device("/gpu:0"))
    >>> [x.item() for x in dataset]
    [0, 1, 2]
    """
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Change:
    """Return a transformation that returns the dataset unchanged. Ops run on the CPU:
    `target_device` and `source_device` are not used.

    Examples
    --------
    >>> import dualflow as df
    >>> dataset = df.data.Dataset.range(3).apply(df.data.experimental.copy_to_device("/gpu:0"))
    >>> [x.item() for x in dataset]
    [0, 1, 2]
    """
    return lambda dataset: dataset
