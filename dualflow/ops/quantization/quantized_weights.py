"""Matrices of 8-bit and 4-bit integers with float scales, and products with them."""

from __future__ import annotations

from dualflow._core import Operand, Symbol, Tensor, TensorBase, apply, as_tensor
from dualflow._util.arguments import not_floating, shown
from dualflow.dtypes import bfloat16, float16, float32, int64, uint8
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.nest import Composite
from dualflow.ops.array.creation import range as arange, zeros
from dualflow.ops.array.join import stack
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import identity, reshape, transpose
from dualflow.ops.elementwise.bitwise import bitwise_and, bitwise_xor, right_shift
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.limits import clip_by_value, maximum, minimum
from dualflow.ops.elementwise.rounding import is_finite, round as nearest
from dualflow.ops.indexing.gather import gather
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.reduction.reduce import reduce_all, reduce_max, reduce_min
from dualflow.ops.tensor_shape import TensorShape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.dtypes import DType
    from dualflow.ops.types import TensorLike

__all__ = ["QuantizedMatrix", "quantize_weights"]

CHANNELS = 32           # of a block, as in csrc/gemm/quantized.h
GROUP_SIZES = 32, 64, 128
NARROW = float16, bfloat16


class QuantizedMatrix(Operand, Composite):
    """A matrix of 8-bit or 4-bit integers with a scale per group: ``(integer - zero) * scale``.

    `quantize_weights` or `matrix_from_integers` creates it. ``x @ q`` and `df.matmul` multiply with
    it from the right, and `df.gather` returns rows. Elements are dequantised in registers, so a
    product with few rows takes the time of reading the integers.

    Attributes
    ----------
    values : Tensor, uint8
        The integers, in the order in which the product reads them.
    scales : Tensor, bfloat16 or float32
    zero_points : Tensor, uint8
        Empty if the matrix is symmetric: all zero points are then ``2 ** (bits - 1)``.
    bits : int
        8 or 4.
    group_size : int or None
        Number of elements per scale; None: one scale per channel.
    axis : int
        The axis along which the groups run, 0 or 1. A product sums over this axis.
    shape : TensorShape
    dtype : DType
        float32, the dtype of the dequantised elements.
    nbytes : int
        Memory of integers, scales and zero points, in bytes.

    Notes
    -----
    A product accepts float32, and float16 and bfloat16, whose result is rounded once. Sums are
    computed in float32 and do not depend on the number of threads. For up to 8 rows, a group of
    integers between 0 and 15, or of any with zero points, is summed up before the zero point times
    the sum of x is subtracted: its error is that of a float32 sum of larger terms, and a row of x
    with an infinity gives NaN.

    Gradients of a product are those with respect to x; they multiply with the dequantised matrix. A
    gradient of a product with respect to the scales raises InvalidArgumentError. `dequantize` has
    gradients with respect to the scales: `GradientTape.watch` watches them.

    `df.nest` flattens the matrix, so traced functions accept, capture and return it, and saved
    models and exported programs contain the integers.

    Examples
    --------
    >>> import dualflow as df
    >>> w = df.random.normal([256, 128], seed=0)
    >>> q = df.quantization.quantize_weights(w, bits=4, group_size=64)
    >>> q
    QuantizedMatrix(shape=(256, 128), bits=4, group_size=64, axis=0, symmetric, 17408 bytes)
    >>> (df.ones([2, 256]) @ q).shape, q.dequantize().shape
    ((2, 128), (256, 128))
    """

    __slots__ = ("axis", "bits", "channels", "depth", "group_size", "scales", "values",
                 "zero_points")
    _fields = ("values", "scales", "zero_points", "bits", "group_size", "channels", "depth", "axis")
    _has_static_fields = True
    __array_priority__ = 1000           # NumPy arrays defer operators to this class
    values: Any
    scales: Any
    zero_points: Any
    bits: int
    group_size: int | None
    channels: int
    depth: int
    axis: int

    def __init__(self, *parts: Any) -> None:
        raise InvalidArgumentError("QuantizedMatrix: created by quantization.quantize_weights and "
                                   "quantization.matrix_from_integers")

    @classmethod
    def _made(cls, *parts: Any) -> QuantizedMatrix:
        made: QuantizedMatrix = cls.__new__(cls)
        for name, part in zip(cls._fields, parts, strict=True):
            setattr(made, name, part)
        return made

    def _remade(self, values: Sequence[Any]) -> QuantizedMatrix:
        return self._made(*values)

    def _attrs(self) -> dict[str, int]:
        return {"bits": self.bits, "group_size": self.group_size or 0, "channels": self.channels,
                "depth": self.depth}

    def _apply_op(self, op: str, inputs: tuple[Any, ...], attrs: dict[str, Any],
                  name: str | None) -> Any:
        if op == "matmul" and inputs[1] is self:
            return self._multiplied(inputs[0], attrs, name)
        if op == "gather" and inputs[0] is self:
            return self._gathered(inputs[1], attrs, name)
        raise DTypeError(f"{op}: got a QuantizedMatrix, which only matmul accepts, as its right "
                         "operand, and gather; dequantize() returns a Tensor")

    def _multiplied(self, x: Any, attrs: dict[str, Any], name: str | None) -> Tensor:
        if isinstance(x, Operand):
            raise DTypeError(f"matmul: a is a {type(x).__name__} and b a QuantizedMatrix, expected "
                             "a tensor and a QuantizedMatrix")
        x = as_tensor(x, None, "matmul")
        transpose_b = bool(attrs["transpose_b"])
        if transpose_b != (self.axis == 1):
            raise InvalidArgumentError(
                f"matmul: transpose_b is {transpose_b} and b a QuantizedMatrix with groups "
                f"along axis {self.axis}, expected transpose_b={self.axis == 1}: a product sums "
                "over the axis of the groups")
        if x.dtype not in (float32, *NARROW):
            raise DTypeError(f"matmul: a has dtype {x.dtype} and b is a QuantizedMatrix, expected "
                             "float32, float16 or bfloat16")
        if attrs["transpose_a"] and x.ndim > 1:
            x = transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])
        wide = cast(x, float32) if x.dtype in NARROW else x
        y = apply("matmul_quantized", wide, self.values, self.scales, self.zero_points, name=name,
                  **self._attrs())
        return cast(y, x.dtype) if x.dtype in NARROW else y

    def _gathered(self, indices: Any, attrs: dict[str, Any], name: str | None) -> Tensor:
        if self.axis != 1 or attrs["axis"] not in (0, -2) or attrs["batch_dims"] != 0:
            raise InvalidArgumentError(
                f"gather: axis is {attrs['axis']}, batch_dims {attrs['batch_dims']} and params a "
                f"QuantizedMatrix with groups along axis {self.axis}, expected axis 0, batch_dims "
                "0 and groups along axis 1")
        # The first gather checks the indices.
        channels = gather(arange(self.channels, dtype=int64), indices)
        values = reshape(self.values, [*self.values.shape[:2], CHANNELS, 4])
        block, at = channels // CHANNELS, channels % CHANNELS

        def selected(x: Tensor) -> Tensor:
            return gather(gather(x, block), at, axis=channels.ndim + 1, batch_dims=channels.ndim)

        zero = None if self.symmetric else selected(self.zero_points)
        return identity(unpacked(selected(values), selected(self.scales), zero, self.bits,
                                 self.group_size or 0, self.depth), name)

    def __rmatmul__(self, x: TensorLike) -> Tensor:
        return matmul(x, self)

    def dequantize(self) -> Tensor:
        """Return the matrix as a float32 tensor."""
        found = dequantized(self.values, self.scales, self.zero_points, **self._attrs())
        return found if self.axis == 1 else transpose(found)

    @property
    def symmetric(self) -> bool:
        """Whether all zero points are ``2 ** (bits - 1)``."""
        return self.zero_points.ndim == 1

    @property
    def shape(self) -> TensorShape:
        sizes = self.depth, self.channels
        return TensorShape(sizes if self.axis == 0 else sizes[::-1])

    @property
    def ndim(self) -> int:
        return 2

    @property
    def dtype(self) -> DType:
        return float32

    @property
    def nbytes(self) -> int:
        parts = self.values, self.scales, self.zero_points
        return sum([x.size * x.dtype.itemsize for x in parts])

    def numpy(self) -> Any:
        """Return the dequantised matrix as an array."""
        return self.dequantize().numpy()

    def __repr__(self) -> str:
        kind = "symmetric" if self.symmetric else "asymmetric"
        memory = f", {self.nbytes} bytes" if type(self.values) is Tensor else ""
        return (f"QuantizedMatrix(shape={tuple(self.shape)}, bits={self.bits}, "
                f"group_size={self.group_size}, axis={self.axis}, {kind}{memory})")


