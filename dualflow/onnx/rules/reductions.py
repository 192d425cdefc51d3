"""Export rules of reductions, argmax, cumulative sums and sorting."""

from __future__ import annotations

from typing import Any

from dualflow._core import Dim
from dualflow.dtypes import bool_, int64, uint8
from dualflow.onnx.rules.arrays import largest_plus_one
from dualflow.onnx.rules.registry import formula, refuse, rule

SUMS = {"reduce_sum": "ReduceSum", "reduce_mean": "ReduceMean", "reduce_prod": "ReduceProd",
        "reduce_euclidean_norm": "ReduceL2", "reduce_sum_of_squares": "ReduceSumSquare"}
EXTREMES = {"reduce_max": "ReduceMax", "reduce_min": "ReduceMin"}


@formula(*SUMS)
def _(w, at, x):
    return w.reduce(SUMS[at.node.type], x, at["axes"], at["keepdims"])


@rule(*EXTREMES)
def _(w, at, x):
    return w.reduce(EXTREMES[at.node.type], x, at["axes"], at["keepdims"])


@rule("reduce_any", "reduce_all")
def _(w, at, x):
    kind = "ReduceMax" if at.node.type == "reduce_any" else "ReduceMin"
    return w.reduce(kind, x.cast(uint8), at["axes"], at["keepdims"]).cast(bool_)


@formula("reduce_logsumexp")
def _(w, at, x):
    axes = at["axes"]
    top = w.reduce("ReduceMax", x, axes)
    top = w.where(w.op("IsInf", top, dtype=bool_), 0, top)
    y = w.op("Log", w.reduce("ReduceSum", w.op("Exp", x - top), axes)) + top
    return y if at["keepdims"] else w.squeeze(y, *axes)


def moments(w: Any, x: Any, axes: Any) -> Any:
    """Return mean and variance, with sizes of 1."""
    mean = w.reduce("ReduceMean", x, axes)
    centred = x - mean
    return mean, w.reduce("ReduceMean", centred * centred, axes)


@formula("reduce_variance", "reduce_std")
def _(w, at, x):
    y = moments(w, x, at["axes"])[1]
    y = w.op("Sqrt", y) if at.node.type == "reduce_std" else y
    return y if at["keepdims"] else w.squeeze(y, *at["axes"])


@formula("reduce_mean_of_squares")
def _(w, at, x):
    return w.reduce("ReduceMean", x * x, at["axes"], at["keepdims"])


@rule("argmax", "argmin")
def _(w, at, x):
    kind = "ArgMax" if at.node.type == "argmax" else "ArgMin"
    y = w.op(kind, x, dtype=int64, axis=at.axis(), keepdims=0)
    return y.cast(at.outputs[0].dtype)


@formula("cumsum", "cumprod")
def _(w, at, x):
    kind = "CumSum" if at.node.type == "cumsum" else "CumProd"
    return w.op(kind, x, w.scalar(at.axis(), int64), exclusive=int(at["exclusive"]),
                reverse=int(at["reverse"]))


# --- order ------------------------------------------------------------------------------------


def _sorted(w, at, x, descending):
    """Sort the last axis; also return the indices."""
    n = w.unsqueeze(w.size(at.x, -1), 0)
    return w.ops("TopK", [x, n], [x.dtype, int64], axis=-1, largest=int(descending), sorted=1)


@rule("sort")
def _(w, at, x):
    return _sorted(w, at, x, at["descending"])[0]


@rule("argsort")
def _(w, at, x):
    return _sorted(w, at, x, at["descending"])[1].cast(at.outputs[0].dtype)


@rule("top_k")
def _(w, at, x):
    k = at["k"]
    n = w.ints([k]) if isinstance(k, Dim) or k >= 0 else w.unsqueeze(w.size(at.x, -1), 0)
    values, places = w.ops("TopK", [x, n], [x.dtype, int64], axis=-1, largest=1, sorted=1)
    return values, places.cast(at.outputs[1].dtype)


@rule("searchsorted")
def _(w, at, table, x):
    """Count the elements of the table, (..., n), that are before each element of x."""
    a, b = w.unsqueeze(table, -2), w.unsqueeze(x, -1)
    before = a <= b if at["right"] else a < b
    if b.dtype.is_floating:                     # NaN sorts last
        last = w.op("IsNaN", b, dtype=bool_)
        if not at["right"]:
            last = w.op("And", last, w.op("Not", w.op("IsNaN", a, dtype=bool_)))
        before = w.op("Or", before, last)
    dtype = at.outputs[0].dtype
    return w.reduce("ReduceSum", before.cast(dtype), [-1], keepdims=False)


@rule("in_top_k")
def _(w, at, targets, predictions):
    """Write True if fewer than k elements are larger; False if a prediction is not finite."""
    mine = w.op("GatherElements", predictions, w.unsqueeze(targets, -1), axis=1)
    larger = w.reduce("ReduceSum", (predictions > mine).cast(int64), [-1], keepdims=False)
    among = larger < at["k"]
    if not mine.dtype.is_floating:
        return among
    lost = w.op("Or", w.op("IsNaN", predictions, dtype=bool_),
                w.op("IsInf", predictions, dtype=bool_))
    lost = w.reduce("ReduceMax", lost.cast(uint8), [-1], keepdims=False).cast(bool_)
    return w.op("And", among, w.op("Not", lost))


@rule("unique")
def _(w, at, x):
    values, _, places, counts = w.ops("Unique", [x], [x.dtype, None, int64, int64], sorted=0)
    return values, *[n.cast(at.outputs[1].dtype) for n in (places, counts)]


@rule("confusion_matrix")
def _(w, at, labels, predictions):
    n, dtype = at["num_classes"], at.outputs[0].dtype
    if isinstance(n, Dim) or n >= 0:
        shape = w.ints([n, n])
    else:
        size = w.unsqueeze(largest_plus_one(w, labels, predictions), 0)
        shape = w.op("Concat", size, size, axis=0)
    where = w.op("Concat", w.unsqueeze(labels, -1), w.unsqueeze(predictions, -1), axis=-1)
    ones = w.op("Expand", w.scalar(1, dtype), w.shape(at.x))
    return w.op("ScatterND", w.zeros(dtype, shape), where.cast(int64), ones, reduction="add")


refuse("the only such operator along an axis is a loop", "cumulative_recurrence",
       "cumulative_logsumexp")
refuse("the size of its result depends on the data in a way no operator has", "bincount")
