"""Ops that change only the shape or the order of elements, with their gradients."""

from __future__ import annotations

import math

from dualflow import _core
from dualflow._core import (
    Dim,
    Operand,
    Symbol,
    Tensor,
    TensorBase,
    TensorSpec,
    apply,
    apply_unary,
    as_index,
    as_tensor,
    constant,
)
from dualflow._util.arguments import one_by_one, shown
from dualflow.dtypes import DType, as_dtype, int32
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient, no_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import Axis, DTypeLike, TensorLike

__all__ = ["broadcast_to", "ensure_shape", "expand_dims", "identity", "rank", "reshape", "shape",
           "size", "squeeze", "static_shape", "stop_gradient", "transpose"]


def static_shape(x: TensorBase | TensorSpec) -> tuple[int, ...]:
    """Return the shape of `x` as an op attribute: -1 for an unknown dimension."""
    return tuple([-1 if d is None else d for d in x.shape])


def product(sizes: Sequence[Any]) -> Any:
    """Return the product of sizes as an op attribute, or -1 if one of them is None (unknown).

    Unlike the -1 of a reshape, the product is also defined for tensors without elements."""
    return -1 if any([n is None for n in sizes]) else math.prod(sizes)


def is_open(n: Any) -> bool:
    """Return True if a size is unknown until the program runs: it depends on data, or is arbitrary
    in a graph built by hand."""
    return isinstance(n, Dim) and bool(n.data_dependent or n.graph.for_any_size)


def same_size(a: Any, b: Any) -> bool:
    """Return True if two sizes are equal. If one depends on data, or is arbitrary in a graph built
    by hand, equality is assumed and checked when the program runs."""
    for n in (a, b):
        if is_open(n):
            if a is not b:
                n.graph.guard("eq", (a, b), True)
            return True
    return bool(a == b)


