"""Quantised matrices made of integers and scales that other programs have computed."""

from __future__ import annotations

from dualflow._core import TensorBase, as_tensor
from dualflow._util.arguments import not_floating
from dualflow.dtypes import bfloat16, float32
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import expand_dims, reshape, transpose
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.quantization.operands import is_finite, known_limits
from dualflow.ops.quantization.quantized_weights import (
    QuantizedMatrix,
    check_layout,
    check_matrix,
    in_blocks,
    packed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["matrix_from_integers"]


def matrix_from_integers(integers: TensorLike, scales: TensorLike,
                         zero_points: TensorLike | None = None, bits: int = 8,
                         group_size: int | None = 32, axis: int = 0) -> QuantizedMatrix:
    """Return the matrix ``(integers - zero_points) * scales`` without rounding it again.

    Files of quantised models, such as those that GPTQ and AWQ write, contain the operands, packed
    into words; `df.bitwise` unpacks them.

    Parameters
    ----------
    integers : Tensor, integer dtype, shape (m, n)
        Without `zero_points` between ``-2 ** (bits - 1)`` and ``2 ** (bits - 1) - 1``, otherwise
        between 0 and ``2 ** bits - 1``.
    scales : Tensor, floating, shape (groups, n) if `axis` is 0, (m, groups) if it is 1
        bfloat16 scales are stored as they are, others as float32. With one group, a vector with a
        scale per channel is also accepted.
    zero_points : Tensor, integer dtype, shape of `scales`, optional
        Between 0 and ``2 ** bits - 1``.
    bits : int, default 8
        8 or 4.
    group_size : int, optional
        Number of consecutive elements along `axis` that share a scale: 32, 64 or 128. The last
        group of a channel may have fewer. None: one scale per channel.
    axis : int, default 0
        The axis along which the groups run, see `quantize_weights`.

    Returns
    -------
    QuantizedMatrix

    Raises
    ------
    InvalidArgumentError
        If an integer or zero point is beyond its range, a scale is NaN or infinite, or `bits`,
        `group_size` or `axis` has another value.
    ShapeError
        If `integers` is not a matrix, or `scales` or `zero_points` is not one number per group.
    DTypeError
        If `integers` or `zero_points` is not an integer tensor, or an argument is symbolic.

    Examples
    --------
    >>> import dualflow as df
    >>> q = df.quantization.matrix_from_integers(
    ...     [[1, -128], [127, 2]], [0.1, 1.], group_size=None)
    >>> q.dequantize().tolist()
    [[0.10000000149011612, -128.0], [12.699999809265137, 2.0]]
    """
    op = "matrix_from_integers"
    check_layout(bits, group_size, axis, op)
    values = _integers(integers, f"{op}: integers")
    scale = as_tensor(scales, None, op)
    if not isinstance(scale, TensorBase) or not scale.dtype.is_floating:
        raise not_floating(f"{op}: scales", scale.dtype)
    half = 0 if zero_points is not None else 2 ** (bits - 1)
    _check_limits(values, -half, 2 ** bits - 1 - half, f"{op}: integers")
    by_channel = values if axis % 2 else transpose(values)
    depth = by_channel.shape[1]
    groups = -(-depth // group_size) if group_size else 1
    shape = (by_channel.shape[0], groups)
    scale = _per_group(scale, shape, axis, f"{op}: scales")
    found = known_limits(scale)
    if found is not None and not is_finite(found):
        raise InvalidArgumentError(f"{op}: scales has a value that is NaN or infinite, expected "
                                   "finite numbers")
    zero = None
    if zero_points is not None:
        zero = _integers(zero_points, f"{op}: zero_points", any_shape=True)
        _check_limits(zero, 0, 2 ** bits - 1, f"{op}: zero_points")
        zero = _padded(cast(_per_group(zero, shape, axis, f"{op}: zero_points"), float32))
    blocks = in_blocks(cast(by_channel, float32) + float(half), bits, group_size)
    scale = _padded(scale if scale.dtype is bfloat16 else cast(scale, float32))
    return packed(blocks, scale, zero, bits, group_size, by_channel.shape, axis)


def _integers(x: TensorLike, what: str, any_shape: bool = False) -> Any:
    """Return a checked tensor of integers, a matrix unless `any_shape`."""
    found: Any = as_tensor(x, None, what.partition(":")[0])
    if not isinstance(found, TensorBase) or not found.dtype.is_integer:
        raise DTypeError(f"{what} has dtype {found.dtype}, expected an integer dtype")
    if not any_shape:
        check_matrix(found, what)
    return found


def _check_limits(x: Any, low: int, high: int, what: str) -> None:
    found = known_limits(x)
    if found is not None and not low <= found[0] <= found[1] <= high:
        worst = found[0] if found[0] < low else found[1]
        raise InvalidArgumentError(f"{what} has the value {worst}, expected {low} to {high}")


def _per_group(x: Any, shape: tuple[int, int], axis: int, what: str) -> Any:
    """Return numbers per group in shape (channels, groups)."""
    expected = shape if axis % 2 else shape[::-1]
    if shape[1] == 1 and tuple(x.shape) == shape[:1]:
        x = expand_dims(x, -1 if axis % 2 else 0)
    if tuple(x.shape) != expected:
        raise ShapeError(f"{what} has shape {tuple(x.shape)}, expected {expected}, one number per "
                         "group")
    return x if axis % 2 else transpose(x)


def _padded(x: Any) -> Any:
    """Append zeros for padded channels to numbers per group."""
    n = -x.shape[0] % 32
    return reshape(pad(x, [[0, n], [0, 0]]), [x.shape[0] + n, x.shape[1], 1])
