"""Sums of gradients of rows that a loop reads: the loop stacks the gradients, and they are added
into one tensor after it.

    loop: total = total + gather_grad(g, i), from -0.0 on   ->   gather_grad(stacked g, stacked i)

An iteration then takes time in proportion to a row, not to the whole tensor. Exact for float32 and
float64: the gradients of a row are added in the order of the iterations, and no part, which is
0.0 + g in its row and 0.0 elsewhere, has an element -0.0, so that the sum may begin with 0.0.
"""

from __future__ import annotations

import math
from collections import Counter

from dualflow._core import Symbol, as_tensor, get_op
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import float32, float64
from dualflow.graph.ir import CONSTANT, LOOP, Graph, LoopParts, Node, loop_parts
from dualflow.graph.passes import bodies, dead_code
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import constant_of, is_known, is_zero, number, replacement
from dualflow.ops.array.slicing import MISSING, SLICE

ADD, PART, CUT, TRANSPOSE = map(get_op, ("add", "gather_grad", "strided_slice", "transpose"))
MOST = 4        # limit of the size of a stack, relative to the tensor


class _Sum(NamedTuple):
    """A carry, by its number, and the nodes that add to it in an iteration."""

    carry: int
    add: Node
    part: Node


def run(graph: Graph, options: Options) -> Graph:
    """Rewrite the sums of all loops of a graph."""
    if not any([node.op is LOOP for node in graph.nodes]):
        return graph
    old, graph.nodes = graph.nodes, []
    stands_for: dict[Symbol, Symbol] = {}
    for node in old:
        node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
        graph.nodes.append(node)
        if node.op is LOOP:
            while (found := _find(node)) is not None:
                before = node.outputs[found.carry]
                stands_for[before] = _move(graph, node, found, options)
                graph.changes += 1
    graph.outputs = [stands_for.get(x, x) for x in graph.outputs]
    return graph


def _find(loop: Node) -> _Sum | None:
    """Return a sum of gradients of a loop with at least one iteration, or None."""
    parts, body = loop_parts(loop), loop.bodies[0]
    if parts.tested or loop.written or not isinstance(parts.times, int) or parts.times < 1:
        return None
    readers = Counter([x for node in body.nodes for x in node.inputs])
    readers.update(body.outputs)
    for carry in range(parts.n_carried):
        place = parts.carried.start + carry
        x, y, start = body.inputs[place], body.outputs[parts.first + carry], loop.inputs[place]
        part = _term(x, y)
        if (part is not None and readers[x] == readers[y] == readers[part] == 1
                and is_zero(number(start), negative=True)
                and start.known_shape == part.known_shape == y.known_shape
                and _can_stack(part.node, parts)):
            return _Sum(carry, y.node, part.node)
    return None


def _term(x: Symbol, y: Symbol) -> Symbol | None:
    """Return the gradient of a row if y is the sum of x and that gradient, else None."""
    if y.node.op is not ADD:
        return None
    first, second = y.node.inputs
    part = second if first is x else first
    return part if part.node.op is PART and (first is x or second is x) else None


def _can_stack(part: Node, parts: LoopParts) -> bool:
    """Return True if a part is one row, and the stack of the gradients is not large."""
    g, i = part.inputs
    y = part.outputs[0]
    return (y.dtype in (float32, float64) and i.known_shape == () and is_known(g) and is_known(y)
            and g.node.op is not CONSTANT and i.node.op is not CONSTANT
            and _size(g) * parts.times <= MOST * _size(y))


def _size(x: Symbol) -> int:
    return math.prod([int(d or 0) for d in x.known_shape])


def _move(graph: Graph, loop: Node, found: _Sum, options: Options) -> Symbol:
    """Remove the carry from the loop, add the stacked gradients after it, and return their sum."""
    parts, body = loop_parts(loop), loop.bodies[0]
    g, i = found.part.inputs
    sliced = {body.inputs[k]: loop.inputs[k]
              for k in range(parts.sliced.start, parts.sliced.stop)}
    rows = bodies.stack(graph, loop, g)
    indices = sliced[i] if i in sliced else bodies.stack(graph, loop, i)
    body.nodes = [node for node in body.nodes if node not in (found.add, found.part)]
    place = parts.carried.start + found.carry
    bodies.keep_outputs(loop, loop_parts(loop), {found.carry})
    dead_code.run(body, options)
    bodies.keep_inputs(loop, [k for k in range(len(loop.inputs)) if k != place])
    return _sum(graph, found.part, rows, indices, parts.reverse)


def _sum(graph: Graph, part: Node, rows: Symbol, indices: Symbol, reverse: bool) -> Symbol:
    """Add rows, stacked along the first dimension, to zeros in the order of the iterations."""
    shape, axis = part.outputs[0].known_shape, int(part.attr_dict["axis"])
    n, known = len(shape), constant_of(indices)
    axis += n * (axis < 0)
    order = None if known is None else known.tolist()
    if reverse and (order is None or len({*order}) < len(order)):
        rows, indices = [replacement(graph, part, CUT, x, begin=(MISSING,), end=(MISSING,),
                                     strides=(-1,), kind=(SLICE,)) for x in (rows, indices)]
    if axis:
        rows = replacement(graph, part, TRANSPOSE, rows,
                           perm=(*range(1, axis + 1), 0, *range(axis + 1, n)))
    if order is not None and order == [*range(shape[axis] or 0)]:
        zero = graph.constant(as_tensor(0.0, rows.dtype), part.name, part.line)
        return replacement(graph, part, ADD, rows, zero)        # -0.0 becomes 0.0
    return replacement(graph, part, PART, rows, indices, shape=shape, axis=axis, batch_dims=0)
