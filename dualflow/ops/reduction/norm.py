"""Norms and counts of non-zero elements, composed of reductions."""

from __future__ import annotations

import math

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import number
from dualflow.dtypes import as_dtype, bool_, int32, int64
from dualflow.errors import InvalidArgumentError, UnimplementedError
from dualflow.ops.array.shape import ints
from dualflow.ops.axes import by_axes
from dualflow.ops.elementwise.arithmetic import abs
from dualflow.ops.elementwise.bitwise import logical_not
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import not_equal
from dualflow.ops.reduction.reduce import reduce_max, reduce_sum
from dualflow.ops.reduction.reduce_moments import reduce_euclidean_norm, reduce_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import Axis, DTypeLike, TensorLike

__all__ = ["count_nonzero", "norm", "zero_fraction"]

MANY = 1 << 15      # elements from which a sum of int32 and a cast is faster than a sum of int64


def count_nonzero(input: TensorLike, axis: Axis = None, keepdims: bool = False,
                  dtype: DTypeLike = int64, name: str | None = None) -> Tensor:
    """Return the number of elements along `axis` that are not 0.

    Parameters
    ----------
    input : Tensor, any dtype
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.
    dtype : DType
        The dtype of the result.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.count_nonzero([[0, 2], [3, 4]]).numpy().item()
    3
    """
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, "count_nonzero")
    mask = x if x.dtype is bool_ else not_equal(x, 0)
    if type(x) is Tensor and MANY < x.size < 2**31 and as_dtype(dtype) is int64:
        return cast(reduce_sum(cast(mask, int32), axis, keepdims), int64, name)
    return reduce_sum(cast(mask, dtype), axis, keepdims, name)


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Return the fraction of elements that are 0.

    Parameters
    ----------
    value : Tensor, any dtype

    Returns
    -------
    Tensor, float32, shape (); NaN for an empty `value`

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.zero_fraction([0., 1., 0., 2.]).numpy().item()
    0.5
    """
    return reduce_mean(logical_not(cast(value, "bool")), name=name)


def norm(tensor: TensorLike, ord: str | float = "euclidean", axis: Axis = None,
         keepdims: bool = False, name: str | None = None) -> Tensor:
    """Return the norms of vectors or matrices.

    Parameters
    ----------
    tensor : Tensor, floating or complex
    ord : "euclidean", "fro", 1, 2, inf or another positive number
        For vectors, the root of order `ord` of the sum of powers, the maximum for inf. For
        matrices, "euclidean" or "fro" (equal), 1 (largest column sum) or inf (largest row sum).
    axis : int, or two ints, optional
        The axis of the vectors, or the two axes of the matrices. By default all elements are one
        vector.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the real dtype of `tensor`

    Raises
    ------
    InvalidArgumentError
        If `ord` is not a norm of vectors or of matrices, depending on `axis`.

    Notes
    -----
    The gradient of the euclidean norm is 0 where the norm is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.norm([[3., 4.], [0., 0.]], axis=1).numpy().tolist()
    [5.0, 0.0]
    """
    x = tensor if isinstance(tensor, TensorBase) else as_tensor(tensor)
    chosen = by_axes(axis, x.ndim, "norm", lambda a: norm(x, ord, a, keepdims, name))
    if chosen is not None:
        return chosen
    pair = None if axis is None or isinstance(axis, int) else ints(axis, "norm: axis")
    if pair is not None and len(pair) == 2:
        return _matrix_norm(x, ord, pair, keepdims, name)
    if pair is not None and len(pair) != 1:
        raise InvalidArgumentError(f"norm: axis is {axis}, expected one axis, two axes or None")
    if ord in ("euclidean", 2) or (ord == "fro" and axis is None):
        return reduce_euclidean_norm(x, axis, keepdims, name)
    if ord == 1:
        return reduce_sum(abs(x), axis, keepdims, name)
    if ord == math.inf:
        return reduce_max(abs(x), axis, keepdims, name)
    if isinstance(ord, str) or not number(ord, "norm: ord") > 0:
        raise InvalidArgumentError(
            f"norm: ord of a vector is {ord!r}, expected 'euclidean' or a positive number")
    return reduce_sum(abs(x) ** ord, axis, keepdims, name) ** (1 / ord)


def _matrix_norm(x: Any, ord: str | float, axes: tuple[int, ...], keepdims: bool,
                 name: str | None) -> Tensor:
    if ord in ("euclidean", "fro"):
        return reduce_euclidean_norm(x, axes, keepdims, name)
    if ord == 2:
        raise UnimplementedError("norm: ord 2 of a matrix, its largest singular value")
    if ord not in (1, math.inf):
        raise InvalidArgumentError(
            f"norm: ord of a matrix is {ord!r}, expected 'euclidean', 'fro', 1 or inf")
    summed, largest = axes if ord == 1 else axes[::-1]
    both = reduce_max(reduce_sum(abs(x), summed, True), largest, True)
    return both if keepdims else reduce_sum(both, axes, name=name)
