"""Sums of gradients of rows that a loop reads: the loop stacks the gradients, and they are added
into one tensor after it.

    loop: total = total + gather_grad(g, i), from -0.0 on   ->   gather_grad(stacked g, stacked i)

An iteration then takes time in proportion to a row, not to the whole tensor. Exact for float32 and
float64: the gradients of a row are added in the order of the iterations, and no part, which is
0.0 + g in its row and 0.0 elsewhere, has an element -0.0, so that the sum may begin with 0.0.

An iteration may add several parts, also slices of parts (`sum_of_slices`), if their rows are
constants, different in each iteration and, for three parts or more, the same for all parts: the
order of the terms of an element other than 0.0 then stays.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial, reduce

from dualflow._core import Symbol, as_tensor, get_op
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import float32, float64
from dualflow.graph.ir import CONSTANT, LOOP, Graph, LoopParts, Node, loop_parts
from dualflow.graph.passes import bodies, dead_code
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import (
    constant_of,
    is_known,
    is_zero,
    number,
    replacement,
)
from dualflow.ops.array.slicing import MISSING, SLICE

ADD, PART, CUT, TRANSPOSE = map(get_op, ("add", "gather_grad", "strided_slice", "transpose"))
SUM_OF_SLICES, WHERE = get_op("sum_of_slices"), get_op("where")
SUMS = {ADD, get_op("add_n"), SUM_OF_SLICES}
MOST = 4        # limit of the size of a stack, relative to the tensor


class _Sum(NamedTuple):
    """A carry, by its number, and the nodes that add to it in an iteration.

    Attributes
    ----------
    carry : int
    sums : list of Node
        From the sum that reads the carry to the sum that is its next value, which reads the others.
    parts : list of Node
        The gradients of rows that they add, first to last.
    """

    carry: int
    sums: list[Node]
    parts: list[Node]


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
        if not is_zero(number(start), negative=True) or start.known_shape != y.known_shape:
            continue
        found = _sum_from(x, y, carry, readers)
        if (found is not None and all([_can_stack(part, parts) for part in found.parts])
                and (len(found.parts) == 1 or _may_move(loop, parts, found.parts))):
            return found
    return None


def _sum_from(x: Symbol, y: Symbol, carry: int, readers: Counter[Symbol]) -> _Sum | None:
    """Return the sum y of the carry x and of gradients of rows if nothing else reads them."""
    sums: list[Node] = []
    terms: list[Symbol] = []
    while True:
        node = y.node
        if node.op not in SUMS or any([readers[z] != 1 for z in (y, *node.inputs)]):
            return None
        sums.insert(0, node)
        others = [z for z in node.inputs if z is not x]
        if len(others) < len(node.inputs):
            terms[:0] = others
            break
        if node.op is SUM_OF_SLICES:
            return None
        y, *rest = node.inputs
        terms[:0] = rest
    shape = sums[-1].outputs[0].known_shape
    if sums[0].op is SUM_OF_SLICES:
        if len(sums) > 1 or any(_counts(sums[0], lambda z: z is x)):
            return None
    elif any([z.known_shape != shape for z in terms]):
        return None
    if any([z.node.op is not PART for z in terms]):
        return None
    return _Sum(carry, sums, [z.node for z in terms])


def _counts(node: Node, chosen: Callable[[Symbol], bool]) -> list[int]:
    """Return the numbers of keys of the chosen terms of a `sum_of_slices`."""
    return [n for n, z in zip(node.attr_dict["counts"], node.inputs, strict=True) if chosen(z)]


def _may_move(loop: Node, parts: LoopParts, added: list[Node]) -> bool:
    """Return True if each part has constant rows, another row in each iteration, and all parts have
    the same rows. Two parts may have different rows: the sum of two terms has no order."""
    indices = [_sliced(loop, parts, part.inputs[1]) for part in added]
    for part, rows in zip(added, indices, strict=True):
        known = None if rows is None else constant_of(rows)
        if known is None:
            return False
        n = part.outputs[0].known_shape[_axis(part)] or 0
        if len({i % n for i in known.tolist()}) < known.size:
            return False
    return len(added) == 2 or all([rows is indices[0] for rows in indices])


def _sliced(loop: Node, parts: LoopParts, x: Symbol) -> Symbol | None:
    """Return the tensor whose rows x has, one in each iteration, or None."""
    for k in range(parts.sliced.start, parts.sliced.stop):
        if loop.bodies[0].inputs[k] is x:
            return loop.inputs[k]
    return None


def _axis(part: Node) -> int:
    axis = int(part.attr_dict["axis"])
    return axis + part.outputs[0].ndim * (axis < 0)


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
    stacked = []
    for part in found.parts:
        g, i = part.inputs
        rows, indices = bodies.stack(graph, loop, g), _sliced(loop, parts, i)
        stacked.append((part, rows, bodies.stack(graph, loop, i) if indices is None else indices))
    gone = {*found.sums, *found.parts}
    body.nodes = [node for node in body.nodes if node not in gone]
    place = parts.carried.start + found.carry
    x = body.inputs[place]
    bodies.keep_outputs(loop, loop_parts(loop), {found.carry})
    dead_code.run(body, options)
    bodies.keep_inputs(loop, [k for k in range(len(loop.inputs)) if k != place])
    terms = [_sum(graph, *each, parts.reverse) for each in stacked]
    first = found.sums[0]
    if first.op is not SUM_OF_SLICES:
        return reduce(partial(replacement, graph, first, ADD), terms)
    counts = _counts(first, lambda z: z is not x)
    return replacement(graph, first, SUM_OF_SLICES, *terms, **first.attr_dict | {"counts": counts})


def _sum(graph: Graph, part: Node, rows: Symbol, indices: Symbol, reverse: bool) -> Symbol:
    """Add rows, stacked along the first dimension, to zeros in the order of the iterations."""
    shape, axis = part.outputs[0].known_shape, _axis(part)
    n, known = len(shape), constant_of(indices)
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
