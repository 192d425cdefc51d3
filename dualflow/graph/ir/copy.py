"""A graph once more."""

from __future__ import annotations

from dualflow._core import Symbol, symbol
from dualflow.graph.ir.graph import Graph
from dualflow.graph.ir.node import Node


def copy(graph: Graph) -> Graph:
    """The same graph with nodes and values of its own, for somebody who goes on to change it."""
    new = graph.empty_copy()
    stands_for: dict[Symbol, Symbol] = {}
    for node in graph.nodes:
        made = Node(node.op, [stands_for[x] for x in node.inputs], node.attrs, (), node.name,
                    node.line, node.data)
        made.wave = node.wave
        made.outputs = tuple([symbol(new, made, k, y.dtype, y.known_shape)
                              for k, y in enumerate(node.outputs)])
        stands_for.update(zip(node.outputs, made.outputs, strict=True))
        new.nodes.append(made)
    new.inputs = [stands_for[x] for x in graph.inputs]
    new.outputs = [stands_for[x] for x in graph.outputs]
    return new
