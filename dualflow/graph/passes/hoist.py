"""Loop-invariant code motion: moves nodes with invariant inputs out of loops.

    transpose(w), w * 2     of a captured value w

Exact: the same kernels run on the same values. Nodes with effects stay. Nodes that may raise stay,
since a loop may have no iterations. Broadcasts stay, since other passes read through them, and
nodes of constants alone, which `fold` computes.
"""

from __future__ import annotations

from dualflow._core import Symbol
from dualflow.graph.ir import (
    CONSTANT,
    LEAVES,
    LOOP,
    PARAMETER,
    Graph,
    Input,
    Node,
    graphs,
    loop_parts,
)
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import BROADCAST, is_known


def run(graph: Graph, options: Options) -> Graph:
    """Move nodes out of all loops, inner loops first, so that a node may leave several loops."""
    for one in graphs(graph):
        if not any([node.op is LOOP for node in one.nodes]):
            continue
        old, one.nodes = one.nodes, []
        for node in old:
            if node.op is LOOP:
                graph.changes += _hoist(one, node)
            one.nodes.append(node)
    return graph


def _hoist(graph: Graph, loop: Node) -> int:
    """Move the invariant nodes of a loop to the end of `graph`; return their number."""
    body, first = loop.bodies[0], loop_parts(loop).captured.start
    outside: dict[Symbol, Symbol] = {
        x: loop.inputs[k] for k, x in enumerate(body.inputs)
        if k >= first and not loop.writes >> k & 1}
    moved = [node for node in body.nodes if _is_same(node, outside)]
    if not moved:
        return 0
    for node in moved:
        inputs = [outside[x] if x in outside else _constant(graph, x) for x in node.inputs]
        made = graph.add(node.op, inputs, node.attrs, node.name, node.line).outputs
        outside.update(zip(node.outputs, made, strict=True))
    gone = set(moved)
    body.nodes = [node for node in body.nodes if node not in gone]
    read = {x for node in body.nodes for x in node.inputs} | set(body.outputs)
    instead: dict[Symbol, Symbol] = {}
    for node in moved:
        for y in node.outputs:
            if y in read:
                instead[y] = body.add_leaf(PARAMETER, y, node.name, node.line,
                                           Input(len(body.inputs)))
                body.inputs.append(instead[y])
                body.nodes.insert(0, body.nodes.pop())
                loop.inputs = (*loop.inputs, outside[y])
    for node in body.nodes:
        node.inputs = tuple([instead.get(x, x) for x in node.inputs])
    body.outputs = [instead.get(y, y) for y in body.outputs]
    return len(moved)


def _is_same(node: Node, outside: dict[Symbol, Symbol]) -> bool:
    """Return True if a node is invariant, and add its outputs to `outside`."""
    if (node.op in LEAVES or node.op is BROADCAST or node.bodies or node.effect or node.writes
            or node.may_raise or not all(map(is_known, (*node.inputs, *node.outputs)))):
        return False
    known = [x in outside for x in node.inputs]
    if not any(known) or not all(
            [same or x.node.op is CONSTANT for same, x in zip(known, node.inputs, strict=True)]):
        return False
    outside.update([(y, y) for y in node.outputs])      # replaced when the node is moved
    return True


def _constant(graph: Graph, x: Symbol) -> Symbol:
    return graph.constant(x.node.data, x.node.name, x.node.line)
