"""Slicing, reversing, rolling, tiling and repeating tensors, with gradients."""

from __future__ import annotations

import builtins
from functools import lru_cache

from dualflow._core import (
    Dim,
    Operand,
    Tensor,
    TensorBase,
    apply,
    apply_ordered,
    as_tensor,
    get_op,
)
from dualflow._util.arguments import integer, one_by_one
from dualflow.dtypes import int32
from dualflow.errors import InvalidArgumentError, OutOfRangeError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import constant, converted, range
from dualflow.ops.array.shape import (
    broadcast_to,
    expand_dims,
    identity,
    ints,
    is_open,
    reshape,
    same_size,
    static_shape,
)
from dualflow.ops.array.slice_parts import BLOCK, INDEX, MISSING, NEW, SLICE, gradient_of_slice
from dualflow.ops.axes import by_axes
from dualflow.ops.elementwise.compare import where
from dualflow.ops.indexing.gather import gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from dualflow.ops.types import Axis, TensorLike

__all__ = ["cut", "repeat", "reverse", "roll", "slice", "strided_slice", "tile"]

STRIDED_SLICE = get_op("strided_slice")

Ints: TypeAlias = "Sequence[int]"


def cut(x: TensorLike, begin: Ints, end: Ints, strides: Ints, kind: Ints,
        name: str | None = None) -> Tensor:
    """Index by one key per dimension or new dimension, with the rules of Python slices.

    Examples
    --------
    >>> from dualflow.ops.array.slicing import SLICE, cut
    >>> cut([1, 2, 3, 4], [-3], [4], [2], [SLICE]).tolist()
    [2, 4]
    """
    return apply("strided_slice", x, name=name, begin=begin, end=end, strides=strides, kind=kind)


@gradient("strided_slice", saves="none")
def _(g, y, x, begin, end, strides, kind):
    return gradient_of_slice(g, static_shape(x), begin, end, strides, kind)


def strided_slice_grad(g: TensorLike, shape: Ints, begin: Ints, end: Ints, strides: Ints,
                       kind: Ints) -> Tensor:
    """Return zeros of `shape` with `g` in the slice of the keys: the gradient of `cut`."""
    return apply("strided_slice_grad", g, shape=shape, begin=begin, end=end, strides=strides,
                 kind=kind)


@gradient("strided_slice_grad", saves="none")
def _(gg, y, g, shape, begin, end, strides, kind):
    return cut(gg, begin, end, strides, kind)


def slice(input_: TensorLike, begin: TensorLike, size: TensorLike,
          name: str | None = None) -> Tensor:
    """Return the block of `input_` that starts at `begin` and has `size` elements per dimension.

    Parameters
    ----------
    input_ : Tensor
    begin : ints
        First element of each dimension.
    size : ints
        Number of elements of each dimension; -1 for all that remain.

    Returns
    -------
    Tensor

    Raises
    ------
    OutOfRangeError
        If the block is not within `input_`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, -1]).tolist()
    [[2, 3], [5, 6]]
    """
    x = input_ if isinstance(input_, TensorBase) else as_tensor(input_, None, "slice")
    first, count = ints(begin, "slice: begin"), ints(size, "slice: size")
    if not len(first) == len(count) == x.ndim:
        raise ShapeError(f"slice: begin {first} and size {count} of {x.dtype} {x.shape}, expected "
                         "one of each per dimension")
    if any(map(is_open, (*first, *count))):
        return cut(x, first, count, (1,) * x.ndim, (BLOCK,) * x.ndim, name=name)
    for d, (b, n, whole) in enumerate(zip(first, count, x.shape, strict=True)):
        if b < 0 or n < -1 or (whole is not None and (b > whole or b + n > whole)):
            raise OutOfRangeError(f"slice: {n} elements from {b} on of dimension {d}, which has "
                                  f"size {whole}")
    ends = [MISSING if n == -1 else b + n for b, n in zip(first, count, strict=True)]
    return cut(x, first, ends, (1,) * x.ndim, (SLICE,) * x.ndim, name=name)


