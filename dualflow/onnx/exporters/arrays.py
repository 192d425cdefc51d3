"""Export rules of shapes, slices, joins and indexing."""

from __future__ import annotations

from typing import Any

from dualflow._core import Dim
from dualflow.dtypes import float32, float64, int64
from dualflow.onnx.exporters.registry import formula, refuse, rule
from dualflow.onnx.writer import Refused

ALL = -1 << 63                      # "no bound" in strided_slice
LAST = (1 << 63) - 1
SLICE, INDEX, NEW, BLOCK = 0, 1, 2, 3       # kinds of the keys of strided_slice


@rule("reshape")
def _(w, node, x):
    return w.reshape(x, w.ints(node["shape"]))


@rule("expand_dims")
def _(w, node, x):
    return w.unsqueeze(x, node["axis"])


@rule("squeeze")
def _(w, node, x):
    axes = node["axis"]
    if not axes:                                    # all dimensions of size 1
        sizes = node.x.known_shape
        axes = [k for k, n in enumerate(node.fixed("sizes to be squeezed", sizes)) if n == 1]
    return w.squeeze(x, *axes) if axes else w.op("Identity", x)


@rule("broadcast_to")
def _(w, node, x):
    return w.op("Expand", x, w.ints(node["shape"]))


@rule("transpose")
def _(w, node, x):
    return w.transpose(x, node["perm"])


@rule("shape")
def _(w, node, x):
    return w.op("Shape", x, dtype=int64).cast(node.outputs[0].dtype)


@rule("size")
def _(w, node, x):
    return w.op("Size", x, dtype=int64).cast(node.outputs[0].dtype)


@rule("concat")
def _(w, node, *xs):
    return w.op("Concat", *xs, axis=node.axis())


@rule("stack")
def _(w, node, *xs):
    axis = node.axis(of=node.x.ndim + 1)
    return w.op("Concat", *[w.unsqueeze(x, axis) for x in xs], axis=axis)


@rule("split")
def _(w, node, x):
    n, axis = len(node.outputs), node.axis()
    if node["sizes"]:
        sizes = [y.shape[axis] if isinstance(k, int) and k < 0 else k
                 for k, y in zip(node["sizes"], node.outputs, strict=True)]
        return w.ops("Split", [x, w.ints(sizes)], [x.dtype] * n, axis=axis)
    return w.ops("Split", [x], [x.dtype] * n, axis=axis, num_outputs=n)


@rule("unstack")
def _(w, node, x):
    n, axis = len(node.outputs), node.axis()
    return [w.squeeze(part, axis)
            for part in w.ops("Split", [x], [x.dtype] * n, axis=axis, num_outputs=n)]


def _bounds(begin, end, stride, kind):
    """Return the bounds of one key as Slice needs them: a missing bound becomes the farthest."""
    if kind == INDEX:
        return (begin, end, 1) if isinstance(begin, Dim) else (
            begin, begin + 1 if begin != -1 else LAST, 1)
    back = stride < 0
    free_begin = not isinstance(begin, Dim) and begin == ALL
    free_end = not isinstance(end, Dim) and end == ALL
    return (LAST if back else 0) if free_begin else begin, (
        (ALL if back else LAST) if free_end else end), stride


@rule("strided_slice")
def _(w, node, x):
    return _cut(w, node, x)


@rule("strided_slice_grad")
def _(w, node, g):
    """Scatter g to the positions that the slice selects."""
    shape = w.ints(node["shape"])
    n = w.op("ReduceProd", shape, keepdims=1)
    places = _cut(w, node, w.reshape(w.range(w.squeeze(n, 0)), shape))
    total = w.op("ScatterND", w.zeros(g.dtype, n), w.reshape(places, w.ints([-1, 1])),
                 w.reshape(g, w.ints([-1])))
    return w.reshape(total, shape)


def _cut(w: Any, node: Any, x: Any) -> Any:
    keys = list(zip(node["begin"], node["end"], node["strides"], node["kind"], strict=True))
    axis = 0
    cut: list[tuple[Any, ...]] = []
    picked: list[int] = []
    new: list[int] = []
    for begin, end, stride, kind in keys:
        if kind == NEW:
            new.append(axis - len(picked) + len(new))
            continue
        if kind == INDEX and isinstance(begin, Dim):
            end = begin + 1
        if kind == BLOCK:
            end = LAST if not isinstance(end, Dim) and end == -1 else begin + end
        bounds = _bounds(begin, end, stride, kind)
        if isinstance(stride, Dim):
            raise Refused("a stride follows from a size")
        if bounds != (0, LAST, 1):
            cut.append((*bounds, axis))
        if kind == INDEX:
            picked.append(axis)
        axis += 1
    if cut:
        first, last, step, axes = [w.ints(numbers) for numbers in zip(*cut, strict=True)]
        x = w.op("Slice", x, first, last, axes, step)
    x = w.unsqueeze(w.squeeze(x, *picked), *new)
    return x if cut or picked or new else w.op("Identity", x)


