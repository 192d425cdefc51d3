import numpy as np

from tests.ops.case import ANY, NUMBERS, case, normal


def np_sort(x, axis=-1, direction="ASCENDING"):
    y = np.sort(x, axis)
    return y if direction == "ASCENDING" else np.flip(y, axis)


def np_argsort(x, axis=-1, direction="ASCENDING"):
    x = x.astype("int8") if x.dtype == bool else x
    return np.argsort(x if direction == "ASCENDING" else -x.astype("float64"), axis, kind="stable")


def np_top_k(x, k):
    order = np_argsort(x, -1, "DESCENDING")[..., :k]
    return np.take_along_axis(x, order, -1), order


def np_unique(x):
    _, first, inverse, count = np.unique(x, True, True, True)
    order = np.argsort(first)
    return x[np.sort(first)], np.argsort(order)[inverse], count[order]


def np_in_top_k(targets, predictions, k):
    mine = np.take_along_axis(predictions, targets[:, None], 1)
    return (predictions > mine).sum(1) < k


def np_confusion(labels, predictions, n):
    y = np.zeros((n, n), "int32")
    np.add.at(y, (labels, predictions), 1)
    return y


SORTED = np.sort(np.random.default_rng(0).normal(size=(3, 50)), -1).round(1)
TARGETS = np.array([0, 3, 2])
CLASSES = np.array([0, 2, 1, 2, 2], "int32")

case("sort", args=[normal(3, 5)], ref=np_sort, dtypes=ANY, signed_zero=False,
     large=[normal(40, 3000)])
case("sort", args=[normal(4, 3, 2), 0, "DESCENDING"], ref=np_sort, dtypes=ANY)
case("sort", args=[normal(5, 40)], ref=np_sort, dtypes=ANY, large=[normal(700, 300)])
case("sort", args=[normal(3, 2000), -1, "DESCENDING"], ref=np_sort, dtypes=NUMBERS, grad=(),
     large=[normal(3, 50000)])
case("argsort", args=[normal(7, 9)], ref=np_argsort, dtypes=ANY, grad=(),
     large=[normal(40, 3000)])
case("argsort", args=[normal(40, 3, 5), 0, "DESCENDING"], ref=np_argsort, dtypes=ANY, grad=())
case("argsort", args=[normal(2, 3000), -1, "DESCENDING"], ref=np_argsort, dtypes=NUMBERS, grad=())
case("top_k", args=[normal(3, 9), 4], function="math.top_k", ref=np_top_k, dtypes=ANY)
case("top_k", args=[normal(5, 3000), 7], function="math.top_k", ref=np_top_k, dtypes=ANY, grad=(),
     large=[normal(50, 3000), 7])
case("searchsorted", args=[SORTED.round().astype("int64")[0], normal(4, 5)],
     ref=lambda x, v: np.searchsorted(x, v), dtypes=ANY, grad=(),
     large=[SORTED[0], normal(70, 80)])
case("searchsorted", args=[SORTED, normal(3, 8)], kwargs={"side": "right", "out_type": "int64"},
     ref=lambda x, v, side, out_type: np.stack([np.searchsorted(a, b, side)
                                                for a, b in zip(x, v, strict=True)]),
     dtypes=("float64",), grad=())
case("in_top_k", args=[TARGETS, normal(3, 5), 2], function="math.in_top_k", ref=np_in_top_k,
     dtypes=ANY, grad=())
case("unique", args=[normal(50)], function="unique_with_counts", ref=np_unique, dtypes=ANY,
     grad=())
case("bincount", args=[CLASSES], function="math.bincount", ref=np.bincount, grad=())
case("confusion_matrix", args=[CLASSES, CLASSES[::-1].copy(), 4], function="math.confusion_matrix",
     ref=np_confusion, grad=())
