"""Data-dependent `axis` arguments of functions composed of several ops."""

from __future__ import annotations

from dualflow._core import Dim, Symbol, current_graph
from dualflow.ops.array.shape import ints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def by_axes(axis: Any, ndim: Any, op: str, function: Callable[[Any], Any]) -> Any:
    """Return `function` of an `axis` that is only known at run time; None if the axis is known.

    Parameters
    ----------
    axis : int, Tensor, or sequence of these
    ndim : int, or one for each axis
        The number of dimensions to choose from.
    op : str
    function : callable (int or list of int) -> nested Tensors
        Called once for each possible axis.
    """
    if axis is None or type(axis) is int or not _is_traced(axis):
        return None
    listed = ints(axis, f"{op}: axis")
    chosen = [a for a in listed if isinstance(a, Dim) and a.data_dependent]
    if not chosen:
        return None
    is_one = not isinstance(axis, list | tuple) and not getattr(axis, "ndim", 0)

    def branch(values: Any) -> Any:
        rest = iter(values)
        axes = [next(rest) if isinstance(a, Dim) and a.data_dependent else a for a in listed]
        return function(axes[0] if is_one else axes)

    ndims = [ndim] * len(listed) if isinstance(ndim, int) else ndim
    choices = [n for a, n in zip(listed, ndims, strict=True)
               if isinstance(a, Dim) and a.data_dependent]
    return current_graph().choose(chosen, choices, branch, op)


TRACED = (Symbol, Dim)


def _is_traced(axis: Any) -> bool:
    given = axis if isinstance(axis, (list, tuple)) else (axis,)
    return any([type(a) is not int and isinstance(a, TRACED) for a in given])
