"""Reductions over any set of axes, and their gradients. Means are in reduce_moments.py."""

from __future__ import annotations

import math

from dualflow._core import Tensor, TensorBase, apply, apply_ordered, as_tensor, get_op
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops import reduction
from dualflow.ops.array.shape import broadcast_to, reshape, static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal
from dualflow.ops.elementwise.complex import conj
from dualflow.ops.elementwise.exponential import exp
from dualflow.ops.elementwise.limits import maximum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dualflow.ops.types import Axis, TensorLike

__all__ = [
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]


REDUCE_SUM = get_op("reduce_sum")
BROADCAST_TO = get_op("broadcast_to")
ALL_AXES = tuple([tuple(range(n)) for n in range(16)])     # shared: see `pack_given`


def axes_or_all(x: TensorLike, axis: Axis) -> Any:
    """Return `axis`, or all axes if it is None."""
    if axis is not None:
        return axis
    n = (x if isinstance(x, TensorBase) else as_tensor(x)).ndim
    return ALL_AXES[n] if n < len(ALL_AXES) else tuple(range(n))


def broadcast_over(g: Tensor, x: Any, axes: Iterable[int]) -> Tensor:
    """Repeat `g`, which was reduced over `axes` of `x`, along these axes."""
    shape = static_shape(x)
    if len(g.shape) == 0:
        repeated: Tensor = apply_ordered(BROADCAST_TO, (g,), (shape,))
        return repeated
    marked = {a % len(shape) for a in axes}
    with_ones = [1 if d in marked else n for d, n in enumerate(shape)]
    return broadcast_to(reshape(g, with_ones), shape)


def count_over(x: Any, axes: Iterable[int]) -> int:
    """Return the number of elements per result."""
    return math.prod(x.shape[a] for a in axes)


def reduce_sum(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
               name: str | None = None) -> Tensor:
    """Sum the elements along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, any number dtype
    axis : int or sequence of int, optional
        The axes to sum over; negative axes count from the end. By default all.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`; integers wrap around

    Raises
    ------
    InvalidArgumentError
        If an axis does not exist or is repeated.

    Notes
    -----
    Floats are summed in blocks with many accumulators. The relative error of a float32 sum of ten
    million numbers of equal sign is about 1e-7; the result is bit-identical for any thread count.
    The sum of no elements is 0. The gradient is `g` repeated along the axes.

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_sum([[1, 2], [3, 4]], axis=0).numpy().tolist()
    [4, 6]
    """
    return apply_ordered(REDUCE_SUM, (input_tensor,), (axes_or_all(input_tensor, axis), keepdims),
                         name)


@gradient("reduce_sum", saves="none")
def _(g, y, x, axes, keepdims):
    return broadcast_over(g, x, axes)


def reduce_max(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
               name: str | None = None) -> Tensor:
    """Return the largest element along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, any number dtype
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`

    Notes
    -----
    NaN if any element is NaN. For no elements, -inf or the smallest integer of the dtype. The
    gradient is divided equally among equal maxima.

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_max([[1, 5], [3, 4]], axis=1).numpy().tolist()
    [5, 4]
    """
    return apply("reduce_max", input_tensor, name=name, axes=axes_or_all(input_tensor, axis),
                 keepdims=keepdims)


def _to_extremes(g, y, x, axes):
    """Divide `g` equally among the elements of `x` that equal the result `y`."""
    hit = cast(equal(x, broadcast_over(y, x, axes)), x.dtype)
    return hit * broadcast_over(g / reshape(reduce_sum(hit, axes), g.shape), x, axes)


@gradient("reduce_max", saves="both")
def _(g, y, x, axes, keepdims):
    return _to_extremes(g, y, x, axes)


def reduce_min(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
               name: str | None = None) -> Tensor:
    """Return the smallest element along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, any number dtype
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`

    Notes
    -----
    NaN if any element is NaN. For no elements, inf or the largest integer of the dtype. The
    gradient is divided equally among equal minima.

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_min([[1, 5], [3, 4]], axis=1).numpy().tolist()
    [1, 3]
    """
    return apply("reduce_min", input_tensor, name=name, axes=axes_or_all(input_tensor, axis),
                 keepdims=keepdims)


@gradient("reduce_min", saves="both")
def _(g, y, x, axes, keepdims):
    return _to_extremes(g, y, x, axes)


def reduce_prod(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
                name: str | None = None) -> Tensor:
    """Multiply the elements along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, any number dtype
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`; integers wrap around

    Notes
    -----
    The product of no elements is 1. The gradient is `g` times the (conjugate) product of the other
    elements, which is correct even if some are 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_prod([[1, 2], [3, 4]], axis=1).numpy().tolist()
    [2, 12]
    """
    return apply("reduce_prod", input_tensor, name=name, axes=axes_or_all(input_tensor, axis),
                 keepdims=keepdims)


@gradient("reduce_prod", saves="inputs")
def _(g, y, x, axes, keepdims):
    """Axis by axis, multiply `g` by the products of the elements before and after each one."""
    stages = [conj(x)]
    for a in axes[:-1]:
        stages.append(reduce_prod(stages[-1], a, keepdims=True))
    for a, stage in zip(reversed(axes), reversed(stages), strict=False):
        cumprod = reduction.cumulative.cumprod
        others = (cumprod(stage, a, exclusive=True)
                  * cumprod(stage, a, exclusive=True, reverse=True))
        g = broadcast_over(g, stage, [a]) * others
    return g


def reduce_any(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
               name: str | None = None) -> Tensor:
    """Return True if any element along `axis` is true.

    Parameters
    ----------
    input_tensor : Tensor, bool
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, bool; False for no elements

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_any([[True, False], [False, False]], axis=1).numpy().tolist()
    [True, False]
    """
    return apply("reduce_any", input_tensor, name=name, axes=axes_or_all(input_tensor, axis),
                 keepdims=keepdims)


no_gradient("reduce_any", why="bool result")


def reduce_all(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
               name: str | None = None) -> Tensor:
    """Return True if all elements along `axis` are true.

    Parameters
    ----------
    input_tensor : Tensor, bool
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, bool; True for no elements

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_all([[True, True], [True, False]], axis=1).numpy().tolist()
    [True, False]
    """
    return apply("reduce_all", input_tensor, name=name, axes=axes_or_all(input_tensor, axis),
                 keepdims=keepdims)


no_gradient("reduce_all", why="bool result")


def reduce_logsumexp(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
                     name: str | None = None) -> Tensor:
    """Return the logarithm of the sum of e^x along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, floating
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`

    Notes
    -----
    Computed as m + log(sum(e^(x - m))) with m the maximum, so that nothing overflows. -inf if all
    elements are -inf, or if there are none. The gradient is ``g * e^(x - y)``, the softmax.

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_logsumexp([1000., 1000.]).numpy().item()
    1000.6931762695312
    """
    return apply("reduce_logsumexp", input_tensor, name=name, axes=axes_or_all(input_tensor, axis),
                 keepdims=keepdims)


LOWEST_FINITE = -3e38    # replaces -inf where it is subtracted


@gradient("reduce_logsumexp", saves="both")
def _(g, y, x, axes, keepdims):
    return exp(x - broadcast_over(maximum(y, LOWEST_FINITE), x, axes)) * broadcast_over(g, x, axes)
