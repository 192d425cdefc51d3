"""Operands and limits of quantisation: validation, and shapes that broadcast along an axis or
within groups. Values are validated where they are known: eagerly, and for constants of a trace."""

from __future__ import annotations

from dualflow._core import Tensor, TraceContext, as_tensor
from dualflow._util.arguments import integer, not_floating, shown
from dualflow.dtypes import as_dtype, float32
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import is_open, reshape, same_size, static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.reduction.reduce import reduce_max, reduce_min

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.dtypes import DType
    from dualflow.ops.types import DTypeLike, TensorLike

STORED = ("int8", "uint8", "int16", "uint16", "int32")      # dtypes of quantised values
INFINITY = float("inf")


# --- dtypes and limits -------------------------------------------------------------------------


def stored_dtype(dtype: DTypeLike, what: str) -> DType:
    """Return the dtype of quantised values; `what` is the prefix (op and argument) of the error."""
    found = as_dtype(dtype)
    if found.name not in STORED:
        raise DTypeError(f"{what} is {found}, expected one of {', '.join(STORED)}")
    return found


def bits_within(num_bits: Any, least: int, most: int, op: str) -> int:
    """Return the number of bits of an argument."""
    bits = integer(num_bits, f"{op}: num_bits")
    if not least <= bits <= most:
        raise InvalidArgumentError(f"{op}: num_bits is {bits}, expected {least} to {most}")
    return bits


def limits(dtype: DType, num_bits: Any, narrow_range: bool, op: str) -> tuple[int, int]:
    """Return the least and the largest quantised value of `num_bits` bits stored in `dtype`."""
    width = 8 * dtype.itemsize
    bits = width if num_bits is None else bits_within(num_bits, 2, width, op)
    if dtype.min:
        return -2 ** (bits - 1) + bool(narrow_range), 2 ** (bits - 1) - 1
    return int(bool(narrow_range)), 2 ** bits - 1


def wide_dtype(x: Any, stored: DType | None = None) -> DType:
    """Return the dtype in which `x` is quantised: float32, or float64 if `x` is float64 or the
    quantised values need more than the 24 bits of float32."""
    if x.dtype.name == "float64" or (stored is not None and stored.itemsize > 2):
        return as_dtype("float64")
    return float32


# --- tensors -----------------------------------------------------------------------------------


def floating(x: TensorLike, what: str) -> Any:
    """Return a floating tensor; integers in Python lists become float32."""
    found: Any = as_tensor(x, None, what.partition(":")[0])
    if found.dtype.is_floating:
        return found
    if isinstance(x, int | float | list | tuple) and found.dtype.is_integer:
        return cast(found, float32)
    raise not_floating(what, found.dtype)


def known_limits(x: Any) -> tuple[float, float] | None:
    """Return the least and the largest element of a tensor, NaN if any is NaN; None if the values
    are unknown until a trace runs, or if there are no elements."""
    if type(x) is not Tensor or x.size == 0:
        return None
    with TraceContext(None):      # executed, also while a function is traced
        least: float = reduce_min(x).item()
        largest: float = reduce_max(x).item()
    return least, largest


def is_finite(limits: tuple[float, float]) -> bool:
    """Return True if the limits of a tensor are finite, False if one is NaN."""
    return limits[0] > -INFINITY and limits[1] < INFINITY


def check_scale(scale: Any, op: str) -> None:
    """Raise InvalidArgumentError if a known scale is not positive and finite."""
    found = known_limits(scale)
    if found is not None and not (found[0] > 0 and found[1] < INFINITY):
        worst = found[0] if not found[0] > 0 else found[1]
        raise InvalidArgumentError(
            f"{op}: scale has the value {worst}, expected finite numbers > 0")


def check_range(low: Any, high: Any, op: str, names: tuple[str, str]) -> None:
    """Raise InvalidArgumentError if a known range is not finite, or its minimum is above its
    maximum."""
    for x, name in ((low, names[0]), (high, names[1])):
        found = known_limits(x)
        if found is not None and not is_finite(found):
            raise InvalidArgumentError(
                f"{op}: {name} has a value that is NaN or infinite, expected finite numbers")
    if type(low) is Tensor and type(high) is Tensor and low.shape == high.shape:
        with TraceContext(None):
            gap = known_limits(high - low)
        if gap is not None and gap[0] < 0:
            raise InvalidArgumentError(
                f"{op}: {names[0]} is {shown(low.tolist())} and {names[1]} is "
                f"{shown(high.tolist())}, expected {names[0]} <= {names[1]}")


