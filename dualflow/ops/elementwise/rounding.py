"""Rounding to integers, and tests for NaN and infinity."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, apply_unary, as_tensor, bind
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


def _of_parts(test, join, x, name):
    """Return the joined results of a test of floats for the parts of complex numbers."""
    return apply(join, *[test(apply_unary(part, x)) for part in ("real", "imag")], name=name)


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return True where x or a part of x is NaN, elementwise.

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
    value = x if isinstance(x, TensorBase) else as_tensor(x, None, "is_nan")
    if value.dtype.is_complex:
        return _of_parts(is_nan, "logical_or", value, name)
    return apply_unary("is_nan", value, name)


no_gradient("is_nan", why="its result is bool")


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Return True where x or a part of x is inf or -inf, elementwise.

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
    value = x if isinstance(x, TensorBase) else as_tensor(x, None, "is_inf")
    if value.dtype.is_complex:
        return _of_parts(is_inf, "logical_or", value, name)
    return apply_unary("is_inf", value, name)


no_gradient("is_inf", why="its result is bool")


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Return True where x is neither infinite nor NaN, elementwise.

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
    value = x if isinstance(x, TensorBase) else as_tensor(x, None, "is_finite")
    if value.dtype.is_complex:
        return _of_parts(is_finite, "logical_and", value, name)
    return apply_unary("is_finite", value, name)


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
