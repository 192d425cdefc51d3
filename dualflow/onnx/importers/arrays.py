"""Operators for shapes, slices, joins, and indexing."""

from __future__ import annotations

import dualflow as df
from dualflow._core import Dim, TensorBase, current_graph
from dualflow.onnx.importers.registry import Node, axis_of, ints, limit, number, operator, tensor
from dualflow.onnx.importers.sizes import numbers
from dualflow.onnx.narrow import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LAST = (1 << 63) - 1


@limit("Constant")
def _(node: Node) -> str | None:
    return "of strings" if {"value_string", "value_strings"} & set(node.attrs) else None


@operator("Constant")
def _(node: Node):
    (kind, value), = node.attrs.items()
    if kind in ("value", "sparse_value"):
        return value
    if kind.startswith("value_float"):
        return df.constant(value, df.float32)
    return df.constant(value, df.int64)


@operator("Shape")
def _(node: Node, x):
    sizes = list(tensor(x).shape)[node("start", 0):node("end", LAST)]
    if current_graph() is not None and any([isinstance(n, Dim) for n in sizes]):
        return numbers(sizes)
    return df.constant([int(n) for n in sizes], df.int64)


@operator("Size")
def _(node: Node, x):
    return df.cast(df.size(x), df.int64)


@operator("Reshape")
def _(node: Node, x, shape=None):
    x, wanted = tensor(x), node.given("shape", shape)
    if not node("allowzero", 0):
        wanted = [x.shape[k] if not isinstance(n, Dim) and n == 0 else n
                  for k, n in enumerate(wanted)]
    return df.reshape(x, wanted)


