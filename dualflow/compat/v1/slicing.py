"""`unstack` and `slice` for unknown sizes and for bounds that are tensors."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow._core import Dim, Symbol
from dualflow.compat.v1.bounds import numbers, taken
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.tensor_methods import TensorMethods


@recorded
def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Any]:
    """Return the rows of a tensor as a list.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.unstack(tf.constant([1, 2]))))
    [np.int32(1), np.int32(2)]
    """
    value = convert(value)
    if num is None and isinstance(value, Symbol):
        shape = TensorMethods.get_shape(value)
        if not shape.known_rank or (-len(shape) <= axis < len(shape) and shape[axis].value is None):
            raise ValueError(f"Cannot infer argument `num` from shape {shape}")
    elif num is not None and -value.ndim <= axis < value.ndim and isinstance(
            value.shape[axis], Dim):
        sizes = list(value.shape)
        sizes[axis] = num           # checked at run time
        value = df.reshape(value, sizes)
    return list(df.unstack(value, num, axis, name))


@recorded
def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """Return the block of a tensor that starts at `begin`, with `size` elements per dimension; -1
    for all remaining elements.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     n = tf.placeholder(tf.int32, [])
    ...     print(sess.run(tf.slice([[1, 2, 3], [4, 5, 6]], [0, n], [2, 1]), {n: 1}))
    [[2]
     [5]]
    """
    x = convert(input_)
    begins, sizes = numbers(begin, x.ndim), numbers(size, x.ndim)
    if not any([isinstance(n, Symbol) for n in begins + sizes]):
        return df.slice(x, begins, sizes, name or "Slice")
    for axis, (first, count) in enumerate(zip(begins, sizes, strict=True)):
        if isinstance(first, Symbol) and type(count) is int and count >= 0:
            rows = first + df.range(count)
        else:
            whole = df.shape(x)[axis]
            rest = isinstance(count, Symbol) and df.where(count < 0, whole, first + count)
            end = rest if isinstance(count, Symbol) else whole if count == -1 else first + count
            rows = df.range(first, end)
        x = taken(x, rows, axis)
    return df.identity(x, name or "Slice")
