"""Dtypes, such as ``df.float32``, and conversion of names and other dtypes to them."""

from __future__ import annotations

from importlib import import_module

from dualflow._util.arguments import shown
from dualflow._util.late_binding import late
from dualflow.errors import DTypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

Kind: TypeAlias = 'Literal["bool", "int", "float", "complex"]'


class DType:
    """An element type of tensors.

    Attributes
    ----------
    name : str
        NumPy's name, such as ``"float32"``.
    itemsize : int
        Bytes per element.
    kind : {"bool", "int", "float", "complex"}
    index : int
        Position in the C enum.
    digits : int
        Bits of the significand of a float, or of a part of a complex number, with the implicit one;
        0 for other dtypes.
    max_exponent : int
        Exponent of the largest power of two that a float represents; 0 for other dtypes.
    is_floating : bool
        True for floating-point dtypes.
    is_complex : bool
        True for complex dtypes.
    is_inexact : bool
        True for floating-point and complex dtypes, which have gradients.

    Examples
    --------
    >>> import dualflow as df
    >>> df.float32.itemsize, df.float32.is_floating
    (4, True)
    >>> df.int16.min, df.uint16.max
    (-32768, 65535)
    >>> df.as_dtype("int64") is df.int64
    True
    """

    __slots__ = ("digits", "index", "is_complex", "is_floating", "is_inexact", "itemsize", "kind",
                 "max_exponent", "name")
    digits: int
    index: int
    is_complex: bool        # attributes, not properties: each gradient rule reads them
    is_floating: bool
    is_inexact: bool
    itemsize: int
    max_exponent: int
    name: str

    def __init__(self, index: int, name: str, itemsize: int, kind: Kind, digits: int = 0,
                 max_exponent: int = 0) -> None:
        self.index, self.name, self.itemsize, self.kind = index, name, itemsize, kind
        self.digits, self.max_exponent = digits, max_exponent
        self.is_floating, self.is_complex = kind == "float", kind == "complex"
        self.is_inexact = self.is_floating or self.is_complex

    @property
    def is_reduced_float(self) -> bool:
        """True for the 16-bit floats, which are computed in float32 and rounded once per op."""
        return self.kind == "float" and self.itemsize == 2

    @property
    def is_integer(self) -> bool:
        """True for integer dtypes."""
        return self.kind == "int"

    @property
    def is_bool(self) -> bool:
        """True for bool."""
        return self.kind == "bool"

    @property
    def short_name(self) -> str:
        """Kind and bits, as in names in C and in safetensors files: "F32", "BF16", "I8", "BOOL"."""
        kind = self.name.rstrip("0123456789")
        return (kind if self.is_bool else kind[:-4] if self.is_floating else
                "c" if self.is_complex else "u" if self.is_unsigned else "i"
                ).upper() + self.name[len(kind):]

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy dtype; for bfloat16 the dtype of the package ml_dtypes, if it is installed."""
        import numpy as np  # slow import

        if self.is_numpy_compatible:
            return np.dtype(self.name)
        try:
            return np.dtype(getattr(import_module("ml_dtypes"), self.name))
        except ImportError:
            raise DTypeError(f"{self.name} is not a dtype of NumPy: install ml_dtypes, or cast to "
                             "float32 first") from None

    @property
    def dtype(self) -> Any:
        """The NumPy dtype, under the name that NumPy looks up: ``np.dtype(df.float32)``,
        ``np.zeros(3, df.float32)``."""
        return self.as_numpy_dtype

    @property
    def size(self) -> int:
        """Bytes per element."""
        return self.itemsize

    @property
    def limits(self) -> tuple[Any, Any]:
        """The smallest and the largest finite value.

        Raises
        ------
        DTypeError
            For complex dtypes, which have no order.

        Examples
        --------
        >>> import dualflow as df
        >>> df.int8.limits, df.bfloat16.max
        ((-128, 127), 3.3895313892515355e+38)
        """
        if self.kind == "float":
            largest = (2 - 2.0 ** (1 - self.digits)) * 2.0 ** self.max_exponent
            return -largest, largest
        if self.kind == "bool":
            return False, True
        if self.kind == "complex":
            raise DTypeError(f"{self.name} has no smallest and no largest value; its parts have "
                             f"the range of {self.real_dtype.name}")
        bits = 8 * self.itemsize
        return (0, 2 ** bits - 1) if self.is_unsigned else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)

    @property
    def min(self) -> Any:
        """The smallest finite value."""
        return self.limits[0]

    @property
    def max(self) -> Any:
        """The largest finite value."""
        return self.limits[1]

    @property
    def is_unsigned(self) -> bool:
        """True for unsigned integers."""
        return self.name.startswith("uint")

    @property
    def real_dtype(self) -> DType:
        """The dtype of the parts of complex numbers; the dtype itself for real numbers.

        Examples
        --------
        >>> import dualflow as df
        >>> df.complex128.real_dtype, df.int32.real_dtype
        (dualflow.float64, dualflow.int32)
        """
        return (float64 if self.itemsize == 16 else float32) if self.is_complex else self

    @property
    def is_numpy_compatible(self) -> bool:
        """True if NumPy has the dtype without ml_dtypes."""
        return self.name != "bfloat16"

    def is_compatible_with(self, other: Any) -> bool:
        """Return True if another dtype is the same."""
        return as_dtype(other) is self

    @property
    def base_dtype(self) -> DType:
        """The dtype itself; TensorFlow 1 has reference dtypes."""
        return self

    def __repr__(self) -> str:
        return f"dualflow.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        try:
            return as_dtype(other) is self
        except DTypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return as_dtype, (self.name,)


# In the order of df_dtype in csrc/base/dtype.h.
bool_: DType = DType(0, "bool", 1, "bool")
uint8: DType = DType(1, "uint8", 1, "int")
uint16: DType = DType(2, "uint16", 2, "int")
uint32: DType = DType(3, "uint32", 4, "int")
uint64: DType = DType(4, "uint64", 8, "int")
int8: DType = DType(5, "int8", 1, "int")
int16: DType = DType(6, "int16", 2, "int")
int32: DType = DType(7, "int32", 4, "int")
int64: DType = DType(8, "int64", 8, "int")
float16: DType = DType(9, "float16", 2, "float", digits=11, max_exponent=15)
bfloat16: DType = DType(10, "bfloat16", 2, "float", digits=8, max_exponent=127)
float32: DType = DType(11, "float32", 4, "float", digits=24, max_exponent=127)
float64: DType = DType(12, "float64", 8, "float", digits=53, max_exponent=1023)
complex64: DType = DType(13, "complex64", 8, "complex", digits=24, max_exponent=127)
complex128: DType = DType(14, "complex128", 16, "complex", digits=53, max_exponent=1023)

# TensorFlow's aliases.
half: DType = float16
double: DType = float64
qint8: DType = int8             # quantised values are plain integers
qint16: DType = int16
qint32: DType = int32
quint8: DType = uint8
quint16: DType = uint16

ALL = (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
       float16, bfloat16, float32, float64, complex64, complex128)
_BY_NAME = {d.name: d for d in ALL}
# Aliases in TensorFlow and Python.
_ALIASES = {"half": float16, "float": float32, "complex": complex128, "double": float64,
            "int": int32, "qint8": int8, "qint16": int16, "qint32": int32, "quint8": uint8,
            "quint16": uint16}
_BY_PYTHON_TYPE = {bool: bool_, int: int32, float: float32, complex: complex128}


def as_dtype(type_value: Any) -> DType:
    """Return the dtype for a DType, a name, a Python or NumPy type, or a NumPy dtype.

    Parameters
    ----------
    type_value : DType, str, type or numpy.dtype

    Returns
    -------
    DType

    Raises
    ------
    DTypeError
        If `type_value` is not one of dualflow's dtypes.

    Examples
    --------
    >>> import dualflow as df
    >>> df.as_dtype(float), df.as_dtype("bool"), df.as_dtype("half")
    (dualflow.float32, dualflow.bool, dualflow.float16)
    """
    value = type_value
    if isinstance(value, DType):
        return value
    if isinstance(value, type) and value in _BY_PYTHON_TYPE:
        return _BY_PYTHON_TYPE[value]
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if not isinstance(name, str):
        name = getattr(value, "__name__", None)  # a class such as numpy.float32
    if isinstance(name, str) and (found := _BY_NAME.get(name.rstrip("_")) or _ALIASES.get(name)):
        return found
    raise DTypeError(f"{shown(value)} is not a dtype of dualflow; there are {', '.join(_BY_NAME)}")


def __getattr__(name: str) -> Any:
    if name == "string":
        return late("string_tensor").string
    raise AttributeError(f"module 'dualflow.dtypes' has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    numbers = {*_BY_NAME} - {"bool"}
    return sorted({"ALL", "DType", "as_dtype", "bool_", "string", *_ALIASES, *numbers}
                  - {"complex", "float", "int"})
