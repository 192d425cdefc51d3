"""Statistical functions: sums, products, means, extrema, variances."""

import math
from typing import Any

from dualflow._core import Tensor, larger
from dualflow._util.arguments import integer, number
from dualflow.array_api.arrays import array, axes_of
from dualflow.array_api.data_types import astype
from dualflow.dtypes import DType, as_dtype, float32, int32, uint32
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.creation import fill
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.exponential import sqrt
from dualflow.ops.reduction import cumulative, reduce, reduce_moments
from dualflow.ops.types import Axis, DTypeLike, TensorLike

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]


def sum_dtype(dtype: DType, wanted: DTypeLike | None) -> DType:
    """Return the dtype of sums and products: integers narrower than int32 are widened."""
    if wanted is not None:
        return as_dtype(wanted)
    if dtype.is_bool or (dtype.is_integer and dtype.itemsize < 4):
        return uint32 if dtype.is_unsigned else int32
    return dtype


def _floating(x: TensorLike, caller: str) -> Tensor:
    """Convert `x` to float32 unless it is floating or complex."""
    y = array(x, caller)
    return y if y.dtype.is_inexact else cast(y, float32)


def cumulative_prod(x: TensorLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None,
                    include_initial: bool = False) -> Tensor:
    """Return the products of the elements up to each one along `axis`.

    Parameters
    ----------
    x : array, any number dtype
    axis : int
        Optional if `x` has one dimension.
    dtype : dtype, optional
        By default integers narrower than int32 are widened to int32 or uint32.
    include_initial : bool
        Whether to prepend 1, the empty product.

    Returns
    -------
    array

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.cumulative_prod(df.constant([2, 3]), include_initial=True).tolist()
    [1, 2, 6]
    """
    return _cumulative(cumulative.cumprod, 1, "cumulative_prod", x, axis, dtype, include_initial)


def cumulative_sum(x: TensorLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None,
                   include_initial: bool = False) -> Tensor:
    """Return the sums of the elements of `x` up to each one along `axis`.

    `dtype` is as in `cumulative_prod`; `include_initial` prepends 0, the empty sum.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.cumulative_sum(df.constant([2, 3]), include_initial=True).tolist()
    [0, 2, 5]
    """
    return _cumulative(cumulative.cumsum, 0, "cumulative_sum", x, axis, dtype, include_initial)


def _cumulative(op: Any, initial: int, caller: str, x: TensorLike, axis: int | None,
                dtype: DTypeLike | None, include_initial: bool) -> Tensor:
    y = array(x, caller)
    axis = axis if axis is None else integer(axis, f"{caller}: axis")
    if y.ndim == 0 or (axis is None and y.ndim != 1):
        raise InvalidArgumentError(f"{caller}: x has shape {y.shape} and axis is {axis}, expected "
                                   "a "
                                   "valid axis")
    axis = (axis or 0) % y.ndim if axis is None or -y.ndim <= axis < y.ndim else axis
    y = op(astype(y, sum_dtype(y.dtype, dtype)), axis)
    if not include_initial:
        return y
    shape = static_shape(y)
    first = fill((*shape[:axis], 1, *shape[axis + 1:]), cast(initial, y.dtype))
    return concat([first, y], axis)


def max(x: TensorLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the largest element along `axis`; NaN if any element is NaN.

    Parameters
    ----------
    x : array, any number dtype
    axis : int or tuple of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    array, dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.max(df.constant([[1, 5], [7, 2]]), axis=1).tolist()
    [5, 7]
    """
    return reduce.reduce_max(array(x, "max"), axes_of(axis), keepdims)


def mean(x: TensorLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the mean of the elements along `axis`.

    Parameters
    ----------
    x : array, any number dtype
    axis : int or tuple of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    array, dtype of `x`; float64 for 64-bit integers, float32 for other integers

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.mean(df.constant([1., 2., 6.])).item()
    3.0
    """
    return reduce_moments.reduce_mean(array(x, "mean"), axes_of(axis), keepdims)


def min(x: TensorLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the smallest element of `x` along `axis`; NaN if any is NaN; `keepdims` as in `max`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.min(df.constant([[1, 5], [7, 2]]), axis=1).tolist()
    [1, 2]
    """
    return reduce.reduce_min(array(x, "min"), axes_of(axis), keepdims)


def prod(x: TensorLike, /, *, axis: Axis = None, dtype: DTypeLike | None = None,
         keepdims: bool = False) -> Tensor:
    """Return the product of the elements of `x` along `axis`; `dtype`, `keepdims` as in `sum`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.prod(df.constant([2, 3, 4])).item()
    24
    """
    y = array(x, "prod")
    return reduce.reduce_prod(astype(y, sum_dtype(y.dtype, dtype)), axes_of(axis), keepdims)


def std(x: TensorLike, /, *, axis: Axis = None, correction: float = 0.0,
        keepdims: bool = False) -> Tensor:
    """Return the standard deviation of `x`, floating, along `axis`: the root of `var`, with the
    same `correction` and `keepdims`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.std(df.constant([2., 2., 6., 6.])).item()
    2.0
    """
    correction = number(correction, "std: correction")
    if correction == 0:
        return reduce_moments.reduce_std(_floating(x, "std"), axes_of(axis), keepdims)
    return sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def sum(x: TensorLike, /, *, axis: Axis = None, dtype: DTypeLike | None = None,
        keepdims: bool = False) -> Tensor:
    """Return the sum of the elements along `axis`.

    Parameters
    ----------
    x : array, any number dtype or bool
    axis : int or tuple of int, optional
        By default all axes.
    dtype : dtype, optional
        By default integers narrower than int32 are widened to int32 or uint32.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    array

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.sum(df.constant([2, 3, 4])).item()
    9
    """
    y = array(x, "sum")
    return reduce.reduce_sum(astype(y, sum_dtype(y.dtype, dtype)), axes_of(axis), keepdims)


def var(x: TensorLike, /, *, axis: Axis = None, correction: float = 0.0,
        keepdims: bool = False) -> Tensor:
    """Return the mean squared distance from the mean along `axis`.

    Parameters
    ----------
    x : array, floating
    axis : int or tuple of int, optional
        By default all axes.
    correction : number
        The sum of squares of n elements is divided by ``n - correction``.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    array, dtype of `x`; NaN for 0 / 0

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.var(df.constant([1., 3.]), correction=1).item()
    2.0
    """
    y = _floating(x, "var")
    correction = number(correction, "var: correction")
    found = reduce_moments.reduce_variance(y, axes_of(axis), keepdims)
    if correction == 0:
        return found
    n: Any = math.prod([static_shape(y)[a] for a in reduce.axes_or_all(y, _listed(axis))])
    return found * n / larger(n - correction, 0)


def _listed(axis: Axis) -> Any:
    return (axis,) if isinstance(axis, int) else axis


