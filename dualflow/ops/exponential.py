"""Exponentials, logarithms, powers and roots, with their gradients."""

from dualflow._core import Tensor, apply
from dualflow.gradients import gradient
from dualflow.ops.types import TensorLike

__all__ = ["exp", "log"]


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """e to the power of `x`, elementwise.

    Parameters
    ----------
    x : Tensor, floating, shape (...)

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Raises
    ------
    DTypeError
        If `x` is not float32 or float64.

    Notes
    -----
    Within 2 ulp in float32; overflows to inf, NaN stays NaN. The gradient is ``g * exp(x)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.exp([0., 1.]).numpy().round(4).tolist()
    [1.0, 2.7183001041412354]
    """
    return apply("exp", x, name=name)


@gradient("exp", saves="output")
def _(g, y, x):
    return g * y


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Natural logarithm of `x`, elementwise.

    Parameters
    ----------
    x : Tensor, floating, shape (...)

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Raises
    ------
    DTypeError
        If `x` is not float32 or float64.

    Notes
    -----
    Within 2 ulp in float32; ``log(0)`` is -inf, of a negative number NaN. The gradient is
    ``g / x``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.log(df.exp(2.)).numpy().item()
    2.0
    """
    return apply("log", x, name=name)


@gradient("log", saves="inputs")
def _(g, y, x):
    return g / x
