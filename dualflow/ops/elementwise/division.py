"""Quotients and remainders, with their gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply_binary, apply_unary
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.elementwise.complex import conj

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["divide", "divide_no_nan", "floordiv", "floormod", "gcd", "lcm", "mod", "reciprocal",
           "truediv"]


def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y, elementwise, in floating point.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    Integers are first converted to float32 (int64 and uint64 to float64). Division by zero gives
    inf or NaN.
    The gradient is ``g / y`` to x and ``-g * (x / y) / y`` to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.divide([1, 3], 2).numpy().tolist()
    [0.5, 1.5]
    """
    return apply_binary("divide", x, y, name)


@gradient("divide", saves=(1, "output"))
def _(g, y, a, b):
    return lambda: g / conj(b), lambda: -g * conj(y) / conj(b)


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y, elementwise, in floating point. An alias of `divide`.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, floating, of the broadcast shape

    Examples
    --------
    >>> import dualflow as df
    >>> df.truediv(1, [2, 4]).numpy().tolist()
    [0.5, 0.25]
    """
    return divide(x, y, name=name)


def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y, elementwise, or 0 where y is 0.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, floating, of the broadcast shape

    Notes
    -----
    The gradient is ``g / y`` to x and ``-g * x / y / y`` to y, each 0 where y is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.divide_no_nan([1., 2.], [0., 4.]).numpy().tolist()
    [0.0, 0.5]
    """
    return apply_binary("divide_no_nan", x, y, name)


@gradient("divide_no_nan", saves=(1, "output"))
def _(g, y, a, b):
    return lambda: divide_no_nan(g, conj(b)), lambda: divide_no_nan(-g * conj(y), conj(b))


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the largest integer not greater than x / y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Raises
    ------
    InvalidArgumentError
        If integers are divided by 0. Floats give inf or NaN.

    Notes
    -----
    As Python's ``//``. The smallest integer divided by -1 wraps around. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.floordiv([7, -7], 2).numpy().tolist()
    [3, -4]
    """
    return apply_binary("floordiv", x, y, name)


no_gradient("floordiv", why="it is piecewise constant")


def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the remainder of x after division by y, with the sign of y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Raises
    ------
    InvalidArgumentError
        If integers are divided by 0. Floats give inf or NaN.

    Notes
    -----
    As Python's ``%``: ``x == floordiv(x, y) * y + floormod(x, y)``. Exact for floats.
    The gradient is ``g`` to x and ``-g * floordiv(x, y)`` to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.floormod([7, -7], 3).numpy().tolist()
    [1, 2]
    """
    return apply_binary("floormod", x, y, name)


@gradient("floormod", saves="inputs")
def _(g, y, a, b):
    return g, lambda: -g * floordiv(a, b)


def mod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the remainder of x after division by y. An alias of `floormod`.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.mod(-1, [3, 5]).numpy().tolist()
    [2, 4]
    """
    return floormod(x, y, name=name)


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / x, elementwise.

    Parameters
    ----------
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    1 / 0 is inf. The gradient is ``-g / x**2``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.reciprocal([2., 4.]).numpy().tolist()
    [0.5, 0.25]
    """
    return apply_unary("reciprocal", x, name)


@gradient("reciprocal", saves="output")
def _(g, y, x):
    return -g * conj(y * y)


def gcd(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the greatest common divisor, elementwise.

    Parameters
    ----------
    x, y : Tensor, integers, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape, not negative

    Notes
    -----
    gcd(0, y) is abs(y).

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.gcd([12, -12, 0], 18).numpy().tolist()
    [6, 6, 18]
    """
    return apply_binary("gcd", x, y, name)


no_gradient("gcd", why="integer result")


def lcm(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the least common multiple, elementwise.

    Parameters
    ----------
    x, y : Tensor, integers, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape; wraps around

    Notes
    -----
    lcm(0, y) is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.lcm([4, -4, 0], 6).numpy().tolist()
    [12, 12, 0]
    """
    return apply_binary("lcm", x, y, name)


no_gradient("lcm", why="integer result")
