"""Constants and placeholders."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

from dualflow._core import (
    SIZE_HINT,
    Symbol,
    TensorBase,
    constant as own_constant,
    get_op,
    symbol,
    unwrapped,
)
from dualflow.compat.v1.default_graph import default_graph, recorded
from dualflow.compat.v1.defaults import Mode
from dualflow.compat.v1.dtypes import as_dtype, string
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.shapes import TensorShape
from dualflow.graph.trace.trace import suspended
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import broadcast_to, reshape
from dualflow.ops.string_tensor import as_bytes, is_text

__all__ = ["constant", "convert_to_tensor", "placeholder", "placeholder_with_default"]

IDENTITY = get_op("identity")


@recorded
def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const",
             verify_shape: bool = False) -> Any:
    """Return a constant tensor.

    Parameters
    ----------
    value : number, nested lists, array, or text
    dtype : dtype, optional
        By default int32 for ints, float32 for floats, the dtype of an array, `tf.string` for text.
    shape : sequence of int, optional
        A single value is repeated, a list or array is reshaped.
    name : str, default "Const"
    verify_shape : bool
        Whether to raise if the value has another shape.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.constant("Hello, TensorFlow!")))
    b'Hello, TensorFlow!'
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is string or (wanted is None and is_text(value)):
        return text_constant(value, shape, name)
    x = value if isinstance(unwrapped(value), TensorBase) else own_constant(value, wanted)
    if verify_shape and shape is not None and tuple(x.shape) != tuple(shape):
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {tuple(x.shape)}.")
    if shape is not None:
        with nullcontext() if type(x) is Symbol else suspended():
            x = filled_up(x, tuple(map(int, shape)))
    return x if Mode.eager else default_graph().constant_of(x, name)


def filled_up(x: Any, shape: tuple[int, ...]) -> Any:
    """Return values reshaped to `shape`; the last value is repeated if there are too few."""
    n = math.prod(shape)
    if x.size > n:
        raise ValueError(f"Too many elements provided. Needed at most {n}, but received {x.size}")
    if x.size == 1:
        return broadcast_to(reshape(x, []), shape)
    flat = reshape(x, [-1])
    if x.size < n:
        flat = concat([flat, broadcast_to(flat[-1:], [n - x.size])], 0)
    return reshape(flat, shape)


def text_constant(value: Any, shape: Any, name: str) -> HostTensor:
    """Return a constant of text: bytes, or an array of bytes."""
    found = as_bytes(value)
    if shape is not None:
        import numpy as np

        found = (np.full(tuple(shape), found, object) if isinstance(found, bytes)
                 else found.reshape(tuple(shape)))
    sizes = () if isinstance(found, bytes) else found.shape
    return HostTensor(default_graph(), "Const", name, string, (), lambda session: found, sizes)


@recorded
def convert_to_tensor(value: Any, dtype: Any = None, name: str | None = None,
                      preferred_dtype: Any = None, dtype_hint: Any = None) -> Any:
    """Return a value as a tensor; tensors are returned unchanged.

    Parameters
    ----------
    value : Tensor, number or array
    dtype : dtype
    preferred_dtype : dtype, optional
        Older name of `dtype_hint`.
    dtype_hint : dtype, optional
        Dtype of values that do not carry a dtype.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.convert_to_tensor([1., 2.])))
    [1. 2.]
    """
    if isinstance(value, HostTensor):
        return value
    found = unwrapped(value)
    if not isinstance(found, TensorBase):
        return constant(value, dtype or preferred_dtype or dtype_hint, name=name or "Const")
    if dtype is not None and as_dtype(dtype) is not found.dtype:
        raise ValueError(f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor "
                         f"with dtype {found.dtype.name}: {found!r}")
    return found


@recorded
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """Return a tensor whose value comes from the `feed_dict` of each run.

    Parameters
    ----------
    dtype : dtype
    shape : sequence of int or None, optional
        None for a size that may differ between runs. Without a shape the number of dimensions may
        differ as well.
    name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [None, 2])
    ...     print(sess.run(x * 2, feed_dict={x: [[1, 2]]}))
    [[2. 4.]]
    """
    if Mode.eager:
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    wanted, name, graph = as_dtype(dtype), name or "Placeholder", default_graph()
    sizes = TensorShape(shape)
    if wanted is string:
        return HostTensor(graph, "Placeholder", name, string, shape=shape)
    if sizes.known_rank:
        return graph.placeholder(sizes.as_list(), wanted, name)
    return graph.unranked_placeholder(wanted, name)


@recorded
def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Any:
    """Return a tensor that has the value of `input` unless it is fed.

    Parameters
    ----------
    input : Tensor
    shape : sequence of int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder_with_default([1., 2.], [None])
    ...     print(sess.run(x * 2), sess.run(x * 2, {x: [3.]}))
    [2. 4.] [6.]
    """
    default = convert_to_tensor(input)
    if isinstance(default, HostTensor):
        return HostTensor(default.graph, "PlaceholderWithDefault",
                          name or "PlaceholderWithDefault", default.dtype, [default],
                          lambda session, x: x, shape)
    sizes, graph = TensorShape(shape), default_graph()
    if not sizes.known_rank:
        sizes = TensorShape([None] * default.ndim)
    if not TensorShape(default.shape).is_compatible_with(sizes):
        raise ValueError(f"Shapes {TensorShape(default.shape)} and {sizes} are incompatible")
    x: Symbol = graph.to_symbols(None, [default])[0]
    hints = [SIZE_HINT if n is None else n for n in sizes.as_list()]
    made = symbol(graph, None, 0, x.dtype, sizes.as_list(), hints)
    graph.record(IDENTITY, [x], None, [made], name or "PlaceholderWithDefault")
    graph.may_be_fed(made)
    made.node.label = "PlaceholderWithDefault"
    return made
