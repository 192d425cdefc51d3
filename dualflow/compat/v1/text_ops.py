"""String operations, computed in Python when they are fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualflow.compat.v1.default_graph import default_graph, of_the_graph, recorded
from dualflow.compat.v1.dtypes import string
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.ops import convert, either
from dualflow.ops.string_tensor import as_bytes, is_text
from dualflow.ops.strings.convert import number_format

__all__ = ["as_string", "reduce_join", "string_join", "string_lower", "string_strip",
           "string_upper"]


def of(function: Callable[..., Any], inputs: Sequence[Any], kind: str, name: str | None,
       shape: Any) -> HostTensor:
    """Return a string tensor that a function computes from arrays."""
    return HostTensor(default_graph(), kind, name or kind, string, inputs,
                      lambda session, *values: as_bytes(function(*values)), shape)


def text_of(x: Any) -> HostTensor:
    """Return a value as a string tensor."""
    if isinstance(x, HostTensor):
        return x
    if not is_text(x):
        raise TypeError(f"Input is {x!r}, expected a tensor of type string")
    value = as_bytes(x)
    return of(lambda: value, [], "Const", None, getattr(value, "shape", ()))


def each(function: Callable[..., bytes], *arrays: Any) -> Any:
    """Apply a function of bytes to the elements of arrays, with broadcasting."""
    import numpy as np

    made = np.frompyfunc(function, len(arrays), 1)(*[np.asarray(x, object) for x in arrays])
    return made if isinstance(made, bytes) else np.asarray(made, object)


@recorded
def as_string(input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False,
              width: int = -1, fill: str = "", name: str | None = None) -> HostTensor:
    """Convert numbers to text.

    Parameters
    ----------
    input : Tensor
    precision : int, optional
        Number of digits after the decimal point; by default 6.
    scientific, shortest : bool, default False
        Whether to use exponent notation, or the shorter of both notations.
    width : int, optional
        Minimal length of each text.
    fill : str, default " "
        Character for padding on the left.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.as_string([3, 14])))
    [b'3' b'14']
    """
    x, text = of_the_graph(convert(input)), number_format(precision, scientific, shortest, width,
                                                          fill)
    return of(lambda values: each(text, values), [x], "AsString", name, x.shape)


@recorded
def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> HostTensor:
    """Join texts of several tensors element by element.

    Parameters
    ----------
    inputs : list of Tensor of text, or str
    separator : str, default ""

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.string_join(["a", ["b", "c"]], "-")))
    [b'a-b' b'a-c']
    """
    parts = [text_of(x) for x in inputs]
    longest = max(parts, key=lambda x: len(x.shape))
    between = separator.encode()
    return of(lambda *values: each(lambda *words: between.join(words), *values), parts,
              "StringJoin", name, longest.shape)


@recorded
def reduce_join(inputs: Any, axis: Any = None, keep_dims: bool | None = None, separator: str = "",
                name: str | None = None, reduction_indices: Any = None,
                keepdims: bool | None = None) -> HostTensor:
    """Join texts along dimensions, by default all.

    Parameters
    ----------
    inputs : Tensor of text, or lists of str
    axis : int or list of int, optional
    keep_dims : bool, default False
        Whether to keep the joined dimensions with size 1.
    separator : str, default ""
    reduction_indices, keepdims
        Aliases of `axis` and `keep_dims`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.reduce_join([["a", "b"], ["c", "d"]], 1)))
    [b'ab' b'cd']
    """
    x = text_of(inputs)
    axis = either(axis, reduction_indices, "'axis' and 'reduction_indices'")
    keep = bool(either(keepdims, keep_dims, "'keepdims' and 'keep_dims'"))
    rank = len(x.shape)
    axes = list(range(rank)) if axis is None else [
        k % rank for k in (axis if isinstance(axis, list | tuple) else [axis])]
    rest = [k for k in range(rank) if k not in axes]
    shape = [1 if k in axes else n for k, n in enumerate(x.shape) if keep or k not in axes]

    def joined(values: Any) -> Any:
        import numpy as np

        array = np.asarray(values, object)
        rows = array.transpose(rest + axes).reshape([*[array.shape[k] for k in rest], -1])
        made = np.empty(rows.shape[:-1], object)
        for place in np.ndindex(made.shape):
            made[place] = separator.encode().join(rows[place])
        sizes = [1 if k in axes else n for k, n in enumerate(array.shape) if keep or k not in axes]
        return made.reshape(sizes) if sizes else made[()]

    return of(joined, [x], "ReduceJoin", name, shape)


def changed(function: Callable[[bytes], bytes], name: str, kind: str,
            does: str) -> Callable[..., HostTensor]:
    """Return a string function that changes each element."""
    def change(input: Any, name: str | None = None) -> HostTensor:
        x = text_of(input)
        return of(lambda values: each(function, values), [x], kind, name, x.shape)

    change.__name__ = change.__qualname__ = f"string_{name}"
    change.__doc__ = f"""Return texts {does}.

    Parameters
    ----------
    input : Tensor of text
    name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.strings.{name}("a")).lower())
    b'a'
    """
    return recorded(change)


string_strip: Callable[..., Any] = changed(bytes.strip, "strip", "StringStrip",
                                           "without white space at both ends")
string_lower: Callable[..., Any] = changed(bytes.lower, "lower", "StringLower", "in lower case")
string_upper: Callable[..., Any] = changed(bytes.upper, "upper", "StringUpper", "in upper case")
