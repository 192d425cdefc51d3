"""Constant folding: what depends on constants alone is computed once.

A broadcast stays a broadcast, so that nothing large comes to be and a cluster reads one number in
place of a tensor; an elementwise op on broadcasts of one number each is computed on these and
broadcast. Ops of which only a shape is read fold as soon as that is known. Random ops do not fold:
their key is a parameter.
"""

from collections.abc import Sequence

from dualflow._core import Symbol, Tensor, evaluate
from dualflow.graph.ir import Graph, Node, edit
from dualflow.graph.options import Options
from dualflow.graph.passes.values import BROADCAST, constant_of, is_known, stand_in, uniform


def run(graph: Graph, options: Options) -> Graph:
    """Replaces nodes by constants."""
    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if node.op.effect or not node.inputs or node.op is BROADCAST:
            return None
        inputs = _numbers(node) if node.op.kind == "elementwise" else None
        if inputs is not None:
            small = graph.constant(evaluate(node.op, inputs, node.attrs)[0], node.name, node.line)
            y = node.outputs[0]
            if small.known_shape == y.known_shape:
                return (small,)
            return (stand_in(graph, node, "broadcast_to", small, shape=y.known_shape),)
        if not _is_small(node.outputs, options.fold_limit):
            return None
        known = _constants(node)
        if known is None:
            return None
        return [graph.constant(y, node.name, node.line)
                for y in evaluate(node.op, known, node.attrs)]

    return edit(graph, visit)


def _numbers(node: Node) -> list[Tensor] | None:
    """The one number that each input holds everywhere; None where one holds more."""
    found: list[Tensor] = []
    for x in node.inputs:
        one = uniform(x)
        if one is None:
            return None
        found.append(one)
    return found


def _constants(node: Node) -> list[Tensor] | None:
    """The inputs as evaluation takes them: tensors, and symbols where only the shape is read."""
    found: list[Tensor] = []
    for i, x in enumerate(node.inputs):
        value = constant_of(x)
        if value is None and node.op.shape_only >> i & 1 and is_known(x):
            value = x
        if value is None:
            return None
        found.append(value)
    return found


def _is_small(outputs: Sequence[Symbol], limit: int) -> bool:
    return all([is_known(y) and y.size <= limit for y in outputs])