@operator("Flatten")
def _(node: Node, x):
    x, axis = tensor(x), node("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    first = 1
    for n in x.shape[:axis]:
        first = first * n
    rest = 1
    for n in x.shape[axis:]:
        rest = rest * n
    return df.reshape(x, [first, rest])


@operator("Transpose")
def _(node: Node, x):
    return df.transpose(x, node("perm"))


@operator("Squeeze")
def _(node: Node, x, axes=None):
    x, which = tensor(x), node.given("axes", axes)
    return df.squeeze(x, which) if which or which is None else df.identity(x)


@operator("Unsqueeze")
def _(node: Node, x, axes=None):
    x, which = tensor(x), node.given("axes", axes)
    n = x.ndim + len(which)
    for k in sorted([k % n for k in which]):
        x = df.expand_dims(x, k)
    return x


@operator("Expand")
def _(node: Node, x, shape):
    x, wanted = tensor(x), ints(shape)
    if len(wanted) < x.ndim:
        wanted = [1] * (x.ndim - len(wanted)) + wanted
    own = [1] * (len(wanted) - x.ndim) + list(x.shape)
    target = [m if not isinstance(n, Dim) and n == 1 else n
              for n, m in zip(wanted, own, strict=True)]
    return df.broadcast_to(x, target)


@operator("Tile")
def _(node: Node, x, repeats):
    return df.tile(x, ints(repeats))


@operator("Concat")
def _(node: Node, *xs):
    return df.concat(list(xs), node("axis", 1))


@operator("Split")
def _(node: Node, x, sizes=None):
    x, axis = tensor(x), node("axis", 0)
    given = node.given("split", sizes)
    if given is None:
        n, size = node("num_outputs", node.n_outputs), x.shape[axis]
        each = -(-size // n)
        given = [each] * (n - 1) + [size - each * (n - 1)]
    return df.split(x, given, axis)


@operator("Slice")
def _(node: Node, x, starts=None, ends=None, axes=None, steps=None):
    x = tensor(x)
    first, last = node.given("starts", starts), node.given("ends", ends)
    which = node.given("axes", axes) or range(len(first))
    by = ints(steps) if steps is not None else [1] * len(first)
    keys = [slice(None)] * x.ndim
    for axis, a, b, step in zip(which, first, last, by, strict=True):
        back = step < 0
        a = None if not isinstance(a, Dim) and a >= LAST >> 1 and back else a
        lowest = not isinstance(b, Dim) and b < -(1 << 30)
        b = None if (lowest and back) or (not isinstance(b, Dim) and b >= 1 << 31
                                          and not back) else b
        if back and not isinstance(b, Dim) and not isinstance(x.shape[axis], Dim) and (
                b is not None and b < -x.shape[axis]):
            b = None
        keys[axis] = slice(a, b, step)
    return x[tuple(keys)] if x.ndim else x


@operator("Pad")
def _(node: Node, x, pads=None, value=None, axes=None):
    x, mode = tensor(x), node("mode", "constant")
    given = node.given("pads", pads)
    if given is None:
        given = node("paddings")
    n = len(given) // 2
    which = ints(axes) if axes is not None else range(n)
    pairs: list[list[Any]] = [[0, 0] for _ in range(x.ndim)]
    for k, axis in enumerate(which):
        pairs[axis] = [given[k], given[n + k]]
    fixed = [isinstance(k, int) and not isinstance(k, Dim) for pair in pairs for k in pair]
    if all(fixed) and any([k < 0 for pair in pairs for k in pair]):     # negative pads crop
        x = x[tuple([slice(max(-a, 0), None if b >= 0 else b) for a, b in pairs])]
        pairs = [[max(a, 0), max(b, 0)] for a, b in pairs]
    if mode == "constant":
        value = node("value", 0.0) if value is None else value
        return df.pad(x, pairs, constant_values=df.reshape(df.cast(value, x.dtype), []))
    if mode == "reflect":
        return df.pad(x, pairs, "REFLECT")
    for axis, (a, b) in enumerate(pairs):
        if mode == "edge":
            places = df.clip_by_value(df.range(-a, x.shape[axis] + b), 0, x.shape[axis] - 1)
        else:
            places = df.math.floormod(df.range(-a, x.shape[axis] + b), x.shape[axis])
        x = df.gather(x, places, axis=axis)
    return x


@operator("Trilu")
def _(node: Node, x, k=None):
    x, k = tensor(x), 0 if k is None else number(k)
    rows = df.expand_dims(df.range(x.shape[-2]), 1) + k
    columns = df.range(x.shape[-1])
    mask = columns >= rows if node("upper", 1) else columns <= rows
    return df.where(mask, x, df.zeros_like(x))


@operator("ConstantOfShape")
def _(node: Node, shape):
    value = node("value")
    value = df.constant(0.0) if value is None else df.reshape(value, [])
    return df.broadcast_to(value, ints(shape))


@operator("Range")
def _(node: Node, start, limit, delta):
    dtypes = [x.dtype for x in (start, limit, delta) if isinstance(x, TensorBase)]
    if dtypes and dtypes[0].is_floating:
        return df.range(start, limit, delta)
    first, last, by = [number(x) for x in (start, limit, delta)]
    return df.range(first, last, by, dtype=dtypes[0] if dtypes else df.int64)


@operator("EyeLike")
def _(node: Node, x):
    x = tensor(x)
    dtype = node.dtype("dtype") or x.dtype
    rows, columns = x.shape
    k = node("k", 0)
    here = df.expand_dims(df.range(rows), 1) + k
    return cast(df.equal(here, df.range(columns)), dtype)


@operator("OneHot")
def _(node: Node, indices, depth, values):
    indices, depth = tensor(indices), number(depth)
    n: Any = depth if isinstance(depth, Dim) else int(depth)
    indices = indices if indices.dtype.is_integer else df.cast(indices, df.int64)
    indices = df.where(df.less(indices, 0), indices + n, indices)
    return df.one_hot(df.cast(indices, df.int64), n, values[1], values[0], node("axis", -1))


# --- by index ---------------------------------------------------------------------------------


@operator("Gather")
def _(node: Node, x, indices):
    return df.gather(x, indices, axis=node("axis", 0))


@operator("GatherElements")
def _(node: Node, x, indices):
    x, indices = tensor(x), tensor(indices)
    return df.gather_nd(x, _coordinates(indices, axis_of(node("axis", 0), x), x))


def _coordinates(indices: Any, axis: int, x: Any) -> Any:
    """Return the coordinates of each element; along one axis the indices replace its position."""
    n = x.shape[axis]
    indices = df.cast(indices, df.int64)
    indices = df.where(df.less(indices, 0), indices + n, indices)
    places = []
    for k, size in enumerate(indices.shape):
        own = df.reshape(df.range(size, dtype=df.int64),
                         [size if j == k else 1 for j in range(indices.ndim)])
        places.append(indices if k == axis else df.broadcast_to(own, indices.shape))
    return df.stack(places, -1)


@operator("GatherND")
def _(node: Node, x, indices):
    return df.gather_nd(x, df.cast(indices, df.int64), node("batch_dims", 0))


SCATTER = {"none": df.tensor_scatter_nd_update, "add": df.tensor_scatter_nd_add,
           "mul": df.tensor_scatter_nd_mul, "max": df.tensor_scatter_nd_max,
           "min": df.tensor_scatter_nd_min}


@operator("ScatterElements", "Scatter")
def _(node: Node, x, indices, updates):
    x = tensor(x)
    places = _coordinates(tensor(indices), axis_of(node("axis", 0), x), x)
    return SCATTER[node("reduction", "none")](x, places, updates)


@operator("ScatterND")
def _(node: Node, x, indices, updates):
    return SCATTER[node("reduction", "none")](x, df.cast(indices, df.int64), updates)


@operator("TensorScatter")
def _(node: Node, past, update, start=None):
    past, update = tensor(past), tensor(update)
    axis = axis_of(node("axis", -2), past)
    n, length = past.shape[axis], update.shape[axis]
    start = df.zeros([past.shape[0]], df.int64) if start is None else df.cast(start, df.int64)
    places = df.expand_dims(start, 1) + df.range(length, dtype=df.int64)
    if node("mode", "linear") == "circular":
        places = df.math.floormod(places, n)
    shape = [update.shape[k] if k in (0, axis) else 1 for k in range(past.ndim)]
    return df.tensor_scatter_nd_update(past, _coordinates(df.broadcast_to(df.reshape(
        places, shape), update.shape), axis, past), update)


@operator("NonZero")
def _(node: Node, x):
    x = tensor(x)
    if x.ndim == 0:
        x = df.reshape(x, [1])
    return df.transpose(df.where(df.not_equal(x, df.zeros_like(x))))


@operator("Compress")
def _(node: Node, x, condition):
    x = tensor(x)
    axis = node("axis")
    x = df.reshape(x, [-1]) if axis is None else x
    places = df.reshape(df.where(condition), [-1])
    return df.gather(x, places, axis=0 if axis is None else axis)


@operator("ReverseSequence")
def _(node: Node, x, lengths):
    x, time, batch = tensor(x), node("time_axis", 0), node("batch_axis", 1)
    steps = df.expand_dims(df.range(x.shape[time], dtype=df.int64), 0)
    lengths = df.expand_dims(df.cast(lengths, df.int64), 1)
    places = df.where(steps < lengths, lengths - 1 - steps, steps)      # (batch, time)
    first = [batch, time, *[k for k in range(x.ndim) if k not in (batch, time)]]
    y = df.gather(df.transpose(x, first), places, axis=1, batch_dims=1)
    return df.transpose(y, [first.index(k) for k in range(x.ndim)])


@operator("DepthToSpace")
def _(node: Node, x):
    b, c, h, w = tensor(x).shape
    n = node("blocksize")
    if node("mode", "DCR") == "DCR":
        y = df.transpose(df.reshape(x, [b, n, n, c // (n * n), h, w]), [0, 3, 4, 1, 5, 2])
    else:
        y = df.transpose(df.reshape(x, [b, c // (n * n), n, n, h, w]), [0, 1, 4, 2, 5, 3])
    return df.reshape(y, [b, c // (n * n), h * n, w * n])


@operator("SpaceToDepth")
def _(node: Node, x):
    b, c, h, w = tensor(x).shape
    n = node("blocksize")
    order = [0, 3, 5, 1, 2, 4] if node("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    y = df.transpose(df.reshape(x, [b, c, h // n, n, w // n, n]), order)
    return df.reshape(y, [b, c * n * n, h // n, w // n])
