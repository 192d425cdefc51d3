"""Shapes, order of dimensions and elements, parts put together."""

from collections.abc import Sequence
from typing import Any

from dualflow._core import Tensor
from dualflow.array_api.arrays import array, of_one_dtype
from dualflow.errors import InvalidArgumentError
from dualflow.ops import array as shapes, join, slicing
from dualflow.ops.array import static_shape
from dualflow.ops.types import Axis, TensorLike

__all__ = ["broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis",
           "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack"]


def broadcast_arrays(*arrays: TensorLike) -> list[Tensor]:
    """Arrays repeated so that all have one shape; dtypes stay.

    Examples
    --------
    >>> import dualflow as df
    >>> a, b = df.array_api.broadcast_arrays(df.constant([1, 2]), df.constant([[3], [4]]))
    >>> a.tolist(), b.tolist()
    ([[1, 2], [1, 2]], [[3, 3], [4, 4]])
    """
    given = [array(x, "broadcast_arrays") for x in arrays]
    shape = broadcast_shape("broadcast_arrays", *[static_shape(x) for x in given])
    return [shapes.broadcast_to(x, shape) for x in given]


def broadcast_shape(who: str, *given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape that shapes have together."""
    ndim = max([len(s) for s in given], default=0)
    common: list[Any] = [1] * ndim
    for s in given:
        for d, n in enumerate(s, ndim - len(s)):
            if n == 1:
                continue
            if common[d] != 1 and common[d] != n:
                raise InvalidArgumentError(f"{who}: shapes {', '.join(map(str, given))} do not "
                                           "broadcast")
            common[d] = n
    return tuple(common)


def broadcast_to(x: TensorLike, /, shape: TensorLike) -> Tensor:
    """`x` repeated along new dimensions and those of size 1 until it has `shape`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.broadcast_to(df.constant([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return shapes.broadcast_to(x, shape)


def concat(arrays: Sequence[TensorLike], /, *, axis: int | None = 0) -> Tensor:
    """The `arrays` one after another along `axis`; None makes them flat first.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.concat([df.constant([1]), df.constant([2, 3])]).tolist()
    [1, 2, 3]
    """
    parts = of_one_dtype("concat", *arrays)
    if axis is None:
        return join.concat([shapes.reshape(p, (-1,)) for p in parts], 0)
    return join.concat(parts, axis)


def expand_dims(x: TensorLike, /, axis: int) -> Tensor:
    """`x` with a new dimension of size 1 at `axis`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.expand_dims(df.constant([1, 2]), -1).shape
    (2, 1)
    """
    y = array(x, "expand_dims")
    if not -y.ndim - 1 <= axis <= y.ndim:
        raise IndexError(f"expand_dims: axis {axis} for x of shape {y.shape}, want "
                         f"{-y.ndim - 1} to {y.ndim}")
    return shapes.expand_dims(y, axis)


def flip(x: TensorLike, /, *, axis: Axis = None) -> Tensor:
    """`x` with the order of elements reversed along `axis`, an int, a tuple, or None for all.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.flip(df.constant([1, 2, 3])).tolist()
    [3, 2, 1]
    """
    y = array(x, "flip")
    axes = tuple(range(y.ndim)) if axis is None else axis
    return y if axes == () else slicing.reverse(y, axes)


def moveaxis(x: TensorLike, source: Any, destination: Any, /) -> Tensor:
    """`x` with the dimensions `source`, an int or a tuple, at the places `destination`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.moveaxis(df.constant([[[1, 2]]]), 2, 0).shape
    (2, 1, 1)
    """
    y = array(x, "moveaxis")
    moved, places = [_axes_of(a, y.ndim, "moveaxis") for a in (source, destination)]
    if len(moved) != len(places):
        raise InvalidArgumentError(f"moveaxis: source {source} and destination {destination}, want "
                                   "equally many axes")
    rest = iter([d for d in range(y.ndim) if d not in moved])
    at = dict(zip(places, moved, strict=True))
    return shapes.transpose(y, [at[d] if d in at else next(rest) for d in range(y.ndim)])


def _axes_of(axis: Any, ndim: int, who: str) -> list[int]:
    """Axes, an int or several, counted from the front; none twice."""
    listed = [axis] if isinstance(axis, int) else list(axis)
    wrong = [a for a in listed if not -ndim <= a < ndim]
    if wrong or len({a % ndim for a in listed}) < len(listed):
        raise InvalidArgumentError(f"{who}: axes {axis} of {ndim} dimensions, want different ones "
                                   "of them")
    return [a % ndim for a in listed]


def permute_dims(x: TensorLike, /, axes: Sequence[int]) -> Tensor:
    """`x` with its dimensions in the order `axes`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.permute_dims(df.constant([[1, 2], [3, 4]]), (1, 0)).tolist()
    [[1, 3], [2, 4]]
    """
    return shapes.transpose(x, axes)


def repeat(x: TensorLike, repeats: TensorLike, /, *, axis: int | None = None) -> Tensor:
    """Each element of `x` along an axis several times in a row.

    Parameters
    ----------
    x : array
    repeats : int or array of integers
        How often; one number for all, or one for each.
    axis : int, optional
        None makes `x` flat first.

    Returns
    -------
    array

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.repeat(df.constant([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    """
    return slicing.repeat(x, repeats, axis)


def reshape(x: TensorLike, /, shape: TensorLike, *, copy: bool | None = None) -> Tensor:
    """The elements of `x` in another shape.

    Parameters
    ----------
    x : array
    shape : tuple of int
        One of them may be -1: what is left.
    copy : bool, optional
        Arrays never change, so memory is shared whatever is said here.

    Returns
    -------
    array

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.reshape(df.constant([1, 2, 3, 4]), (2, -1)).tolist()
    [[1, 2], [3, 4]]
    """
    return shapes.reshape(x, shape)


def roll(x: TensorLike, /, shift: Any, *, axis: Axis = None) -> Tensor:
    """Elements shifted along an axis; those pushed off the end come first.

    Parameters
    ----------
    x : array
    shift : int or tuple of int
    axis : int or tuple of int, optional
        As many as shifts, or one shift for all of them; None shifts all elements in row-major
        order.

    Returns
    -------
    array

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.roll(df.constant([[1, 2], [3, 4]]), 1).tolist()
    [[4, 1], [2, 3]]
    """
    y = array(x, "roll")
    if axis is None:
        return shapes.reshape(slicing.roll(shapes.reshape(y, (-1,)), shift, 0), static_shape(y))
    axes = _listed(axis)
    shifts = _listed(shift) * (len(axes) if isinstance(shift, int) else 1)
    return slicing.roll(y, shifts, axes)


def _listed(n: Any) -> tuple[int, ...]:
    return (n,) if isinstance(n, int) else tuple(n)


def squeeze(x: TensorLike, /, axis: Any) -> Tensor:
    """`x` without the dimensions `axis`, an int or a tuple, whose size must be 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.squeeze(df.constant([[1, 2]]), 0).tolist()
    [1, 2]
    """
    y = array(x, "squeeze")
    axes = _axes_of(axis, y.ndim, "squeeze")
    return shapes.squeeze(y, axes) if axes else y


def stack(arrays: Sequence[TensorLike], /, *, axis: int = 0) -> Tensor:
    """The `arrays`, of one shape, as the slices of a new dimension at `axis`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.stack([df.constant([1, 2]), df.constant([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    return join.stack(of_one_dtype("stack", *arrays), axis)


def tile(x: TensorLike, repetitions: Sequence[int], /) -> Tensor:
    """`x` repeated along its dimensions; those of `x` and of `repetitions` are aligned at the end.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.tile(df.constant([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    y = array(x, "tile")
    times = tuple(repetitions)
    new = len(times) - y.ndim
    if new > 0:
        y = shapes.reshape(y, (1,) * new + static_shape(y))
    return slicing.tile(y, (1,) * -new + times)


def unstack(x: TensorLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of `x` along `axis`.

    Examples
    --------
    >>> import dualflow as df
    >>> [part.tolist() for part in df.array_api.unstack(df.constant([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    return tuple(join.unstack(x, axis=axis))
