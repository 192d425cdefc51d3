"""Utility functions: all, any, and differences of neighbours."""

from dualflow._core import Tensor
from dualflow._util.arguments import integer
from dualflow.array_api.arrays import array, axes_of
from dualflow.array_api.data_types import astype
from dualflow.dtypes import bool_
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.join import concat
from dualflow.ops.elementwise.compare import not_equal
from dualflow.ops.reduction import reduce
from dualflow.ops.types import Axis, TensorLike

__all__ = ["all", "any", "diff"]


def all(x: TensorLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return True if all elements along `axis` are true; numbers are true unless 0.

    Parameters
    ----------
    x : array, any dtype
    axis : int or tuple of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    array, bool; True for no elements

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.all(df.constant([1, 0])).item()
    False
    """
    return reduce.reduce_all(astype(x, bool_), axes_of(axis), keepdims)


def any(x: TensorLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return True if any element of `x` along `axis` is true; `keepdims` is as in `all`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.any(df.constant([1, 0])).item()
    True
    """
    return reduce.reduce_any(astype(x, bool_), axes_of(axis), keepdims)


def diff(x: TensorLike, /, *, axis: int = -1, n: int = 1, prepend: TensorLike | None = None,
         append: TensorLike | None = None) -> Tensor:
    """Return the differences of neighbouring elements along `axis`, `n` times over.

    Parameters
    ----------
    x : array, any number dtype
    axis : int
    n : int
        0 or more.
    prepend, append : array, optional
        Arrays to join to the start and the end of `x` first.

    Returns
    -------
    array, dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.diff(df.constant([1, 4, 9])).tolist()
    [3, 5]
    """
    y, axis, n = array(x, "diff"), integer(axis, "diff: axis"), integer(n, "diff: n")
    if y.ndim == 0 or not -y.ndim <= axis < y.ndim or n < 0:
        raise InvalidArgumentError(f"diff: x has shape {y.shape}, axis is {axis} and n {n}, "
                                   "expected a valid axis and n of 0 or more")
    parts = [array(p, "diff") for p in (prepend, y, append) if p is not None]
    y = concat(parts, axis) if len(parts) > 1 else y
    before = (slice(None),) * (axis % y.ndim)
    size = y.shape[axis]
    for _ in range(min(n, size) if type(size) is int else n):
        late, early = y[(*before, slice(1, None))], y[(*before, slice(None, -1))]
        y = not_equal(late, early) if y.dtype.is_bool else late - early
    return y