def quantize_weights(w: TensorLike, bits: int = 8, group_size: int | None = 32,
                     symmetric: bool = True, axis: int = 0) -> QuantizedMatrix:
    """Return a matrix of weights rounded to integers, for products ``x @ w``.

    Parameters
    ----------
    w : Tensor, floating, shape (m, n)
    bits : int, default 8
        8 or 4.
    group_size : int, optional
        Number of consecutive elements that share a scale: 32, 64 or 128. The last group of a
        channel may have fewer. None: one scale per channel.
    symmetric : bool, default True
        If true, the integers are between ``-(2 ** (bits - 1) - 1)`` and ``2 ** (bits - 1) - 1``.
        Otherwise a group also has a zero point, so that they cover the range of its weights.
    axis : int, default 0
        The axis along which the groups run, over which a product sums: 0 for ``x @ w``, 1 for
        ``df.matmul(x, w, transpose_b=True)`` and for tables whose rows `df.gather` returns.

    Returns
    -------
    QuantizedMatrix

    Raises
    ------
    InvalidArgumentError
        If `bits`, `group_size` or `axis` has another value, or a weight is NaN or infinite.
    ShapeError
        If `w` is not a matrix.
    DTypeError
        If `w` is not floating, or symbolic: weights are quantised outside of traced functions.

    Notes
    -----
    A scale is the largest magnitude of its group divided by ``2 ** (bits - 1) - 1``, rounded to
    bfloat16, or with zero points the range of the group and zero divided by ``2 ** bits - 1``,
    increased to the next bfloat16 or the one after it. Weights are rounded to the nearest multiple
    of the scale. The error of a weight is at most half a scale, or one scale if the group has a
    zero point.

    Examples
    --------
    >>> import dualflow as df
    >>> q = df.quantization.quantize_weights([[1., -127.], [127., 2.]])
    >>> q.dequantize().tolist()
    [[1.0, -127.0], [127.0, 2.0]]
    """
    found = _checked(w, bits, group_size, axis)
    channels = found if axis in (1, -1) else transpose(found)
    x = in_blocks(channels, bits, group_size)
    integers, scales, zero_points = _rounded(x, bits, symmetric)
    return packed(integers, scales, zero_points, bits, group_size, channels.shape, axis)


