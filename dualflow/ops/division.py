"""Quotients and remainders, with their gradients."""

from dualflow._core import Tensor, apply
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.types import TensorLike

__all__ = ["divide", "divide_no_nan", "floordiv", "floormod", "gcd", "lcm", "mod", "reciprocal",
           "truediv"]


def divide(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """a / b, elementwise, in floating point.

    Parameters
    ----------
    a, b : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    Integers become float32 (int64 and uint64: float64) first. Division by zero gives inf or NaN.
    The gradient is ``g / b`` to a and ``-g * y / b`` to b.

    Examples
    --------
    >>> import dualflow as df
    >>> df.divide([1, 3], 2).numpy().tolist()
    [0.5, 1.5]
    """
    return apply("divide", a, b, name=name)


@gradient("divide", saves=(1, "output"))
def _(g, y, a, b):
    return lambda: g / b, lambda: -g * y / b


def truediv(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """a / b, elementwise, in floating point: another name of `divide`.

    Parameters
    ----------
    a, b : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, floating, of the broadcast shape

    Examples
    --------
    >>> import dualflow as df
    >>> df.truediv(1, [2, 4]).numpy().tolist()
    [0.5, 0.25]
    """
    return divide(a, b, name=name)


def divide_no_nan(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """a / b, elementwise, and 0 where b is 0.

    Parameters
    ----------
    a, b : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, floating, of the broadcast shape

    Notes
    -----
    The gradient is ``g / b`` to a and ``-g * a / b / b`` to b, each 0 where b is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.divide_no_nan([1., 2.], [0., 4.]).numpy().tolist()
    [0.0, 0.5]
    """
    return apply("divide_no_nan", a, b, name=name)


@gradient("divide_no_nan", saves=(1, "output"))
def _(g, y, a, b):
    return lambda: divide_no_nan(g, b), lambda: divide_no_nan(-g * y, b)


def floordiv(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The largest integer not above a / b, elementwise.

    Parameters
    ----------
    a, b : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Raises
    ------
    InvalidArgumentError
        If integers are divided by 0. Floats give inf or NaN.

    Notes
    -----
    As Python's ``//``. The least integer divided by -1 wraps around. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.floordiv([7, -7], 2).numpy().tolist()
    [3, -4]
    """
    return apply("floordiv", a, b, name=name)


no_gradient("floordiv", why="it is piecewise constant")


def floormod(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The remainder of a after division by b, with the sign of b, elementwise.

    Parameters
    ----------
    a, b : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Raises
    ------
    InvalidArgumentError
        If integers are divided by 0. Floats give inf or NaN.

    Notes
    -----
    As Python's ``%``: ``a == floordiv(a, b) * b + floormod(a, b)``. Exact for floats.
    The gradient is ``g`` to a and ``-g * floordiv(a, b)`` to b.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.floormod([7, -7], 3).numpy().tolist()
    [1, 2]
    """
    return apply("floormod", a, b, name=name)


@gradient("floormod", saves="inputs")
def _(g, y, a, b):
    return g, lambda: -g * floordiv(a, b)


def mod(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The remainder of a after division by b: another name of `floormod`.

    Parameters
    ----------
    a, b : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.mod(-1, [3, 5]).numpy().tolist()
    [2, 4]
    """
    return floormod(a, b, name=name)


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x, elementwise.

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
    return apply("reciprocal", x, name=name)


@gradient("reciprocal", saves="output")
def _(g, y, x):
    return -g * (y * y)


def gcd(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The greatest common divisor, elementwise.

    Parameters
    ----------
    a, b : Tensor, integers, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape, not negative

    Notes
    -----
    gcd(0, b) is abs(b).

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.gcd([12, -12, 0], 18).numpy().tolist()
    [6, 6, 18]
    """
    return apply("gcd", a, b, name=name)


no_gradient("gcd", why="integer result")


def lcm(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The least common multiple, elementwise.

    Parameters
    ----------
    a, b : Tensor, integers, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape; wraps around

    Notes
    -----
    lcm(0, b) is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.lcm([4, -4, 0], 6).numpy().tolist()
    [12, 12, 0]
    """
    return apply("lcm", a, b, name=name)


no_gradient("lcm", why="integer result")
