"""Rows of slices: their gradients as terms of sums, for `carried_sums`; and keys, for `reshapes`.

A part is `gather_grad` or `scatter_nd` of one row, or such a gradient inside a slice: zeros with a
row that an index selects. `summed` adds parts with `add_rows`, which visits their rows only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dualflow._core import Symbol, as_tensor, get_op
from dualflow._util.named_tuple import NamedTuple
from dualflow.graph.ir import Graph, Node
from dualflow.graph.passes.values import RESHAPE, is_known, is_zero, number, replacement
from dualflow.ops.array.slice_parts import INDEX, KEYS, MISSING, NEW, PART_ATTRS, SLICE

ADD_ROWS, GATHER_GRAD, SCATTER_ND, SLICE_GRAD, SUM_OF_SLICES, WHERE = map(
    get_op, ("add_rows", "gather_grad", "scatter_nd", "strided_slice_grad", "sum_of_slices",
             "where"))
SUMS = {get_op("add"), get_op("add_n"), SUM_OF_SLICES}
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Key = tuple[int, int, int, int]


class RowPart(NamedTuple):
    """A term of a sum: zeros with a row.

    Attributes
    ----------
    node : Node
        The node that makes it.
    row, at : Symbol
        The inputs of `node`: the row and its index.
    axis, depth : int
        The dimensions of the sum that the index selects: from `axis` on, `depth` of them.
    keys : list of Key
        The slice of the row, without the selected dimensions.
    mask : Symbol or None
        A bool that is True if there is a row; otherwise the term is -0.0 everywhere.
    """

    node: Node
    row: Symbol
    at: Symbol
    axis: int
    depth: int
    keys: list[Key]
    mask: Symbol | None = None


def terms(node: Node) -> tuple[int, list[RowPart]] | None:
    """Return the position of the one term of a sum to which the others, which are parts, are added
    in order; None for other nodes."""
    y = node.outputs[0]
    if node.op not in SUMS or not is_known(y):
        return None
    given = list(_given(node))
    if len(given) == 2 and _part(*given[0], y.ndim) is not None:
        given.reverse()
    (x, keys), *others = given
    if keys or x.known_shape != y.known_shape or not others:
        return None
    found = []
    for z, keys in others:
        part = _part(z, keys, y.ndim)
        if part is None or (not keys and z.known_shape != y.known_shape):
            return None
        found.append(part)
    place = next(k for k, z in enumerate(node.inputs) if z is x)
    return place, found


def _given(node: Node) -> Iterator[tuple[Symbol, list[Key]]]:
    """Yield the terms of a sum with their slices."""
    if node.op is not SUM_OF_SLICES:
        for x in node.inputs:
            yield x, []
        return
    attrs = node.attr_dict
    keys, at = keys_of(attrs), 0
    for x, n in zip(node.inputs, attrs["counts"], strict=True):
        yield x, keys[at:at + n]
        at += n


def keys_of(attrs: dict[str, Any]) -> list[Key]:
    """Return the keys of a slice."""
    return list(zip(*[attrs[name] for name in KEYS], strict=True))


def _part(x: Symbol, keys: list[Key], ndim: int) -> RowPart | None:
    """Return x, or x inside a slice, as a part of a tensor of `ndim` dimensions."""
    node, mask = x.node, None
    if node.op is WHERE and not keys and is_zero(number(node.inputs[2]), negative=True):
        mask, z, _ = node.inputs
        if mask.ndim or z.known_shape != x.known_shape:
            return None
        node = z.node
    if node.op is SLICE_GRAD and not keys:
        attrs = node.attr_dict
        keys, node = keys_of(attrs), node.inputs[0].node
        if not all([type(n) is int for name in PART_ATTRS for n in attrs[name]]):
            return None
    if node.op is GATHER_GRAD:
        row, index = node.inputs
        depth = 1
    elif node.op is SCATTER_ND:
        index, row = node.inputs
        depth = index.known_shape[-1] or 0
    else:
        return None
    attrs = node.attr_dict
    shape = node.outputs[0].known_shape
    axis = attrs["axis"] + len(shape) * (attrs["axis"] < 0)
    if (attrs["batch_dims"] or not depth or not is_known(row) or not is_known(index)
            or None in shape or math.prod(index.known_shape) != (
                1 if node.op is GATHER_GRAD else depth)):
        return None
    if not keys:
        return RowPart(node, row, index, axis, depth, [], mask)
    return _inside(RowPart(node, row, index, axis, depth, keys, mask), ndim)


def _inside(part: RowPart, ndim: int) -> RowPart | None:
    """Return the part inside its slice of a tensor of `ndim` dimensions, if the slice has the
    selected dimensions as a whole."""
    found = of_slice(part.axis, part.depth, part.keys, ndim)
    return None if found is None else part._replace(axis=found[0], keys=found[1])


def of_slice(axis: int, depth: int, keys: Sequence[Key], ndim: int) -> tuple[int, list[Key]] | None:
    """Return the position in a tensor of `ndim` dimensions of `depth` dimensions of its slice from
    `axis` on, and the keys without them, if the slice has these dimensions as a whole."""
    selected: list[int] = []
    rest: list[Key] = []
    inside = outside = 0        # dimensions of the slice, and of the tensor
    for key in keys:
        kind = key[3]
        if kind != INDEX and axis <= inside < axis + depth:
            if key != (MISSING, MISSING, 1, SLICE):
                return None
            selected.append(outside)
        else:
            rest.append(key)
        inside += kind != INDEX
        outside += kind != NEW
    selected += [d - inside + outside for d in range(max(axis, inside), axis + depth)]
    if selected != [*range(selected[0], selected[0] + depth)] or selected[-1] >= ndim:
        return None
    return selected[0], rest


def summed(graph: Graph, node: Node, x: Symbol, parts: Sequence[RowPart]) -> Symbol:
    """Return x + the parts, first to last, in place of a sum."""
    shape = x.known_shape
    for part in parts:
        nested = part.node.op is SCATTER_ND
        inner = part.node.outputs[0].known_shape
        axis = part.node.attr_dict["axis"]
        axis += len(inner) * (axis < 0)
        rest = (*shape[:part.axis], *shape[part.axis + part.depth:])
        row = _reshaped(graph, node, part.row, (*inner[:axis], *inner[axis + part.depth:]))
        if part.keys:
            row = replacement(graph, node, SLICE_GRAD, row, shape=rest,
                              **dict(zip(KEYS, zip(*part.keys, strict=True), strict=True)))
        if part.mask is not None:
            none = graph.constant(as_tensor(-0.0, row.dtype), node.name, node.line)
            row = replacement(graph, node, WHERE, part.mask, row, none)
        index = _reshaped(graph, node, part.at, (part.depth,) if nested else ())
        x = replacement(graph, node, ADD_ROWS, x, index, row, axis=part.axis, nested=nested)
    return x


def is_long_sum(scatter: Node) -> bool:
    """Return True if a row of `tensor_scatter_nd_add` may be a long sum, whose rounding may turn a
    tiny number into -0.0."""
    x, indices, _ = scatter.inputs
    if not is_known(indices) or not is_known(x):
        return True
    *picks, depth = indices.shape
    return math.prod(picks) >= 16 * math.prod(x.shape[:depth])


def _reshaped(graph: Graph, node: Node, x: Symbol, shape: tuple[int | None, ...]) -> Symbol:
    if x.known_shape == shape:
        return x
    return replacement(graph, node, RESHAPE, x, shape=shape)
