"""Input pipelines of queues: file names, readers and batches, on top of `df.data`.

A batch is filled by the run that needs it: the run first executes the graph that makes one element
as often as elements are missing, so no threads are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dualflow._core import arrays_of
from dualflow.compat.v1 import errors
from dualflow.compat.v1.default_graph import of_the_graph, recorded
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.python_io import tf_record_iterator
from dualflow.compat.v1.shapes import TensorShape
from dualflow.compat.v1.text_ops import text_of
from dualflow.compat.v1.train.queues import FIFOQueue, RandomShuffleQueue
from dualflow.data import TextLineDataset
from dualflow.io.whole_files import read_file
from dualflow.ops.string_tensor import is_text

__all__ = ["TFRecordReader", "TextLineReader", "WholeFileReader", "batch", "input_producer",
           "range_input_producer", "shuffle_batch", "slice_input_producer",
           "string_input_producer"]


def tensor_of(x: Any) -> Any:
    """Return a value as a tensor of the graph or as a text tensor."""
    return text_of(x) if isinstance(x, HostTensor) or is_text(x) else of_the_graph(convert(x))


def repeated(run: Callable[[], Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Yield the results of a function until it raises OutOfRangeError."""
    while True:
        try:
            found = run()
        except errors.OutOfRangeError:
            return
        yield found


def source(kind: str, tensors: Sequence[Any], shapes: Sequence[Any],
           make: Callable[[Any], Iterator[Any]], shuffled: tuple[int, int | None] | None = None,
           name: str | None = None) -> FIFOQueue:
    """Return a queue whose elements Python makes; `shuffled` is the number of elements that remain
    and a seed."""
    dtypes = [x.dtype for x in tensors]
    queue = FIFOQueue(32, dtypes, name=name or kind) if shuffled is None else RandomShuffleQueue(
        32, shuffled[0], dtypes, seed=shuffled[1], name=name or kind)
    queue.shapes = [TensorShape(TensorShape(shape).as_list()) for shape in shapes]
    queue._make = make
    return queue


@recorded
def slice_input_producer(tensor_list: Sequence[Any], num_epochs: int | None = None,
                         shuffle: bool = True, seed: int | None = None, capacity: int = 32,
                         shared_name: str | None = None, name: str | None = None) -> list[Any]:
    """Return one row of each tensor per run.

    Parameters
    ----------
    tensor_list : list of Tensor
        With the same first size.
    num_epochs : int, optional
        Number of passes, after which a run raises OutOfRangeError; unlimited by default.
    shuffle : bool, default True
        Whether each pass has a new order.
    seed : int, optional
    capacity, shared_name, name
        Accepted for compatibility.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x, y = tf.train.slice_input_producer([[1, 2], [0.5, 1.5]], shuffle=False)
    ...     print(sess.run([x, y]), sess.run(y))
    [np.int32(1), np.float32(0.5)] 1.5
    """
    made = rows_of(tensor_list, num_epochs, shuffle, seed, name or "input_producer").dequeue()
    return made if isinstance(made, list) else [made]


def rows_of(tensors: Sequence[Any], num_epochs: int | None, shuffle: bool, seed: int | None,
            name: str) -> FIFOQueue:
    """Return a queue of the rows of tensors."""
    xs = [tensor_of(x) for x in tensors]

    def rows(runner: Any) -> Iterator[Any]:
        import numpy as np

        columns = runner.remembered(xs, None, arrays_of)(())
        random, passes = np.random.RandomState(seed), 0
        while num_epochs is None or passes < num_epochs:
            passes += 1
            n = len(columns[0])
            for k in random.permutation(n) if shuffle else range(n):
                yield [column[k] for column in columns]
            if not n:
                return

    return source("input_producer", xs, [x.shape[1:] for x in xs], rows, name=name)


