"""Passes over graphs, in order."""

from dualflow.graph.ir import Graph
from dualflow.graph.options import Options


def optimize(graph: Graph, options: Options) -> Graph:
    """The graph after all passes."""
    return graph
