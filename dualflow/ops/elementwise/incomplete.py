"""Incomplete gamma and beta functions, with their gradients. All are computed element by element in
a wider type than their own."""

from __future__ import annotations

from dualflow._core import Tensor, apply, apply_binary
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.exponential import log, log1p
from dualflow.ops.elementwise.gamma import digamma, refuse_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["beta_density", "betainc", "gamma_density", "igamma", "igamma_grad_a", "igammac"]


# --- gamma -----------------------------------------------------------------------------------


def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the regularized lower incomplete gamma function, elementwise: the integral of
    ``t**(a-1) * exp(-t)`` from 0 to x, divided by ``gamma(a)``.

    Parameters
    ----------
    a, x : Tensor, floating, not negative, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape
        NaN where a or x is negative, or both are 0.

    Notes
    -----
    Computed by its series, by Legendre's continued fraction and, for large a near x, by Temme's
    uniform expansion (NIST DLMF 8.7, 8.9, 8.12). The gradients are `gamma_density` with respect to
    x and `igamma_grad_a` with respect to a.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.igamma(1., [0., 1., 2.]).numpy().round(4)
    array([0.    , 0.6321, 0.8647], dtype=float32)
    """
    return apply_binary("igamma", a, x, name)


@gradient("igamma", saves="inputs")
def _(g, y, a, x):
    return lambda: g * igamma_grad_a(a, x), lambda: g * gamma_density(a, x)


def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the regularized upper incomplete gamma function ``1 - igamma(a, x)``, without
    cancellation where it is small.

    Parameters
    ----------
    a, x : Tensor, floating, not negative, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    Computed and differentiated like `igamma`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.igammac(1., [0., 1., 2.]).numpy().round(4)
    array([1.    , 0.3679, 0.1353], dtype=float32)
    """
    return apply_binary("igammac", a, x, name)


@gradient("igammac", saves="inputs")
def _(g, y, a, x):
    return lambda: -g * igamma_grad_a(a, x), lambda: -g * gamma_density(a, x)


def igamma_grad_a(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the derivative of ``igamma(a, x)`` with respect to a.

    Notes
    -----
    The series and the fraction of `igamma`, differentiated term by term. The gradient with respect
    to x is the gradient of `gamma_density` with respect to a; there is no gradient for a.

    Examples
    --------
    >>> from dualflow.ops.elementwise.incomplete import igamma_grad_a
    >>> round(igamma_grad_a(1., 1.).item(), 4)
    -0.4317
    """
    return apply_binary("igamma_grad_a", a, x, name)


@gradient("igamma_grad_a", saves="inputs")
def _(g, y, a, x):
    return (lambda: refuse_gradient("igamma_grad_a", "a"),
            lambda: g * gamma_density(a, x) * (log(x) - digamma(a)))


def gamma_density(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x**(a-1) * exp(-x) / gamma(a)``, the derivative of ``igamma(a, x)`` in x.

    Examples
    --------
    >>> from dualflow.ops.elementwise.incomplete import gamma_density
    >>> round(gamma_density(2., 1.).item(), 4)
    0.3679
    """
    return apply_binary("gamma_density", a, x, name)


@gradient("gamma_density", saves="both")
def _(g, y, a, x):
    return lambda: g * y * (log(x) - digamma(a)), lambda: g * y * ((a - 1) / x - 1)


# --- beta ------------------------------------------------------------------------------------


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the regularized incomplete beta function, elementwise: the integral of
    ``t**(a-1) * (1-t)**(b-1)`` from 0 to x, divided by the integral from 0 to 1.

    Parameters
    ----------
    a, b : Tensor, floating, positive
    x : Tensor, floating, 0 to 1

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape
        NaN outside these ranges.

    Notes
    -----
    Computed by the continued fraction of NIST DLMF 8.17.22 times a factor computed as in DiDonato
    and Morris, "Algorithm 708", 1992. The gradient with respect to x is `beta_density`. As in
    TensorFlow, a and b have no gradient; requesting one raises.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.betainc(2., 2., [0., 0.25, 0.5]).numpy().round(4)
    array([0.    , 0.1562, 0.5   ], dtype=float32)
    """
    return apply("betainc", a, b, x, name=name)


@gradient("betainc", saves="inputs")
def _(g, y, a, b, x):
    return (lambda: refuse_gradient("betainc", "a"), lambda: refuse_gradient("betainc", "b"),
            lambda: g * beta_density(a, b, x))


def beta_density(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x**(a-1) * (1-x)**(b-1) / B(a, b)``, the derivative of ``betainc(a, b, x)`` with
    respect to x.

    Examples
    --------
    >>> from dualflow.ops.elementwise.incomplete import beta_density
    >>> round(beta_density(2., 2., 0.5).item(), 4)
    1.5
    """
    return apply("beta_density", a, b, x, name=name)


@gradient("beta_density", saves="both")
def _(g, y, a, b, x):
    return (lambda: g * y * (log(x) - digamma(a) + digamma(a + b)),
            lambda: g * y * (log1p(-x) - digamma(b) + digamma(a + b)),
            lambda: g * y * ((a - 1) / x - (b - 1) / (1 - x)))
