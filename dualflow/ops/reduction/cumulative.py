"""Cumulative sums, products and logsumexp along one axis, with their gradients."""

from __future__ import annotations

import math

from dualflow._core import Tensor, apply
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.complex import conj
from dualflow.ops.elementwise.exponential import exp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["cumprod", "cumsum", "cumulative_logsumexp"]


def cumsum(x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False,
           name: str | None = None) -> Tensor:
    """Return the sum of the elements up to each one along `axis`.

    Parameters
    ----------
    x : Tensor, any number dtype
    axis : int
    exclusive : bool
        Whether to exclude the element itself, so that the first sum is 0.
    reverse : bool
        Whether to accumulate from the end of the axis.

    Returns
    -------
    Tensor, same shape and dtype as `x`; integers wrap around

    Notes
    -----
    The gradient is the cumsum of `g` in the opposite direction.

    Examples
    --------
    >>> import dualflow as df
    >>> df.cumsum([1, 2, 3]).numpy().tolist()
    [1, 3, 6]
    >>> df.cumsum([1, 2, 3], exclusive=True, reverse=True).numpy().tolist()
    [5, 3, 0]
    """
    return apply("cumsum", x, axis=axis, exclusive=exclusive, reverse=reverse, name=name)


@gradient("cumsum", saves="none")
def _(g, y, x, axis, exclusive, reverse):
    return cumsum(g, axis, exclusive, not reverse)


def cumprod(x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False,
            name: str | None = None) -> Tensor:
    """Return the product of the elements up to each one along `axis`.

    Parameters
    ----------
    x : Tensor, any number dtype
    axis : int
    exclusive : bool
        Whether to exclude the element itself, so that the first product is 1.
    reverse : bool
        Whether to accumulate from the end of the axis.

    Returns
    -------
    Tensor, same shape and dtype as `x`; integers wrap around

    Notes
    -----
    The gradient does not divide, so it is correct even if elements are 0. Without the factor x[k],
    y[i] is (product before k) * (product of k + 1 to i); the sum over i of the second factor times
    g[i] is a recurrence in the opposite direction.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.cumprod([1, 2, 3]).numpy().tolist()
    [1, 2, 6]
    """
    return apply("cumprod", x, axis=axis, exclusive=exclusive, reverse=reverse, name=name)


@gradient("cumprod", saves="inputs")
def _(g, y, x, axis, exclusive, reverse):
    x = conj(x)
    return (cumprod(x, axis, True, reverse)
            * cumulative_recurrence(x, g, axis, exclusive, not reverse))


def cumulative_recurrence(a: TensorLike, b: TensorLike, axis: int, exclusive: bool,
                          reverse: bool) -> Tensor:
    """Compute s[k] = b[k] + a[k-1] s[k-1]; exclusive: s[k] = b[k-1] + a[k-1] s[k-1], s[0] = 0.

    In reverse, k + 1 replaces k - 1 and the last element the first.
    """
    return apply("cumulative_recurrence", a, b, axis=axis, exclusive=exclusive, reverse=reverse)


@gradient("cumulative_recurrence", saves="both")
def _(g, s, a, b, axis, exclusive, reverse):
    # The gradient of s[k + 1] reaches s[k] through a[k]: the exclusive recurrence in reverse.
    a = conj(a)
    behind = cumulative_recurrence(a, g, axis, True, not reverse)
    return behind * conj(s), behind if exclusive else g + a * behind


def cumulative_logsumexp(x: TensorLike, axis: int = 0, exclusive: bool = False,
                         reverse: bool = False, name: str | None = None) -> Tensor:
    """Return log(sum(exp(x))) of the elements up to each one along `axis`.

    Parameters
    ----------
    x : Tensor, floating
    axis : int
    exclusive : bool
        Whether to exclude the element itself, so that the first result is -inf.
    reverse : bool
        Whether to accumulate from the end of the axis.

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    No exponential overflows; float32 is accumulated in float64. The gradient is the sum of
    ``g[i] * exp(x - y[i])`` over the results that include the element: a recurrence in the opposite
    direction, whose factors are the fraction of a sum before its last element was added.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.cumulative_logsumexp([0., 0., 1000.]).numpy().round(4).tolist()
    [0.0, 0.6930999755859375, 1000.0]
    """
    return apply("cumulative_logsumexp", x, axis=axis, exclusive=exclusive, reverse=reverse,
                 name=name)


@gradient("cumulative_logsumexp", saves="both")
def _(g, y, x, axis, exclusive, reverse):
    other = cumulative_logsumexp(x, axis, not exclusive, reverse)
    before, whole = (y, other) if exclusive else (other, y)
    whole = where(equal(whole, -math.inf), 0, whole)        # a sum of only exp(-inf)
    return exp(x - whole) * cumulative_recurrence(exp(before - whole), g, axis, exclusive,
                                                  not reverse)
