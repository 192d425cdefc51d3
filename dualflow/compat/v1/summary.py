"""Summary operations, which return serialised messages for a writer of event files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from dualflow.compat.v1 import logging
from dualflow.compat.v1.creation import constant, convert_to_tensor
from dualflow.compat.v1.default_graph import default_graph, recorded
from dualflow.compat.v1.dtypes import string
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.operation import HostTensor
from dualflow.summary import FileWriter as FileWriter, v1
from dualflow.summary.tensorboard import proto

__all__ = ["FileWriter", "histogram", "image", "merge", "merge_all", "scalar", "text"]


def messages(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module with the protocol buffer classes of the tensorboard
    package."""
    def __getattr__(name: str) -> Any:
        if name in ("Event", "SessionLog"):
            return getattr(proto("event"), name)
        if name in ("Summary", "SummaryDescription"):
            return getattr(proto("summary"), name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)

    return __getattr__


__getattr__ = messages(__name__)


def allowed(name: str) -> str:
    """Return a name with the characters that tags cannot contain replaced by underscores."""
    found = re.sub(r"[^-/.A-Za-z0-9_]", "_", name).lstrip("/")
    if found != name:
        logging.info("Summary name %s is illegal; using %s instead.", name, found)
    return found


def summary(kind: str, name: str, tensor: Any, collections: Any, family: str | None,
            message: Callable[[str, Any], bytes]) -> HostTensor:
    """Return an operation that serialises the value of a tensor; the tag is its name with
    scopes."""
    x, name, family = convert_to_tensor(tensor), allowed(name), family and allowed(family)

    def compute(session: Any, value: Any) -> bytes:
        return message(tag, plain(value))

    made = HostTensor(default_graph(), kind, f"{family}/{name}" if family else name, string, [x],
                      compute)
    tag = f"{family}/{made.op.name}" if family else made.op.name
    default_graph().add_to_collections(
        [GraphKeys.SUMMARIES] if collections is None else collections, made)
    return made


def plain(value: Any) -> Any:
    """Return the array of a Tensor; return other values unchanged."""
    return value.numpy() if hasattr(value, "numpy") else value


@recorded
def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Any:
    """Return the summary of a scalar.

    Parameters
    ----------
    name : str
    tensor : Tensor of one element
    collections : list of str, optional
        Collections to which the summary is added, by default `GraphKeys.SUMMARIES`.
    family : str, optional
        TensorBoard groups summaries of one family.

    Returns
    -------
    Tensor of a string
        A serialised Summary.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     made = sess.run(tf.summary.scalar("loss", tf.constant(0.5)))
    >>> tf.summary.Summary.FromString(made).value[0].simple_value
    0.5
    """
    return summary("ScalarSummary", name, tensor, collections, family, v1.scalar)


@recorded
def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Any:
    """Return the histogram summary of the elements of a tensor.

    Parameters
    ----------
    name : str
    values : Tensor
    collections : list of str, optional
    family : str, optional

    Returns
    -------
    Tensor of a string
        A serialised Summary.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     made = sess.run(tf.summary.histogram("w", tf.constant([1., 2.])))
    >>> tf.summary.Summary.FromString(made).value[0].histo.num
    2.0
    """
    return summary("HistogramSummary", name, values, collections, family, v1.histogram)


@recorded
def image(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None,
          family: str | None = None) -> Any:
    """Return the summary of images.

    Parameters
    ----------
    name : str
    tensor : Tensor of shape (images, height, width, channels)
        uint8, or floats, which are scaled.
    max_outputs : int, default 3
    collections : list of str, optional
    family : str, optional

    Returns
    -------
    Tensor of a string
        A serialised Summary.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     made = sess.run(tf.summary.image("x", tf.ones([1, 4, 5, 3]), max_outputs=1))
    >>> tf.summary.Summary.FromString(made).value[0].tag
    'x/image'
    """
    return summary("ImageSummary", name, tensor, collections, family,
                   lambda tag, x: v1.image(tag, x, max_outputs))


@recorded
def text(name: str, tensor: Any, collections: Any = None) -> Any:
    """Return the summary of text.

    Parameters
    ----------
    name : str
    tensor : Tensor of strings
    collections : list of str, optional

    Returns
    -------
    Tensor of a string
        A serialised Summary.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     made = sess.run(tf.summary.text("note", tf.constant("hello")))
    >>> b"hello" in made
    True
    """
    x = tensor if isinstance(tensor, HostTensor) else constant(tensor, string)
    return summary("TensorSummaryV2", name, x, collections, None, v1.text)


@recorded
def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Any:
    """Merge several summaries into one.

    Parameters
    ----------
    inputs : list of Tensor
        Summaries.
    collections : list of str, optional
        Collections to which the summary is added; by default none.
    name : str, optional

    Returns
    -------
    Tensor of a string
        A serialised Summary.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     a, b = tf.summary.scalar("a", 1.), tf.summary.scalar("b", 2.)
    ...     made = sess.run(tf.summary.merge([a, b]))
    >>> [value.tag for value in tf.summary.Summary.FromString(made).value]
    ['a', 'b']
    """
    made = HostTensor(default_graph(), "MergeSummary", name or "Merge/MergeSummary", string,
                      inputs, lambda session, *parts: v1.merge(parts))
    default_graph().add_to_collections([] if collections is None else collections, made)
    return made


@recorded
def merge_all(key: Any = GraphKeys.SUMMARIES, scope: str | None = None,
              name: str | None = None) -> Any:
    """Merge all summaries of a collection; return None if it is empty.

    Parameters
    ----------
    key : str, default GraphKeys.SUMMARIES
    scope : str, optional
        Regular expression for the start of the names.
    name : str, optional

    Returns
    -------
    Tensor of a string, or None

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.summary.merge_all() is None
    True
    """
    found = default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


def __dir__() -> list[str]:
    return __all__