@rule("pad")
def _(w, node, x, value):
    n = node["paddings"]
    pads = w.ints([*n[0::2], *n[1::2]])
    return w.op("Pad", x, pads, value) if n else w.op("Identity", x)


@rule("roll")
def _(w, node, x):
    axis = node.axis()
    n = w.size(node.x, axis)
    zero = w.scalar(0, int64)
    at_least_1 = w.op("Max", n, w.scalar(1, int64))
    cut = n - w.op("Mod", w.number(node["shift"]), at_least_1)
    first = [w.unsqueeze(k, 0) for k in (cut, zero)]
    last = [w.unsqueeze(n, 0), w.unsqueeze(cut, 0)]
    return w.op("Concat", *[w.op("Slice", x, a, b, w.ints([axis]))
                            for a, b in zip(first, last, strict=True)], axis=axis)


@rule("band_part")
def _(w, node, x):
    for count, upper in ((node["num_upper"], 0), (node["num_lower"], 1)):
        if isinstance(count, Dim) or count >= 0:
            k = w.number(count)
            x = w.op("Trilu", x, -k if upper else k, upper=upper)
    return w.op("Identity", x)


# --- creation ---------------------------------------------------------------------------------


@rule("range")
def _(w, node, start, limit, delta):
    dtype, n = node.outputs[0].dtype, node["n"]
    unknown = not isinstance(n, Dim) and n < 0          # depends on the operands
    if unknown and dtype.is_integer:
        operands = [x.cast(int64) for x in (start, limit, delta)]
        return w.op("Range", *operands, dtype=int64).cast(dtype)
    if unknown:
        start, limit, delta = [x.cast(_at_least_float32(dtype)) for x in (start, limit, delta)]
        n = w.op("Ceil", (limit - start) / delta).cast(int64)
    return _steps(w, start, w.range(n), delta, dtype)


def _at_least_float32(dtype: Any) -> Any:
    return dtype if dtype.itemsize > 2 else float32


def _steps(w: Any, start: Any, places: Any, step: Any, dtype: Any) -> Any:
    """Return start + places * step: of floats in float64, so that each element is rounded once."""
    wide = float64 if dtype.is_floating else dtype
    return (start.cast(wide) + places.cast(wide) * step.cast(wide)).cast(dtype)


@rule("linspace")
def _(w, node, start, stop):
    n, dtype = node["num"], node.outputs[0].dtype
    places = w.range(n)
    gaps = w.op("Max", w.number(n), w.scalar(2, int64)) - 1
    step = (stop.cast(float64) - start.cast(float64)) / gaps.cast(float64)
    return w.where(places.is_(gaps), stop.cast(dtype), _steps(w, start, places, step, dtype))


@rule("one_hot")
def _(w, node, indices, on, off):
    """Write `off` for an index out of range; OneHot would count negative ones from the end."""
    axis = node["axis"] % (node.x.ndim + 1)
    numbers = w.range(node["depth"]).cast(indices.dtype)
    later = node.x.ndim - axis
    numbers = w.unsqueeze(numbers, *range(1, later + 1))
    return w.where(w.unsqueeze(indices, axis).is_(numbers), on, off)


# --- by index ---------------------------------------------------------------------------------


@rule("gather")
def _(w, node, x, indices):
    axis, batch = node.axis(), node["batch_dims"] % max(node.inputs[1].ndim, 1)
    if node["batch_dims"] == 0:
        return w.op("Gather", x, indices, axis=axis)
    if axis != batch:
        n = node.x.ndim
        x = w.transpose(x, [*range(batch), axis, *range(batch, axis), *range(axis + 1, n)])
    y = w.op("GatherND", x, w.unsqueeze(indices.cast(int64), -1), batch_dims=batch)
    if axis == batch:
        return y
    picked, n = node.inputs[1].ndim - batch, node.outputs[0].ndim
    middle = batch + picked                             # the axes before `axis` come next
    between = axis - batch
    return w.transpose(y, [*range(batch), *range(middle, middle + between),
                           *range(batch, middle), *range(middle + between, n)])


