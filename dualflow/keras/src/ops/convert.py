"""Conversion of values to tensors and NumPy arrays, and Keras's dtype rules."""

from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import floatx

import dualflow as df
from dualflow._core import Dim
from dualflow.keras.src.ops.float8 import FORMATS, round_to_float8
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.string_tensor import StringTensor, is_text

TEXT_KINDS = "O", "U", "S"          # of NumPy's arrays of text
INT32 = -2**31, 2**31 - 1
NUMBERS = bool, int, float, complex     # of Python


def to_dtype(dtype: Any) -> df.DType:
    """Return the dtype for one of Keras's dtype names."""
    return df.as_dtype(standardize_dtype(dtype))


def dtype_of(x: Any) -> Any:
    """Return the argument for Keras's promotion rules: a dtype name or a weak Python type."""
    dtype = getattr(x, "dtype", None)
    if dtype is not None:
        return standardize_dtype(dtype)
    return int if isinstance(x, Dim) else type(x)


def is_tensor(x: Any) -> Any:
    return isinstance(x, df.TensorBase | StringTensor | df.SparseTensor)


def is_text_value(x: Any) -> bool:
    """Return True for text that has a dtype: a tensor, an element of a dataset or an array."""
    dtype = getattr(x, "dtype", None)
    return dtype is df.string or (getattr(dtype, "kind", "") in TEXT_KINDS and is_text(x))


def convert_to_tensor(x: Any, dtype: Any = None, sparse: Any = None, ragged: Any = None) -> Any:
    """Return `x` as a tensor, cast to `dtype` if given; variables are read."""
    if ragged:
        raise ValueError("`ragged=True` is not supported with the dualflow backend")
    if isinstance(x, df.SparseTensor):
        x = df.sparse.to_dense(x) if sparse is False else x
        return x if dtype is None or x.dtype is to_dtype(dtype) else df.cast(x, to_dtype(dtype))
    if sparse:
        return df.sparse.from_dense(convert_to_tensor(x, dtype))
    if dtype == "string" or (dtype is None and is_text_value(x)):
        return df.convert_to_tensor(x, df.string)
    wanted = None if dtype is None else to_dtype(dtype)
    if isinstance(x, KerasVariable):
        x = x.value
    if isinstance(x, df.TensorBase):
        made: df.Tensor = x.value() if isinstance(x, df.Variable) else x  # type: ignore[assignment]
    elif isinstance(x, df.IndexedSlices):
        made = df.convert_to_tensor(x)
    else:
        made = _constant(x, wanted)
    if wanted is None or made.dtype is wanted:
        return made
    if not wanted.is_complex and not wanted.is_bool:    # losses and metrics convert to a real dtype
        check_real("convert_to_tensor", made)
    return df.cast(made, wanted)


def _constant(x: Any, wanted: df.DType | None) -> df.Tensor:
    """Convert numbers, nested lists of numbers and tensors, or arrays of any library."""
    if isinstance(x, Dim):                  # a size of a traced tensor
        return df.convert_to_tensor(x)
    if isinstance(x, NUMBERS):
        own = _dtype_of_number(x)
        if wanted is not None and wanted.is_inexact and (
                wanted.is_complex or not own.is_complex):
            own = wanted
        return df.constant(x, own)
    if isinstance(x, np.ndarray | np.generic):
        return df.constant(x)
    if isinstance(x, list | tuple | range):
        leaves = tree.flatten(x)
        if any(isinstance(leaf, df.TensorBase | KerasVariable | np.ndarray | Dim)
               for leaf in leaves):
            return df.stack([convert_to_tensor(e) for e in _alike(x)])
        kinds = {type(leaf) for leaf in leaves}
        if kinds <= set(NUMBERS):
            if wanted is not None and complex in kinds and not wanted.is_complex:
                return df.constant(x, df.complex64)
            if wanted is None:
                wanted = to_dtype(result_type(*kinds)) if leaves else to_dtype(floatx())
            if wanted is df.int32 and not all(INT32[0] <= leaf <= INT32[1] for leaf in leaves):
                wanted = df.int64
            return df.constant(np.array(x, dtype=wanted.as_numpy_dtype))
    if isinstance(x, str | bytes):
        raise ValueError(f"a {type(x).__name__} cannot become a tensor of dualflow: {x!r}")
    return df.constant(np.asarray(x))


def _alike(x: Any) -> list[Any]:
    """Return the elements of a list as tensors of one dtype."""
    parts = [convert_to_tensor(e) for e in x]
    dtype = to_dtype(result_type(*[dtype_of(e) if hasattr(e, "dtype") else dtype_of(p)
                                   for e, p in zip(x, parts, strict=True)]))
    return [df.cast(p, dtype) for p in parts]


def _dtype_of_number(x: bool | int | float | complex) -> df.DType:
    if isinstance(x, bool):
        return df.bool_
    if isinstance(x, complex):
        return df.complex64
    if isinstance(x, int):
        return df.int32 if INT32[0] <= x <= INT32[1] else df.int64
    return to_dtype(floatx())


def convert_to_numpy(x: Any) -> Any:
    """Return a new, writable NumPy array."""
    if isinstance(x, KerasVariable):
        x = x.value
    if isinstance(x, list | tuple):
        x = [convert_to_numpy(e) if is_tensor(e) or isinstance(e, KerasVariable) else e for e in x]
    array = x.numpy() if isinstance(x, df.TensorBase | df.SparseTensor) else np.asarray(x)
    return np.array(array)


def cast(x: Any, dtype: Any) -> Any:
    if dtype in FORMATS:        # there is no float8 dtype: the values, in the dtype of x
        return round_to_float8(convert_to_tensor(x), dtype)
    return convert_to_tensor(x, dtype=dtype)


def tensors(*xs: Any, dtype: Any = None) -> Any:
    """Return the operands of one op as dense tensors of the dtype of Keras's promotion rules."""
    xs = tuple(convert_to_tensor(x) if isinstance(x, list | tuple) else x for x in xs)
    if dtype is None:
        dtype = result_type(*map(dtype_of, xs))
    return [convert_to_tensor(x, dtype, sparse=False) for x in xs]


def float_of(dtype: Any) -> str:
    """Return the result dtype of a function that is floating for any argument."""
    name = standardize_dtype(dtype)
    return floatx() if name == "int64" else result_type(name, float)


def floating(x: Any) -> df.Tensor:
    """Return `x` as a floating or complex tensor."""
    x = convert_to_tensor(x)
    return x if x.dtype.is_inexact else df.cast(x, to_dtype(float_of(x.dtype)))
