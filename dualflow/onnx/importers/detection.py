"""Operators of object detection: NonMaxSuppression and RoiAlign."""

from __future__ import annotations

from itertools import product

import dualflow as df
from dualflow._core import Symbol
from dualflow.onnx.importers.registry import Node, number, operator, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@operator("NonMaxSuppression")
def _(node: Node, boxes, scores, most=None, overlap=None, lowest=None):
    """Select in each iteration the best open box of each class, and suppress boxes that overlap it.

    Shapes: (batch, boxes, 4) and (batch, classes, boxes) to rows of batch, class and box.
    """
    scores, corners = tensor(scores), _corners(tensor(boxes), bool(node("center_point_box", 0)))
    n = scores.shape[2]
    most = df.constant(0, df.int64) if most is None else df.reshape(most, [])
    overlap = df.constant(0.0) if overlap is None else df.reshape(overlap, [])
    open_ = df.ones_like(scores, df.bool_) if lowest is None else (
        scores > df.reshape(lowest, []))
    own = df.range(n, dtype=df.int64)

    def more(k: Any, open_: Any, turn: Any) -> Any:
        return df.logical_and(k < most, df.reduce_any(open_))

    def round(k: Any, open_: Any, turn: Any) -> Any:
        best = df.argmax(df.where(open_, scores, float("-inf")), 2, df.int64)
        chosen = df.logical_and(df.equal(df.expand_dims(best, 2), own), open_)
        near = _overlap([df.gather(c, best, axis=1, batch_dims=1) for c in corners], corners)
        shut = df.logical_and(near > overlap, df.reduce_any(chosen, 2, True))
        open_ = df.logical_and(open_, df.logical_not(df.logical_or(chosen, shut)))
        return k + 1, open_, df.where(chosen, k, turn)

    turn = df.cast(df.ones_like(scores), df.int64) * -1         # iteration of the selection, or -1
    turn = df.while_loop(more, round, (df.constant(0, df.int64), open_, turn))[2]
    rows = df.where(turn >= 0)                                  # batch, class, box
    rows = df.cast(rows, df.int64)
    places = (rows[:, 0] * scores.shape[1] + rows[:, 1]) * n + df.gather_nd(turn, rows)
    return df.gather(rows, df.argsort(places))


def _corners(boxes: Any, centred: bool) -> list[Any]:
    """Return the minima and maxima of both coordinates, each (batch, boxes)."""
    a, b, c, d = [boxes[..., k] for k in range(4)]
    if centred:
        return [a - c / 2., b - d / 2., a + c / 2., b + d / 2.]
    return [df.minimum(a, c), df.minimum(b, d), df.maximum(a, c), df.maximum(b, d)]


def _overlap(one: list[Any], others: list[Any]) -> Any:
    """Return intersection over union of boxes (batch, classes) and (batch, boxes); 0 if empty."""
    one, others = [df.expand_dims(c, 2) for c in one], [df.expand_dims(c, 1) for c in others]

    def area(box: list[Any]) -> Any:
        return df.maximum(box[2] - box[0], 0.) * df.maximum(box[3] - box[1], 0.)
    low = [df.maximum(a, b) for a, b in zip(one[:2], others[:2], strict=True)]
    high = [df.minimum(a, b) for a, b in zip(one[2:], others[2:], strict=True)]
    common = area([*low, *high])
    return df.math.divide_no_nan(common, area(one) + area(others) - common)


@operator("RoiAlign")
def _(node: Node, x, rois, batch):
    """Average, or maximize, bilinear samples in the bins of each box.

    Shapes: (batch, channels, height, width) and (boxes, 4) to (boxes, channels, rows, columns).
    """
    x, rois = tensor(x), tensor(rois)
    shift = 0.5 if node.version >= 16 and node("coordinate_transformation_mode",
                                               "half_pixel") == "half_pixel" else 0.0
    scaled = rois * node("spatial_scale", 1.0) - shift
    rows, columns = node("output_height", 1), node("output_width", 1)
    ys, row_share = _points(node, scaled[:, 1], scaled[:, 3], rows, not shift)
    xs, column_share = _points(node, scaled[:, 0], scaled[:, 2], columns, not shift)
    share = _outer(row_share, column_share)             # 0 for unused points
    last = df.transpose(x, [0, 2, 3, 1])
    number_of = df.reshape(df.cast(batch, df.int64), [-1, 1, 1, 1, 1])
    parts = []
    for (y, wy), (z, wz) in product(_around(ys, x.shape[2]), _around(xs, x.shape[3])):
        weight, where = _outer(wy, wz), df.cast(df.stack([_outer(y, df.ones_like(z)), _outer(
            df.ones_like(y), z)], -1), df.int64)
        image = df.broadcast_to(number_of, weight.shape)
        picked = df.gather_nd(last, df.concat([df.expand_dims(image, -1), where], -1))
        parts.append(picked * df.expand_dims(weight, -1))
    if node("mode", "avg").lower() == "avg":
        y = df.reduce_sum(df.add_n(parts) * df.expand_dims(share, -1), [2, 4])
    else:
        largest = df.maximum(df.maximum(parts[0], parts[1]), df.maximum(parts[2], parts[3]))
        there = df.expand_dims(share, -1) > 0.
        y = df.reduce_max(df.where(there, largest, float("-inf")), [2, 4])
        y = df.where(df.reduce_any(there, [2, 4]), y, 0.)
    return df.transpose(y, [0, 3, 1, 2])


def _outer(a: Any, b: Any) -> Any:
    """Return the products of (boxes, rows, points) and (boxes, columns, points)."""
    return df.reshape(a, [*a.shape, 1, 1]) * df.reshape(b, [b.shape[0], 1, 1, *b.shape[1:]])


def _points(node: Node, low: Any, high: Any, bins: int, at_least_one: bool) -> tuple[Any, Any]:
    """Return along one dimension the coordinates (boxes, bins, points) and weights of samples."""
    length = high - low
    length = df.maximum(length, 1.) if at_least_one else length
    size = df.reshape(length / float(bins), [-1, 1, 1])
    many = node("sampling_ratio", 0)
    if many > 0:
        each = df.ones_like(size) * float(many)
    else:
        each = df.math.ceil(size)
        if isinstance(each, Symbol):
            raise node.refuse("the number of samples depends on traced boxes: pass "
                              "sampling_ratio or constant boxes")
        many = int(number(df.reduce_max(each))) if each.size else 0
    k = df.cast(df.range(many), size.dtype)
    first = df.reshape(low, [-1, 1, 1]) + df.reshape(df.cast(df.range(bins), size.dtype),
                                                     [bins, 1]) * size
    there = df.cast(k < each, size.dtype)
    share = df.math.divide_no_nan(there, each) * df.ones_like(first)
    return first + (k + 0.5) * df.math.divide_no_nan(size, each), share


def _around(place: Any, size: Any) -> list[tuple[Any, Any]]:
    """Return the pixels before and after positions along a dimension, with their weights."""
    inside = df.cast(df.logical_and(place >= -1., place <= size), place.dtype)
    place = df.clip_by_value(place, 0., size - 1.)
    low = df.floor(place)
    rest = place - low
    return [(low, (1 - rest) * inside), (df.minimum(low + 1, size - 1.), rest * inside)]
