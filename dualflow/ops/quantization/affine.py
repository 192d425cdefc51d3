"""Affine quantisation with explicit scales and zero points: ``x = (q - zero_point) * scale``.

One scale for a tensor, one per slice along an axis (per channel), or one per group of consecutive
elements along an axis. Source: Jacob et al., Quantization and Training of Neural Networks for
Efficient Integer-Arithmetic-Only Inference (2018), equation 1.
"""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import as_dtype, float32, float64, int8, int32, int64
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.array.shape import stop_gradient
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.limits import clip_by_value
from dualflow.ops.elementwise.rounding import round
from dualflow.ops.quantization.operands import (
    Layout,
    check_scale,
    floating,
    known_limits,
    limits,
    stored_dtype,
    wide_dtype,
)
from dualflow.ops.quantization.straight_through import straight_through

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["dequantize_affine", "fake_quantize_affine", "quantize_affine"]


def _zero_point(zero_point: TensorLike | None, least: int, largest: int, op: str) -> Any:
    """Return the zero point as an integer tensor; None stays None."""
    if zero_point is None:
        return None
    found: Any = as_tensor(zero_point, None, op)
    if not found.dtype.is_integer:
        raise DTypeError(f"{op}: zero_point is {found.dtype}, expected an integer dtype")
    known = known_limits(found)
    if known is not None and not (least <= known[0] and known[1] <= largest):
        worst = known[0] if known[0] < least else known[1]
        raise InvalidArgumentError(f"{op}: zero_point has the value {shown(worst)}, expected "
                                   f"{least} to {largest}, the range of the integers")
    return found


class _Parameters:
    """Validated scale and zero point in shapes that broadcast with the values."""

    def __init__(self, x: Any, scale: TensorLike, zero_point: TensorLike | None, axis: Any,
                 group_size: Any, interval: tuple[int, int], op: str) -> None:
        self.layout = Layout(x, axis, group_size, op)
        found = floating(scale, f"{op}: scale")
        check_scale(found, op)
        zero = _zero_point(zero_point, *interval, op)
        self.scale = self.layout.parameter(found, x, "scale")
        self.zero = None if zero is None else self.layout.parameter(zero, x, "zero_point")


def quantize_affine(x: TensorLike, scale: TensorLike, zero_point: TensorLike | None = None,
                    dtype: DTypeLike = int8, axis: int | None = None,
                    group_size: int | None = None, num_bits: int | None = None,
                    narrow_range: bool = False, name: str | None = None) -> Tensor:
    """Return ``round(x / scale) + zero_point``, clipped to the range of the integers.

    Parameters
    ----------
    x : Tensor, floating
    scale : Tensor, floating, positive
        Shape (), for the whole tensor. With `axis` one number per slice, shape (n,). With
        `group_size` too, the shape of `x` with the size of `axis` divided by `group_size`. Without
        `axis` any shape that broadcasts to the shape of `x`.
    zero_point : Tensor, integer, shape of `scale` or (), optional
        The integer that stands for 0.
    dtype : DType
        int8, uint8, int16, uint16 or int32.
    axis : int, optional
        The dimension of channels or of groups.
    group_size : int, optional
        Number of consecutive elements along `axis` with one scale; divides the size of the axis.
    num_bits : int, optional
        For fewer bits than `dtype` has: 4 gives integers from -8 to 7, or from 0 to 15 if unsigned.
    narrow_range : bool
        Do not use the least integer: -127 to 127 for int8.

    Returns
    -------
    Tensor of dtype `dtype`, shape of `x`

    Raises
    ------
    InvalidArgumentError
        If a known scale is 0, negative, NaN or infinite, a known zero point is not one of the
        integers, or `group_size` does not divide the axis. In a traced function the values of
        arguments and variables are unknown and not checked: a scale of 0 gives the limits of the
        range, a NaN scale gives 0.
    ShapeError
        If the shapes of the parameters do not match `x`.
    DTypeError
        If `x` or `scale` is not floating, or `zero_point` is not an integer.

    Notes
    -----
    Ties are rounded to even. Values beyond the range saturate, NaN becomes 0. The division is
    computed in float32, in float64 for int32 or if `x` is float64. The result has no gradient; see
    `fake_quantize_affine`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.quantization.quantize_affine([-1., 0.3, 99.], 0.25, 10, "uint8").tolist()
    [6, 11, 255]
    >>> df.quantization.quantize_affine([[1., 2.], [3., 4.]], [1., 2.], axis=0).tolist()
    [[1, 2], [2, 2]]
    """
    op = "quantize_affine"
    stored = stored_dtype(dtype, f"{op}: dtype")
    least, largest = limits(stored, num_bits, narrow_range, op)
    v = stop_gradient(floating(x, f"{op}: x"))
    wide = wide_dtype(v, stored)
    with_scale = _Parameters(v, scale, zero_point, axis, group_size, (least, largest), op)
    y = round(with_scale.layout.values(cast(v, wide)) / cast(with_scale.scale, wide))
    if with_scale.zero is not None:
        y = y + cast(with_scale.zero, wide)
    if (least, largest) != stored.limits:       # the cast clips to the range of the dtype
        y = clip_by_value(y, float(least), float(largest))
    return with_scale.layout.restored(cast(y, stored))


