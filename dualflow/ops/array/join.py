"""Joining tensors along an axis and splitting them, with gradients."""

from __future__ import annotations

from dualflow._core import Dim, Tensor, TensorBase, apply, as_tensor, unwrapped
from dualflow._util.arguments import integer
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.shape import ints, is_open, squeeze, static_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["concat", "split", "stack", "unstack"]


def _parts(values: Any, op: str, axis: Any) -> Sequence[TensorLike]:
    if isinstance(axis, TensorBase) and axis.ndim:
        raise DTypeError(f"{op}: axis is a tensor of shape {axis.shape}, expected an integer; "
                         f"tensors are one argument: {op}([a, b])")
    values = unwrapped(values)
    if isinstance(values, TensorBase):
        return unstack(values)
    if len(values) == 0:
        raise InvalidArgumentError(f"{op}: got no tensors, expected one or more")
    return values


def concat(values: Sequence[TensorLike], axis: int, name: str | None = None) -> Tensor:
    """Concatenate the tensors along `axis`.

    Parameters
    ----------
    values : sequence of Tensor
        Of the same rank, and equal in all dimensions except `axis`.
    axis : int

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If the shapes differ in another dimension.

    Examples
    --------
    >>> import dualflow as df
    >>> df.concat([[[1, 2]], [[3, 4], [5, 6]]], 0).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
    return apply("concat", *_parts(values, "concat", axis), name=name, axis=axis)


@gradient("concat", saves="none")
def _(g, y, *parts, axis):
    return split(g, [static_shape(p)[axis] for p in parts], axis)


def stack(values: Sequence[TensorLike], axis: int = 0, name: str | None = None) -> Tensor:
    """Stack tensors of one shape along a new dimension.

    Parameters
    ----------
    values : sequence of Tensor
    axis : int
        Position of the new dimension in the result.

    Returns
    -------
    Tensor with one more dimension

    Raises
    ------
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> import dualflow as df
    >>> df.stack([[1, 2], [3, 4]], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    whole = unwrapped(values)
    if isinstance(whole, TensorBase) and whole.ndim and type(axis) is int and axis == 0:
        return as_tensor(whole)         # a tensor is the stack of its slices
    return apply("stack", *_parts(values, "stack", axis), name=name, axis=axis)


@gradient("stack", saves="none")
def _(g, y, *parts, axis):
    if is_open(g.shape[axis]):          # one slice per input; `split` is given the number
        each = apply("split", g, axis=axis, sizes=(1,) * len(parts), num=0)
        return tuple([squeeze(part, axis) for part in each])
    return unstack(g, axis=axis)


def unstack(value: TensorLike, num: int | None = None, axis: int = 0,
            name: str | None = None) -> tuple[Tensor, ...]:
    """Return the slices of `value` along `axis`.

    Parameters
    ----------
    value : Tensor
    num : int, optional
        Expected number of slices; another number raises.
    axis : int

    Returns
    -------
    tuple of Tensor with one dimension less

    Examples
    --------
    >>> import dualflow as df
    >>> [x.tolist() for x in df.unstack([[1, 2], [3, 4]])]
    [[1, 2], [3, 4]]
    """
    parts = apply("unstack", value, name=name, axis=axis) or ()
    if num is not None and num != len(parts):
        raise InvalidArgumentError(f"unstack: {len(parts)} slices along axis {axis}, expected "
                                   f"{num}")
    return parts


@gradient("unstack", saves="none")
def _(g, y, x, axis):
    return stack(g, axis)


def split(value: TensorLike, num_or_size_splits: int | Sequence[int], axis: int = 0,
          num: int | None = None, name: str | None = None) -> tuple[Tensor, ...]:
    """Split `value` along `axis` into equal parts or parts of given sizes.

    Parameters
    ----------
    value : Tensor
    num_or_size_splits : int or ints
        The number of equal parts, or the size of each; one may be -1 for the remainder.
    axis : int
    num : int, optional
        Ignored; the number of parts follows from `num_or_size_splits`.

    Returns
    -------
    tuple of Tensor

    Raises
    ------
    ShapeError
        If the dimension is not divisible, or the sizes do not add up to it.

    Examples
    --------
    >>> import dualflow as df
    >>> [x.tolist() for x in df.split([1, 2, 3, 4], 2)]
    [[1, 2], [3, 4]]
    >>> [x.tolist() for x in df.split([1, 2, 3, 4], [1, -1])]
    [[1], [2, 3, 4]]
    """
    count = 0
    sizes: tuple[int, ...] = ()
    if isinstance(num_or_size_splits, int | Dim) or not getattr(num_or_size_splits, "ndim", 1):
        number: Any = num_or_size_splits
        count = integer(number, "split: num_or_size_splits")
        if count < 1:
            raise InvalidArgumentError(f"split: in {count} parts, expected 1 or more")
    else:
        sizes = ints(num_or_size_splits, "split: sizes")
    return apply("split", value, name=name, axis=axis, sizes=sizes, num=count) or ()


@gradient("split", saves="none")
def _(g, y, x, axis, sizes, num):
    return concat(g, axis)
