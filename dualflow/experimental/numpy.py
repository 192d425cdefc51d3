"""Functions of the array API under NumPy's names and calling conventions.

Each function of `dualflow.array_api` is available. In addition, `axis` and `dtype` may be passed by
position, Python numbers and lists have NumPy's dtypes (int64 and float64), and functions of floats
accept integers. Arrays are tensors, with NumPy's promotion and indexing; they cannot be modified.

Examples
--------
>>> import dualflow as df
>>> import dualflow.experimental.numpy as tnp
>>> tnp.sum(tnp.ones([2, 3], tnp.float32), 0).tolist()
[2.0, 2.0, 2.0]
>>> tnp.sqrt(4)
<dualflow.Tensor shape=() dtype=float64 2.0>
"""

import functools
import inspect
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as _np

from dualflow import array_api
from dualflow._core import Tensor, TensorBase
from dualflow.dtypes import (
    DType,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int64,
    uint64,
)
from dualflow.errors import InvalidArgumentError
from dualflow.ops.elementwise import complex as _complex
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.random import random_generator, random_samples
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["angle", "array", "asarray", "bool_", "complex_", "copy",
           "experimental_enable_numpy_behavior", "float16", "iscomplex", "iscomplexobj", "isreal",
           "isrealobj", "ndarray", "random", "transpose"]

# NumPy's names of functions that the array API renames.
_ALIASES = {"absolute": "abs", "amax": "max", "amin": "min", "arccos": "acos", "arccosh": "acosh",
            "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
            "arctanh": "atanh", "around": "round", "bitwise_not": "bitwise_invert",
            "concatenate": "concat", "conjugate": "conj", "cumprod": "cumulative_prod",
            "cumsum": "cumulative_sum", "fabs": "abs", "power": "pow", "true_divide": "divide"}
# Functions whose integer arguments become floats.
_FLOATS = {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "divide",
           "exp", "expm1", "hypot", "log", "log10", "log1p", "log2", "logaddexp", "mean", "sin",
           "sinh", "sqrt", "std", "tan", "tanh", "var"}
_NARROW = {"float64": float32, "complex128": complex64}
_SUMS = {"sum", "prod", "cumulative_sum", "cumulative_prod"}
_CREATION = {"arange", "empty", "eye", "full", "linspace", "ones", "zeros"}
MANY = 1 << 16      # of variadic functions: the number of arguments that are arrays
_state = SimpleNamespace(prefer_float32=False)

ndarray = Tensor
bool_ = array_api.bool
complex_ = complex128


def experimental_enable_numpy_behavior(prefer_float32: bool = False,
                                       dtype_conversion_mode: str = "legacy") -> None:
    """Set the dtype of Python floats. Tensors have NumPy's promotion and indexing without it.

    Parameters
    ----------
    prefer_float32 : bool
        Whether Python floats are float32 in the functions of this module, not float64.
    dtype_conversion_mode : {"all", "legacy", "off"}
        Has no effect: tensors are always promoted as in TensorFlow's mode "all".

    Raises
    ------
    InvalidArgumentError
        If `dtype_conversion_mode` is another mode.

    Examples
    --------
    >>> import dualflow.experimental.numpy as tnp
    >>> tnp.experimental_enable_numpy_behavior(prefer_float32=True)
    >>> tnp.asarray(1.).dtype
    dualflow.float32
    >>> tnp.experimental_enable_numpy_behavior()
    >>> tnp.asarray(1.).dtype
    dualflow.float64
    """
    if dtype_conversion_mode not in ("all", "legacy", "off"):
        raise InvalidArgumentError("experimental_enable_numpy_behavior: dtype_conversion_mode is "
                                   f"{dtype_conversion_mode!r}, expected 'all', 'legacy' or 'off'")
    _state.prefer_float32 = bool(prefer_float32)


def _default() -> DType:
    return float32 if _state.prefer_float32 else float64


def asarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return `a` as a tensor; numbers have NumPy's dtypes.

    Parameters
    ----------
    a : tensor, number, nested lists of numbers, or array
    dtype : dtype, optional

    Returns
    -------
    tensor

    Examples
    --------
    >>> import dualflow.experimental.numpy as tnp
    >>> tnp.asarray([1, 2]).dtype, tnp.asarray([1, 2], tnp.int32).dtype
    (dualflow.int64, dualflow.int32)
    """
    plain = isinstance(a, bool | int | float | complex) or (
        isinstance(a, list | tuple) and not any(isinstance(v, TensorBase) for v in a))
    if dtype is None and plain:
        a = _np.asarray(a)
        dtype = _NARROW.get(a.dtype.name) if _state.prefer_float32 else None
    return array_api.asarray(a, dtype=dtype)


array = asarray


def copy(a: TensorLike) -> Tensor:
    """Return a copy of `a`.

    Examples
    --------
    >>> import dualflow.experimental.numpy as tnp
    >>> tnp.copy([1, 2]).tolist()
    [1, 2]
    """
    return array_api.asarray(asarray(a), copy=True)


def angle(z: TensorLike, deg: bool = False) -> Tensor:
    """Return the angles of the complex numbers `z`, in radians or, if `deg`, in degrees.

    Examples
    --------
    >>> import dualflow.experimental.numpy as tnp
    >>> tnp.angle([1j, -1], deg=True).tolist()
    [90.0, 180.0]
    """
    found = _complex.angle(_floating(z))
    return found * (180 / _np.pi) if deg else found


def iscomplex(x: TensorLike) -> Tensor:
    """Return True where the imaginary part of `x` is not 0.

    Examples
    --------
    >>> import dualflow.experimental.numpy as tnp
    >>> tnp.iscomplex([1j, 2]).tolist()
    [True, False]
    """
    return array_api.imag(asarray(x)) != 0


def isreal(x: TensorLike) -> Tensor:
    """Return True where the imaginary part of `x` is 0.

    Examples
    --------
    >>> import dualflow.experimental.numpy as tnp
    >>> tnp.isreal([1j, 2]).tolist()
    [False, True]
    """
    return array_api.imag(asarray(x)) == 0


def iscomplexobj(x: TensorLike) -> bool:
    """Return True if the dtype of `x` is complex.

    Examples
    --------
    >>> import dualflow.experimental.numpy as tnp
    >>> tnp.iscomplexobj([1j, 2]), tnp.iscomplexobj(2)
    (True, False)
    """
    return asarray(x).dtype.is_complex


def isrealobj(x: TensorLike) -> bool:
    """Return True if the dtype of `x` is not complex.

    Examples
    --------
    >>> import dualflow.experimental.numpy as tnp
    >>> tnp.isrealobj([1j, 2]), tnp.isrealobj(2)
    (False, True)
    """
    return not iscomplexobj(x)


def transpose(a: TensorLike, axes: Sequence[int] | None = None) -> Tensor:
    """Return `a` with its axes in the order `axes`, by default reversed.

    Examples
    --------
    >>> import dualflow.experimental.numpy as tnp
    >>> tnp.transpose([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    x = asarray(a)
    return array_api.permute_dims(x, axes=range(x.ndim)[::-1] if axes is None else axes)


@functools.cache
def _adapted(name: str) -> Any:
    """Return the function `name` of the array API with NumPy's calling convention."""
    function = getattr(array_api, name)
    known = inspect.signature(function).parameters.values()
    leading = sum(p.kind is not p.KEYWORD_ONLY for p in known)
    named = [p.name for p in known if p.kind is p.KEYWORD_ONLY]
    arrays = sum(p.kind is p.POSITIONAL_ONLY for p in known)
    if any(p.kind is p.VAR_POSITIONAL for p in known):
        leading = arrays = MANY

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs |= dict(zip(named, args[leading:], strict=False))
        args = args[:leading]
        if name in _CREATION:
            if kwargs.get("dtype") is None:
                kwargs["dtype"] = _dtype_of(name, args, kwargs)
            return function(*args, **kwargs)
        values, rest = args[:arrays], args[arrays:]
        if name in ("concat", "stack"):
            values = ([asarray(v) for v in values[0]],)
        elif name in _FLOATS:
            values = tuple([_floating(v) for v in values])
        elif not any(isinstance(v, TensorBase) for v in values):
            values = tuple([asarray(v) for v in values])
        if name in _SUMS and kwargs.get("dtype") is None and not values[0].dtype.is_inexact:
            kwargs["dtype"] = uint64 if values[0].dtype.is_unsigned else int64
        return function(*values, *rest, **kwargs)

    return call


def _dtype_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DType:
    """Return the dtype of NumPy's function `name`."""
    if name == "arange":
        return asarray(sum(asarray(v) for v in args)).dtype
    if name == "full":
        return asarray(kwargs["fill_value"] if "fill_value" in kwargs else args[1]).dtype
    return _default()


def _floating(value: TensorLike) -> Tensor:
    x = asarray(value)
    return x if x.dtype.is_inexact else cast(x, _default())


def __getattr__(name: str) -> Any:
    known = _ALIASES.get(name, name)
    if known not in array_api.__all__:
        raise AttributeError(f"module 'dualflow.experimental.numpy' has no attribute {name!r}")
    value = getattr(array_api, known)
    return _adapted(known) if inspect.isfunction(value) else value


def __dir__() -> list[str]:
    return sorted({*__all__, *_ALIASES, *array_api.__all__})


class _Random:
    """Random numbers under NumPy's names, from dualflow's global generator."""

    @staticmethod
    def seed(s: int) -> None:
        """Set the seed of dualflow's global generator."""
        random_generator.set_seed(s)

    @staticmethod
    def randn(*shape: int) -> Tensor:
        """Return numbers of the standard normal distribution."""
        return random_samples.normal(shape, dtype=_default())

    @staticmethod
    def rand(*shape: int) -> Tensor:
        """Return numbers uniform in [0, 1)."""
        return random_samples.uniform(shape, dtype=_default())

    @staticmethod
    def uniform(low: float = 0., high: float = 1., size: Any = None) -> Tensor:
        """Return numbers uniform in [low, high)."""
        return random_samples.uniform(_shape(size), low, high, dtype=_default())

    @staticmethod
    def randint(low: int, high: int | None = None, size: Any = None,
                dtype: DTypeLike = int64) -> Tensor:
        """Return integers from `low` to before `high`, or from 0 to before `low`."""
        start, end = (0, low) if high is None else (low, high)
        return random_samples.uniform(_shape(size), start, end, dtype=dtype)

    @classmethod
    def random(cls, size: Any = None) -> Tensor:
        """Return numbers uniform in [0, 1)."""
        return cls.uniform(size=size)

    @classmethod
    def standard_normal(cls, size: Any = None) -> Tensor:
        """Return numbers of the standard normal distribution."""
        return cls.randn(*_shape(size))


def _shape(size: Any) -> tuple[int, ...]:
    return () if size is None else (size,) if isinstance(size, int) else tuple(size)


random = _Random
