"""Narrow dtypes of ONNX files that dualflow lacks: floats and integers of at most 8 bits.

The values are stored and computed in a dualflow dtype that represents them exactly: float32, int8
or uint8. `cast` rounds to the values that the narrow dtype represents.
"""

from __future__ import annotations

from importlib import import_module

import dualflow as df
from dualflow._core import TensorBase
from dualflow.dtypes import DType
from dualflow.errors import DTypeError
from dualflow.nest import Composite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["NarrowTensor", "narrow"]


class NarrowType:
    """A narrow dtype under ml_dtypes' name.

    `fraction` is the number of fraction bits, `lowest` the exponent of the smallest normal value;
    both are 0 for integers.
    """

    def __init__(self, name: str, code: int, bits: int, largest: float, fraction: int = 0,
                 lowest: int = 0, has_infinity: bool = False, has_nan: bool = False,
                 has_minus_zero: bool = True) -> None:
        self.name, self.code, self.bits = name, code, bits      # code: TensorProto.DataType
        self.largest, self.fraction, self.lowest = largest, fraction, lowest
        self.has_infinity, self.has_nan = has_infinity, has_nan
        self.has_minus_zero = has_minus_zero

    @property
    def is_floating(self) -> bool:
        return self.name.startswith("float")

    @property
    def is_integer(self) -> bool:
        return not self.is_floating

    is_bool: bool = False

    @property
    def is_unsigned(self) -> bool:
        return self.name.startswith("uint")

    @property
    def itemsize(self) -> int:
        """The size of an unpacked element in bytes."""
        return 1

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest finite value."""
        return (0 if self.is_unsigned else -self.largest - self.is_integer), self.largest

    @property
    def kept_as(self) -> DType:
        """The dtype that stores the values."""
        return df.float32 if self.is_floating else df.uint8 if self.is_unsigned else df.int8

    @property
    def as_numpy_dtype(self) -> Any:
        import numpy as np

        return np.dtype(getattr(import_module("ml_dtypes"), self.name))

    def __repr__(self) -> str:
        return self.name


SCALE = NarrowType("float8_e8m0fnu", 24, 8, 2.0 ** 127, has_nan=True)      # powers of two
TYPES = [
    NarrowType("float8_e4m3fn", 17, 8, 448, 3, -6, has_nan=True),
    NarrowType("float8_e4m3fnuz", 18, 8, 240, 3, -7, has_nan=True, has_minus_zero=False),
    NarrowType("float8_e5m2", 19, 8, 57344, 2, -14, has_infinity=True, has_nan=True),
    NarrowType("float8_e5m2fnuz", 20, 8, 57344, 2, -15, has_nan=True, has_minus_zero=False),
    NarrowType("uint4", 21, 4, 15), NarrowType("int4", 22, 4, 7),
    NarrowType("float4_e2m1fn", 23, 4, 6, 1, 0),
    SCALE,
    NarrowType("uint2", 25, 2, 3), NarrowType("int2", 26, 2, 1),
    NarrowType("float6_e2m3fn", 27, 6, 7.5, 3, 0), NarrowType("float6_e3m2fn", 28, 6, 28, 2, -2),
]
BY_CODE = {t.code: t for t in TYPES}
BY_NAME = {t.name: t for t in TYPES}


class NarrowTensor(Composite):
    """A tensor of a dtype that ONNX has and dualflow lacks.

    Parameters
    ----------
    values : Tensor, float32, or of integers int8 or uint8
        Values that the dtype represents; `df.onnx.narrow` rounds to such values.
    dtype : NarrowType or str
        ml_dtypes' name, such as ``"float8_e4m3fn"`` or ``"int4"``.

    Attributes
    ----------
    values : Tensor
    dtype : NarrowType
    shape : tuple of int
    ndim : int

    Notes
    -----
    A `Model` accepts and returns such tensors, also in traced functions. Arrays of ml_dtypes'
    dtypes are accepted as well; `numpy` returns one.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.onnx.narrow([0.3, 1000., -7.1], "float8_e4m3fn")
    >>> x.values.tolist()
    [0.3125, 448.0, -7.0]
    >>> x.numpy().dtype
    dtype(float8_e4m3fn)
    """

    __slots__ = ("dtype", "values")
    _fields = ("values", "dtype")

    def __init__(self, values: Any, dtype: NarrowType | str) -> None:
        self.values: Any = values
        self.dtype: NarrowType = narrow_type(dtype)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self.values.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def numpy(self) -> Any:
        """Return an array of ml_dtypes' dtype."""
        return self.values.numpy().astype(self.dtype.as_numpy_dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"<dualflow.onnx.NarrowTensor shape={self.shape} dtype={self.dtype}>"


def narrow_type(dtype: Any) -> NarrowType:
    """Return a NarrowType, given itself or its name."""
    found = dtype if isinstance(dtype, NarrowType) else BY_NAME.get(str(dtype))
    if found is None:
        raise DTypeError(f"{dtype!r} is not one of {', '.join(BY_NAME)}")
    return found


def narrow(x: Any, dtype: NarrowType | str) -> NarrowTensor:
    """Round values to a dtype that ONNX has and dualflow lacks.

    Parameters
    ----------
    x : Tensor, array or nested list of numbers
    dtype : str
        ml_dtypes' name: ``"float8_e4m3fn"``, ``"float8_e5m2"``, ``"float4_e2m1fn"``, ``"int4"``,
        ``"uint2"`` and similar.

    Returns
    -------
    NarrowTensor

    Raises
    ------
    DTypeError
        If the dtype does not exist.

    Notes
    -----
    The rounding is ONNX's Cast: ties go to the even neighbour, and values beyond the range
    saturate. For integers fractions are truncated and the lowest bits are taken.

    Examples
    --------
    >>> import dualflow as df
    >>> df.onnx.narrow([0.7, 2.4, 9.], "float4_e2m1fn").values.tolist()
    [0.5, 2.0, 6.0]
    """
    made = cast(x if isinstance(x, TensorBase | NarrowTensor) else df.constant(x),
                narrow_type(dtype))
    assert isinstance(made, NarrowTensor)
    return made


def from_array(array: Any) -> NarrowTensor | None:
    """Return an array of a narrow dtype as a NarrowTensor, or None for any other value."""
    found = BY_NAME.get(str(getattr(array, "dtype", "")))
    if found is None or isinstance(array, NarrowTensor):
        return array if isinstance(array, NarrowTensor) else None
    return NarrowTensor(df.constant(array.astype(found.kept_as.name)), found)


def cast(x: Any, dtype: DType | NarrowType, saturate: bool = True, how: str = "up") -> Any:
    """Cast `x` to another dtype; both dtypes may be narrow."""
    values = x.values if isinstance(x, NarrowTensor) else x
    if isinstance(dtype, DType):
        return df.cast(values, dtype)
    if isinstance(x, NarrowTensor) and x.dtype is dtype:
        return x
    if dtype.is_integer:
        return NarrowTensor(_whole(values, dtype), dtype)
    x = df.cast(values, df.float32)
    return NarrowTensor(_power(x, saturate, how) if dtype is SCALE
                        else _rounded(x, dtype, saturate), dtype)


def _whole(x: Any, dtype: NarrowType) -> Any:
    """Truncate fractions and take the lowest bits."""
    n = 1 << dtype.bits
    x = df.cast(x, df.int32) if x.dtype.is_floating else x
    low = df.bitwise.bitwise_and(df.cast(x, df.uint8), n - 1)
    if dtype.is_unsigned:
        return low
    low = df.cast(low, df.int8)
    return df.where(low >= n // 2, low - n, low)


def _rounded(x: Any, dtype: NarrowType, saturate: bool) -> Any:
    """Round to the nearest value; the unit in the last place is a power of two."""
    size = df.minimum(df.abs(x), 4. * dtype.largest)            # NaN stays
    exponent = df.bitwise.right_shift(df.bitcast(size, df.int32), 23) - 127
    last = df.maximum(exponent, dtype.lowest) - dtype.fraction
    unit = df.bitcast(df.bitwise.left_shift(last + 127, 23), df.float32)
    y = df.round(size / unit) * unit
    if saturate or not dtype.has_nan:
        y = df.minimum(y, float(dtype.largest))
    else:
        beyond = float("inf" if dtype.has_infinity else "nan")
        y = df.where(y > float(dtype.largest), beyond, y)
    if not dtype.has_nan:
        y = df.where(df.math.is_nan(x), 0., y)
    y = df.where(df.bitcast(x, df.int32) < 0, -y, y)
    return y if dtype.has_minus_zero else df.where(df.equal(y, 0.), 0., y)


def _power(x: Any, saturate: bool, how: str) -> Any:
    """Round to a power of two, at least 2 ** -127, on the bits of float32."""
    code = df.bitcast(x, df.int32)
    exponent = df.bitwise.bitwise_and(df.bitwise.right_shift(code, 23), 255)
    rest = df.bitwise.bitwise_and(code, (1 << 23) - 1)
    half = 1 << 22
    if how == "up":
        more = rest > 0
    elif how == "nearest":
        more = df.logical_or(rest > half, df.logical_and(df.equal(rest, half), exponent > 0))
    else:
        more = rest < 0
    y = exponent + df.cast(more, df.int32)
    largest = 254
    if saturate:
        y = df.where(exponent <= largest, df.minimum(y, largest), y)
    made = df.bitcast(df.where(df.equal(y, 0), half, df.bitwise.left_shift(y, 23)), df.float32)
    return df.where(y > largest, float("nan"), made)


# Operators that only move elements or read shapes: they run on the stored values.
MOVES = {"Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Gather", "Concat",
         "Split", "Slice", "Expand", "Tile", "DepthToSpace", "SpaceToDepth", "Shape", "Size",
         "GatherND", "GatherElements", "ScatterND", "ScatterElements", "Compress",
         "ReverseSequence", "Pad", "Where", "TensorScatter"}


def moved(function: Any, dtype: NarrowType, inputs: list[Any]) -> list[Any]:
    """Run an operator that moves elements, and restore the narrow dtype of its outputs."""
    made = function(*[x.values if isinstance(x, NarrowTensor) else x for x in inputs])
    return [NarrowTensor(y, dtype) if getattr(y, "dtype", None) is dtype.kept_as else y
            for y in (made if isinstance(made, list | tuple) else [made])]
