"""Reductions over any set of axes, with their gradients. For means see reduce_moments.py."""

from __future__ import annotations

import math

from dualflow._core import Tensor, TensorBase, apply, apply_ordered, as_tensor, get_op
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.array import broadcast_to, reshape, static_shape
from dualflow.ops.cast import cast
from dualflow.ops.compare import equal
from dualflow.ops.cumulative import cumprod
from dualflow.ops.exponential import exp
from dualflow.ops.limits import maximum

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
ALL_AXES = tuple([tuple(range(n)) for n in range(16)])     # made once: see `pack_given`


def axes_or_all(x: TensorLike, axis: Axis) -> Any:
    """`axis`, and for None all axes: their number is known only here."""
    if axis is not None:
        return axis
    n = (x if isinstance(x, TensorBase) else as_tensor(x)).ndim
    return ALL_AXES[n] if n < len(ALL_AXES) else tuple(range(n))


def broadcast_over(g: Tensor, x: Any, axes: Iterable[int]) -> Tensor:
    """`g`, which was reduced over `axes` of `x`, repeated along them."""
    shape = static_shape(x)
    if len(g.shape) == 0:
        repeated: Tensor = apply_ordered(BROADCAST_TO, (g,), (shape,))
        return repeated
    marked = {a % len(shape) for a in axes}
    kept = [1 if d in marked else n for d, n in enumerate(shape)]
    return broadcast_to(reshape(g, kept), shape)


def count_over(x: Any, axes: Iterable[int]) -> int:
    """How many numbers go into each result."""
    return math.prod(x.shape[a] for a in axes)


def reduce_sum(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
               name: str | None = None) -> Tensor:
    """Sum of the elements along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, any number dtype
    axis : int or sequence of int, optional
        The axes summed over, negative ones counted from the end; default all.
    keepdims : bool
        Whether these axes stay, with 1 element each.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`; integers wrap around

    Raises
    ------
    InvalidArgumentError
        If an axis does not exist or is given twice.

    Notes
    -----
    Floats are summed block by block in many accumulators: a float32 sum of ten million numbers of
    one sign is off by about 1e-7 of itself, and the same on any number of threads. The sum of no
    elements is 0. The gradient is `g` repeated along the axes.

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
    """Largest element along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, any number dtype
    axis : int or sequence of int, optional
        Default all axes.
    keepdims : bool
        Whether these axes stay, with 1 element each.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`

    Notes
    -----
    NaN if any element is NaN. Of no elements: -inf, or the smallest integer of the dtype. The
    gradient is split evenly among elements that are equally large.

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_max([[1, 5], [3, 4]], axis=1).numpy().tolist()
    [5, 4]
    """
    return apply("reduce_max", input_tensor, name=name, axes=axes_or_all(input_tensor, axis),
                 keepdims=keepdims)


def _to_extremes(g, y, x, axes):
    """`g` split evenly among the elements of `x` that equal the result `y`."""
    hit = cast(equal(x, broadcast_over(y, x, axes)), x.dtype)
    return hit * broadcast_over(g / reshape(reduce_sum(hit, axes), g.shape), x, axes)


@gradient("reduce_max", saves="both")
def _(g, y, x, axes, keepdims):
    return _to_extremes(g, y, x, axes)


def reduce_min(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
               name: str | None = None) -> Tensor:
    """Smallest element along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, any number dtype
    axis : int or sequence of int, optional
        Default all axes.
    keepdims : bool
        Whether these axes stay, with 1 element each.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`

    Notes
    -----
    NaN if any element is NaN. Of no elements: inf, or the largest integer of the dtype. The
    gradient is split evenly among elements that are equally small.

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
    """Product of the elements along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, any number dtype
    axis : int or sequence of int, optional
        Default all axes.
    keepdims : bool
        Whether these axes stay, with 1 element each.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`; integers wrap around

    Notes
    -----
    The product of no elements is 1. The gradient is `g` times the product of the other elements,
    which is correct even if some are 0.

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
    """One axis after the other; along each, the products of what is before and after an element."""
    stages = [x]
    for a in axes[:-1]:
        stages.append(reduce_prod(stages[-1], a, keepdims=True))
    for a, stage in zip(reversed(axes), reversed(stages), strict=False):
        others = (cumprod(stage, a, exclusive=True)
                  * cumprod(stage, a, exclusive=True, reverse=True))
        g = broadcast_over(g, stage, [a]) * others
    return g


def reduce_any(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
               name: str | None = None) -> Tensor:
    """Whether any element along `axis` is true.

    Parameters
    ----------
    input_tensor : Tensor, bool
    axis : int or sequence of int, optional
        Default all axes.
    keepdims : bool
        Whether these axes stay, with 1 element each.

    Returns
    -------
    Tensor, bool; of no elements: False

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
    """Whether all elements along `axis` are true.

    Parameters
    ----------
    input_tensor : Tensor, bool
    axis : int or sequence of int, optional
        Default all axes.
    keepdims : bool
        Whether these axes stay, with 1 element each.

    Returns
    -------
    Tensor, bool; of no elements: True

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
    """Logarithm of the sum of e^x along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, floating
    axis : int or sequence of int, optional
        Default all axes.
    keepdims : bool
        Whether these axes stay, with 1 element each.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`

    Notes
    -----
    Computed as m + log(sum(e^(x - m))) with m the maximum, so nothing overflows; -inf where all
    elements are -inf, and of no elements. The gradient is ``g * e^(x - y)``, the softmax.

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_logsumexp([1000., 1000.]).numpy().item()
    1000.6931762695312
    """
    return apply("reduce_logsumexp", input_tensor, name=name, axes=axes_or_all(input_tensor, axis),
                 keepdims=keepdims)


LOWEST_FINITE = -3e38    # what stands for -inf where it is subtracted


@gradient("reduce_logsumexp", saves="both")
def _(g, y, x, axes, keepdims):
    return exp(x - broadcast_over(maximum(y, LOWEST_FINITE), x, axes)) * broadcast_over(g, x, axes)
