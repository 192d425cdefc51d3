"""Creation functions: arrays from values and shapes."""

import builtins
from typing import Any

from dualflow import _core
from dualflow._core import Tensor, TensorBase
from dualflow._util.arguments import integer
from dualflow.array_api.arrays import array, given_dtype
from dualflow.array_api.data_types import NUMBERS
from dualflow.array_api.device import check_device
from dualflow.dtypes import as_dtype, complex64, complex128, float32, float64, int64
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array import creation, grids
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import expand_dims, reshape, static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import less_equal, where
from dualflow.ops.elementwise.complex import complex, imag, real
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
           "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]


def arange(start: TensorLike, /, stop: TensorLike | None = None, step: TensorLike = 1, *,
           dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """Return the numbers `start`, ``start + step``, ... before `stop`.

    Parameters
    ----------
    start : number
        The end if `stop` is None; then the numbers start at 0.
    stop, step : number
    dtype : dtype, optional
        By default int32 for ints, int64 if int32 is too narrow, float32 if one is a float.
    device : str, optional
        "cpu", or the `device` of an array.

    Returns
    -------
    array, shape (n,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.arange(5, 0, -2).tolist()
    [5, 3, 1]
    """
    check_device(device, "arange")
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is None or all([isinstance(v, TensorBase) for v in (start, stop, step)]):
        return creation.range(start, stop, step, dtype)
    if not (isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)):
        return cast(creation.range(start, stop, step, float64), dtype)
    numbers = builtins.range(start, stop, step)
    if not numbers:
        return creation.zeros((0,), dtype)
    creation.constant([numbers[0], numbers[-1]], dtype)     # an error if these do not fit
    if all([abs(v) < 2**63 for v in (start, stop, step)]):
        return cast(creation.range(start, stop, step, int64), dtype)
    return creation.constant(numbers, dtype)


def asarray(obj: TensorLike, /, *, dtype: DTypeLike | None = None, device: Any = None,
            copy: bool | None = None) -> Tensor:
    """Return `obj` as an array.

    Parameters
    ----------
    obj : array, number, nested lists of numbers, or object with a buffer or ``__dlpack__``
    dtype : dtype, optional
        By default arrays keep their dtype, floats become float32, Python complex numbers complex64,
        ints int32, or int64 if int32 is too narrow.
    device : str, optional
        "cpu", or the `device` of an array.
    copy : bool, optional
        True always copies. False never copies and raises if a copy is needed. None copies unless
        `obj` is a dualflow array.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `copy` is False and a copy is needed.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.asarray([1, 2.5]).tolist()
    [1.0, 2.5]
    """
    check_device(device, "asarray")
    if copy is False:
        return _shared(obj, dtype)
    if not isinstance(obj, TensorBase) or dtype not in (None, obj.dtype):
        return _constant(obj, dtype)
    x = array(obj, "asarray")
    return reshape(concat([reshape(x, (-1,))], 0), static_shape(x)) if copy else x  # concat copies


def _constant(value: Any, dtype: DTypeLike | None) -> Tensor:
    """Return a constant; complex numbers of Python become complex64, as floats become float32."""
    made = creation.constant(value, dtype)
    if dtype is None and made.dtype is complex128 and _of_python(value):
        return creation.constant(value, complex64)
    return made


def _of_python(value: Any) -> bool:
    """Return True if nested lists hold numbers of Python only."""
    if isinstance(value, list | tuple):
        return all([_of_python(x) for x in value])
    return type(value) in NUMBERS


def _shared(obj: Any, dtype: DTypeLike | None) -> Tensor:
    """Return `obj` as an array that shares its memory."""
    if isinstance(obj, TensorBase):
        x = array(obj, "asarray")
    elif hasattr(obj, "__dlpack__"):
        x = _core.from_dlpack(obj, copy=False)
    else:
        raise InvalidArgumentError(f"asarray: a {type(obj).__name__} is copied, but copy is False")
    if dtype is not None and x.dtype is not as_dtype(dtype):
        raise InvalidArgumentError(f"asarray: {x.dtype} is copied to become {as_dtype(dtype)}, but "
                                   "copy is False")
    return x


