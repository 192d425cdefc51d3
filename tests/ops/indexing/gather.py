import numpy as np

from tests.ops.case import ANY, BOOL, FLOATS, INTS, MOVABLE, NUMBERS, RING, case, normal

ROWS = np.array([[2, 0], [-1, 2], [2, 2]])
PAIRS = np.array([[0, 1], [2, -1], [0, 1], [1, 0]], "int32")


def np_gather(x, indices, axis=None, batch_dims=0):
    axis = batch_dims if axis is None else axis
    if batch_dims == 0:
        return np.take(x, indices, axis)
    return np.stack([np_gather(a, i, axis - 1, batch_dims - 1)
                     for a, i in zip(x, indices, strict=True)])


def np_gather_nd(x, indices, batch_dims=0):
    if batch_dims == 0:
        return x[tuple(np.moveaxis(indices, -1, 0))]
    return np.stack([np_gather_nd(a, i, batch_dims - 1)
                     for a, i in zip(x, indices, strict=True)])


def np_scatter(ufunc):
    def scatter(x, indices, updates):
        y = x.copy()
        ufunc.at(y, tuple(np.moveaxis(indices, -1, 0)), updates)
        return y
    return scatter


def np_update(x, indices, updates):
    y = x.copy()
    for i, u in zip(indices, updates, strict=True):
        y[tuple(i)] = u
    return y


def np_scatter_nd(indices, updates, shape):
    return np_scatter(np.add)(np.zeros(shape, updates.dtype), indices, updates)


def np_merge_rows(rows, indices, n):
    y = np.zeros_like(rows)
    _, first, number = np.unique(indices % n, return_index=True, return_inverse=True)
    np.add.at(y, first[number], rows)
    return y


def np_segments(data, ids, num_segments):
    y = np.zeros((num_segments, *data.shape[ids.ndim:]), data.dtype)
    np.add.at(y, ids[ids >= 0], data[ids >= 0])
    return y


BIG = np.random.default_rng(0).integers(-300, 300, 20000)

case("gather", args=[normal(3, 4), ROWS], ref=np_gather, dtypes=MOVABLE,
     large=[normal(300, 70), BIG])
case("gather", args=[normal(3), BIG % 3], ref=np_gather, large=[normal(300), BIG])
case("gather", args=[normal(2, 3, 4), ROWS.astype("int32")], kwargs={"axis": 1}, ref=np_gather,
     dtypes=ANY, large=[normal(5, 300, 7), BIG])
case("gather", args=[normal(2, 3, 4), np.int64(-2)], kwargs={"axis": -1}, ref=np_gather)
case("gather", args=[normal(3, 3, 4), ROWS], kwargs={"batch_dims": 1}, ref=np_gather)
case("gather", args=[normal(3, 2, 4, 5), ROWS[:, :, None] % 4], kwargs={"batch_dims": 2, "axis": 3},
     ref=np_gather)
case("gather", args=[normal(2, 3), np.zeros((0, 2), "int64")], ref=np_gather)
case("gather_grad", args=[normal(3, 4), ROWS], ref=np_gather, function="gather")
case("merge_rows", args=[normal(5, 3), np.array([2, 0, -1, 2, 2])], kwargs={"n": 300},
     function="ops.indexing.indexed_slices.merge_rows", ref=np_merge_rows, dtypes=FLOATS, rel=1e-6,
     large=[normal(20000, 5), BIG])
case("gather_nd", args=[normal(3, 2, 4), PAIRS], ref=np_gather_nd, dtypes=MOVABLE)
case("gather_nd", args=[normal(3, 2), PAIRS], ref=np_gather_nd)
case("gather_nd", args=[normal(4, 3, 2), PAIRS[:, None] % 2], kwargs={"batch_dims": 1},
     ref=np_gather_nd)
case("scatter_nd", args=[PAIRS, normal(4, 5), (3, 2, 5)], ref=np_scatter_nd, dtypes=RING,
     grad=(1,), rel=1e-6, large=[BIG[:, None], normal(20000, 5), (300, 5)])
case("tensor_scatter_nd_add", args=[normal(3, 2, 5), PAIRS, normal(4, 5)], ref=np_scatter(np.add),
     dtypes=RING, grad=(0, 2), rel=1e-6, large=[normal(300), BIG[:, None], normal(20000)])
case("tensor_scatter_nd_sub", args=[normal(3, 2, 5), PAIRS, normal(4, 5)],
     ref=np_scatter(np.subtract), dtypes=RING, grad=(0, 2), rel=1e-6)
