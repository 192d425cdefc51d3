"""`tf.data`: datasets and their iterators in a graph."""

from typing import Any

from dualflow.compat.v1.datasets import Dataset, TextLineDataset, TFRecordDataset
from dualflow.compat.v1.iterators import Iterator
from dualflow.data import experimental

__all__ = ["Dataset", "Iterator", "TFRecordDataset", "TextLineDataset", "experimental",
           "get_output_shapes", "get_output_types", "make_initializable_iterator",
           "make_one_shot_iterator"]


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Return an iterator that each session initializes at its first use.

    Parameters
    ----------
    dataset : Dataset

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()
    ...     print(sess.run(x))
    0
    """
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """Return an iterator that begins when its `initializer` runs.

    Parameters
    ----------
    dataset : Dataset
    shared_name : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
    ...     sess.run(iterator.initializer)
    ...     print(sess.run(iterator.get_next()))
    0
    """
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset: Any) -> Any:
    """Return the dtypes of an element of a dataset or an iterator.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.data.get_output_types(tf.data.Dataset.range(3)).name
    'int64'
    """
    return dataset.output_types


def get_output_shapes(dataset: Any) -> Any:
    """Return the shapes of an element of a dataset or an iterator.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.data.get_output_shapes(tf.data.Dataset.range(3).batch(2)).as_list()
    [None]
    """
    return dataset.output_shapes


def __dir__() -> list[str]:
    return __all__
