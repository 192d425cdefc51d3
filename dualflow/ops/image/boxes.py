"""Selection of boxes in images."""

from __future__ import annotations

from dualflow._core import Tensor, smaller
from dualflow._util.arguments import shown
from dualflow.dtypes import float32, float64, int32
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import constant, range as numbers, zeros
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import is_open, one_size, same_size
from dualflow.ops.control_flow.while_loop import while_loop
from dualflow.ops.elementwise.bitwise import logical_and, logical_or
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.elementwise.limits import maximum, minimum
from dualflow.ops.indexing.gather import gather
from dualflow.ops.reduction.reduce import reduce_max
from dualflow.ops.reduction.reduce_arg import argmax

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["non_max_suppression"]


def non_max_suppression(boxes: TensorLike, scores: TensorLike, max_output_size: TensorLike,
                        iou_threshold: TensorLike = 0.5,
                        score_threshold: TensorLike = float("-inf"),
                        name: str | None = None) -> Tensor:
    """Select boxes by falling score, without boxes that overlap a selected box too much.

    Parameters
    ----------
    boxes : Tensor, floating, shape (n, 4)
        Two opposite corners of each box: y1, x1, y2, x2.
    scores : Tensor, floating, shape (n,)
    max_output_size : int
        Maximal number of boxes.
    iou_threshold : number, 0 to 1
        A box is removed if its intersection with a selected box, divided by their union, is larger.
    score_threshold : number
        Only boxes with a larger score are selected.

    Returns
    -------
    Tensor, int32, shape (number of selected boxes,)
        Indices of boxes, by falling score; of equal scores the first box is selected first.

    Raises
    ------
    ShapeError, InvalidArgumentError
        If the shapes do not match, or the size or the threshold is out of range.

    Notes
    -----
    A NaN score is never selected. There is no gradient. The time is proportional to n times the
    number of selected boxes.

    Examples
    --------
    >>> import dualflow as df
    >>> boxes = [[0., 0., 1., 1.], [0., 0., 1., 0.9], [0., 2., 1., 3.]]
    >>> df.image.non_max_suppression(boxes, [0.7, 0.9, 0.5], 3).tolist()
    [1, 2]
    """
    op = "non_max_suppression"
    box, score = (x if x.dtype is float64 else cast(x, float32)
                  for x in (check_real(op, boxes, "boxes"), check_real(op, scores, "scores")))
    if (box.ndim, score.ndim) != (2, 1) or not (
            same_size(box.shape[1], 4) and same_size(box.shape[0], score.shape[0])):
        raise ShapeError(f"{op}: boxes have shape {tuple(box.shape)} and scores "
                         f"{tuple(score.shape)}, expected (n, 4) and (n,)")
    limit, threshold = one_size(max_output_size, f"{op}: max_output_size"), iou_threshold
    if (not is_open(limit) and limit < 0) or (
            isinstance(threshold, float | int) and not 0 <= threshold <= 1):
        raise InvalidArgumentError(f"{op}: max_output_size is {limit} and iou_threshold "
                                   f"{shown(threshold)}, expected 0 or more, and 0 to 1")
    limit = smaller(limit, box.shape[0])
    # A box that is never selected, so that argmax has an element if there are no boxes.
    box = pad(box, [[0, 1], [0, 0]])
    score = pad(score, [[0, 1]], constant_values=float("-inf"))
    top, left, bottom, right = _corners(box)
    area = (bottom - top) * (right - left)
    places, none = numbers(limit), constant(float("-inf"), score.dtype)
    if not is_open(limit) and limit == 0:
        return zeros([0], int32)

    def overlap(best: Tensor) -> Any:
        """Return the intersection over union of each box with the box at `best`."""
        y1, x1, y2, x2 = (gather(side, best) for side in (top, left, bottom, right))
        height = maximum(minimum(bottom, y2) - maximum(top, y1), 0)
        width = maximum(minimum(right, x2) - maximum(left, x1), 0)
        common, other = height * width, gather(area, best)
        real = logical_and(area > 0, other > 0)
        return where(real, common / where(real, area + other - common, 1), 0)

    def select(count: Tensor, live: Tensor, chosen: Tensor) -> Any:
        best = argmax(live, output_type=int32)
        removed = logical_or(overlap(best) > threshold, equal(indices, best))
        return (count + 1, where(removed, none, live),
                where(equal(places, count), best, chosen))

    indices = numbers(score.shape[0])
    live = where(score > score_threshold, score, none)
    found: Any = while_loop(lambda count, live, chosen: logical_and(count < limit,
                                                                    reduce_max(live) > none),
                            select, (constant(0, int32), live, zeros([limit], int32)),
                            back_prop=False)
    chosen: Tensor = found[2][:found[0]]
    return chosen


def _corners(box: Any) -> tuple[Any, Any, Any, Any]:
    """Return the smallest y and x and the largest y and x of each box."""
    return (minimum(box[:, 0], box[:, 2]), minimum(box[:, 1], box[:, 3]),
            maximum(box[:, 0], box[:, 2]), maximum(box[:, 1], box[:, 3]))
