"""The logarithm of the gamma function, its derivatives, and the Hurwitz zeta function."""

from __future__ import annotations

import math

from dualflow._core import Tensor, apply, apply_binary, apply_unary, as_tensor
from dualflow.dtypes import float64
from dualflow.errors import UnimplementedError
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.exponential import exp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from dualflow.ops.types import TensorLike

__all__ = ["digamma", "lgamma", "polygamma", "zeta"]


def refuse_gradient(op: str, argument: str) -> NoReturn:
    """Raise the error of a gradient that has no formula.

    Raises
    ------
    UnimplementedError
    """
    raise UnimplementedError(f"{op}: there is no gradient with respect to {argument}; stop it with "
                             "df.stop_gradient, or watch other tensors")


def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``log(|gamma(x)|)``, elementwise.

    Parameters
    ----------
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    float64 is computed by the C library. inf at 0 and the negative integers. The gradient is
    ``g * digamma(x)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.lgamma([1., 5.]).numpy().round(4)
    array([0.    , 3.1781], dtype=float32)
    """
    return apply_unary("lgamma", x, name)


@gradient("lgamma", saves="inputs")
def _(g, y, x):
    return g * digamma(x)


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the derivative of lgamma, elementwise.

    Parameters
    ----------
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Computed in float64; NaN at the negative integers. The gradient is ``g * polygamma(1, x)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.digamma([1., 5.]).numpy().round(4)
    array([-0.5772,  1.5061], dtype=float32)
    """
    return apply_unary("digamma", x, name)


@gradient("digamma", saves="inputs")
def _(g, y, x):
    return g * polygamma(1, x)


MOST_ORDER = 100        # DF_POLYGAMMA_MAX of csrc/special/special.h


def polygamma(a: float | TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the a-th derivative of digamma, elementwise.

    Parameters
    ----------
    a : int or float, 0 to 100, or Tensor of such numbers in the dtype of x
        The order of the derivative; a tensor broadcasts with x and is slower.
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Raises
    ------
    InvalidArgumentError
        If a is out of range.

    Notes
    -----
    Computed in float64 as ``(-1)**(a+1) * a! * zeta(a + 1, x)``, below 0 by reflection (NIST
    DLMF 5.15). At 0 and the negative integers it is inf for odd a and NaN for even a; for other
    than whole a it is NaN. The gradient is ``g * polygamma(a + 1, x)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.polygamma(1, [1., 2.]).numpy().round(4)
    array([1.6449, 0.6449], dtype=float32)
    """
    if isinstance(a, int) or (isinstance(a, float) and a.is_integer() and 0 <= a <= MOST_ORDER):
        return apply("polygamma", x, n=int(a), name=name)
    n, at = cast(a, float64), as_tensor(x, None, "polygamma")
    wide = cast(at, float64)
    factor = where(equal(n % 2, 0), -1.0, 1.0) * exp(lgamma(n + 1))
    found = where(equal(n, 0), digamma(wide), factor * apply("zeta", n + 1, wide))
    found = where(equal(n % 1, 0), found, math.nan)
    return cast(found, at.dtype, name=name)


@gradient("polygamma", saves="inputs")
def _(g, y, x, n):
    return g * polygamma(n + 1, x)


def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Return the Hurwitz zeta function, the sum of ``(q + n)**-x`` over n = 0, 1, ..., elementwise.

    Parameters
    ----------
    x : Tensor, floating, more than 1
    q : Tensor, floating

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape
        inf at the poles, x = 1 and whole q <= 0; NaN where the sum diverges or has no real value.

    Notes
    -----
    Computed by the Euler-Maclaurin formula. The gradient with respect to q is ``-x * zeta(x + 1,
    q)``. As in TensorFlow, x has no gradient; requesting one raises.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.zeta([2., 4.], 1.).numpy().round(4)
    array([1.6449, 1.0823], dtype=float32)
    """
    return apply_binary("zeta", x, q, name)


@gradient("zeta", saves="inputs")
def _(g, y, x, q):
    return lambda: refuse_gradient("zeta", "x"), lambda: -g * x * zeta(x + 1, q)
