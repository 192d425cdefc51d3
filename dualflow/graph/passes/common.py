"""Common subexpressions: of two nodes that compute the same, one stays.

The same is: op, attributes and inputs are equal; for an op whose record says it is commutative,
inputs in either order; constants by dtype, shape and bytes. Effects are never merged.
"""

from collections.abc import Hashable

from dualflow._core import Symbol, Tensor
from dualflow.graph.ir import CONSTANT, LEAVES, Graph, Node, edit
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import bits

BYTES_MAX = 65536  # larger constants are only compared by identity: reading them takes longer


def run(graph: Graph, options: Options) -> Graph:
    """Later nodes give way to earlier ones."""
    seen: dict[Hashable, tuple[Symbol, ...]] = {}

    def visit(graph: Graph, node: Node) -> tuple[Symbol, ...] | None:
        if node.op.effect or (node.op in LEAVES and node.op is not CONSTANT):
            return None
        found = seen.setdefault(key(node), node.outputs)
        return None if found is node.outputs else found

    return edit(graph, visit)


def key(node: Node) -> Hashable:
    """Equal for nodes that compute the same."""
    if node.op is CONSTANT:
        return _constant_key(node.data)
    inputs = [id(x) for x in node.inputs]
    if node.op.commutative:
        inputs.sort()
    return (node.op, node.attrs, *inputs)


def _constant_key(x: Tensor) -> Hashable:
    return id(x) if x.nbytes > BYTES_MAX else (x.dtype, x.shape, bits(x))
