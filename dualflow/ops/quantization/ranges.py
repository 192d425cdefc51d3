"""Quantisation by the range of the values, with TensorFlow's names and formulas."""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import NOT_NEGATIVE, number
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import as_dtype, float32
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.array.join import concat, stack
from dualflow.ops.array.shape import stop_gradient
from dualflow.ops.elementwise.arithmetic import abs
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.limits import clip_by_value, maximum, minimum
from dualflow.ops.quantization.operands import checked_axis, floating, stored_dtype
from dualflow.ops.quantization.range_operands import (
    one_of,
    range_of,
    scale_of_side,
    spread,
)
from dualflow.ops.quantization.straight_through import (
    ROUNDINGS,
    round_half_away,
    round_half_up,
)
from dualflow.ops.reduction.reduce import reduce_max, reduce_min

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["dequantize", "quantize", "quantized_concat"]

MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")


class QuantizedTensor(NamedTuple):
    output: Tensor
    output_min: Tensor
    output_max: Tensor


# --- to integers -------------------------------------------------------------------------------


def quantize(input: TensorLike, min_range: TensorLike, max_range: TensorLike, T: DTypeLike,
             mode: str = "MIN_COMBINED", round_mode: str = "HALF_AWAY_FROM_ZERO",
             name: str | None = None, narrow_range: bool = False, axis: int | None = None,
             ensure_minimum_range: float = 0.01) -> QuantizedTensor:
    """Convert floats of a range to integers.

    Parameters
    ----------
    input : Tensor, floating
    min_range, max_range : Tensor, floating, shape (), or (n,) with `axis`
        The range of the values. It is extended to include 0.
    T : DType
        int8, uint8, int16, uint16 or int32; ``df.qint8`` and others are these dtypes.
    mode : "MIN_COMBINED", "MIN_FIRST" or "SCALED"
        The formula, see below.
    round_mode : "HALF_AWAY_FROM_ZERO" or "HALF_TO_EVEN"
        The rounding of ties. HALF_TO_EVEN is only for the mode SCALED.
    narrow_range : bool
        In the mode SCALED, do not use the least integer.
    axis : int, optional
        A dimension with a range per slice; None: one range.
    ensure_minimum_range : float
        The least width of the range, relative to its larger limit, or to 1 if that is larger.

    Returns
    -------
    output : Tensor of dtype `T`, shape of `input`
    output_min, output_max : Tensor, shape of `min_range`
        The range that the least and the largest integer stand for.

    Raises
    ------
    InvalidArgumentError
        For an unknown mode or rounding. If a known range is NaN or infinite, or its minimum is
        above its maximum; unknown values in a traced function are not checked.
    DTypeError
        If `T` is another dtype, or an operand is not floating.

    Notes
    -----
    With m and M the limits of the range and q, Q those of the integers:

    - MIN_COMBINED: round((x - m) * (Q - q) / (M - m)), minus half the number of integers for signed
      dtypes.
    - MIN_FIRST: round(x * s) - round(m * s) + q with s = (Q - q) / (M - m).
    - SCALED: round(x * s) with the largest s for which m * s >= q and M * s <= Q.

    Values beyond the range saturate, NaN becomes 0. The result has no gradient. Unlike TensorFlow,
    whose conversions overflow, int32 saturates too.

    Examples
    --------
    >>> import dualflow as df
    >>> y = df.quantization.quantize([-3., 0., 1., 9.], -2., 4., df.qint8, mode="SCALED")
    >>> y.output.tolist(), y.output_max.item()
    ([-95, 0, 32, 127], 4.0)
    """
    op = "quantize"
    one_of(mode, MODES, f"{op}: mode")
    one_of(round_mode, ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"), f"{op}: round_mode")
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise InvalidArgumentError(f"{op}: round_mode is 'HALF_TO_EVEN' and mode is {mode!r}, "
                                   "expected 'SCALED'")
    dtype = stored_dtype(T, f"{op}: T")
    x = floating(input, f"{op}: input")
    at = checked_axis(axis, x, op)
    low, high = range_of(min_range, max_range, x, at, op, ("min_range", "max_range"))
    x, low, high = [stop_gradient(cast(v, float32)) for v in (x, low, high)]
    least_width = number(ensure_minimum_range, f"{op}: ensure_minimum_range", NOT_NEGATIVE)
    epsilon = maximum(1.0, maximum(abs(low), abs(high))) * float(least_width)
    low = minimum(0.0, low)
    high = maximum(0.0, maximum(high, low + epsilon))
    least, largest = float(dtype.min), float(dtype.max)
    if mode == "SCALED":
        least += bool(narrow_range)
        scale = minimum(scale_of_side(least, low), scale_of_side(largest, high))
        low, high = least / scale, largest / scale
    m, M = spread(low, x, at), spread(high, x, at)
    if mode == "SCALED":
        y = ROUNDINGS[round_mode](clip_by_value(x, m, M) * spread(scale, x, at))
    elif mode == "MIN_COMBINED":
        y = (clip_by_value(x, m, M) - m) * ((largest - least) / (M - m))
        y = round_half_away(y - (largest - least + 1) / 2) if least else round_half_up(y)
    else:
        rate = (largest - least) / (M - m)
        y = clip_by_value(round_half_away(x * rate) - (round_half_away(m * rate) - least),
                          least, largest)
    return QuantizedTensor(cast(y, dtype, name=name), low, high)


def dequantize(input: TensorLike, min_range: TensorLike, max_range: TensorLike,
               mode: str = "MIN_COMBINED", name: str | None = None, axis: int | None = None,
               narrow_range: bool = False, dtype: DTypeLike = float32) -> Tensor:
    """Convert the integers of `quantize` back to floats.

    Parameters
    ----------
    input : Tensor, int8, uint8, int16, uint16 or int32
    min_range, max_range : Tensor, floating, shape (), or (n,) with `axis`
        The range that `quantize` returned.
    mode, axis, narrow_range
        The arguments of `quantize`.
    dtype : DType, floating
        The dtype of the result.

    Returns
    -------
    Tensor, floating, shape of `input`

    Raises
    ------
    InvalidArgumentError
        For an unknown mode, or a known range that is NaN, infinite or reversed.
    DTypeError
        If `input` has another dtype.

    Notes
    -----
    Computed in float32. The result has gradients with respect to the range, which TensorFlow lacks.

    Examples
    --------
    >>> import dualflow as df
    >>> y = df.quantization.quantize([-2., 0., 3.9], -2., 4., df.quint8)
    >>> [f"{v:.2f}" for v in df.quantization.dequantize(*y).tolist()]
    ['-2.00', '0.00', '3.91']
    """
    op = "dequantize"
    one_of(mode, MODES, f"{op}: mode")
    out = as_dtype(dtype)
    if not out.is_floating:
        raise DTypeError(f"{op}: dtype is {out}, expected a floating dtype")
    x = as_tensor(input, None, op)
    stored = stored_dtype(x.dtype, f"{op}: input")
    at = checked_axis(axis, x, op)
    low, high = range_of(min_range, max_range, x, at, op, ("min_range", "max_range"))
    m, M = [spread(cast(v, float32), x, at) for v in (low, high)]
    least, largest = float(stored.min), float(stored.max)
    v = cast(x, float32)
    if mode == "SCALED":
        scale = M / largest
        y = v * (maximum(m / (least + bool(narrow_range)), scale) if least else scale)
    elif mode == "MIN_COMBINED":
        y = (v + (largest - least + 1) / 2 if least else v) * ((M - m) / (largest - least)) + m
    else:
        step = (M - m) / (largest - least)
        is_point = m == M
        first = where(is_point, m, round_half_away(m / where(is_point, 1.0, step)) * step)
        y = first + (v - least) * step
    return cast(y, out, name=name)


def quantized_concat(concat_dim: int, values: Sequence[TensorLike],
                     input_mins: Sequence[TensorLike], input_maxes: Sequence[TensorLike],
                     name: str | None = None) -> QuantizedTensor:
    """Join quantised tensors along a dimension, in the range that includes all their ranges.

    Parameters
    ----------
    concat_dim : int
    values : sequence of Tensor, of one of the dtypes of `quantize`
    input_mins, input_maxes : sequence of Tensor, floating, shape ()
        The ranges of the values.

    Returns
    -------
    output : Tensor, dtype of the values
    output_min, output_max : Tensor, shape ()
        The common range, extended to include 0, and symmetric for signed dtypes.

    Raises
    ------
    InvalidArgumentError
        If the number of ranges is not the number of values.
    DTypeError
        If the dtypes of the values differ.

    Notes
    -----
    Values of other ranges than the common one are converted by the mode MIN_FIRST. TensorFlow
    accepts uint8 and int32 only.

    Examples
    --------
    >>> import dualflow as df
    >>> a = df.quantization.quantize([0., 1.], 0., 1., df.quint8)
    >>> b = df.quantization.quantize([0., 3.], 0., 3., df.quint8)
    >>> df.quantization.quantized_concat(
    ...     0, [a.output, b.output], [a.output_min, b.output_min],
    ...     [a.output_max, b.output_max]).output.tolist()
    [0, 85, 0, 255]
    """
    op = "quantized_concat"
    n = len(values)
    if not n or len(input_mins) != n or len(input_maxes) != n:
        raise InvalidArgumentError(
            f"{op}: got {n} values, {len(input_mins)} input_mins and {len(input_maxes)} "
            "input_maxes, expected as many of each, at least one")
    tensors = [as_tensor(v, None, op) for v in values]
    dtype = stored_dtype(tensors[0].dtype, f"{op}: values[0]")
    for k, v in enumerate(tensors):
        if v.dtype is not dtype:
            raise DTypeError(f"{op}: values[{k}] is {v.dtype}, expected {dtype} as values[0]")
    ranges = [range_of(a, b, v, None, op, (f"input_mins[{k}]", f"input_maxes[{k}]"))
              for k, (a, b, v) in enumerate(zip(input_mins, input_maxes, tensors, strict=True))]
    low = minimum(0.0, reduce_min(stack([r[0] for r in ranges])))
    high = reduce_max(stack([r[1] for r in ranges]))
    if dtype.min:
        high = maximum(abs(low), abs(high))
        low = -high
    parts = []
    for v, (a, b) in zip(tensors, ranges, strict=True):
        wide = dequantize(v, a, b, "MIN_FIRST")
        moved = quantize(wide, low, high, dtype, "MIN_FIRST", ensure_minimum_range=0).output
        parts.append(where((a == low) & (b == high), v, moved))
    return QuantizedTensor(concat(parts, concat_dim, name=name), low, high)
