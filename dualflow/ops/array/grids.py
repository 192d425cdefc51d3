"""Evenly spaced numbers, and the coordinates of grids."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor, constant
from dualflow.errors import InvalidArgumentError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.shape import broadcast_to, expand_dims, ints, reshape, static_shape
from dualflow.ops.axes import by_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["linspace", "meshgrid"]


def linspace(start: TensorLike, stop: TensorLike, num: int, name: str | None = None,
             axis: int = 0) -> Tensor:
    """Return `num` evenly spaced numbers from `start` to `stop`, both included.

    Parameters
    ----------
    start, stop : Tensor, floating
        Of one shape; unless they are scalars, the result has a new dimension at `axis`.
    num : int
        At least 1; if it is 1, the result is `start`.
    axis : int

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.linspace(0., 1., 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    first = start if isinstance(start, TensorBase) else as_tensor(start, None, "linspace")
    last = stop if isinstance(stop, TensorBase) else as_tensor(stop, None, "linspace")
    if first.ndim == 0 and last.ndim == 0:
        return apply("linspace", start, stop, name=name, num=num)
    ndim = max(first.ndim, last.ndim) + 1
    chosen = by_axes(axis, ndim, "linspace", lambda a: linspace(start, stop, num, name, a))
    if chosen is not None:
        return chosen
    (axis,), (num,) = ints(axis, "linspace: axis"), ints(num, "linspace: num")
    if not -ndim <= axis < ndim:
        raise InvalidArgumentError(f"linspace: axis {axis} of {ndim} dimensions")
    t = linspace(constant(0, first.dtype), constant(1, first.dtype), num)
    t = reshape(t, (1,) * (axis % ndim) + (num,) + (1,) * (ndim - 1 - axis % ndim))
    return expand_dims(first, axis) * (1 - t) + expand_dims(last, axis) * t


@gradient("linspace", saves="none")
def _(g, y, start, stop, num):
    # The backward pass sums over the elements; each has a share of start and of stop.
    t = linspace(constant(0, g.dtype), constant(1, g.dtype), num)
    return lambda: g * (1 - t), lambda: g * t


def meshgrid(*args: TensorLike, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Return the coordinates of a grid: each vector broadcast over the dimensions of the others.

    Parameters
    ----------
    *args : Tensor, shape (n,) or ()
    indexing : {"xy", "ij"}
        "ij": argument i runs along dimension i; "xy": the first two dimensions are swapped.

    Returns
    -------
    list of Tensor, one per argument

    Examples
    --------
    >>> import dualflow as df
    >>> [x.tolist() for x in df.meshgrid([1, 2], [3, 4, 5])]
    [[[1, 2], [1, 2], [1, 2]], [[3, 3], [4, 4], [5, 5]]]
    """
    if indexing not in ("xy", "ij"):
        raise InvalidArgumentError(f"meshgrid: indexing is {indexing!r}, expected 'xy' or 'ij'")
    vectors = [reshape(a, (-1,)) for a in args]
    order = [*range(len(vectors))]
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    shape = tuple([static_shape(vectors[i])[0] for i in order])
    result = []
    for i, x in enumerate(vectors):
        ones_after = len(order) - 1 - order.index(i)
        result.append(broadcast_to(reshape(x, (-1,) + (1,) * ones_after), shape, name=name))
    return result