# --- axes and groups ---------------------------------------------------------------------------


def checked_axis(axis: Any, x: Any, op: str) -> Any:
    """Return an axis of `x` as a number of at least 0; None stays None."""
    if axis is None:
        return None
    at = integer(axis, f"{op}: axis")
    if not -x.ndim <= at < x.ndim:
        raise InvalidArgumentError(f"{op}: axis is {at} for shape {tuple(x.shape)}, expected "
                                   f"{-x.ndim} to {x.ndim - 1}")
    return at % x.ndim


def one_per_slice(p: Any, x: Any, axis: int, what: str) -> Any:
    """Return a vector with one number per slice of `x` along `axis`, in a shape that broadcasts."""
    if p.ndim != 1 or not same_size(p.shape[0], x.shape[axis]):
        raise ShapeError(f"{what} has shape {tuple(p.shape)}, expected ({x.shape[axis]},), one "
                         f"number per slice along axis {axis} of shape {tuple(x.shape)}")
    return reshape(p, [-1] + [1] * (x.ndim - 1 - axis))


def groups_of(x: Any, axis: Any, group_size: Any, op: str) -> tuple[int, int]:
    """Return the axis and the size of groups, which must divide the axis."""
    if axis is None:
        raise InvalidArgumentError(f"{op}: group_size is {shown(group_size)} without an axis, "
                                   "expected the axis that is divided into groups")
    at, size = checked_axis(axis, x, op), integer(group_size, f"{op}: group_size")
    n = x.shape[at]
    if size < 1 or not (is_open(n) or n % size == 0):
        raise InvalidArgumentError(f"{op}: group_size is {size}, expected a divisor of {n}, the "
                                   f"size of axis {at}")
    return at, size


def in_groups(x: Any, axis: int, size: int) -> Any:
    """Return `x` with its axis divided into groups: (..., groups, size, ...)."""
    shape = static_shape(x)
    groups = x.shape[axis] // size
    return reshape(x, [*shape[:axis], groups, size, *shape[axis + 1:]])


class Layout:
    """The arrangement of quantisation parameters for a tensor: one for all elements, one per slice
    along an axis, one per group along an axis, or any shape that broadcasts."""

    def __init__(self, x: Any, axis: Any, group_size: Any, op: str) -> None:
        self.op, self.shape, self.size = op, x.shape, None
        if group_size is not None:
            self.axis, self.size = groups_of(x, axis, group_size, op)
        else:
            self.axis = checked_axis(axis, x, op)

    def values(self, x: Any) -> Any:
        """Return the values in the shape in which the parameters broadcast."""
        return x if self.size is None else in_groups(x, self.axis, self.size)

    def restored(self, y: Any) -> Any:
        """Return a result in the shape of the values."""
        return y if self.size is None else reshape(y, self.shape)

    def parameter(self, p: Any, x: Any, name: str) -> Any:
        """Return a parameter in a shape that broadcasts with `values(x)`."""
        what = f"{self.op}: {name}"
        if p.ndim == 0:
            return p
        if self.size is not None:
            expected = list(x.shape)
            expected[self.axis] = x.shape[self.axis] // self.size
            if p.ndim != x.ndim or not all(map(same_size, p.shape, expected)):
                raise ShapeError(f"{what} has shape {tuple(p.shape)}, expected {tuple(expected)}, "
                                 f"one number per group of {self.size} along axis {self.axis} of "
                                 f"shape {tuple(x.shape)}")
            shape = static_shape(p)
            return reshape(p, [*shape[:self.axis + 1], 1, *shape[self.axis + 1:]])
        if self.axis is not None:
            return one_per_slice(p, x, self.axis, what)
        sizes = x.shape[x.ndim - p.ndim:] if p.ndim <= x.ndim else ()
        if p.ndim > x.ndim or not all([n == 1 or same_size(n, m)
                                       for n, m in zip(p.shape, sizes, strict=True)]):
            raise ShapeError(f"{what} has shape {tuple(p.shape)}, expected a shape that broadcasts "
                             f"to {tuple(x.shape)}; for one number per slice, pass axis")
        return p
