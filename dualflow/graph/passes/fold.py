"""Constant folding: evaluates nodes whose inputs are constants.

A broadcast is not folded: a cluster reads its source at no cost, other passes see the source
through it, and no large constant is created. `reshapes` turns ops on broadcasts into broadcasts of
ops, so the sources are folded. For ops of kind "general" (matmul, concat), which need their inputs
in memory, a small broadcast becomes a constant. An op that reads only the shape of an input folds
if the shape is known. Random ops do not fold, since their key is a parameter, nor do nodes with
bodies: `inline` has removed the calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import Symbol, Tensor, evaluate
from dualflow.errors import DualflowError
from dualflow.graph.ir import Graph, Node, edit
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import BROADCAST, constant_of, is_known, source


def run(graph: Graph, options: Options) -> Graph:
    """Replace nodes by constants."""
    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if not node.inputs or node.op is BROADCAST:
            return None
        if node.effect or node.bodies:
            return None
        known = _constants(node)
        if known is None:
            return _with_inputs_made(graph, node, options.fold_limit)
        if not _is_small(node, options.fold_limit):
            return None
        try:
            values = evaluate(node.op, known, node.attrs)
        except DualflowError:
            return None                     # the run will raise with the user's line
        return [graph.constant(y, node.name, node.line) for y in values]

    return edit(graph, visit)


def _constants(node: Node) -> list[Tensor] | None:
    """Return the inputs for evaluation (Symbols if only their shape is read), or None."""
    found: list[Tensor] = []
    for i, x in enumerate(node.inputs):
        value = constant_of(x)
        if value is None and node.op.shape_only >> i & 1 and is_known(x):
            value = x
        if value is None:
            return None
        found.append(value)
    return found


def _with_inputs_made(graph: Graph, node: Node, limit: int) -> Sequence[Symbol] | None:
    """If a node needs its inputs in memory, replace broadcasts of constants by constants."""
    if node.op.kind != "general" or not any([x.node.op is BROADCAST for x in node.inputs]):
        return None
    inputs = list(node.inputs)
    for i, x in enumerate(inputs):
        value = constant_of(source(x))
        if x.node.op is BROADCAST and value is not None and _is_small(x.node, limit):
            made = evaluate(BROADCAST, [value], x.node.attrs)[0]
            inputs[i] = graph.constant(made, x.node.name, x.node.line)
    if all([a is b for a, b in zip(inputs, node.inputs, strict=True)]):
        return None
    return graph.add(node.op, inputs, node.attrs, node.name, node.line).outputs


def _is_small(node: Node, limit: int) -> bool:
    return all([is_known(y) and y.size <= limit for y in node.outputs])