case("tensor_scatter_nd_update", args=[normal(3, 2, 5), PAIRS, normal(4, 5)], ref=np_update,
     dtypes=MOVABLE, grad=(0, 2), large=[normal(300), BIG[:, None], normal(20000)])
case("scatter_update_grad", args=[normal(3), PAIRS[:, :1], normal(4)], ref=np_update,
     function="tensor_scatter_nd_update", grad=(0, 2))
case("tensor_scatter_nd_min", args=[normal(3, 2, 5), PAIRS, normal(4, 5)],
     ref=np_scatter(np.minimum), dtypes=NUMBERS, grad=(0, 2))
case("tensor_scatter_nd_max", args=[normal(3, 2, 5), PAIRS, normal(4, 5)],
     ref=np_scatter(np.maximum), dtypes=NUMBERS, grad=(0, 2))
# Updates of 0 target the same element as others, once a single one and once two.
WITH_ZEROS = np.array([[0, 2, 0], [3, 4, 5], [6, 0, 0], [7, 0, 8]], float)
case("tensor_scatter_nd_mul", args=[normal(3, 2, 5), PAIRS, normal(4, 5)],
     ref=np_scatter(np.multiply), dtypes=RING, grad=(0, 2), rel=1e-6)
case("tensor_scatter_nd_mul", args=[normal(3, 2, 3), PAIRS, WITH_ZEROS], dtypes=("float64",),
     ref=np_scatter(np.multiply), grad=(), name="tensor_scatter_nd_mul by zeros")
case("where_indices", args=[normal(3, 4)], function="where", ref=np.argwhere,
     dtypes=BOOL, grad=(), large=[normal(50, 20, 30)])
case("segment_sum", args=[normal(4, 3), np.array([0, 0, 2, 3])], function="math.segment_sum",
     ref=lambda x, ids: np_segments(x, ids, 4), dtypes=RING, rel=1e-6)
case("segment_sum", args=[normal(2, 2, 3), np.array([[1, -1], [1, 0]]), 3],
     function="math.unsorted_segment_sum", ref=np_segments, dtypes=RING, rel=1e-6)
case("segment_gather", args=[normal(4), np.array([3, -1, 0, 3]), 4],
     function="math.unsorted_segment_sum", ref=np_segments)


def np_extremes(ufunc, empty, mean=False):
    """Return the segment reduction by `ufunc`; `empty` is the value of segments without rows."""
    def ref(data, ids, n=4):
        y = np.empty((n, *data.shape[ids.ndim:]), data.dtype)
        for i in range(n):
            y[i] = ufunc.reduce(data[ids == i], 0) if (ids == i).any() else empty(data.dtype)
            if mean and (ids == i).any():
                y[i] = y[i] / np.sum(ids == i) ** mean
        return y
    return ref


def low(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def high(dtype):
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def zero(dtype):
    return 0


SORTED, LOOSE = np.array([0, 0, 2, 3]), np.array([[1, -1], [1, 0]])
for name, ufunc, end in (("max", np.maximum, low), ("min", np.minimum, high)):
    case(f"tensor_scatter_nd_{name}", args=[normal(4, 3), SORTED], dtypes=NUMBERS,
         ref=np_extremes(ufunc, zero), function=f"math.segment_{name}")
    case(f"tensor_scatter_nd_{name}", args=[normal(2, 2, 3), LOOSE, 3], dtypes=INTS, grad=(),
         ref=np_extremes(ufunc, end), function=f"math.unsorted_segment_{name}")
    case(f"tensor_scatter_nd_{name}", args=[normal(2, 2, 3), LOOSE, 2], grad=(0,),
         ref=np_extremes(ufunc, end), function=f"math.unsorted_segment_{name}")
case("tensor_scatter_nd_mul", args=[normal(4, 3), SORTED], dtypes=NUMBERS, rel=1e-6,
     ref=np_extremes(np.multiply, lambda _: 1), function="math.segment_prod")
case("tensor_scatter_nd_mul", args=[normal(2, 2, 3), LOOSE, 3], dtypes=NUMBERS, rel=1e-6,
     ref=np_extremes(np.multiply, lambda _: 1), function="math.unsorted_segment_prod")
case("segment_sum", args=[normal(4, 3), SORTED], rel=1e-6, function="math.segment_mean",
     ref=np_extremes(np.add, zero, 1))
case("segment_sum", args=[normal(2, 2, 3), LOOSE, 3], rel=1e-6,
     function="math.unsorted_segment_mean", ref=np_extremes(np.add, zero, 1))
case("segment_sum", args=[normal(2, 2, 3), LOOSE, 3], rel=1e-6,
     function="math.unsorted_segment_sqrt_n", ref=np_extremes(np.add, zero, 0.5))