def empty(shape: TensorLike, *, dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """Return an array of `shape` and `dtype` (float32) on `device`, filled with zeros, because an
    immutable array with undefined elements is useless.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x: TensorLike, /, *, dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """Return an array like `x`, of another `dtype` if one is given, on `device`; see `empty`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.empty_like(df.constant([1, 2])).shape
    (2,)
    """
    return zeros_like(x, dtype=dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DTypeLike | None = None,
        device: Any = None) -> Tensor:
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows, n_cols : int
        `n_cols` defaults to `n_rows`.
    k : int
        The diagonal: 0 is the main one, positive numbers are above it, negative ones below.
    dtype : dtype, default float32
    device : str, optional
        "cpu", or the `device` of an array.

    Returns
    -------
    array, shape (n_rows, n_cols)

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.eye(2, 3, k=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    check_device(device, "eye")
    columns = n_rows if n_cols is None else n_cols
    return cast(_distance(n_rows, columns) == _diagonal(k, "eye"),
                given_dtype(dtype, float32))


def _distance(rows: Any, columns: Any) -> Tensor:
    """Return the diagonal index of each element of a matrix."""
    return creation.range(columns) - expand_dims(creation.range(rows), 1)


def _diagonal(k: Any, caller: str) -> int:
    """Return the number of a diagonal, clamped to the range of int32."""
    return min(max(integer(k, f"{caller}: k"), 1 - 2**31), 2**31 - 1)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return an array over the memory of `x`: `dualflow.from_dlpack`.

    Parameters
    ----------
    x : object with ``__dlpack__``
    device : str, optional
        "cpu", or the `device` of an array.
    copy : bool, optional
        True always copies, False never does, None unless `x` is dense, aligned, row-major.

    Returns
    -------
    array

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.from_dlpack(df.constant([1., 2.])).tolist()
    [1.0, 2.0]
    """
    check_device(device, "from_dlpack")
    return _core.from_dlpack(x, copy=copy)


def full(shape: TensorLike, fill_value: TensorLike, *, dtype: DTypeLike | None = None,
         device: Any = None) -> Tensor:
    """Return an array of `shape` filled with `fill_value`, in its dtype or `dtype`, on `device`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.full(3, 7).tolist()
    [7, 7, 7]
    """
    check_device(device, "full")
    return creation.fill(shape, _constant(fill_value, dtype))


def full_like(x: TensorLike, /, fill_value: TensorLike, *, dtype: DTypeLike | None = None,
              device: Any = None) -> Tensor:
    """Return an array like `x` with `fill_value` in every element, of `dtype` if given, on
    `device`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.full_like(df.constant([1., 2.]), 7).tolist()
    [7.0, 7.0]
    """
    y = array(x, "full_like")
    return full(static_shape(y), fill_value, dtype=given_dtype(dtype, y.dtype), device=device)


def linspace(start: TensorLike, stop: TensorLike, /, num: int, *, dtype: DTypeLike | None = None,
             device: Any = None, endpoint: bool = True) -> Tensor:
    """Return `num` evenly spaced numbers from `start` to `stop`.

    Parameters
    ----------
    start, stop : number
    num : int
    dtype : dtype, default float32, or complex64 if `start` or `stop` is complex
        The numbers are computed in float64 or complex128 and rounded to it.
    device : str, optional
        "cpu", or the `device` of an array.
    endpoint : bool
        Whether `stop` is the last number; otherwise it is excluded.

    Returns
    -------
    array, shape (num,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linspace(0, 1, 4, endpoint=False).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    check_device(device, "linspace")
    is_complex = any([array(x, "linspace").dtype.is_complex for x in (start, stop)
                      if not isinstance(x, int)])
    wanted = given_dtype(dtype, complex64 if is_complex else float32)
    n = num if endpoint else num + 1
    if num == 0:
        return creation.zeros((0,), wanted)
    if is_complex or wanted.is_complex:
        a, b = creation.constant(start, complex128), creation.constant(stop, complex128)
        parts = grids.linspace(real(a), real(b), n), grids.linspace(imag(a), imag(b), n)
        return cast(complex(*parts)[:num], wanted)
    first, last = creation.constant(start, float64), creation.constant(stop, float64)
    return cast(grids.linspace(first, last, n)[:num], wanted)


def meshgrid(*arrays: TensorLike, indexing: str = "xy") -> list[Tensor]:
    """Return the coordinates of a grid: each vector broadcast over the dimensions of the others.

    Parameters
    ----------
    *arrays : arrays, shape (n,) or ()
    indexing : {"xy", "ij"}
        "ij": array i runs along dimension i; "xy": the first two dimensions are swapped.

    Returns
    -------
    list of arrays

    Examples
    --------
    >>> import dualflow as df
    >>> [x.tolist() for x in df.array_api.meshgrid(df.constant([1, 2]), df.constant([3]))]
    [[[1, 2]], [[3, 3]]]
    """
    return grids.meshgrid(*arrays, indexing=indexing)


def ones(shape: TensorLike, *, dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """Return an array of `shape` and `dtype` (float32) filled with ones, on `device`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.ones(2).tolist()
    [1.0, 1.0]
    """
    return full(shape, 1, dtype=given_dtype(dtype, float32), device=device)


def ones_like(x: TensorLike, /, *, dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """Return ones of the shape and, unless `dtype` is given, the dtype of `x`, on `device`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.ones_like(df.constant([5, 6])).tolist()
    [1, 1]
    """
    return full_like(x, 1, dtype=dtype, device=device)


def tril(x: TensorLike, /, *, k: int = 0) -> Tensor:
    """Return `x` with zeros above diagonal `k` of its matrices, numbered as in `eye`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.tril(df.constant([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    y = _matrices(x, "tril")
    rows, columns = static_shape(y)[-2:]
    kept = less_equal(_distance(rows, columns), _diagonal(k, "tril"))
    return where(kept, y, creation.zeros((), y.dtype))


def triu(x: TensorLike, /, *, k: int = 0) -> Tensor:
    """Return `x` with zeros below diagonal `k` of its matrices, numbered as in `eye`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.triu(df.constant([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    y = _matrices(x, "triu")
    rows, columns = static_shape(y)[-2:]
    kept = less_equal(_diagonal(k, "triu"), _distance(rows, columns))
    return where(kept, y, creation.zeros((), y.dtype))


def _matrices(x: TensorLike, caller: str) -> Tensor:
    y = array(x, caller)
    if y.ndim < 2:
        raise InvalidArgumentError(f"{caller}: x has shape {y.shape}, expected 2 or more "
                                   "dimensions")
    return y


def zeros(shape: TensorLike, *, dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """Return an array of `shape` and `dtype` (float32) filled with zeros, on `device`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.zeros((1, 2)).tolist()
    [[0.0, 0.0]]
    """
    return full(shape, 0, dtype=given_dtype(dtype, float32), device=device)


def zeros_like(x: TensorLike, /, *, dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """Return zeros of the shape and, unless `dtype` is given, the dtype of `x`, on `device`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.zeros_like(df.constant([5, 6])).tolist()
    [0, 0]
    """
    return full_like(x, 0, dtype=dtype, device=device)
