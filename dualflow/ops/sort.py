"""Order and counts: sorting, searching, counting equal numbers. NaN comes last in either direction,
and equal numbers keep their order."""

from collections.abc import Callable
from typing import Any, NamedTuple

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow.dtypes import int32
from dualflow.errors import InvalidArgumentError
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.array import static_shape, transpose
from dualflow.ops.compare import where
from dualflow.ops.gather import gather_grad
from dualflow.ops.segment import unsorted_segment_sum
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = [
    "argsort",
    "bincount",
    "confusion_matrix",
    "in_top_k",
    "searchsorted",
    "sort",
    "top_k",
    "unique",
    "unique_with_counts",
]


class TopK(NamedTuple):
    values: Tensor
    indices: Tensor


class Unique(NamedTuple):
    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    y: Tensor
    idx: Tensor
    count: Tensor                       # type: ignore[assignment]  # TensorFlow's name


def _descending(direction: str, op: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise InvalidArgumentError(
            f"{op}: direction is {direction!r}, want 'ASCENDING' or 'DESCENDING'")
    return direction == "DESCENDING"


def _along(values: TensorLike, axis: int, op: str, function: Callable[[Any], Tensor],
           name: str | None) -> Tensor:
    """Applies `function`, which works along the last axis, along another one."""
    values = values if isinstance(values, TensorBase) else as_tensor(values, None, op)
    ndim = values.ndim
    if ndim and not -ndim <= axis < ndim:
        raise InvalidArgumentError(
            f"{op}: axis {axis} for values of shape {values.shape}, want {-ndim} to {ndim - 1}")
    if ndim == 0 or axis in (-1, ndim - 1):
        return function(values)
    swap = list(range(ndim))
    swap[axis], swap[-1] = swap[-1], swap[axis]
    return transpose(function(transpose(values, swap)), swap, name=name)


def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING",
         name: str | None = None) -> Tensor:
    """`values` in order along an axis.

    Parameters
    ----------
    values : Tensor, bool or any number dtype, at least 1 dimension
    axis : int
    direction : "ASCENDING" or "DESCENDING"

    Returns
    -------
    Tensor, same shape and dtype as `values`

    Notes
    -----
    NaN comes last in either direction; -0 comes before 0. The gradient goes to where each number
    came from; equal numbers keep their order.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sort([3, 1, 2], direction="DESCENDING").numpy().tolist()
    [3, 2, 1]
    """
    descending = _descending(direction, "sort")
    return _along(values, axis, "sort",
                  lambda x: apply("sort", x, name=name, descending=descending), name)


@gradient("sort", saves="inputs")
def _(g, y, values, descending):
    order = apply("argsort", values, descending=descending)
    return gather_grad(g, order, static_shape(values), -1, len(values.shape) - 1)


def argsort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING",
            stable: bool = False, name: str | None = None) -> Tensor:
    """The indices that put `values` in order along an axis.

    Parameters
    ----------
    values : Tensor, bool or any number dtype, at least 1 dimension
    axis : int
    direction : "ASCENDING" or "DESCENDING"
    stable : bool
        Equal numbers keep their order either way.

    Returns
    -------
    Tensor, int32, same shape as `values`

    Notes
    -----
    NaN comes last in either direction. No gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.argsort([3, 1, 2]).numpy().tolist()
    [1, 2, 0]
    """
    descending = _descending(direction, "argsort")
    return _along(values, axis, "argsort",
                  lambda x: apply("argsort", x, name=name, descending=descending), name)


no_gradient("argsort", why="integer result")


def top_k(input: TensorLike, k: int = 1, sorted: bool = True, name: str | None = None) -> TopK:
    """The `k` largest numbers along the last axis, and their indices.

    Parameters
    ----------
    input : Tensor, bool or any number dtype, shape (..., n)
    k : int, at most n
    sorted : bool
        The numbers come in descending order either way.

    Returns
    -------
    values : Tensor, shape (..., k), dtype of `input`
    indices : Tensor, int32, shape (..., k)

    Notes
    -----
    Of equal numbers the one with the lower index comes first; NaN comes last. The gradient of the
    values goes to where they came from.

    Examples
    --------
    >>> import dualflow as df
    >>> values, indices = df.math.top_k([1, 5, 3, 5], 3)
    >>> values.numpy().tolist(), indices.numpy().tolist()
    ([5, 5, 3], [1, 3, 2])
    """
    return TopK(*apply("top_k", input, name=name, k=k))


@gradient("top_k", saves="output")
def _(g, y, input, k):
    return gather_grad(g[0], y[1], static_shape(input), -1, len(input.shape) - 1)


