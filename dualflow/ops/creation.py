"""Tensors made from values, numbers and shapes."""

from dualflow import _core
from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow.dtypes import as_dtype, float32
from dualflow.errors import ShapeError
from dualflow.ops.array import broadcast_to, ints, reshape, static_shape
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["constant", "convert_to_tensor", "fill", "ones", "ones_like", "zeros", "zeros_like"]


def constant(value: TensorLike, dtype: DTypeLike | None = None, shape: TensorLike | None = None,
             name: str | None = None) -> Tensor:
    """A tensor that holds a copy of `value`.

    Parameters
    ----------
    value : number, nested lists, array or Tensor
    dtype : dtype, optional
        What to cast to; by default arrays keep theirs, floats become float32, ints int32.
    shape : ints, optional
        The shape to give it; one element is repeated to fill it.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.constant([1, 2, 3, 4], df.float32, shape=[2, 2]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> df.constant(7, shape=[3]).tolist()
    [7, 7, 7]
    """
    x = _core.constant(value, dtype)
    if shape is None:
        return x
    want = ints(shape)
    if x.size == 1 and x.shape != want:
        return broadcast_to(reshape(x, ()), want)
    try:
        return reshape(x, want)
    except ShapeError:
        raise ShapeError(f"constant: got {x.dtype} {x.shape}, want shape {want}") from None


def convert_to_tensor(value: TensorLike, dtype: DTypeLike | None = None,
                      name: str | None = None) -> Tensor:
    """`value` as a tensor; one that is a tensor already is handed back as it is.

    Parameters
    ----------
    value : number, nested lists, array, Tensor or Variable
    dtype : dtype, optional
        The dtype wanted; a tensor of another one is an error, anything else is cast.

    Returns
    -------
    Tensor

    Raises
    ------
    DTypeError
        If `value` is a tensor of another dtype, or cannot become a tensor.

    Examples
    --------
    >>> import dualflow as df
    >>> df.convert_to_tensor([1, 2], df.float64).tolist()
    [1.0, 2.0]
    """
    return as_tensor(value, dtype)


def fill(dims: TensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of shape `dims` with `value` everywhere.

    Parameters
    ----------
    dims : ints
    value : scalar

    Returns
    -------
    Tensor of the dtype of `value`

    Examples
    --------
    >>> import dualflow as df
    >>> df.fill([2, 2], 9).tolist()
    [[9, 9], [9, 9]]
    """
    x = value if isinstance(value, TensorBase) else as_tensor(value, None, "fill")
    if x.ndim != 0:
        raise ShapeError(f"fill: value is {x.dtype} {x.shape}, want shape ()")
    shape = ints(dims)
    if any(d < 0 for d in shape):
        raise ShapeError(f"fill: dims {shape}, want 0 or more each")
    return broadcast_to(x, shape, name=name)


def zeros(shape: TensorLike, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """A tensor of `shape` filled with zeros.

    Examples
    --------
    >>> import dualflow as df
    >>> df.zeros([2, 3]).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return fill(shape, _core.constant(0, dtype), name=name)


def ones(shape: TensorLike, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """A tensor of `shape` filled with ones.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ones([2], df.int64).tolist()
    [1, 1]
    """
    return fill(shape, _core.constant(1, dtype), name=name)


def zeros_like(input: TensorLike, dtype: DTypeLike | None = None,
               name: str | None = None) -> Tensor:
    """Zeros of the shape and, unless `dtype` is given, the dtype of `input`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.zeros_like([1.5, 2.5]).tolist()
    [0.0, 0.0]
    """
    return _full_like(input, 0, dtype, name)


def ones_like(input: TensorLike, dtype: DTypeLike | None = None,
              name: str | None = None) -> Tensor:
    """Ones of the shape and, unless `dtype` is given, the dtype of `input`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ones_like([1.5, 2.5]).tolist()
    [1.0, 1.0]
    """
    return _full_like(input, 1, dtype, name)


def _full_like(input: TensorLike, value: int, dtype: DTypeLike | None, name: str | None) -> Tensor:
    x = input if hasattr(input, "shape") and hasattr(input, "dtype") else as_tensor(input)
    wanted = as_dtype(x.dtype if dtype is None else dtype)
    return broadcast_to(_core.constant(value, wanted), static_shape(x), name=name)
