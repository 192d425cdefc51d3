"""Manipulation functions: shapes, order of dimensions and elements, joining."""

from collections.abc import Sequence
from typing import Any

from dualflow._core import Tensor
from dualflow._util.arguments import integer
from dualflow.array_api.arrays import array, of_one_dtype
from dualflow.errors import InvalidArgumentError, OutOfRangeError
from dualflow.ops.array import join, shape as shapes, slicing
from dualflow.ops.array.shape import static_shape
from dualflow.ops.types import Axis, TensorLike

__all__ = ["broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis",
           "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack"]


def broadcast_arrays(*arrays: TensorLike) -> list[Tensor]:
    """Broadcast arrays to one shape, without changing dtypes.

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


def broadcast_shape(caller: str, *given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the broadcast shape of shapes."""
    ndim = max([len(s) for s in given], default=0)
    common: list[Any] = [1] * ndim
    for s in given:
        for d, n in enumerate(s, ndim - len(s)):
            if n == 1:
                continue
            if common[d] != 1 and common[d] != n:
                raise InvalidArgumentError(f"{caller}: shapes {', '.join(map(str, given))} do not "
                                           "broadcast")
            common[d] = n
    return tuple(common)


def broadcast_to(x: TensorLike, /, shape: TensorLike) -> Tensor:
    """Broadcast `x` to `shape`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.broadcast_to(df.constant([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return shapes.broadcast_to(x, shape)


def concat(arrays: Sequence[TensorLike], /, *, axis: int | None = 0) -> Tensor:
    """Concatenate `arrays` along `axis`; None flattens them first.

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
    """Insert a new dimension of size 1 at `axis` of `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.expand_dims(df.constant([1, 2]), -1).shape
    (2, 1)
    """
    y, axis = array(x, "expand_dims"), integer(axis, "expand_dims: axis")
    if not -y.ndim - 1 <= axis <= y.ndim:
        raise OutOfRangeError(f"expand_dims: axis {axis} for x of shape {y.shape}, expected "
                              f"{-y.ndim - 1} to {y.ndim}")
    return shapes.expand_dims(y, axis)


def flip(x: TensorLike, /, *, axis: Axis = None) -> Tensor:
    """Reverse the elements of `x` along `axis`, an int, a tuple, or None for all.

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
    """Move the dimensions `source` of `x`, an int or a tuple, to the positions `destination`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.moveaxis(df.constant([[[1, 2]]]), 2, 0).shape
    (2, 1, 1)
    """
    y = array(x, "moveaxis")
    moved, places = [_axes_of(a, y.ndim, "moveaxis") for a in (source, destination)]
    if len(moved) != len(places):
        raise InvalidArgumentError(f"moveaxis: source {source} and destination {destination}, "
                                   "expected equally many axes")
    rest = iter([d for d in range(y.ndim) if d not in moved])
    at = dict(zip(places, moved, strict=True))
    return shapes.transpose(y, [at[d] if d in at else next(rest) for d in range(y.ndim)])


def _axes_of(axis: Any, ndim: int, caller: str) -> list[int]:
    """Return axes, an int or several, as distinct non-negative ints."""
    listed = [integer(a, f"{caller}: an axis")
              for a in ([axis] if isinstance(axis, int) else list(axis))]
    wrong = [a for a in listed if not -ndim <= a < ndim]
    if wrong or len({a % ndim for a in listed}) < len(listed):
        raise InvalidArgumentError(f"{caller}: axes {axis} of {ndim} dimensions, expected distinct "
                                   "axes in range")
    return [a % ndim for a in listed]


def permute_dims(x: TensorLike, /, axes: Sequence[int]) -> Tensor:
    """Permute the dimensions of `x` to the order `axes`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.permute_dims(df.constant([[1, 2], [3, 4]]), (1, 0)).tolist()
    [[1, 3], [2, 4]]
    """
    return shapes.transpose(x, axes)


def repeat(x: TensorLike, repeats: TensorLike, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element of `x` along an axis.

    Parameters
    ----------
    x : array
    repeats : int or array of integers
        Number of repetitions: one for all elements, or one for each.
    axis : int, optional
        None flattens `x` first.

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
    """Return the elements of `x` in another shape.

    Parameters
    ----------
    x : array
    shape : tuple of int
        One size may be -1 and is computed from the others.
    copy : bool, optional
        Ignored: arrays are immutable, so memory is always shared.

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
    """Shift elements along an axis; elements shifted past the end wrap to the start.

    Parameters
    ----------
    x : array
    shift : int or tuple of int
    axis : int or tuple of int, optional
        One axis per shift, or several axes for one shift; None shifts all elements in row-major
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
    """Remove the dimensions `axis` of `x`, an int or a tuple, whose size must be 1.

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
    """Stack `arrays` of one shape along a new dimension at `axis`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.stack([df.constant([1, 2]), df.constant([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    return join.stack(of_one_dtype("stack", *arrays), axis)


def tile(x: TensorLike, repetitions: Sequence[int], /) -> Tensor:
    """Repeat `x` along its dimensions, which are aligned with `repetitions` at the end.

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
    """Return the slices of `x` along `axis`.

    Examples
    --------
    >>> import dualflow as df
    >>> [part.tolist() for part in df.array_api.unstack(df.constant([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    return tuple(join.unstack(x, axis=axis))
