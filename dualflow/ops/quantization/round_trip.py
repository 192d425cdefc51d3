"""Rounding to the grid of integers that are scaled to a range, with TensorFlow's names."""

from __future__ import annotations

from dualflow._core import Tensor
from dualflow.ops.array.shape import stop_gradient
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.limits import clip_by_value
from dualflow.ops.quantization.operands import bits_within, checked_axis, floating, wide_dtype
from dualflow.ops.quantization.range_operands import (
    one_of,
    range_of,
    scale_of_side,
    spread,
)
from dualflow.ops.quantization.straight_through import ROUNDINGS, straight_through
from dualflow.ops.reduction.reduce import reduce_max, reduce_min

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["quantize_and_dequantize", "quantize_and_dequantize_v2"]


def quantize_and_dequantize_v2(
        input: TensorLike, input_min: TensorLike, input_max: TensorLike,
        signed_input: bool = True, num_bits: int = 8, range_given: bool = False,
        round_mode: str = "HALF_TO_EVEN", name: str | None = None, narrow_range: bool = False,
        axis: int | None = None) -> Tensor:
    """Round values to the grid of integers that are scaled to a range.

    Parameters
    ----------
    input : Tensor, floating
    input_min, input_max : Tensor, floating, shape (), or (n,) with `axis`
        The range, if `range_given`.
    signed_input : bool
        Whether the integers are signed.
    num_bits : int
        The bits of the integers, 1 to 62, or 63 if they are unsigned.
    range_given : bool
        If False, the range is the range of the values.
    round_mode : "HALF_TO_EVEN" or "HALF_UP"
        The rounding of ties.
    narrow_range : bool
        For signed integers: do not use the least one.
    axis : int, optional
        A dimension with a range per slice; None: one range.

    Returns
    -------
    Tensor, like `input`

    Raises
    ------
    InvalidArgumentError
        For an unknown rounding or number of bits, or a known range that is NaN, infinite or
        reversed.

    Notes
    -----
    ``round(x * s) / s`` with the largest s that keeps the range within the integers, as the mode
    SCALED of `quantize`. Values beyond a given range saturate; NaN stays NaN. The gradient of the
    input passes where the values are within the range, inclusive, and is 0 elsewhere; `input_min`
    and `input_max` have no gradient. Without a given range the gradient passes everywhere;
    TensorFlow compares with the unused arguments `input_min` and `input_max`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.quantization.quantize_and_dequantize_v2(
    ...     [-9., 0.3, 1.7], -2., 1., num_bits=3, range_given=True).tolist()
    [-2.0, 0.5, 1.5]
    """
    return _quantize_and_dequantize("quantize_and_dequantize_v2", input, input_min, input_max,
                                    signed_input, num_bits, range_given, round_mode, narrow_range,
                                    axis, True)


def quantize_and_dequantize(
        input: TensorLike, input_min: TensorLike, input_max: TensorLike,
        signed_input: bool = True, num_bits: int = 8, range_given: bool = False,
        round_mode: str = "HALF_TO_EVEN", name: str | None = None, narrow_range: bool = False,
        axis: int | None = None) -> Tensor:
    """Round values as `quantize_and_dequantize_v2`, with a gradient that passes everywhere.

    Examples
    --------
    >>> import dualflow as df
    >>> df.quantization.quantize_and_dequantize(
    ...     [-9., 0.3, 1.7], -2., 1., num_bits=3, range_given=True).tolist()
    [-2.0, 0.5, 1.5]
    """
    return _quantize_and_dequantize("quantize_and_dequantize", input, input_min, input_max,
                                    signed_input, num_bits, range_given, round_mode, narrow_range,
                                    axis, False)


def _quantize_and_dequantize(op: str, input: TensorLike, input_min: TensorLike,
                             input_max: TensorLike, signed: bool, num_bits: Any, range_given: bool,
                             round_mode: str, narrow_range: bool, axis: Any,
                             masked: bool) -> Tensor:
    """Return rounded values; `masked`: the gradient is 0 beyond a given range."""
    rounding = ROUNDINGS[one_of(round_mode, ("HALF_TO_EVEN", "HALF_UP"), f"{op}: round_mode")]
    bits = bits_within(num_bits, 1, 62 if signed else 63, op)
    given = floating(input, f"{op}: input")
    at = checked_axis(axis, given, op)
    x = cast(given, wide_dtype(given))
    plain = stop_gradient(x)
    if range_given:
        low, high = [stop_gradient(cast(v, x.dtype)) for v in range_of(
            input_min, input_max, given, at, op, ("input_min", "input_max"))]
    else:
        others = None if at is None else [k for k in range(x.ndim) if k != at]
        low, high = reduce_min(plain, others), reduce_max(plain, others)
    surrogate = clip_by_value(x, spread(low, x, at), spread(high, x, at)) if (
        range_given and masked) else x
    least = float(narrow_range - 2 ** (bits - 1)) if signed else 0.0
    largest = float(2 ** (bits - 1) - 1 if signed else 2 ** bits - 1)
    from_low, from_high = scale_of_side(least, low), scale_of_side(largest, high)
    below = from_low < from_high
    scale = where(below, from_low, from_high)
    inverse = where(below, low / least if least else 0.0, high / largest if largest else 0.0)
    if range_given:
        plain = clip_by_value(plain, spread(where(below, low, least * inverse), x, at),
                              spread(where(below, largest * inverse, high), x, at))
    y = rounding(plain * spread(scale, x, at)) * spread(inverse, x, at)
    return cast(straight_through(y, surrogate), given.dtype)
