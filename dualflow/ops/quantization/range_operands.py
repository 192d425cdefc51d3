"""The range of the values to be quantised: minimum and maximum, for all values or per slice."""

from __future__ import annotations

from dualflow._util.arguments import shown
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import reshape
from dualflow.ops.elementwise.compare import where
from dualflow.ops.quantization.operands import check_range, floating, one_per_slice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

LARGEST = 3.4028234663852886e38             # of float32: the scale of a side without numbers


def one_of(value: Any, choices: Any, what: str) -> Any:
    if value not in choices:
        raise InvalidArgumentError(f"{what} is {shown(value)}, expected one of "
                                   f"{', '.join(map(repr, choices))}")
    return value


def range_of(low: TensorLike, high: TensorLike, x: Any, axis: int | None, op: str,
           names: tuple[str, str]) -> Any:
    """Return the minimum and the maximum as tensors: scalars, or one number per slice."""
    found = [floating(v, f"{op}: {name}") for v, name in ((low, names[0]), (high, names[1]))]
    for k, name in enumerate(names):
        if axis is not None:
            one_per_slice(found[k], x, axis, f"{op}: {name}")
        elif found[k].ndim and tuple(found[k].shape) != (1,):
            raise ShapeError(f"{op}: {name} has shape {tuple(found[k].shape)}, expected (); for "
                             "one number per slice, pass axis")
        else:
            found[k] = reshape(found[k], [])
    check_range(found[0], found[1], op, names)
    return found


def spread(p: Any, x: Any, axis: int | None) -> Any:
    """Return one number per slice in a shape that broadcasts."""
    return p if axis is None else reshape(p, [-1] + [1] * (x.ndim - 1 - axis))


def scale_of_side(least: Any, low: Any) -> Any:
    """Return the scale at which one limit of the range becomes one limit of the integers; the
    largest float if the limit is 0 or has the other sign."""
    fits = least * low > 0
    return where(fits, least / where(fits, low, 1.0), LARGEST)
