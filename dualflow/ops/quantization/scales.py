"""Scales and zero points chosen from data, and dynamic quantisation of activations."""

from __future__ import annotations

from dualflow._core import Tensor
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import int8, int32
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import stop_gradient
from dualflow.ops.elementwise.arithmetic import abs
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.limits import clip_by_value, maximum, minimum
from dualflow.ops.elementwise.rounding import round
from dualflow.ops.quantization.affine import quantize_affine
from dualflow.ops.quantization.operands import (
    Layout,
    floating,
    is_finite,
    known_limits,
    limits,
    stored_dtype,
    wide_dtype,
)
from dualflow.ops.reduction.reduce import reduce_max, reduce_min

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["absmax_scale", "min_max_parameters", "quantize_dynamic"]


class AffineParameters(NamedTuple):
    scale: Tensor
    zero_point: Tensor


class DynamicallyQuantized(NamedTuple):
    values: Tensor
    scale: Tensor


def _axes(layout: Layout, x: Any) -> list[int] | None:
    """Return the axes of `layout.values(x)` that share a scale; None for all."""
    if layout.axis is None:
        return None
    if layout.size is not None:
        return [layout.axis + 1]
    return [k for k in range(x.ndim) if k != layout.axis]


def _checked(limit: Any, op: str) -> None:
    """Raise InvalidArgumentError if a known limit of the data is not finite."""
    found = known_limits(limit)
    if found is not None and not is_finite(found):
        raise InvalidArgumentError(f"{op}: x has values that are NaN or infinite, expected finite "
                                   "numbers")


def _positive(scale: Any) -> Any:
    """Replace the scales of slices without range by 1; NaN stays NaN."""
    return where(scale == 0, 1.0, scale)


def absmax_scale(x: TensorLike, dtype: DTypeLike = int8, axis: int | None = None,
                 group_size: int | None = None, num_bits: int | None = None,
                 name: str | None = None) -> Tensor:
    """Return the scale that maps the largest magnitude of `x` to the largest integer:
    ``max(abs(x)) / 127`` for int8. The zero point is 0.

    Parameters
    ----------
    x : Tensor, floating
    dtype, axis, group_size, num_bits
        The arguments of `quantize_affine`.

    Returns
    -------
    Tensor, float32, or float64 if `x` is
        Shape (), (n,) with `axis`, or one number per group with `group_size`.

    Raises
    ------
    InvalidArgumentError
        If known values are NaN or infinite, or `group_size` does not divide the axis. In a traced
        function they give a scale that is NaN or infinite.
    DTypeError
        If `x` is not floating.

    Notes
    -----
    The scale of slices of zeros is 1. The result has no gradient: it is a constant of training.

    Examples
    --------
    >>> import dualflow as df
    >>> w = df.constant([[1., -254.], [0., 127.]])
    >>> df.quantization.absmax_scale(w).item(), df.quantization.absmax_scale(w, axis=0).tolist()
    (2.0, [2.0, 1.0])
    >>> df.quantization.absmax_scale([7., 1., -14., 0.], num_bits=4, axis=0, group_size=2).tolist()
    [1.0, 2.0]
    """
    op = "absmax_scale"
    stored = stored_dtype(dtype, f"{op}: dtype")
    v = stop_gradient(floating(x, f"{op}: x"))
    layout = Layout(v, axis, group_size, op)
    largest = reduce_max(abs(layout.values(v)), _axes(layout, v))
    _checked(largest, op)
    return _positive(cast(largest, wide_dtype(v)) / float(limits(stored, num_bits, False, op)[1]))


