"""Arithmetic ops and their gradients. Integers wrap around; Python numbers are weakly typed."""

from __future__ import annotations

from dualflow._core import Tensor, apply, apply_binary, apply_unary
from dualflow.errors import InvalidArgumentError
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.complex import conj, real

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dualflow.ops.types import TensorLike

__all__ = [
    "abs",
    "add",
    "add_n",
    "multiply",
    "multiply_no_nan",
    "negative",
    "sign",
    "square",
    "squared_difference",
    "subtract",
]


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x + y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient of both operands is ``g``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.add([1, 2], 10).numpy().tolist()
    [11, 12]
    """
    return apply_binary("add", x, y, name)


@gradient("add", saves="none")
def _(g, y, a, b):
    return g, g


def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x - y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is ``g`` to x and ``-g`` to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.subtract([1, 2], 10).numpy().tolist()
    [-9, -8]
    """
    return apply_binary("subtract", x, y, name)


@gradient("subtract", saves="none")
def _(g, y, a, b):
    return g, lambda: -g


def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x * y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is ``g * conj(y)`` to x and ``g * conj(x)`` to y; real numbers are their own
    conjugates.

    Examples
    --------
    >>> import dualflow as df
    >>> df.multiply([1., 2.], [3., 4.]).numpy().tolist()
    [3.0, 8.0]
    """
    return apply_binary("multiply", x, y, name)


@gradient("multiply", saves="inputs")
def _(g, y, a, b):
    return lambda: g * conj(b), lambda: g * conj(a)


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x * y, elementwise, or 0 where y is 0, even if x is infinite or NaN.

    Parameters
    ----------
    x, y : Tensor, floating or complex, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is ``g * conj(y)`` to x and ``g * conj(x)`` to y, each 0 where its second factor
    is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.multiply_no_nan([float('inf'), 2.], [0., 4.]).numpy().tolist()
    [0.0, 8.0]
    """
    return apply_binary("multiply_no_nan", x, y, name)


@gradient("multiply_no_nan", saves="inputs")
def _(g, y, a, b):
    return lambda: multiply_no_nan(g, conj(b)), lambda: multiply_no_nan(conj(a), g)


def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return (x - y)**2, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is ``2 * g * (x - y)`` to x and ``2 * g * (y - x)`` to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.squared_difference([1., 5.], 2.).numpy().tolist()
    [1.0, 9.0]
    """
    return apply_binary("squared_difference", x, y, name)


@gradient("squared_difference", saves="inputs")
def _(g, y, a, b):
    g = real(g)                 # of complex numbers, the result is |a - b|**2
    return lambda: 2 * g * (a - b), lambda: 2 * g * (b - a)


def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """Return -x, elementwise.

    Parameters
    ----------
    x : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    The gradient is ``-g``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.negative([1, -2]).numpy().tolist()
    [-1, 2]
    """
    return apply_unary("negative", x, name)


@gradient("negative", saves="none")
def _(g, y, x):
    return -g


def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``|x|``, elementwise.

    Parameters
    ----------
    x : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    The most negative integer is returned unchanged. The gradient is ``g * sign(x)``, 0 at 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.abs([1, -2]).numpy().tolist()
    [1, 2]
    """
    return apply_unary("abs", x, name)


@gradient("abs", saves="inputs")
def _(g, y, x):
    return g * sign(x)


def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """Return -1, 0 or 1 by the sign of x, elementwise.

    Parameters
    ----------
    x : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    NaN is returned as NaN, and -0 as 0, as in NumPy. The gradient is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sign([-3., 0., 5.]).numpy().tolist()
    [-1.0, 0.0, 1.0]
    """
    return apply_unary("sign", x, name)


@gradient("sign", saves="inputs")
def _(g, y, x):
    if not y.dtype.is_complex:
        return multiply_no_nan(g, 0.0)
    unit = sign(x)
    along = real(conj(unit) * g)        # a change along x changes its size only
    return apply("divide_no_nan", g - unit * along, abs(x))


def square(x: TensorLike, name: str | None = None) -> Tensor:
    """Return x * x, elementwise.

    Parameters
    ----------
    x : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    The gradient is ``2 * g * x``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.square([1, -3]).numpy().tolist()
    [1, 9]
    """
    return apply_unary("square", x, name)


@gradient("square", saves="inputs")
def _(g, y, x):
    return g * (2 * conj(x))


def add_n(inputs: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Return the sum of any number of tensors of one shape.

    Parameters
    ----------
    inputs : sequence of Tensor, any number dtype, at least one

    Returns
    -------
    Tensor, of the promoted dtype and the inputs' shape

    Raises
    ------
    InvalidArgumentError
        If there are no inputs.
    ShapeError
        If the shapes differ; the inputs are not broadcast.

    Notes
    -----
    Summed from first to last in one pass over memory. The gradient of each input is ``g``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.add_n([[1, 2], [10, 20], [100, 200]]).numpy().tolist()
    [111, 222]
    """
    if isinstance(inputs, Tensor):
        return apply("add_n", inputs, name=name)
    if len(inputs) == 0:
        raise InvalidArgumentError("add_n: inputs are empty, expected at least one tensor")
    return apply("add_n", *inputs, name=name)


@gradient("add_n", saves="none")
def _(g, y, *inputs):
    return (g,) * len(inputs)
