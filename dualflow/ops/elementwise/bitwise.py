"""Bitwise ops of integers, logical ops of bools, Python's operators ``& | ^ ~`` for both, and its
arithmetic operators of bools."""

from __future__ import annotations

from dualflow._core import Tensor, apply, apply_binary, apply_unary, bind
from dualflow.dtypes import int32
from dualflow.gradient_registry import no_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "right_shift",
]


def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x & y: bitwise for integers, logical for bools.

    Parameters
    ----------
    x, y : Tensor, any integer dtype or bool, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.bitwise.bitwise_and(12, [10, 3]).numpy().tolist()
    [8, 0]
    """
    return apply_binary("bitwise_and", x, y, name)


no_gradient("bitwise_and", why="its result is not floating")


def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x | y: bitwise for integers, logical for bools.

    Parameters
    ----------
    x, y : Tensor, any integer dtype or bool, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.bitwise.bitwise_or(12, [10, 3]).numpy().tolist()
    [14, 15]
    """
    return apply_binary("bitwise_or", x, y, name)


no_gradient("bitwise_or", why="its result is not floating")


def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x ^ y: bitwise for integers, logical for bools.

    Parameters
    ----------
    x, y : Tensor, any integer dtype or bool, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.bitwise.bitwise_xor(12, [10, 3]).numpy().tolist()
    [6, 15]
    """
    return apply_binary("bitwise_xor", x, y, name)


no_gradient("bitwise_xor", why="its result is not floating")


def bitwise_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ~x: each bit of integers inverted, the logical negation of bools.

    Parameters
    ----------
    x : Tensor, any integer dtype or bool

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.bitwise.bitwise_not([0, 5]).numpy().tolist()
    [-1, -6]
    """
    return apply_unary("bitwise_not", x, name)


no_gradient("bitwise_not", why="its result is not floating")


def _of_bools(op: str, a: Any, b: Any) -> Tensor:
    """Implement the arithmetic operators of bools, as in NumPy and JAX.

    ``+`` is "or", ``*`` is "and"; ``//``, ``%`` and ``**`` are computed in int32; ``-`` raises. The
    ops, called as functions, raise for bools, as in TensorFlow.
    """
    if all([type(x) is bool or str(getattr(x, "dtype", None)) == "bool" for x in (a, b)]):
        if op in ("add", "multiply"):
            return apply_binary("bitwise_or" if op == "add" else "bitwise_and", a, b)
        if op != "subtract":
            a, b = [apply("cast", x, dtype=int32) for x in (a, b)]
    return apply_binary(op, a, b)


bind(invert=bitwise_not, of_bools=_of_bools,
     **{"and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor})


def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x << y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any integer dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The result is 0 if y is negative or at least the width of the dtype. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.bitwise.left_shift(1, [0, 1, 4]).numpy().tolist()
    [1, 2, 16]
    """
    return apply_binary("left_shift", x, y, name)


no_gradient("left_shift", why="its result is an integer")


def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x >> y, elementwise, preserving the sign.

    Parameters
    ----------
    x, y : Tensor, any integer dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The result is 0, or -1 for a negative x, if y is negative or at least the width of the dtype.
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.bitwise.right_shift([16, -16], 2).numpy().tolist()
    [4, -4]
    """
    return apply_binary("right_shift", x, y, name)


no_gradient("right_shift", why="its result is an integer")


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return True where both are true, elementwise.

    Parameters
    ----------
    x, y : Tensor, bool, shapes that broadcast

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.logical_and([True, False], True).numpy().tolist()
    [True, False]
    """
    return apply_binary("logical_and", x, y, name)


no_gradient("logical_and", why="its result is bool")


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return True where at least one is true, elementwise.

    Parameters
    ----------
    x, y : Tensor, bool, shapes that broadcast

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.logical_or([True, False], True).numpy().tolist()
    [True, True]
    """
    return apply_binary("logical_or", x, y, name)


no_gradient("logical_or", why="its result is bool")


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return True where exactly one is true, elementwise.

    Parameters
    ----------
    x, y : Tensor, bool, shapes that broadcast

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.logical_xor([True, False], True).numpy().tolist()
    [False, True]
    """
    return apply_binary("logical_xor", x, y, name)


no_gradient("logical_xor", why="its result is bool")


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Return True where x is false, elementwise.

    Parameters
    ----------
    x : Tensor, bool

    Returns
    -------
    Tensor, bool, same shape as `x`

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.logical_not([True, False]).numpy().tolist()
    [False, True]
    """
    return apply_unary("logical_not", x, name)


no_gradient("logical_not", why="its result is bool")
