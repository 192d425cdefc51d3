"""Export rules of reductions, argmax, cumulative sums and sorting."""

from __future__ import annotations

from typing import Any

from dualflow._core import Dim
from dualflow.dtypes import bool_, int64, uint8
from dualflow.onnx.exporters.arrays import largest_plus_one
from dualflow.onnx.exporters.registry import formula, refuse, rule

SUMS = {"reduce_sum": "ReduceSum", "reduce_mean": "ReduceMean", "reduce_prod": "ReduceProd",
        "reduce_euclidean_norm": "ReduceL2", "reduce_sum_of_squares": "ReduceSumSquare"}
EXTREMES = {"reduce_max": "ReduceMax", "reduce_min": "ReduceMin"}


@formula(*SUMS)
def _(w, node, x):
    return w.reduce(SUMS[node.ir_node.type], x, node["axes"], node["keepdims"])


@rule(*EXTREMES)
def _(w, node, x):
    return w.reduce(EXTREMES[node.ir_node.type], x, node["axes"], node["keepdims"])


@rule("reduce_any", "reduce_all")
def _(w, node, x):
    kind = "ReduceMax" if node.ir_node.type == "reduce_any" else "ReduceMin"
    return w.reduce(kind, x.cast(uint8), node["axes"], node["keepdims"]).cast(bool_)


@formula("reduce_logsumexp")
def _(w, node, x):
    axes = node["axes"]
    top = w.reduce("ReduceMax", x, axes)
    top = w.where(w.op("IsInf", top, dtype=bool_), 0, top)
    y = w.op("Log", w.reduce("ReduceSum", w.op("Exp", x - top), axes)) + top
    return y if node["keepdims"] else w.squeeze(y, *axes)


def moments(w: Any, x: Any, axes: Any) -> Any:
    """Return mean and variance, with sizes of 1."""
    mean = w.reduce("ReduceMean", x, axes)
    centred = x - mean
    return mean, w.reduce("ReduceMean", centred * centred, axes)


@formula("reduce_variance", "reduce_std")
def _(w, node, x):
    y = moments(w, x, node["axes"])[1]
    y = w.op("Sqrt", y) if node.ir_node.type == "reduce_std" else y
    return y if node["keepdims"] else w.squeeze(y, *node["axes"])


@formula("reduce_mean_of_squares")
def _(w, node, x):
    return w.reduce("ReduceMean", x * x, node["axes"], node["keepdims"])


@rule("argmax", "argmin")
def _(w, node, x):
    kind = "ArgMax" if node.ir_node.type == "argmax" else "ArgMin"
    y = w.op(kind, x, dtype=int64, axis=node.axis(), keepdims=0)
    return y.cast(node.outputs[0].dtype)


@formula("cumsum", "cumprod")
def _(w, node, x):
    kind = "CumSum" if node.ir_node.type == "cumsum" else "CumProd"
    return w.op(kind, x, w.scalar(node.axis(), int64), exclusive=int(node["exclusive"]),
                reverse=int(node["reverse"]))


# --- order ------------------------------------------------------------------------------------


def _sorted(w, node, x, descending):
    """Sort the last axis; also return the indices."""
    n = w.unsqueeze(w.size(node.x, -1), 0)
    return w.ops("TopK", [x, n], [x.dtype, int64], axis=-1, largest=int(descending), sorted=1)


@rule("sort")
def _(w, node, x):
    return _sorted(w, node, x, node["descending"])[0]


@rule("argsort")
def _(w, node, x):
    return _sorted(w, node, x, node["descending"])[1].cast(node.outputs[0].dtype)


@rule("top_k")
def _(w, node, x):
    k = node["k"]
    n = w.ints([k]) if isinstance(k, Dim) or k >= 0 else w.unsqueeze(w.size(node.x, -1), 0)
    values, places = w.ops("TopK", [x, n], [x.dtype, int64], axis=-1, largest=1, sorted=1)
    return values, places.cast(node.outputs[1].dtype)


@rule("searchsorted")
def _(w, node, table, x):
    """Count the elements of the table, (..., n), that are before each element of x."""
    a, b = w.unsqueeze(table, -2), w.unsqueeze(x, -1)
    before = a <= b if node["right"] else a < b
    if b.dtype.is_floating:                     # NaN sorts last
        last = w.op("IsNaN", b, dtype=bool_)
        if not node["right"]:
            last = w.op("And", last, w.op("Not", w.op("IsNaN", a, dtype=bool_)))
        before = w.op("Or", before, last)
    dtype = node.outputs[0].dtype
    return w.reduce("ReduceSum", before.cast(dtype), [-1], keepdims=False)


@rule("in_top_k")
def _(w, node, targets, predictions):
    """Write True if fewer than k elements are larger; False if a prediction is not finite."""
    mine = w.op("GatherElements", predictions, w.unsqueeze(targets, -1), axis=1)
    larger = w.reduce("ReduceSum", (predictions > mine).cast(int64), [-1], keepdims=False)
    among = larger < node["k"]
    if not mine.dtype.is_floating:
        return among
    lost = w.op("Or", w.op("IsNaN", predictions, dtype=bool_),
                w.op("IsInf", predictions, dtype=bool_))
    lost = w.reduce("ReduceMax", lost.cast(uint8), [-1], keepdims=False).cast(bool_)
    return w.op("And", among, w.op("Not", lost))


@rule("unique")
def _(w, node, x):
    values, _, places, counts = w.ops("Unique", [x], [x.dtype, None, int64, int64], sorted=0)
    return values, *[n.cast(node.outputs[1].dtype) for n in (places, counts)]


@rule("confusion_matrix")
def _(w, node, labels, predictions):
    n, dtype = node["num_classes"], node.outputs[0].dtype
    if isinstance(n, Dim) or n >= 0:
        shape = w.ints([n, n])
    else:
        size = w.unsqueeze(largest_plus_one(w, labels, predictions), 0)
        shape = w.op("Concat", size, size, axis=0)
    where = w.op("Concat", w.unsqueeze(labels, -1), w.unsqueeze(predictions, -1), axis=-1)
    ones = w.op("Expand", w.scalar(1, dtype), w.shape(node.x))
    return w.op("ScatterND", w.zeros(dtype, shape), where.cast(int64), ones, reduction="add")


refuse("the only such operator along an axis is a loop", "cumulative_recurrence",
       "cumulative_logsumexp")
refuse("the size of its result depends on the data in a way no operator has", "bincount")
