"""Sums over segments, which are rows with equal ids; gradients. Kernels: gather.c, scatter.c."""

from __future__ import annotations

from dualflow._core import Tensor, apply
from dualflow.gradient_registry import gradient
from dualflow.ops.array.shape import one_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["segment_sum", "unsorted_segment_sum"]


def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Sum the rows of `data` with equal ids, which are sorted.

    Parameters
    ----------
    data : Tensor, any number dtype, shape (n, ...)
    segment_ids : Tensor, int32 or int64, shape (n,), sorted, not negative

    Returns
    -------
    Tensor, shape ``(segment_ids[-1] + 1, ...)``, zeros for ids that do not occur

    Raises
    ------
    InvalidArgumentError
        If the ids are not sorted or one is negative.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.segment_sum([1, 2, 3], [0, 0, 2]).numpy().tolist()
    [3, 0, 3]
    """
    return apply("segment_sum", data, segment_ids, name=name, num_segments=-1)


def unsorted_segment_sum(data: TensorLike, segment_ids: TensorLike, num_segments: int,
                         name: str | None = None) -> Tensor:
    """Sum the slices of `data` with equal ids: ``y[i] = sum of data[j] with ids[j] == i``.

    Parameters
    ----------
    data : Tensor, any number dtype, shape ``segment_ids.shape + (...)``
    segment_ids : Tensor, int32 or int64
        Slices with a negative id are skipped.
    num_segments : int

    Returns
    -------
    Tensor, shape (num_segments, ...)

    Raises
    ------
    OutOfRangeError
        If an id is `num_segments` or more.

    Notes
    -----
    Added in order, for any thread count. The gradient of a slice is the gradient of its segment.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.unsorted_segment_sum([1, 2, 3], [1, -1, 1], 2).numpy().tolist()
    [0, 4]
    """
    n = one_size(num_segments, "unsorted_segment_sum: num_segments")
    return apply("segment_sum", data, segment_ids, name=name, num_segments=n)


@gradient("segment_sum", saves=(1,))
def _(g, y, data, segment_ids, num_segments):
    return apply("segment_gather", g, segment_ids), None


@gradient("segment_gather", saves=(1,))
def _(g, y, segments, segment_ids):
    return unsorted_segment_sum(g, segment_ids, segments.shape[0]), None
