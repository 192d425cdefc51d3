"""stub"""
from dualflow.graph.ir import Graph
from dualflow.graph.options import Options


def run(graph: Graph, options: Options) -> Graph:
    """Nothing yet."""
    return graph
