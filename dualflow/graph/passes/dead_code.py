"""Dead code elimination: drops nodes that neither an output nor an effect needs.

Nodes that may raise stay, since eager mode would raise. Parameters stay, since callers bind them by
position.
"""

from __future__ import annotations

from dualflow.graph.ir import Graph
from dualflow.graph.passes.options import Options


def run(graph: Graph, options: Options) -> Graph:
    """Drop dead nodes; the others stay in order."""
    needed = {*graph.inputs, *graph.outputs}
    live = []
    for node in reversed(graph.nodes):
        if any([y in needed for y in node.outputs]) or node.effect or node.may_raise:
            live.append(node)
            needed.update(node.inputs)
    live.reverse()
    graph.nodes = live
    return graph
