"""Rounding to integers, and tests for NaN and infinity."""

from __future__ import annotations

from dualflow._core import Tensor, apply_unary, as_tensor, bind
from dualflow._util.arguments import integer
from dualflow.errors import InvalidArgumentError
from dualflow.gradient_registry import no_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "ceil",
    "floor",
    "is_finite",
    "is_inf",
    "is_nan",
    "rint",
    "round",
    "trunc",
]


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the largest integer not greater than x, elementwise.

    Parameters
    ----------
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Infinities and NaN are returned unchanged; a zero has the sign of x. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.floor([-1.5, 0.5, 1.5, 2.7]).numpy().tolist()
    [-2.0, 0.0, 1.0, 2.0]
    """
    return apply_unary("floor", x, name)


no_gradient("floor", why="it is piecewise constant")


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the smallest integer not less than x, elementwise.

    Parameters
    ----------
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Infinities and NaN are returned unchanged; a zero has the sign of x. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.ceil([-1.5, 0.5, 1.5, 2.7]).numpy().tolist()
    [-1.0, 1.0, 2.0, 3.0]
    """
    return apply_unary("ceil", x, name)


no_gradient("ceil", why="it is piecewise constant")


def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the integer nearest to x, elementwise, ties to even.

    Parameters
    ----------
    x : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Infinities and NaN are returned unchanged; a zero has the sign of x. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.round([-1.5, 0.5, 1.5, 2.7]).numpy().tolist()
    [-2.0, 0.0, 2.0, 3.0]
    """
    return apply_unary("round", x, name)


no_gradient("round", why="it is piecewise constant")


def trunc(x: TensorLike, name: str | None = None) -> Tensor:
    """Return x rounded towards zero, elementwise.

    Parameters
    ----------
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Infinities and NaN are returned unchanged; a zero has the sign of x. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.trunc([-1.5, 0.5, 1.5, 2.7]).numpy().tolist()
    [-1.0, 0.0, 1.0, 2.0]
    """
    return apply_unary("trunc", x, name)


no_gradient("trunc", why="it is piecewise constant")


def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the integer nearest to x, elementwise. An alias of `round`.

    Parameters
    ----------
    x : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.rint([0.5, 1.5]).numpy().tolist()
    [0.0, 2.0]
    """
    return round(x, name=name)


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return True where x, or either part of a complex x, is NaN, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, bool, same shape as `x`

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.is_nan([1., float('inf'), float('nan')]).numpy().tolist()
    [False, False, True]
    """
    return apply_unary("is_nan", x, name)


no_gradient("is_nan", why="its result is bool")


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Return True where x, or either part of a complex x, is inf or -inf, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, bool, same shape as `x`

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.is_inf([1., float('inf'), float('nan')]).numpy().tolist()
    [False, True, False]
    """
    return apply_unary("is_inf", x, name)


no_gradient("is_inf", why="its result is bool")


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Return True where x, or both parts of a complex x, are neither infinite nor NaN, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, bool, same shape as `x`

    Notes
    -----
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.is_finite([1., float('inf'), float('nan')]).numpy().tolist()
    [True, False, False]
    """
    return apply_unary("is_finite", x, name)


no_gradient("is_finite", why="its result is bool")


def python_round(x: Tensor, ndigits: int | None = None) -> Tensor:
    """Implement Python's ``round(x)``; with digits, by scaling."""
    if ndigits is None:
        return round(x)
    ndigits = integer(ndigits, "round: digits")
    if not x.dtype.is_inexact and ndigits >= 0:
        return as_tensor(x)
    if abs(ndigits) > 308:
        raise InvalidArgumentError(f"round: {ndigits} digits, expected -308 to 308")
    return round(x * 10.0**ndigits) / 10.0**ndigits


bind(round=python_round)
