"""Arguments of ops with sliding windows, in the forms that TensorFlow accepts: window sizes,
strides, paddings, and the position of channels."""

from __future__ import annotations

from dualflow._core import TensorBase, as_tensor
from dualflow._util.arguments import shown
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import ints, transpose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from dualflow.ops.types import TensorLike

# Padding rules, defined in csrc/op/windows.h.
PADDED, SAME, SPREAD = 0, 1, 2

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}

Attrs: TypeAlias = "dict[str, Any]"


class Images:
    """A batch of images with channels last, and its original layout."""

    def __init__(self, x: TensorBase, channels_first: bool) -> None:
        self.x, self.channels_first = x, channels_first

    @property
    def n(self) -> int:
        """Number of spatial dimensions."""
        return self.x.ndim - 2

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape in the original layout."""
        batch, *space, channels = self.x.shape
        return (batch, channels, *space) if self.channels_first else (batch, *space, channels)

    def restore(self, y: TensorBase) -> Any:
        """Return a result with channels last in the original layout."""
        if not self.channels_first:
            return y
        return transpose(y, (0, y.ndim - 1, *range(1, y.ndim - 1)))


def channels_first(x: TensorBase, data_format: str | None, op: str, n: int | None = None) -> bool:
    """Return True if channels are the second dimension. `n`: expected number of spatial dims."""
    expected = f"{n + 2} dimensions" if n else "3 to 5 dimensions"
    if not (3 <= x.ndim <= 5 and (n is None or x.ndim == n + 2)):
        raise ShapeError(f"{op}: input is {x.dtype} {x.shape}, expected {expected}: batch, space, "
                         "channels")
    last, first = FORMATS[x.ndim - 2]
    if not (data_format is None or isinstance(data_format, str)) or data_format not in (
            None, last, first):
        raise InvalidArgumentError(f"{op}: data_format of a tensor with {x.ndim} dimensions is "
                                   f"{shown(data_format)}, expected {last!r} or {first!r}")
    return data_format == first


def images(input: TensorLike, data_format: str | None, op: str, n: int | None = None) -> Images:
    """Return `input` with channels last."""
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, op)
    if channels_first(x, data_format, op, n):
        return Images(transpose(x, (0, *range(2, x.ndim), 1)), True)
    return Images(x, False)


def per_dimension(value: TensorLike, at: Images, what: str) -> tuple[int, ...]:
    """Return one size per spatial dimension. `value` is one size for all, one for each, or one for
    each dimension of the tensor with 1 for batch and channels."""
    listed = ints(value, what)
    if len(listed) == 1:
        return listed * at.n
    if len(listed) == at.n:
        return listed
    spatial = listed[2:] if at.channels_first else listed[1:-1]
    others = listed[:2] if at.channels_first else (listed[:1] + listed[-1:])
    if len(listed) != at.n + 2 or others != (1, 1):
        raise InvalidArgumentError(
            f"{what} is {shown(value)}, expected an integer, one for each spatial dimension of "
            f"images of shape {at.shape}, or {at.n + 2} with 1 for batch and channels")
    return spatial


def paddings(value: Any, at: Images, op: str) -> tuple[int, tuple[int, ...]]:
    """Return the padding rule, and the padding before and after each spatial dimension."""
    none = (0,) * (2 * at.n)
    if isinstance(value, str):
        name = value.upper()
        if name in ("VALID", "SAME"):
            return (SAME if name == "SAME" else PADDED), none
    elif isinstance(value, list | tuple) or hasattr(value, "tolist"):
        pairs = [ints(pair, f"{op}: padding") for pair in
                 (value.tolist() if hasattr(value, "tolist") else value)]
        others = pairs[:2] if at.channels_first else pairs[:1] + pairs[-1:]
        if (len(pairs) == at.n + 2 and all(len(pair) == 2 for pair in pairs)
                and all(pair == (0, 0) for pair in others)):
            spatial = pairs[2:] if at.channels_first else pairs[1:-1]
            return PADDED, tuple([amount for pair in spatial for amount in pair])
    raise InvalidArgumentError(
        f"{op}: padding is {shown(value)}, expected 'VALID', 'SAME' or {at.n + 2} pairs (before, "
        "after), with (0, 0) for batch and channels")


def window_attrs(window: Any, strides: Any, dilations: Any, paddings: Any, rule: int) -> Attrs:
    """Return the attributes that all ops with windows have."""
    return {"window": window, "strides": strides, "dilations": dilations, "paddings": paddings,
            "rule": rule}