def same_shape(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return True if two shapes are equal, by the rules of `same_size`."""
    return len(a) == len(b) and all([same_size(m, n) for m, n in zip(a, b, strict=True)])


def ints(value: Any, what: str) -> tuple[int, ...]:
    """Return the integers of an argument like `shape`: one int, a sequence of them, or a tensor.

    `what` is the op and the argument as named in the error message.
    """
    try:
        if isinstance(value, (tuple, list)):
            return tuple([as_index(v) for v in value])
        if type(value) is int or isinstance(value, int | Dim):
            return (as_index(value),)
        if isinstance(value, Symbol):
            return value.graph.dims_of(value)
        listed = value.tolist() if hasattr(value, "tolist") else as_tensor(value).tolist()
        return tuple([v.__index__() for v in (listed if isinstance(listed, list) else [listed])])
    except (AttributeError, TypeError):
        raise DTypeError(f"{what} is {shown(value)}, expected integers") from None


def one_size(value: Any, what: str) -> Any:
    """Return a size argument: an int of at least 0, or a traced integer derived from other
    sizes."""
    found = ints(value, what)
    if len(found) != 1 or not (is_open(found[0]) or found[0] >= 0):
        raise InvalidArgumentError(f"{what} is {shown(value)}, expected one number of at least 0")
    if isinstance(found[0], Dim) and found[0].data_dependent:
        found[0].graph.guard("ge", (found[0], 0), True)
    return found[0]


def applied_by_shape(op: str, x: Any, shape: Any, name: str | None) -> Any:
    """Return the result of an op whose shape is an Operand that applies it, such as a
    DynamicRaggedShape. Called while an error about the shape is handled, which other shapes
    raise again."""
    if not (isinstance(shape, Operand) and hasattr(shape, "static_shape")):
        raise
    return shape._apply_op(op, (x,), {}, name)


def reshape(tensor: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Return the same elements in another shape, sharing memory.

    Parameters
    ----------
    tensor : Tensor
    shape : ints
        The new dimensions; one may be -1 and is computed from the others.

    Returns
    -------
    Tensor of `shape`, dtype of `tensor`

    Raises
    ------
    ShapeError
        If the number of elements differs.

    Examples
    --------
    >>> import dualflow as df
    >>> df.reshape([[1, 2, 3], [4, 5, 6]], [3, -1]).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
    one_by_one("reshape(x, {})", shape, name)
    try:
        sizes = ints(shape, "reshape: shape")
    except DTypeError:
        return applied_by_shape("reshape", tensor, shape, name)
    return apply("reshape", tensor, name=name, shape=sizes)


@gradient("reshape", saves="none")
def _(g, y, x, shape):
    return reshape(g, static_shape(x))


def expand_dims(input: TensorLike, axis: int | Sequence[int], name: str | None = None) -> Tensor:
    """Return `input` with a dimension of size 1 inserted at `axis`, sharing memory.

    Parameters
    ----------
    input : Tensor, shape (...)
    axis : int, or list or tuple of one int
        Position of the new dimension in the result; negative counts from its end.

    Returns
    -------
    Tensor with one more dimension

    Examples
    --------
    >>> import dualflow as df
    >>> df.expand_dims([1, 2, 3], 0).shape, df.expand_dims([1, 2, 3], -1).shape
    ((1, 3), (3, 1))
    """
    if isinstance(axis, list | tuple) and len(axis) == 1:
        axis = axis[0]
    return apply("expand_dims", input, name=name, axis=axis)


@gradient("expand_dims", saves="none")
def _(g, y, x, axis):
    return squeeze(g, axis)


def squeeze(input: TensorLike, axis: Axis = None, name: str | None = None) -> Tensor:
    """Return `input` without dimensions of size 1, sharing memory.

    Parameters
    ----------
    input : Tensor
    axis : int or ints, optional
        The dimensions to remove, which must be 1; None removes all dimensions of size 1.

    Returns
    -------
    Tensor with fewer dimensions

    Raises
    ------
    ShapeError
        If a dimension of `axis` is not 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.squeeze([[[1], [2]]]).shape, df.squeeze([[[1], [2]]], 0).shape
    ((2,), (2, 1))
    """
    one_by_one("squeeze(x, {})", axis, name)
    return apply("squeeze", input, name=name, axis=() if axis is None else axis)


@gradient("squeeze", saves="none")
def _(g, y, x, axis):
    return reshape(g, static_shape(x))


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """Return a new tensor with the value of `input`, sharing memory.

    Examples
    --------
    >>> import dualflow as df
    >>> df.identity([1, 2]).tolist()
    [1, 2]
    """
    return apply_unary("identity", input, name)


@gradient("identity", saves="none")
def _(g, y, x):
    return identity(g)


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """Return `input`, without passing gradients back to it.

    Examples
    --------
    >>> import dualflow as df
    >>> df.stop_gradient([1., 2.]).tolist()
    [1.0, 2.0]
    """
    return apply_unary("stop_gradient", input, name)


no_gradient("stop_gradient", why="stopped on purpose")


def broadcast_to(input: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Return `input` repeated to `shape` along dimensions of size 1 and new leading dimensions.

    Parameters
    ----------
    input : Tensor
    shape : ints
        Dimensions are matched from the last. Each equals the dimension of `input`, or is -1 for the
        same size, or is arbitrary if the dimension of `input` is 1 or missing.

    Returns
    -------
    Tensor of `shape`

    Raises
    ------
    ShapeError
        If `input` does not broadcast to `shape`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.broadcast_to([1, 2], [2, 2]).tolist()
    [[1, 2], [1, 2]]
    """
    one_by_one("broadcast_to(x, {})", shape, name)
    try:
        sizes = ints(shape, "broadcast_to: shape")
    except DTypeError:
        return applied_by_shape("broadcast_to", input, shape, name)
    return apply("broadcast_to", input, name=name, shape=sizes)


@gradient("broadcast_to", saves="none")
def _(g, y, x, shape):
    return g                                  # the backward pass sums g to the shape of x


def transpose(a: TensorLike, perm: Sequence[int] | None = None, conjugate: bool = False,
              name: str | None = None) -> Tensor:
    """Permute the dimensions: dimension i of the result is dimension ``perm[i]`` of `a`.

    Parameters
    ----------
    a : Tensor
    perm : ints, optional
        Each dimension of `a` once; negative ones count from the end. None reverses the order.
    conjugate : bool
        Whether to return the complex conjugates of the elements.

    Returns
    -------
    Tensor, dtype of `a`

    Notes
    -----
    Copies the elements, unless only dimensions of size 1 move; then memory is shared.

    Examples
    --------
    >>> import dualflow as df
    >>> df.transpose([[1, 2, 3], [4, 5, 6]]).tolist()
    [[1, 4], [2, 5], [3, 6]]
    """
    x = a if isinstance(a, TensorBase) else as_tensor(a, None, "transpose")
    ndim = x.ndim
    one_by_one("transpose(x, {})", perm, conjugate, name)
    if perm is None:
        order = tuple(range(ndim - 1, -1, -1))
    else:
        order = tuple([p + ndim if not is_open(p) and p < 0 else p
                       for p in ints(perm, "transpose: perm")])
    made = apply("transpose", x, name=name, perm=order)
    return apply("conj", made) if conjugate and made.dtype.is_complex else made


@gradient("transpose", saves="none")
def _(g, y, x, perm):
    inverse = [0] * len(perm)
    for i, p in enumerate(perm):
        inverse[p] = i
    return transpose(g, inverse)


def shape(input: TensorLike, out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """Return the dimensions of `input` as a tensor of int32 (or `out_type`).

    Examples
    --------
    >>> import dualflow as df
    >>> df.shape([[1, 2, 3]]).tolist()
    [1, 3]
    """
    return _as_type(apply_unary("shape", input, name), as_dtype(out_type))


no_gradient("shape", why="it depends on the shape of its input, not on the values")


def size(input: TensorLike, out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """Return the number of elements of `input`, int32 (or `out_type`) of shape ().

    Examples
    --------
    >>> import dualflow as df
    >>> df.size([[1, 2, 3]]).item()
    3
    """
    return _as_type(apply_unary("size", input, name), as_dtype(out_type))


no_gradient("size", why="it depends on the shape of its input, not on the values")


def _as_type(x: Tensor, dtype: DType) -> Tensor:
    return x if x.dtype is dtype else apply("cast", x, dtype=dtype)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the number of dimensions of `input`, int32 of shape ().

    Examples
    --------
    >>> import dualflow as df
    >>> df.rank([[1, 2, 3]]).item()
    2
    """
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, "rank")
    return constant(x.ndim)


def ensure_shape(x: TensorLike, shape: Sequence[int | None], name: str | None = None) -> Tensor:
    """Check that the shape of `x` is `shape`, and return `x`. None in `shape` matches any size.

    Raises
    ------
    ShapeError
        If the shape differs.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ensure_shape([[1, 2, 3]], [None, 3]).shape
    (1, 3)
    """
    tensor = x if isinstance(x, TensorBase) else as_tensor(x, None, "ensure_shape")
    have = tensor.shape
    if not isinstance(shape, (tuple, list)):
        raise DTypeError(f"ensure_shape: shape is {shape!r}, expected a sequence of int or None")
    want = [h if w is None else w for h, w in zip(have, shape, strict=False)]
    if len(have) != len(shape) or not same_shape(have, want):
        raise ShapeError(f"ensure_shape: {tensor.dtype} {have}, expected shape {tuple(shape)}")
    if any([isinstance(h, Dim) and h.data_dependent and w is not h
            for h, w in zip(have, want, strict=True)]):
        return reshape(tensor, want, name=name)         # the result has the known sizes
    return identity(tensor, name=name)


_core.bind(transpose=transpose)
