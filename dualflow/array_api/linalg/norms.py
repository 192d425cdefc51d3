"""Norms of vectors and matrices."""

import math
from typing import Any

from dualflow._core import Tensor
from dualflow.array_api.arrays import array
from dualflow.array_api.linalg.factors import svdvals
from dualflow.dtypes import float32
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.shape import expand_dims
from dualflow.ops.elementwise.arithmetic import abs
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import not_equal
from dualflow.ops.elementwise.exponential import pow
from dualflow.ops.reduction.reduce import reduce_max, reduce_min, reduce_sum
from dualflow.ops.reduction.reduce_moments import reduce_euclidean_norm
from dualflow.ops.types import Axis, TensorLike

__all__ = ["matrix_norm", "vector_norm"]


def matrix_norm(x: TensorLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Return the norm of each matrix.

    Parameters
    ----------
    x : array, floating or complex, shape (..., m, n)
    keepdims : bool
        Whether to keep the two dimensions with size 1.
    ord : "fro", "nuc", 1, -1, 2, -2, inf or -inf
        The root of the sum of squares; the sum of the singular values; the largest or, if negative,
        smallest column sum (1), singular value (2) or row sum (inf).

    Returns
    -------
    array, the real dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.matrix_norm(df.constant([[3., 0.], [4., 0.]])).item()
    5.0
    """
    y = array(x, "matrix_norm")
    extreme = reduce_max if isinstance(ord, str) or ord > 0 else reduce_min
    if ord == "fro":
        return reduce_euclidean_norm(y, (-2, -1), keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        sums = reduce_sum(abs(y), -2 if ord in (1, -1) else -1, True)
        return extreme(sums, (-2, -1), keepdims)
    if ord not in ("nuc", 2, -2):
        raise InvalidArgumentError(f"matrix_norm: ord is {ord!r}, expected 'fro', 'nuc', 1, 2, inf "
                                   "or the negative of one of these numbers")
    s = svdvals(y)
    found = reduce_sum(s, -1) if ord == "nuc" else extreme(s, -1)
    return expand_dims(expand_dims(found, -1), -1) if keepdims else found


def vector_norm(x: TensorLike, /, *, axis: Axis = None, keepdims: bool = False,
                ord: float = 2) -> Tensor:
    """Return the norm of vectors.

    Parameters
    ----------
    x : array, floating or complex
    axis : int or tuple of int, optional
        The axis of the vectors, or axes that are flattened; None: all elements are one vector.
    keepdims : bool
        Whether to keep these axes with size 1.
    ord : number, inf or -inf
        The root of order `ord` of the sum of powers; the largest (inf) or smallest (-inf) absolute
        value; 0 counts nonzero elements.

    Returns
    -------
    array, the real dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.vector_norm(df.constant([3., 4.])).item()
    5.0
    """
    y = array(x, "vector_norm")
    y = y if y.dtype.is_inexact else cast(y, float32)
    size = abs(y)
    if ord in (math.inf, -math.inf):
        return (reduce_max if ord > 0 else reduce_min)(size, axis, keepdims)
    if ord == 2:
        return reduce_euclidean_norm(y, axis, keepdims)
    if ord == 0:
        return reduce_sum(cast(not_equal(y, 0), size.dtype), axis, keepdims)
    return pow(reduce_sum(pow(size, ord), axis, keepdims), 1 / ord)