def in_blocks(channels: Any, bits: int, group_size: int | None) -> Any:
    """Return a matrix (channels, depth) padded with zeros to whole blocks and groups, in shape
    (channels, groups, elements of a group)."""
    n, depth = channels.shape
    per_word = 32 // bits
    span = group_size or max(-(-depth // per_word) * per_word, per_word)
    groups = -(-depth // span) if group_size else 1
    blocks = -(-n // CHANNELS)
    x = pad(channels, [[0, blocks * CHANNELS - n], [0, groups * span - depth]])
    return reshape(x, [blocks * CHANNELS, groups, span])


def packed(integers: Any, scales: Any, zero_points: Any, bits: int, group_size: int | None,
           shape: Sequence[int], axis: int) -> QuantizedMatrix:
    """Return the matrix of unsigned integers, floats in the shape of `in_blocks`, and of scales and
    zero points, floats per group of the padded channels; `shape` is (channels, depth)."""
    (n, depth), (_, groups, span) = shape, integers.shape
    per_word, blocks = 32 // bits, -(-n // CHANNELS)
    words = -(-depth // per_word)
    values = reshape(integers, [blocks * CHANNELS, groups * span])[:, :words * per_word]
    if bits == 4:
        pairs = reshape(values, [blocks * CHANNELS, words, 2, 4])
        values = pairs[:, :, 0] + 16. * pairs[:, :, 1]
    else:
        values = where(values < 128., values + 128., values - 128.)     # two's complement
    values = reshape(cast(values, uint8), [blocks, CHANNELS, words, 4])
    values = reshape(transpose(values, [0, 2, 1, 3]), [blocks, words, 4 * CHANNELS])

    def placed(x: Tensor) -> Tensor:
        return transpose(reshape(x, [blocks, CHANNELS, groups]), [0, 2, 1])

    return QuantizedMatrix._made(
        values, placed(scales),
        zeros([0], uint8) if zero_points is None else placed(cast(zero_points, uint8)),
        bits, group_size, n, depth, axis % 2)


def _rounded(x: Tensor, bits: int, symmetric: bool) -> tuple[Any, Any, Any]:
    """Return unsigned integers as floats, scales, and zero points as floats or None, of weights of
    shape (channels, groups, elements)."""
    if symmetric:
        most = 2. ** (bits - 1) - 1.
        scales = reduce_max(abs(x), -1, keepdims=True) / most
    else:
        low = minimum(reduce_min(x, -1, keepdims=True), 0.)
        span = maximum(reduce_max(x, -1, keepdims=True), 0.) - low
        scales = span * (1. + 2. ** -8) / (2. ** bits - 1.)     # not less after rounding
    scales = cast(scales, bfloat16)
    wide = cast(scales, float32)
    if not reduce_all(is_finite(wide)):
        raise InvalidArgumentError("quantize_weights: w has NaN, infinite or too large elements, "
                                   "expected magnitudes below 1e38")
    wide = where(equal(wide, 0.), 1., wide)
    if symmetric:
        return clip_by_value(nearest(x / wide), -most, most) + (most + 1.), scales, None
    zero_points = nearest(-low / wide)
    return (clip_by_value(nearest(x / wide) + zero_points, 0., 2. ** bits - 1.), scales,
            zero_points)


def _checked(w: Any, bits: Any, group_size: Any, axis: Any) -> Any:
    """Return the weights as a float32 tensor; check the arguments of `quantize_weights`."""
    check_layout(bits, group_size, axis, "quantize_weights")
    w = as_tensor(w, None, "quantize_weights")
    if not isinstance(w, TensorBase) or not w.dtype.is_floating:
        raise not_floating("quantize_weights: w", w.dtype)
    check_matrix(w, "quantize_weights: w")
    return cast(w, float32)


def check_layout(bits: Any, group_size: Any, axis: Any, op: str) -> None:
    if type(bits) is not int or bits not in (4, 8):
        raise InvalidArgumentError(f"{op}: bits is {shown(bits)}, expected 4 or 8")
    if group_size is not None and (type(group_size) is not int or group_size not in GROUP_SIZES):
        raise InvalidArgumentError(f"{op}: group_size is {shown(group_size)}, expected "
                                   f"{', '.join(map(str, GROUP_SIZES))} or None")
    if type(axis) is not int or not -2 <= axis < 2:
        raise InvalidArgumentError(f"{op}: axis is {shown(axis)}, expected 0 or 1")


def check_matrix(w: Any, what: str) -> None:
    if type(w) is Symbol:
        raise DTypeError(f"{what} is symbolic, expected a tensor with a value; quantise weights "
                         "outside of traced functions")
    if w.ndim != 2:
        raise ShapeError(f"{what} has shape {w.shape}, expected a matrix")


def dequantized(values: Tensor, scales: Tensor, zero_points: Tensor, bits: int, group_size: int,
                channels: int, depth: int) -> Tensor:
    """Return the elements of the parts of a QuantizedMatrix, shape (channels, depth)."""
    blocks, words, groups = values.shape[0], values.shape[1], scales.shape[1]

    def by_channel(x: Tensor, *sizes: int) -> Tensor:
        x = transpose(reshape(x, [blocks, sizes[0], CHANNELS, *sizes[1:]]),
                      [0, 2, 1, *range(3, 3 + len(sizes[1:]))])
        return reshape(x, [blocks * CHANNELS, *sizes])[:channels]

    zero = by_channel(zero_points, groups) if zero_points.ndim == 3 else None
    return unpacked(by_channel(values, words, 4), by_channel(scales, groups), zero, bits,
                    group_size, depth)


def unpacked(values: Tensor, scales: Tensor, zero_points: Tensor | None, bits: int,
             group_size: int, depth: int) -> Tensor:
    """Return the elements of channels, shape (..., depth), given their words as bytes, shape
    (..., words, 4), and scales and zero points of shape (..., groups)."""
    lead, groups = values.shape[:-2], scales.shape[-1]
    per_row = values.shape[-2] * (32 // bits)
    if bits == 4:
        values = stack([bitwise_and(values, 15), right_shift(values, 4)], axis=-2)
    else:
        values = bitwise_xor(values, 128)           # unsigned
    values = reshape(cast(values, float32), [*lead, per_row])[..., :depth]
    span = group_size or depth
    values = pad(values, [*[[0, 0]] * len(lead), [0, groups * span - depth]])
    values = reshape(values, [*lead, groups, span])
    zero = 2. ** (bits - 1) if zero_points is None else cast(zero_points, float32)[..., None]
    found = (values - zero) * cast(scales, float32)[..., None]
    return reshape(found, [*lead, groups * span])[..., :depth]


def _refuse() -> None:
    raise InvalidArgumentError("matmul_quantized: there is no gradient with respect to quantised "
                               "weights; differentiate with respect to other values")


@gradient("matmul_quantized", saves=(1, 2, 3))
def _(g, y, x, values, scales, zero_points, **attrs):
    return lambda: matmul(g, dequantized(values, scales, zero_points, **attrs)), None, _refuse, None