def searchsorted(sorted_sequence: TensorLike, values: TensorLike, side: str = "left",
                 out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """Where `values` would be inserted to keep the order along the last axis.

    Parameters
    ----------
    sorted_sequence : Tensor, bool or any number dtype, shape (..., n), ascending
    values : Tensor, shape (..., m) with the same leading dimensions, or any shape if
        `sorted_sequence` has one dimension
    side : "left" (before what is equal) or "right" (after it)
    out_type : int32 or int64

    Returns
    -------
    Tensor, of `out_type`, same shape as `values`, numbers from 0 to n

    Notes
    -----
    NaN counts as larger than every number. No gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.searchsorted([1, 3, 3, 5], [3, 6]).numpy().tolist()
    [1, 4]
    >>> df.searchsorted([1, 3, 3, 5], [3, 6], side="right").numpy().tolist()
    [3, 4]
    """
    if side not in ("left", "right"):
        raise InvalidArgumentError(f"searchsorted: side is {side!r}, want 'left' or 'right'")
    return apply("searchsorted", sorted_sequence, values, name=name, right=side == "right",
                 out_type=out_type)


no_gradient("searchsorted", why="integer result")


def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Unique:
    """The different numbers of `x` in the order of their first appearance.

    Parameters
    ----------
    x : Tensor, bool or any number dtype, shape (n,)
    out_idx : int32 or int64

    Returns
    -------
    y : Tensor, shape (number of different ones,), dtype of `x`
    idx : Tensor, `out_idx`, shape (n,)
        ``y[idx[i]] == x[i]``.

    Notes
    -----
    All NaNs count as one number. No gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> y, idx = df.unique([5, 1, 5, 2])
    >>> y.numpy().tolist(), idx.numpy().tolist()
    ([5, 1, 2], [0, 1, 0, 2])
    """
    y, idx, _ = apply("unique", x, name=name, out_idx=out_idx)
    return Unique(y, idx)


def unique_with_counts(x: TensorLike, out_idx: DTypeLike = int32,
                       name: str | None = None) -> UniqueWithCounts:
    """What `unique` gives for `x` and `out_idx`, and how often each number occurs.

    Examples
    --------
    >>> import dualflow as df
    >>> df.unique_with_counts([5, 1, 5, 2]).count.numpy().tolist()
    [2, 1, 1]
    """
    return UniqueWithCounts(*apply("unique", x, name=name, out_idx=out_idx))


no_gradient("unique", why="the number of results depends on the values")


def bincount(arr: TensorLike, weights: TensorLike | None = None, minlength: int | None = None,
             maxlength: int | None = None, dtype: DTypeLike = int32,
             name: str | None = None) -> Tensor:
    """How often each integer from 0 on occurs in `arr`, or the sum of its weights.

    Parameters
    ----------
    arr : Tensor, int32 or int64, not negative
    weights : Tensor, any number dtype, same shape as `arr`, optional
    minlength, maxlength : int, optional
        Bounds on the length of the result; numbers beyond it are not counted.
    dtype : int32 or int64
        The dtype of counts; sums have that of `weights`.

    Returns
    -------
    Tensor, shape (largest number + 1,) within the bounds

    Raises
    ------
    OutOfRangeError
        If a number is negative.

    Notes
    -----
    A gradient goes to `weights` only.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.bincount([1, 3, 1]).numpy().tolist()
    [0, 2, 0, 1]
    >>> df.math.bincount([1, 3, 1], weights=[.5, 1., 2.]).numpy().tolist()
    [0.0, 2.5, 0.0, 1.0]
    """
    arr = arr if isinstance(arr, TensorBase) else as_tensor(arr, None, "bincount")
    counts = apply("bincount", arr, name=name, minlength=minlength or 0,
                   maxlength=-1 if maxlength is None else maxlength, dtype=dtype)
    if weights is None:
        return counts
    length = counts.shape[0]
    return unsorted_segment_sum(weights, where(arr < length, arr, -1), length)


no_gradient("bincount", why="integer result")


def in_top_k(targets: TensorLike, predictions: TensorLike, k: int,
             name: str | None = None) -> Tensor:
    """Whether the prediction of each target is among the `k` largest of its row.

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
    All predictions equal to the k-th largest count as being among them. A target that is not a
    class, or a row with a prediction that is not finite, gives False. No gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.in_top_k([0, 1], [[.1, .9], [.2, .8]], 1).numpy().tolist()
    [False, True]
    """
    return apply("in_top_k", targets, predictions, name=name, k=k)


no_gradient("in_top_k", why="bool result")


def confusion_matrix(labels: TensorLike, predictions: TensorLike, num_classes: int | None = None,
                     dtype: DTypeLike = int32, name: str | None = None) -> Tensor:
    """Counts of (label, prediction): row i, column j says how often label i was predicted as j.

    Parameters
    ----------
    labels, predictions : Tensor, int32 or int64, shape (n,)
    num_classes : int, optional
        Default: one more than the largest of both.
    dtype : int32 or int64

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
    if num_classes is not None and num_classes < 0:
        raise InvalidArgumentError(
            f"confusion_matrix: num_classes is {num_classes}, want at least 0")
    return apply("confusion_matrix", labels, predictions, name=name, dtype=dtype,
                 num_classes=-1 if num_classes is None else num_classes)


no_gradient("confusion_matrix", why="integer result")