@recorded
def input_producer(input_tensor: Any, element_shape: Any = None, num_epochs: int | None = None,
                   shuffle: bool = True, seed: int | None = None, capacity: int = 32,
                   shared_name: str | None = None, summary_name: str | None = None,
                   name: str | None = None, cancel_op: Any = None) -> FIFOQueue:
    """Return a queue of the rows of a tensor.

    Parameters
    ----------
    input_tensor : Tensor
    num_epochs, shuffle, seed
        As for `slice_input_producer`.
    element_shape, capacity, shared_name, summary_name, name, cancel_op
        Accepted for compatibility.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.train.input_producer([5, 6], shuffle=False).dequeue()))
    5
    """
    return rows_of([input_tensor], num_epochs, shuffle, seed, name or "input_producer")


@recorded
def string_input_producer(string_tensor: Any, num_epochs: int | None = None, shuffle: bool = True,
                          seed: int | None = None, capacity: int = 32,
                          shared_name: str | None = None, name: str | None = None,
                          cancel_op: Any = None) -> FIFOQueue:
    """Return a queue of texts, for example file names for a reader.

    Parameters
    ----------
    string_tensor : text tensor or list of str
    num_epochs, shuffle, seed
        As for `slice_input_producer`.
    capacity, shared_name, name, cancel_op
        Accepted for compatibility.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.train.string_input_producer(["a"]).dequeue()))
    b'a'
    """
    if isinstance(string_tensor, list | tuple) and not string_tensor:
        raise ValueError("string_input_producer requires a non-null input tensor")
    return rows_of([string_tensor], num_epochs, shuffle, seed, name or "input_producer")


@recorded
def range_input_producer(limit: int, num_epochs: int | None = None, shuffle: bool = True,
                         seed: int | None = None, capacity: int = 32,
                         shared_name: str | None = None, name: str | None = None) -> FIFOQueue:
    """Return a queue of the integers from 0 to `limit` - 1.

    Parameters
    ----------
    limit : int
    num_epochs, shuffle, seed
        As for `slice_input_producer`.
    capacity, shared_name, name
        Accepted for compatibility.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.train.range_input_producer(3, shuffle=False).dequeue()))
    0
    """
    return rows_of([list(range(limit))], num_epochs, shuffle, seed, name or "input_producer")


class Reader:
    """Base class of readers: reads the files that a queue names."""

    def read(self, queue: FIFOQueue, name: str | None = None) -> tuple[Any, Any]:
        """Return the key and the value of the next record, as text."""
        return recorded(self._read)(queue)

    def _read(self, queue: FIFOQueue) -> tuple[Any, Any]:
        def rows(runner: Any) -> Iterator[Any]:
            for (path,) in repeated(lambda: queue.items(runner).take(1, queue.least, False)[0]):
                yield from self._records(path.decode())

        key, value = source("Reader", [text_of(""), text_of("")], [(), ()], rows).dequeue()
        return key, value

    def _records(self, path: str) -> Iterator[list[bytes]]:
        raise NotImplementedError


class TextLineReader(Reader):
    """Reads the lines of text files; a key is ``file:line``.

    Parameters
    ----------
    skip_header_lines : int, default 0
        Number of lines to skip at the start of each file.
    name : str, optional

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "file.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("x,y\\n1,2\\n")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queue = tf.train.string_input_producer([path])
    ...     key, value = tf.TextLineReader(skip_header_lines=1).read(queue)
    ...     print(sess.run(value))
    b'1,2'
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        self._skip = skip_header_lines or 0

    def _records(self, path: str) -> Iterator[list[bytes]]:
        for k, line in enumerate(TextLineDataset(path)):
            if k >= self._skip:
                text = line.encode() if isinstance(line, str) else bytes(line)
                yield [f"{path}:{k + 1}".encode(), text]


class WholeFileReader(Reader):
    """Reads whole files; a key is the file name.

    Parameters
    ----------
    name : str, optional

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "file.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("text")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     _, value = tf.WholeFileReader().read(tf.train.string_input_producer([path]))
    ...     print(sess.run(value))
    b'text'
    """

    def __init__(self, name: str | None = None) -> None:
        """Create a reader."""

    def _records(self, path: str) -> Iterator[list[bytes]]:
        data: Any = read_file(path)
        yield [path.encode(), bytes(data.numpy() if hasattr(data, "numpy") else data)]


class TFRecordReader(Reader):
    """Reads the records of TFRecord files; a key is ``file:index``.

    Parameters
    ----------
    name : str, optional
    options : TFRecordOptions, optional

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "file.tfrecord")
    >>> with tf.python_io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     _, value = tf.TFRecordReader().read(tf.train.string_input_producer([path]))
    ...     print(sess.run(value))
    b'one'
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        self._options = options

    def _records(self, path: str) -> Iterator[list[bytes]]:
        for k, record in enumerate(tf_record_iterator(path, self._options)):
            yield [f"{path}:{k}".encode(), record]