def strided_slice(input_: TensorLike, begin: TensorLike, end: TensorLike,
                  strides: TensorLike | None = None, begin_mask: int = 0, end_mask: int = 0,
                  ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
                  name: str | None = None) -> Tensor:
    """Return ``input_[begin:end:strides]``, with one Python slice per dimension.

    Parameters
    ----------
    input_ : Tensor
    begin, end : ints
    strides : ints, optional
        By default ones.
    begin_mask, end_mask : int
        Bit i set: position i has no begin or end.
    ellipsis_mask : int
        Bit i set: position i is an ellipsis for all remaining dimensions; at most one bit.
    new_axis_mask : int
        Bit i set: position i is a new dimension of size 1.
    shrink_axis_mask : int
        Bit i set: position i selects the element ``begin[i]`` and removes the dimension.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.strided_slice([1, 2, 3, 4, 5], [1], [5], [2]).tolist()
    [2, 4]
    """
    x = input_ if isinstance(input_, TensorBase) else as_tensor(input_, None, "strided_slice")
    begins = ints(begin, "strided_slice: begin")
    ends = ints(end, "strided_slice: end")
    steps = (1,) * len(begins) if strides is None else ints(strides, "strided_slice: strides")
    if not len(begins) == len(ends) == len(steps):
        raise ShapeError(f"strided_slice: begin {begins}, end {ends} and strides {steps}, expected "
                         "equally many")
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = (
        integer(mask, f"strided_slice: {name}") for name, mask in (
            ("begin_mask", begin_mask), ("end_mask", end_mask), ("ellipsis_mask", ellipsis_mask),
            ("new_axis_mask", new_axis_mask), ("shrink_axis_mask", shrink_axis_mask)))
    if ellipsis_mask.bit_count() > 1:
        raise InvalidArgumentError(f"strided_slice: ellipsis_mask is {ellipsis_mask:b}, expected "
                                   "one bit at most")
    named = sum(not (ellipsis_mask | new_axis_mask) >> i & 1 for i in builtins.range(len(begins)))
    keys: list[tuple[int, int, int, int]] = []
    for i, (b, e, s) in enumerate(zip(begins, ends, steps, strict=True)):
        if ellipsis_mask >> i & 1:
            keys += [(MISSING, MISSING, 1, SLICE)] * (x.ndim - named)
        elif new_axis_mask >> i & 1:
            keys.append((0, 0, 1, NEW))
        elif shrink_axis_mask >> i & 1:
            keys.append((b, 0, 1, INDEX))
        else:
            keys.append((MISSING if begin_mask >> i & 1 else b,
                         MISSING if end_mask >> i & 1 else e, s, SLICE))
    first, last, by, kinds = zip(*keys, strict=True) if keys else ((), (), (), ())
    return cut(x, first, last, by, kinds, name=name)


def _axes(axis: Axis, ndim: int, op: str) -> list[int]:
    listed = ints(axis, f"{op}: axis")
    for a in listed:
        if not -ndim <= a < ndim:
            raise InvalidArgumentError(f"{op}: axis {a} of {ndim} dimensions")
    return [a % ndim for a in listed]


def reverse(tensor: TensorLike, axis: Axis, name: str | None = None) -> Tensor:
    """Reverse the order of elements along each of `axis`.

    Parameters
    ----------
    tensor : Tensor
    axis : int or ints

    Returns
    -------
    Tensor, shape and dtype of `tensor`

    Examples
    --------
    >>> import dualflow as df
    >>> df.reverse([[1, 2], [3, 4]], [1]).tolist()
    [[2, 1], [4, 3]]
    """
    one_by_one("reverse(x, {})", axis, name)
    x: Any = tensor
    if not isinstance(x, TensorBase):
        x = as_tensor(x, None, "reverse")
        if isinstance(x, Operand):
            made: Tensor = x._apply_op("reverse", (x,), {"axis": axis}, name)
            if made is not NotImplemented:
                return made
    if type(axis) is int:
        axis = (axis,)
    if isinstance(axis, list | tuple) and all([type(a) is int for a in axis]):
        return apply_ordered(STRIDED_SLICE, (x,), _known_reversing(tuple(axis), x.ndim), name)
    chosen = by_axes(axis, x.ndim, "reverse", lambda a: reverse(x, a, name))
    if chosen is not None:
        return chosen
    return apply_ordered(STRIDED_SLICE, (x,), _reversing(axis, x.ndim), name)


