"""Cumulative ops along one axis: sums, products, logarithms of sums, with their gradients."""

from __future__ import annotations

import math

from dualflow._core import Tensor, apply
from dualflow.gradient_registry import gradient
from dualflow.ops.compare import equal, where
from dualflow.ops.exponential import exp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["cumprod", "cumsum", "cumulative_logsumexp"]


def cumsum(x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False,
           name: str | None = None) -> Tensor:
    """Sums of the elements up to each one along `axis`.

    Parameters
    ----------
    x : Tensor, any number dtype
    axis : int
    exclusive : bool
        Whether the element itself is left out, so that the first sum is 0.
    reverse : bool
        Whether to go from the end of the axis to its beginning.

    Returns
    -------
    Tensor, same shape and dtype as `x`; integers wrap around

    Notes
    -----
    The gradient is the cumsum of `g` in the other direction.

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
    """Products of the elements up to each one along `axis`.

    Parameters
    ----------
    x : Tensor, any number dtype
    axis : int
    exclusive : bool
        Whether the element itself is left out, so that the first product is 1.
    reverse : bool
        Whether to go from the end of the axis to its beginning.

    Returns
    -------
    Tensor, same shape and dtype as `x`; integers wrap around

    Notes
    -----
    The gradient does not divide, so it is correct even if elements are 0. With x[k] taken out,
    y[i] is (product before k) * (product of k + 1 to i); the sum over i of the second factor times
    g[i] is a recurrence that runs from the other end.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.cumprod([1, 2, 3]).numpy().tolist()
    [1, 2, 6]
    """
    return apply("cumprod", x, axis=axis, exclusive=exclusive, reverse=reverse, name=name)


@gradient("cumprod", saves="inputs")
def _(g, y, x, axis, exclusive, reverse):
    return (cumprod(x, axis, True, reverse)
            * cumulative_recurrence(x, g, axis, exclusive, not reverse))


def cumulative_recurrence(a: TensorLike, b: TensorLike, axis: int, exclusive: bool,
                          reverse: bool) -> Tensor:
    """s[k] = b[k] + a[k - 1] s[k - 1]; exclusive: s[k] = b[k - 1] + a[k - 1] s[k - 1], s[0] = 0.

    In reverse, k + 1 stands for k - 1 and the last element for the first.
    """
    return apply("cumulative_recurrence", a, b, axis=axis, exclusive=exclusive, reverse=reverse)


@gradient("cumulative_recurrence", saves="both")
def _(g, s, a, b, axis, exclusive, reverse):
    # What flows into s[k + 1] reaches s[k] through a[k]: the exclusive recurrence back.
    behind = cumulative_recurrence(a, g, axis, True, not reverse)
    return behind * s, behind if exclusive else g + a * behind


def cumulative_logsumexp(x: TensorLike, axis: int = 0, exclusive: bool = False,
                         reverse: bool = False, name: str | None = None) -> Tensor:
    """log(sum(exp(x))) of the elements up to each one along `axis`.

    Parameters
    ----------
    x : Tensor, floating
    axis : int
    exclusive : bool
        Whether the element itself is left out, so that the first result is -inf.
    reverse : bool
        Whether to go from the end of the axis to its beginning.

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    No exponential overflows; float32 is summed up in float64. The gradient is the sum of
    ``g[i] * exp(x - y[i])`` over the results that an element is part of: a recurrence in the other
    direction, whose factors are the share of a sum that was there before its last element.

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
    whole = where(equal(whole, -math.inf), 0, whole)        # sums of nothing but exp(-inf)
    return exp(x - whole) * cumulative_recurrence(exp(before - whole), g, axis, exclusive,
                                                  not reverse)