def batched(tensors: Any, batch_size: int, enqueue_many: bool, shapes: Any, partial: bool,
            shuffled: tuple[int, int | None] | None, name: str) -> Any:
    """Return batches of the elements that the tensors have in successive runs."""
    keys = list(tensors) if isinstance(tensors, dict) else None
    values = [tensors[k] for k in keys] if keys is not None else (
        tensors if isinstance(tensors, list | tuple) else [tensors])
    xs = [tensor_of(x) for x in values]

    def rows(runner: Any) -> Iterator[Any]:
        run = runner.remembered(xs, None, arrays_of)
        for found in repeated(lambda: run(())):
            yield from zip(*found, strict=True) if enqueue_many else [found]

    sizes = shapes or [x.shape[1:] if enqueue_many else x.shape for x in xs]
    queue = source(name, xs, sizes, rows, shuffled)
    made = queue._taken(batch_size, partial)
    if keys is not None:
        return dict(zip(keys, made if len(keys) > 1 else [made], strict=True))
    return made


@recorded
def batch(tensors: Any, batch_size: int, num_threads: int = 1, capacity: int = 32,
          enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
          allow_smaller_final_batch: bool = False, shared_name: str | None = None,
          name: str | None = None) -> Any:
    """Return batches of successive values of tensors.

    Parameters
    ----------
    tensors : Tensor, or list or dict of Tensor
        One element, or many along the first axis if `enqueue_many`.
    batch_size : int
    enqueue_many : bool, default False
    shapes : list of shape, optional
        Shapes of the elements.
    allow_smaller_final_batch : bool, default False
        Whether the last batch may be smaller; by default its elements are dropped.
    num_threads, capacity, shared_name, name
        Accepted for compatibility.
    dynamic_pad : bool, default False
        Not supported.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x, = tf.train.slice_input_producer([[1, 2, 3]], shuffle=False)
    ...     print(sess.run(tf.train.batch([x * x], 2)))
    [1 4]
    """
    if dynamic_pad:
        raise errors.UnimplementedError("batch: dynamic_pad is not supported; use "
                                        "tf.data.Dataset.padded_batch")
    return batched(tensors, batch_size, enqueue_many, shapes, allow_smaller_final_batch, None,
                   name or "batch")


@recorded
def shuffle_batch(tensors: Any, batch_size: int, capacity: int, min_after_dequeue: int,
                  num_threads: int = 1, seed: int | None = None, enqueue_many: bool = False,
                  shapes: Any = None, allow_smaller_final_batch: bool = False,
                  shared_name: str | None = None, name: str | None = None) -> Any:
    """Return batches of values of tensors in random order.

    Parameters
    ----------
    tensors, batch_size, enqueue_many, shapes, allow_smaller_final_batch
        As for `batch`.
    min_after_dequeue : int
        Number of elements among which the next one is chosen, less one.
    seed : int, optional
    capacity, num_threads, shared_name, name
        Accepted for compatibility.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x, = tf.train.slice_input_producer([[1, 2, 3]], num_epochs=1)
    ...     print(sorted(sess.run(tf.train.shuffle_batch([x], 3, 10, 2))))
    [np.int32(1), np.int32(2), np.int32(3)]
    """
    return batched(tensors, batch_size, enqueue_many, shapes, allow_smaller_final_batch,
                   (min_after_dequeue, seed), name or "shuffle_batch")
