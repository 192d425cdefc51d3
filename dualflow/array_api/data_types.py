"""Data types: casts, promotion, limits, kinds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from dualflow._core import Tensor, TensorBase, TraceContext, as_tensor
from dualflow.array_api.device import check_device
from dualflow.dtypes import DType, as_dtype, complex64
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.array.creation import zeros
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

NUMBERS = (bool, int, float, complex)     # of Python


@dataclass(frozen=True)
class FloatInfo:
    """The result of `finfo`: bits, the distance from 1 to the next number, limits, the dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntInfo:
    """The result of `iinfo`: bits, limits, the dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def astype(x: TensorLike, dtype: DTypeLike, /, *, copy: bool = True,
           device: Any = None) -> Tensor:
    """Cast `x` to `dtype`, with the rules of `dualflow.cast`.

    Parameters
    ----------
    x : array
    dtype : dtype
    copy : bool
        Ignored: arrays are immutable, so an array of `dtype` is returned unchanged.
    device : str, optional
        "cpu", or the `device` of an array; there is only one device.

    Returns
    -------
    array, of `dtype`

    Raises
    ------
    DTypeError
        If `x` is complex and `dtype` is real and not bool.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.astype(df.constant([1.7, -1.7]), df.int32).tolist()
    [1, -1]
    """
    check_device(device, "astype")
    y = as_tensor(x, None, "astype")
    wanted = as_dtype(dtype)
    if y.dtype.is_complex and not (wanted.is_complex or wanted.is_bool):
        raise DTypeError(f"astype: a cast from {y.dtype} to {wanted} would drop the imaginary "
                         "part; real(x) is the real part")
    return y if y.dtype is wanted else cast(y, wanted)


def can_cast(from_: TensorLike, to: DTypeLike, /) -> bool:
    """Return True if promotion leads from `from_`, a dtype or an array, to the dtype `to`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.can_cast(df.int8, df.int16), df.array_api.can_cast(df.int16, df.int8)
    (True, False)
    """
    return promoted(_dtype_of(from_), as_dtype(to)) is as_dtype(to)


def finfo(type: TensorLike | DTypeLike, /) -> FloatInfo:
    """Return the limits of a floating dtype, or of the parts of a complex dtype.

    `type` is the dtype or an array of it.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.finfo(df.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype_of(type).real_dtype
    if not dtype.is_floating:
        raise DTypeError(f"finfo: got {dtype}, expected a floating dtype")
    return FloatInfo(8 * dtype.itemsize, 2.0 ** (1 - dtype.digits), dtype.max, dtype.min,
                     2.0 ** (1 - dtype.max_exponent), dtype)


def iinfo(type: TensorLike | DTypeLike, /) -> IntInfo:
    """Return the limits of an integer dtype; `type` is the dtype or an array of it.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.iinfo(df.int8).min
    -128
    """
    dtype = _dtype_of(type)
    if not dtype.is_integer:
        raise DTypeError(f"iinfo: got {dtype}, expected an integer dtype")
    return IntInfo(8 * dtype.itemsize, dtype.max, dtype.min, dtype)


KINDS: dict[str, Callable[[DType], bool]] = {
    "bool": lambda d: d.is_bool,
    "signed integer": lambda d: d.is_integer and not d.is_unsigned,
    "unsigned integer": lambda d: d.is_unsigned,
    "integral": lambda d: d.is_integer,
    "real floating": lambda d: d.is_floating,
    "complex floating": lambda d: d.is_complex,
    "numeric": lambda d: not d.is_bool,
}


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Return True if `dtype` is of a kind.

    Parameters
    ----------
    dtype : dtype
    kind : dtype, str or tuple of these
        "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating" or "numeric".

    Returns
    -------
    bool

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.isdtype(df.int8, ("bool", "signed integer"))
    True
    """
    if isinstance(kind, tuple):
        return any([isdtype(dtype, k) for k in kind])
    if isinstance(kind, str):
        if kind not in KINDS:
            raise InvalidArgumentError(f"isdtype: kind is {kind!r}, expected one of "
                                       f"{', '.join(KINDS)}")
        return KINDS[kind](as_dtype(dtype))
    return as_dtype(dtype) is as_dtype(kind)


def result_type(*arrays_and_dtypes: TensorLike) -> DType:
    """Return the dtype to which arrays, dtypes and Python numbers are promoted.

    Parameters
    ----------
    *arrays_and_dtypes : arrays, dtypes, Python numbers
        Numbers are weakly typed: they take the dtype of the other operands.

    Returns
    -------
    DType

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.result_type(df.uint8, df.int8, 1)
    dualflow.int16
    """
    numbers = [x for x in arrays_and_dtypes if isinstance(x, NUMBERS)]
    found = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, NUMBERS)]
    if not arrays_and_dtypes:
        raise InvalidArgumentError("result_type: got nothing, expected arrays, dtypes or numbers")
    if not found:
        found = [complex64 if isinstance(number, complex) else as_tensor(number).dtype
                 for number in numbers]
        numbers = []
    common = found[0]
    for dtype in found[1:]:
        common = common if dtype is common else promoted(common, dtype)
    for number in numbers:
        common = beside_number(common, _kind(number))
    return common


def _kind(number: Any) -> str:
    """Return the Python type of a number, by name; np.float64 and others are subclasses."""
    return next(kind.__name__ for kind in NUMBERS if isinstance(number, kind))


def _dtype_of(x: TensorLike | DTypeLike) -> DType:
    """Return the dtype of an array, or the dtype that `x` names."""
    return x.dtype if isinstance(x, TensorBase) else as_dtype(getattr(x, "dtype", x))


@cache
def promoted(a: DType, b: DType) -> DType:
    """Return the result dtype of an op on tensors of two dtypes."""
    with TraceContext(None):
        return where(True, zeros((), a), zeros((), b)).dtype


_ZEROS = {"bool": False, "int": 0, "float": 0.0, "complex": 0j}


@cache
def beside_number(dtype: DType, kind: str) -> DType:
    """Return the result dtype of an op on a tensor and a Python number."""
    with TraceContext(None):
        return where(True, zeros((), dtype), _ZEROS[kind]).dtype