@rule("segment_gather")
def _(w, node, x, indices):
    """Write zeros for ids that are out of range."""
    rows = w.size(node.x, 0).cast(indices.dtype)
    known = w.op("And", indices >= 0, indices < rows)
    y = w.op("Gather", x, w.where(known, indices, 0), axis=0)
    return w.where(w.unsqueeze(known, *range(1, node.x.ndim)), y, 0)


@rule("gather_nd")
def _(w, node, x, indices):
    if node["axis"] != node["batch_dims"]:
        raise Refused("indices of an axis that does not follow the batch")
    return w.op("GatherND", x, indices.cast(int64), batch_dims=node["batch_dims"])


@rule("where_indices")
def _(w, node, x):
    return w.op("Transpose", w.op("NonZero", x, dtype=int64), perm=[1, 0])


@formula("scatter_nd")
def _(w, node, indices, updates):
    if node["axis"] or node["batch_dims"]:
        raise Refused("indices of an axis that is not the first")
    return _added(w, node["shape"], indices, updates)


def _added(w, shape, indices, updates):
    """Sum updates at their positions in zeros."""
    return w.op("ScatterND", w.zeros(updates.dtype, w.ints(shape)), indices.cast(int64), updates,
                reduction="add")


@formula("gather_grad")
def _(w, node, g, indices):
    axis = node["axis"] % len(node["shape"])
    if axis or node["batch_dims"]:
        raise Refused("the gradient of a gather along an axis that is not the first")
    rows = w.number(node["shape"][0]).cast(indices.dtype)
    from_front = w.where(indices < 0, indices + rows, indices)
    return _added(w, node["shape"], w.unsqueeze(from_front, -1), g)


REDUCTIONS = {"add": "add", "update": "none", "min": "min", "max": "max", "mul": "mul"}


@formula(*[f"tensor_scatter_nd_{name}" for name in REDUCTIONS])
def _(w, node, x, indices, updates):
    how = REDUCTIONS[node.ir_node.type.removeprefix("tensor_scatter_nd_")]
    return w.op("ScatterND", x, indices.cast(int64), updates, reduction=how)


@formula("tensor_scatter_nd_sub")
def _(w, node, x, indices, updates):
    return w.op("ScatterND", x, indices.cast(int64), -updates, reduction="add")


def largest_plus_one(w: Any, *numbers: Any) -> Any:
    """Return the largest index plus one, or 0 if there are no indices."""
    flat = [w.reshape(x.cast(int64), w.ints([-1])) for x in numbers]
    flat = w.op("Concat", *flat, w.ints([-1]), axis=0)
    return w.reduce("ReduceMax", flat, [0], keepdims=False) + 1


@formula("segment_sum")
def _(w, node, x, ids):
    """Add rows whose id is out of range to an extra row, which is cut off."""
    n = node["num_segments"]
    rows = w.number(n) if isinstance(n, Dim) or n >= 0 else largest_plus_one(w, ids)
    n, rows = w.unsqueeze(rows, 0), rows.cast(ids.dtype)
    known = w.op("And", ids >= 0, ids < rows)
    ids = w.unsqueeze(w.where(known, ids, rows), -1)
    rest = w.shape(node.x, range(node.inputs[1].ndim, node.x.ndim))
    shape = w.op("Concat", n + 1, rest, axis=0)
    total = w.op("ScatterND", w.zeros(x.dtype, shape), ids.cast(int64), x, reduction="add")
    return w.op("Slice", total, w.ints([0]), n, w.ints([0]))


@formula("sparse_dense_matmul")
def _(w, node, indices, values, dense):
    """Add the terms of all entries to the rows of zeros."""
    n, columns = node["rows"], [w.op("Gather", indices, w.number(k), axis=1) for k in (0, 1)]
    row, column = reversed(columns) if node["adjoint"] else columns
    terms = w.unsqueeze(values, -1) * w.op("Gather", dense, column, axis=0)
    shape = w.op("Concat", w.unsqueeze(w.number(n), 0), w.shape(node.inputs[2], [1]), axis=0)
    return w.op("ScatterND", w.zeros(values.dtype, shape), w.unsqueeze(row, -1), terms,
                reduction="add")


refuse("gradients of rows and windows are not written; save the function without them",
       "scatter_update_grad", "merge_rows")