def min_max_parameters(x: TensorLike, dtype: DTypeLike = int8, axis: int | None = None,
                       group_size: int | None = None, num_bits: int | None = None,
                       name: str | None = None) -> AffineParameters:
    """Return the scale and the zero point that map the range of `x` to the range of the integers.

    Parameters
    ----------
    x : Tensor, floating
    dtype, axis, group_size, num_bits
        The arguments of `quantize_affine`.

    Returns
    -------
    scale : Tensor, float32, or float64 if `x` is
        Shape (), (n,) with `axis`, or one number per group with `group_size`.
    zero_point : Tensor, int32, shape of `scale`

    Raises
    ------
    InvalidArgumentError
        If known values are NaN or infinite, or `group_size` does not divide the axis.
    DTypeError
        If `x` is not floating.

    Notes
    -----
    The range is extended to include 0, which is represented exactly. With m and M its limits and q
    and Q those of the integers: ``scale = (M - m) / (Q - q)`` and
    ``zero_point = q - round(m / scale)``. The scale of slices of zeros is 1. There is no gradient.
    Source: Jacob et al., Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference (2018).

    Examples
    --------
    >>> import dualflow as df
    >>> scale, zero_point = df.quantization.min_max_parameters([-1., 0., 4.1], "uint8")
    >>> f"{scale.item():.4f}", zero_point.item()
    ('0.0200', 50)
    """
    op = "min_max_parameters"
    stored = stored_dtype(dtype, f"{op}: dtype")
    least, largest = limits(stored, num_bits, False, op)
    v = stop_gradient(floating(x, f"{op}: x"))
    layout = Layout(v, axis, group_size, op)
    values, axes, wide = layout.values(v), _axes(layout, v), wide_dtype(v)
    low, high = reduce_min(values, axes), reduce_max(values, axes)
    _checked(low, op)
    _checked(high, op)
    low, high = minimum(cast(low, wide), 0.0), maximum(cast(high, wide), 0.0)
    scale = _positive(high / float(largest - least) - low / float(largest - least))
    zero = clip_by_value(float(least) - round(low / scale), float(least), float(largest))
    return AffineParameters(scale, cast(zero, int32))


def quantize_dynamic(x: TensorLike, dtype: DTypeLike = int8, per_row: bool = False,
                     num_bits: int | None = None, name: str | None = None) -> DynamicallyQuantized:
    """Quantise activations by the largest magnitude of their own values.

    Parameters
    ----------
    x : Tensor, floating
    dtype : DType
        int8, int16 or int32.
    per_row : bool
        If True, each vector of the last dimension has its scale, otherwise the tensor.
    num_bits : int, optional
        For fewer bits than `dtype` has.

    Returns
    -------
    values : Tensor of dtype `dtype`, shape of `x`
    scale : Tensor, float32, or float64 if `x` is
        Shape (), or (..., 1) with `per_row`; ``values * scale`` approximates `x`.

    Raises
    ------
    InvalidArgumentError
        If known values are NaN or infinite, or `dtype` is unsigned.
    ShapeError
        If `x` is a scalar and `per_row`.

    Notes
    -----
    Symmetric: the zero point is 0 and the least integer is not used. Rows of zeros have the scale
    1. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> y = df.quantization.quantize_dynamic([[127., -2.], [0.5, -0.25]], per_row=True)
    >>> y.values.tolist(), [f"{s:.4f}" for [s] in y.scale.tolist()]
    ([[127, -2], [127, -64]], ['1.0000', '0.0039'])
    """
    op = "quantize_dynamic"
    stored = stored_dtype(dtype, f"{op}: dtype")
    if not stored.min:
        raise InvalidArgumentError(f"{op}: dtype is {stored}, expected int8, int16 or int32")
    v = stop_gradient(floating(x, f"{op}: x"))
    if per_row and v.ndim == 0:
        raise ShapeError(f"{op}: x has shape (), expected rows in its last dimension")
    largest = reduce_max(abs(v), [-1] if per_row else None, per_row)
    _checked(largest, op)
    scale = _positive(cast(largest, wide_dtype(v)) / float(limits(stored, num_bits, True, op)[1]))
    return DynamicallyQuantized(
        quantize_affine(v, scale, dtype=stored, num_bits=num_bits, narrow_range=True), scale)