def dequantize_affine(q: TensorLike, scale: TensorLike, zero_point: TensorLike | None = None,
                      dtype: DTypeLike = float32, axis: int | None = None,
                      group_size: int | None = None, name: str | None = None) -> Tensor:
    """Return ``(q - zero_point) * scale``.

    Parameters
    ----------
    q : Tensor, int8, uint8, int16, uint16 or int32
    scale, zero_point, axis, group_size
        The arguments of `quantize_affine`.
    dtype : DType, floating
        The dtype of the result.

    Returns
    -------
    Tensor of dtype `dtype`, shape of `q`

    Raises
    ------
    InvalidArgumentError, ShapeError, DTypeError
        As `quantize_affine`.

    Notes
    -----
    The difference is exact, and rounded once to float32 (float64 if `dtype` or the scale is
    float64), in which the product is computed. `scale` has a gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> q = df.constant([6, 11, 255], "uint8")
    >>> df.quantization.dequantize_affine(q, 0.25, 10).tolist()
    [-1.0, 0.25, 61.25]
    """
    op = "dequantize_affine"
    v: Any = as_tensor(q, None, op)
    stored, out = stored_dtype(v.dtype, f"{op}: q"), as_dtype(dtype)
    if not out.is_floating:
        raise DTypeError(f"{op}: dtype is {out}, expected a floating dtype")
    at = _Parameters(v, scale, zero_point, axis, group_size, (stored.min, stored.max), op)
    v = at.layout.values(v)
    if at.zero is not None:
        exact = int64 if stored.itemsize > 2 else int32
        v = cast(v, exact) - cast(at.zero, exact)
    wide = float64 if "float64" in (out.name, at.scale.dtype.name) else float32
    return at.layout.restored(cast(cast(v, wide) * cast(at.scale, wide), out))


def fake_quantize_affine(x: TensorLike, scale: TensorLike, zero_point: TensorLike | None = None,
                         dtype: DTypeLike = int8, axis: int | None = None,
                         group_size: int | None = None, num_bits: int | None = None,
                         narrow_range: bool = False, name: str | None = None) -> Tensor:
    """Return `x` quantised by `quantize_affine` and dequantised, with gradients for training.

    Parameters
    ----------
    x : Tensor, floating
    scale, zero_point, dtype, axis, group_size, num_bits, narrow_range
        The arguments of `quantize_affine`.

    Returns
    -------
    Tensor, like `x`

    Raises
    ------
    InvalidArgumentError, ShapeError, DTypeError
        As `quantize_affine`.

    Notes
    -----
    The gradient of `x` is straight-through: it passes where ``x / scale + zero_point`` is within
    the range of the integers, inclusive, and is 0 elsewhere. The gradient of the scale s is
    ``round(x / s) - x / s`` within the range, and the limit minus the zero point beyond it; source:
    Esser et al., Learned Step Size Quantization (2020). NaN stays NaN.

    Examples
    --------
    >>> import dualflow as df
    >>> s = df.Variable(0.5)
    >>> with df.GradientTape() as tape:
    ...     y = df.quantization.fake_quantize_affine([0.6, 99.], s, num_bits=4)
    >>> y.tolist(), f"{tape.gradient(y, s).item():.3f}"
    ([0.5, 3.5], '6.800')
    """
    op = "fake_quantize_affine"
    stored = stored_dtype(dtype, f"{op}: dtype")
    least, largest = limits(stored, num_bits, narrow_range, op)
    given = floating(x, f"{op}: x")
    wide = wide_dtype(given, stored)
    at = _Parameters(given, scale, zero_point, axis, group_size, (least, largest), op)
    s = cast(at.scale, wide)
    zero = 0.0 if at.zero is None else cast(at.zero, wide)
    v = clip_by_value(at.layout.values(cast(given, wide)) / s, float(least) - zero,
                      float(largest) - zero)
    y = straight_through(round(stop_gradient(v)), v) * s
    return cast(at.layout.restored(y), given.dtype)
