"""Drops nodes that neither an output nor an effect needs.

Parameters of the call stay, since callers bind them by position.
"""

from dualflow.graph.ir import Graph
from dualflow.graph.options import Options


def run(graph: Graph, options: Options) -> Graph:
    """Keeps what is needed, in its order."""
    needed = {*graph.inputs, *graph.outputs}
    kept = []
    for node in reversed(graph.nodes):
        if any([y in needed for y in node.outputs]) or node.op.effect:
            kept.append(node)
            needed.update(node.inputs)
    kept.reverse()
    graph.nodes = kept
    return graph
