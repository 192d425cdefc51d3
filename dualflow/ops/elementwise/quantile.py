"""Inverses of the error functions and of the normal distribution, with their gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply_unary
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.exponential import exp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["erfcinv", "erfinv", "ndtri"]

_HALF_ROOT_PI = 0.886226925452758
_ROOT_TWO_PI = 2.5066282746310002


def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Return y with ``erf(y) = x``, elementwise.

    Parameters
    ----------
    x : Tensor, floating, -1 to 1

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    float64 is computed by Wichura's AS 241; inf at 1, -inf at -1, NaN outside. The gradient is
    ``g * sqrt(pi) / 2 * exp(y**2)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.erfinv([0., 0.5, 1.]).numpy().round(4)
    array([0.    , 0.4769,    inf], dtype=float32)
    """
    return apply_unary("erfinv", x, name)


@gradient("erfinv", saves="output")
def _(g, y, x):
    return g * (_HALF_ROOT_PI * exp(y * y))


def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Return y with ``erfc(y) = x``, elementwise.

    Parameters
    ----------
    x : Tensor, floating, 0 to 2

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    float64 is computed by Wichura's AS 241; inf at 0, -inf at 2, NaN outside. The gradient is
    ``-g * sqrt(pi) / 2 * exp(y**2)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.erfcinv([0., 0.5, 1.]).numpy().round(4)
    array([   inf, 0.4769, 0.    ], dtype=float32)
    """
    return apply_unary("erfcinv", x, name)


@gradient("erfcinv", saves="output")
def _(g, y, x):
    return g * (-_HALF_ROOT_PI * exp(y * y))


def ndtri(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the standard normal quantile, y with ``P(X < y) = x``, elementwise.

    Parameters
    ----------
    x : Tensor, floating, 0 to 1

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    float64 is computed by Wichura's AS 241; inf at 1, -inf at 0, NaN outside. The gradient is
    ``g * sqrt(2 * pi) * exp(y**2 / 2)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.ndtri([0.025, 0.5]).numpy().round(4)
    array([-1.96,  0.  ], dtype=float32)
    """
    return apply_unary("ndtri", x, name)


@gradient("ndtri", saves="output")
def _(g, y, x):
    return g * (_ROOT_TWO_PI * exp(0.5 * (y * y)))