def _reversing(axis: Axis, ndim: int) -> tuple[tuple[int, ...], ...]:
    """Return the attributes of the strided slice that reverses `axis`."""
    listed = _axes(axis, ndim, "reverse")
    steps = tuple([-1 if d in listed else 1 for d in builtins.range(ndim)])
    whole = (MISSING,) * ndim
    return whole, whole, steps, (SLICE,) * ndim


_known_reversing = lru_cache(maxsize=256)(_reversing)


def roll(input: TensorLike, shift: TensorLike, axis: Axis, name: str | None = None) -> Tensor:
    """Shift elements by `shift` along `axis`; elements shifted past the end wrap to the start.

    Parameters
    ----------
    input : Tensor
    shift : int or ints
    axis : int or ints
        One axis per shift.

    Returns
    -------
    Tensor, shape and dtype of `input`

    Examples
    --------
    >>> import dualflow as df
    >>> df.roll([1, 2, 3, 4], 1, 0).tolist()
    [4, 1, 2, 3]
    """
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, "roll")
    shifts, axes = ints(shift, "roll: shift"), ints(axis, "roll: axis")
    if len(shifts) != len(axes):
        raise InvalidArgumentError(f"roll: shift {shifts} along axis {axes}, expected equally many")
    for s, a in zip(shifts, axes, strict=True):
        x = apply("roll", x, name=name, shift=s, axis=a)
    return x if isinstance(x, Tensor) else identity(x, name)


@gradient("roll", saves="none")
def _(g, y, x, shift, axis):
    return roll(g, -shift, axis)


def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """Repeat `input` ``multiples[i]`` times along dimension i.

    Parameters
    ----------
    input : Tensor
    multiples : ints
        One per dimension.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.tile([[1, 2]], [2, 2]).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    one_by_one("tile(x, {})", multiples, name)
    x: Any = input
    if not isinstance(x, TensorBase):
        x = converted(x, None, "tile")
        if isinstance(x, Operand):
            made: Tensor = x._apply_op("tile", (x,), {"multiples": multiples}, name)
            if made is not NotImplemented:
                return made
    times = ints(multiples, "tile: multiples")
    if len(times) != x.ndim or any(m < 0 for m in times):
        raise ShapeError(f"tile: multiples {times} of {x.dtype} {x.shape}, expected one per "
                         "dimension, 0 or more")
    shape, repeated, merged = list[int](), list[int](), list[int]()
    for n, m in zip(static_shape(x), times, strict=True):
        if not isinstance(n, Dim) and n == 1:
            shape.append(1)
            repeated.append(m)
        else:
            once = not is_open(m) and m == 1
            shape += [n] if once else [1, n]
            repeated += [n] if once else [m, n]
        merged.append(n * m if n >= 0 else -1)
    return reshape(broadcast_to(reshape(x, shape), repeated), merged, name=name)


def repeat(input: TensorLike, repeats: TensorLike, axis: int | None = None,
           name: str | None = None) -> Tensor:
    """Repeat each element of `input` along `axis`.

    Parameters
    ----------
    input : Tensor
    repeats : int or ints
        Number of repetitions: one for all elements, or one per element.
    axis : int, optional
        None flattens `input` first.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.repeat([1, 2], 2).tolist(), df.repeat([[1, 2]], [1, 2], axis=1).tolist()
    ([1, 1, 2, 2], [[1, 2, 2]])
    """
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, "repeat")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    chosen = by_axes(axis, x.ndim, "repeat", lambda a: repeat(x, repeats, a, name))
    if chosen is not None:
        return chosen
    (at,) = _axes(axis, x.ndim, "repeat")
    shape = static_shape(x)
    times = ints(repeats, "repeat: repeats")
    if any(t < 0 for t in times) or (len(times) != 1 and not same_size(len(times), shape[at])):
        raise ShapeError(f"repeat: repeats {times} of dimension {at} of {x.dtype} {x.shape}, "
                         "expected one number or one per element, 0 or more")
    if len(times) != 1:
        wanted = range(max(times, default=0)) < expand_dims(constant(times, int32), 1)
        return gather(x, where(wanted)[:, 0], axis=at, name=name)
    n = shape[at] * times[0] if shape[at] >= 0 else -1
    copies = broadcast_to(expand_dims(x, at + 1), (*shape[:at + 1], times[0], *shape[at + 1:]))
    return reshape(copies, (*shape[:at], n, *shape[at + 1:]), name=name)
