"""Runs the nodes of a graph one by one: what a program is to be compared with."""

from dualflow._core import evaluate
from dualflow.graph.ir import CONSTANT, VARIABLE


def run(graph, fetches, feeds=None):
    """Values of `fetches`, Symbols of a graph that writes no variable and knows all its sizes."""
    values = dict(feeds or {})
    for node in graph.nodes:
        if node.op is CONSTANT:
            values[node.outputs[0]] = node.data
        elif node.op is VARIABLE:
            values[node.outputs[0]] = node.data.value()
        elif node.inputs:
            made = evaluate(node.op, [values[x] for x in node.inputs], node.attrs)
            values.update(zip(node.outputs, made, strict=True))
    return [values[x] for x in fetches]
