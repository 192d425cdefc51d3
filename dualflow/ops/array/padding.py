"""Padding tensors, with gradients."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import ones, zeros
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import identity, ints, is_open, reshape, static_shape
from dualflow.ops.array.slice_parts import BLOCK, MISSING, SLICE
from dualflow.ops.array.slicing import cut, reverse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["pad"]


def pad(tensor: TensorLike, paddings: TensorLike, mode: str = "CONSTANT",
        constant_values: TensorLike = 0, name: str | None = None) -> Tensor:
    """Pad `tensor` with elements before and after each dimension.

    Parameters
    ----------
    tensor : Tensor
    paddings : ints, shape (ndim, 2)
        Number of elements before and after, per dimension.
    mode : {"CONSTANT", "REFLECT", "SYMMETRIC"}
        Pad with `constant_values`, or with `tensor` mirrored without or with its edge.
    constant_values : scalar

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.pad([1, 2, 3], [[1, 2]]).tolist(), df.pad([1, 2, 3], [[2, 0]], "REFLECT").tolist()
    ([0, 1, 2, 3, 0, 0], [3, 2, 1, 2, 3])
    """
    x = tensor if isinstance(tensor, TensorBase) else as_tensor(tensor, None, "pad")
    if isinstance(paddings, list | tuple) and all(isinstance(p, list | tuple) for p in paddings):
        flat = tuple([n for pair in paddings for n in ints(pair, "pad: paddings")])
    else:
        flat = ints(reshape(paddings, (-1,)), "pad: paddings")
    if len(flat) != 2 * x.ndim:
        raise ShapeError(f"pad: paddings {paddings} of {x.dtype} {x.shape}, expected a pair per "
                         "dimension")
    mode = str(mode).upper()
    if mode == "CONSTANT":
        return apply("pad", x, constant_values, name=name, paddings=flat)
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise InvalidArgumentError(
            f"pad: mode is {mode!r}, expected CONSTANT, REFLECT or SYMMETRIC")
    for axis, (before, after) in enumerate(zip(flat[::2], flat[1::2], strict=True)):
        x = _mirror(x, axis, before, after, edge=mode == "SYMMETRIC")
    return identity(x, name)


@gradient("pad", saves="none")
def _(g, y, x, value, paddings):
    before, after = paddings[::2], paddings[1::2]
    shape = static_shape(x)
    pairs, kind, ends = list(zip(before, after, strict=True)), BLOCK, shape
    if not any(map(is_open, (*paddings, *shape))):
        kind, ends = SLICE, tuple([-n if n else MISSING for n in after])
    return (lambda: cut(g, before, ends, (1,) * len(ends), (kind,) * len(ends)),
            lambda: g * pad(zeros(shape, g.dtype), pairs, constant_values=ones((), g.dtype)))


def _mirror(x: TensorBase, axis: int, before: int, after: int, edge: bool) -> TensorBase:
    """Pad `x` along `axis` with its own mirrored elements."""
    n, skip = static_shape(x)[axis], 0 if edge else 1
    known = not any(map(is_open, (n, before, after)))
    if known and (before < 0 or after < 0 or max(before, after) > n - skip):
        raise InvalidArgumentError(f"pad: {before} and {after} mirrored elements of dimension "
                                   f"{axis}, which has size {n}, expected 0 to {n - skip}")
    parts = [x]
    if not known or before:
        parts.insert(0, reverse(_block(x, axis, skip, before), axis))
    if not known or after:
        parts.append(reverse(_block(x, axis, n - skip - after, after), axis))
    return concat(parts, axis) if len(parts) > 1 else x


def _block(x: TensorBase, axis: int, begin: int, count: int) -> Tensor:
    """Return `count` elements of the dimension `axis`, starting at `begin`."""
    whole = (MISSING,) * axis
    return cut(x, (*whole, begin), (*whole, count), (1,) * (axis + 1), (*(SLICE,) * axis, BLOCK))
