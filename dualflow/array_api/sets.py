"""The distinct elements of an array in ascending order. Each NaN counts as distinct."""

from typing import NamedTuple

from dualflow._core import Tensor
from dualflow.array_api.arrays import array
from dualflow.dtypes import bool_, int64
from dualflow.ops.array.creation import ones
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import reshape, static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import not_equal, where
from dualflow.ops.elementwise.complex import imag, real
from dualflow.ops.indexing.gather import boolean_mask, gather
from dualflow.ops.reduction.cumulative import cumsum
from dualflow.ops.sorting.sort import argsort
from dualflow.ops.types import TensorLike

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Tensor
    inverse_indices: Tensor


class _Runs(NamedTuple):
    """The sorted elements, their indices in the array, and flags where a new value begins."""

    elements: Tensor
    places: Tensor
    begins: Tensor


def _runs(x: Tensor) -> _Runs:
    flat = reshape(x, (-1,))
    if x.dtype.is_complex:                      # by real part, then by imaginary part
        places = argsort(imag(flat), stable=True)
        places = gather(places, argsort(gather(real(flat), places), stable=True))
    else:
        places = argsort(flat, stable=True)
    elements = gather(flat, places)
    others = ones((1,), bool_)[:static_shape(flat)[0]]       # the first element, if any
    return _Runs(elements, places,
                 concat([others, not_equal(elements[1:], elements[:-1])], 0))


def _values(runs: _Runs) -> Tensor:
    return boolean_mask(runs.elements, runs.begins)


def _inverse(runs: _Runs, x: Tensor) -> Tensor:
    numbers = cumsum(cast(runs.begins, int64)) - 1
    return reshape(gather(numbers, argsort(runs.places)), static_shape(x))


def _counts(runs: _Runs) -> Tensor:
    first = where(runs.begins)[:, 0]
    n = static_shape(runs.elements)[0]
    return concat([first, ones((1,), int64) * n], 0)[1:] - first


def unique_all(x: TensorLike, /) -> UniqueAll:
    """Return the distinct elements, their first indices, the inverse indices, and their counts.

    Parameters
    ----------
    x : array, any dtype and shape

    Returns
    -------
    values : array, dtype of `x`, shape (n,), ascending
    indices : array, int64, shape (n,)
        Indices of the first occurrences in the flat `x`.
    inverse_indices : array, int64, shape of `x`
        ``values[inverse_indices]`` is `x`.
    counts : array, int64, shape (n,)

    Examples
    --------
    >>> import dualflow as df
    >>> [part.tolist() for part in df.array_api.unique_all(df.constant([5, 1, 5]))]
    [[1, 5], [1, 0], [1, 0, 1], [1, 2]]
    """
    y = array(x, "unique_all")
    runs = _runs(y)
    first = cast(boolean_mask(runs.places, runs.begins), int64)
    return UniqueAll(_values(runs), first, _inverse(runs, y), _counts(runs))


def unique_counts(x: TensorLike, /) -> UniqueCounts:
    """Return the distinct elements of `x` and the count of each.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.unique_counts(df.constant([5, 1, 5])).counts.tolist()
    [1, 2]
    """
    runs = _runs(array(x, "unique_counts"))
    return UniqueCounts(_values(runs), _counts(runs))


def unique_inverse(x: TensorLike, /) -> UniqueInverse:
    """Return the distinct elements of `x`, and for each element the index of its value.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.unique_inverse(df.constant([5, 1, 5])).inverse_indices.tolist()
    [1, 0, 1]
    """
    y = array(x, "unique_inverse")
    runs = _runs(y)
    return UniqueInverse(_values(runs), _inverse(runs, y))


def unique_values(x: TensorLike, /) -> Tensor:
    """Return the distinct elements of `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.unique_values(df.constant([5, 1, 5])).tolist()
    [1, 5]
    """
    return _values(_runs(array(x, "unique_values")))
