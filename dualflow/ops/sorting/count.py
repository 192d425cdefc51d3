"""Counts of integers, and of correct and wrong predictions."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow.dtypes import int32, int64
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import no_gradient
from dualflow.ops.array.creation import ones_like, range as range_
from dualflow.ops.array.shape import expand_dims, one_size, reshape, static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import not_equal, where
from dualflow.ops.indexing.segment import unsorted_segment_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["bincount", "confusion_matrix", "in_top_k"]


def bincount(arr: TensorLike, weights: TensorLike | None = None, minlength: int | None = None,
             maxlength: int | None = None, dtype: DTypeLike = int32,
             name: str | None = None, axis: int | None = None,
             binary_output: bool = False) -> Tensor:
    """Count each integer from 0 in `arr`, or sum its weights.

    Parameters
    ----------
    arr : Tensor, int32 or int64, not negative
    weights : Tensor, any number dtype, same shape as `arr`, optional
    minlength, maxlength : int, optional
        Bounds on the length of the result; integers beyond `maxlength` are not counted.
    dtype : int32 or int64
        The dtype of counts; sums have the dtype of `weights`.
    axis : {None, 0, -1}
        -1 counts each row of a two-dimensional `arr` separately; otherwise all are counted.
    binary_output : bool
        Whether the result is 1 for integers that occur and 0 for the others.

    Returns
    -------
    Tensor, shape (largest number + 1,) within the bounds; (rows, that length) for axis -1

    Raises
    ------
    OutOfRangeError
        If a number is negative.

    Notes
    -----
    Only `weights` has a gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.bincount([1, 3, 1]).numpy().tolist()
    [0, 2, 0, 1]
    >>> df.math.bincount([1, 3, 1], weights=[.5, 1., 2.]).numpy().tolist()
    [0.0, 2.5, 0.0, 1.0]
    """
    arr = arr if isinstance(arr, TensorBase) else as_tensor(arr, None, "bincount")
    if axis not in (None, 0, -1):
        raise InvalidArgumentError(f"bincount: axis is {axis}, expected None, 0 or -1")
    if binary_output and weights is not None:
        raise InvalidArgumentError("bincount: got weights and binary_output, expected one of them")
    counts = apply("bincount", arr, name=name, minlength=0 if minlength is None else minlength,
                   maxlength=-1 if maxlength is None else maxlength, dtype=dtype)
    by_rows = axis == -1 and arr.ndim != 1
    if by_rows or weights is not None:
        added = ones_like(arr, dtype) if weights is None else weights
        counts = _sums(arr, added, static_shape(counts)[0], by_rows, name)
    return cast(not_equal(counts, 0), dtype) if binary_output else counts


def _sums(arr: TensorBase, added: TensorLike, length: Any, by_rows: bool,
          name: str | None) -> Tensor:
    """Return the sum of `added` over each integer below `length`, per row or over all rows."""
    if not by_rows:
        return unsorted_segment_sum(added, where(arr < length, arr, -1), length, name=name)
    if arr.ndim != 2:
        raise ShapeError(f"bincount: arr has shape {tuple(arr.shape)}, expected 1 or 2 dimensions "
                         "for axis -1")
    rows = static_shape(arr)[0]
    first = expand_dims(range_(rows, dtype=arr.dtype) * length, -1)
    total = unsorted_segment_sum(added, where(arr < length, arr + first, -1), rows * length)
    return reshape(total, (rows, length), name=name)


no_gradient("bincount", why="integer result")


def in_top_k(targets: TensorLike, predictions: TensorLike, k: int,
             name: str | None = None) -> Tensor:
    """Return True where the prediction of the target is among the `k` largest of its row.

    Parameters
    ----------
    targets : Tensor, int32 or int64, shape (n,)
    predictions : Tensor, any number dtype, shape (n, classes)
    k : int

    Returns
    -------
    Tensor, bool, shape (n,)

    Notes
    -----
    Predictions equal to the k-th largest count as among them. The result is False if a target is
    not a class or a prediction of its row is not finite. No gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.in_top_k([0, 1], [[.1, .9], [.2, .8]], 1).numpy().tolist()
    [False, True]
    """
    return apply("in_top_k", targets, predictions, name=name, k=k)


no_gradient("in_top_k", why="bool result")


def confusion_matrix(labels: TensorLike, predictions: TensorLike, num_classes: int | None = None,
                     weights: TensorLike | None = None, dtype: DTypeLike = int32,
                     name: str | None = None) -> Tensor:
    """Count (label, prediction) pairs: element (i, j) counts label i predicted as j.

    Parameters
    ----------
    labels, predictions : Tensor, int32 or int64, shape (n,)
    num_classes : int, optional
        Default: one more than the largest of both.
    weights : Tensor, shape (n,), optional
        The weight of each pair, by default 1.
    dtype : dtype
        int32 or int64 without weights.

    Returns
    -------
    Tensor, shape (num_classes, num_classes)

    Raises
    ------
    OutOfRangeError
        If a label or prediction is negative, or `num_classes` or more.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.confusion_matrix([0, 1, 1], [0, 1, 0]).numpy().tolist()
    [[1, 0], [1, 1]]
    """
    classes = -1 if num_classes is None else one_size(num_classes, "confusion_matrix: num_classes")
    if classes < 0 and num_classes is not None:
        raise InvalidArgumentError(
            f"confusion_matrix: num_classes is {num_classes}, expected at least 0")
    if weights is None:
        return apply("confusion_matrix", labels, predictions, name=name, dtype=dtype,
                     num_classes=classes)
    counts = apply("confusion_matrix", labels, predictions, dtype=int32, num_classes=classes)
    n = static_shape(counts)[0]
    places = cast(labels, int64) * n + cast(predictions, int64)
    total = unsorted_segment_sum(cast(weights, dtype), places, n * n)
    return reshape(total, (n, n), name=name)


no_gradient("confusion_matrix", why="integer result")
