"""Packing of matrices that a loop captures, ahead of the loop: see `packing`."""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import Symbol
from dualflow.graph.ir import LOOP, Graph, Node, edit, graphs, loop_parts
from dualflow.graph.passes import bodies, hoist
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.packing import MIN_READERS, is_small, packed_product


def run(graph: Graph, options: Options) -> Graph:
    """Rewrite products in loops whose right operand is worth packing."""
    if options.portable:
        return graph
    loops = [(one, node) for one in graphs(graph) for node in one.nodes if node.op is LOOP]
    changed = [(one, node) for one, node in loops if _pack_for_loop(node)]
    if changed:
        graph = hoist.run(graph, options)
    for one, node in changed:
        bodies.tidy_inputs(one, node)       # drops matrices that are only read packed
    return graph


def _pack_for_loop(loop: Node) -> int:
    """Pack captured matrices in the body of a loop, from which `hoist` moves the packing; return
    the number of rewritten products."""
    parts, body = loop_parts(loop), loop.bodies[0]
    if 0 <= parts.times < MIN_READERS:
        return 0
    same = {x for k, x in enumerate(body.inputs)
            if k >= parts.captured.start and not loop.writes >> k & 1}
    packed: dict[tuple[Symbol, bool, int], Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if not is_small(node) or node.inputs[1] not in same or node.attr_dict["transpose_a"]:
            return None
        return packed_product(graph, node, packed)

    before = body.changes
    edit(body, visit)
    found, body.changes = body.changes - before, before
    return found
