"""Common subexpression elimination: replaces a node by an earlier equal node.

Nodes are equal if op, attributes, inputs and bodies are; the inputs of a commutative op may be in
either order. Constants compare by dtype, shape and bytes, bodies node by node. A node with effects
is never merged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from itertools import count

from dualflow._core import Symbol, Tensor
from dualflow.graph.ir import CONSTANT, LEAVES, PARAMETER, Graph, Node, Weight, edit, graphs
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import bits

BYTES_MAX = 65536  # larger constants are only compared by identity: reading them takes longer


def run(graph: Graph, options: Options) -> Graph:
    """Replace nodes by earlier equal nodes."""
    seen: dict[Hashable, tuple[Symbol, ...]] = {}
    numbers = _numbers(graph)

    def visit(graph: Graph, node: Node) -> tuple[Symbol, ...] | None:
        if node.effect or (node.op in LEAVES and node.op is not CONSTANT):
            return None
        found = seen.setdefault(key(node, id, numbers), node.outputs)
        return None if found is node.outputs else found

    return edit(graph, visit)


def key(node: Node, of: Callable[[Symbol], int], numbers: Mapping[Graph, int]) -> Hashable:
    """Return a key that is equal for equal nodes. `of` identifies inputs, `numbers` bodies."""
    if node.op is CONSTANT:
        return _constant_key(node.stored)
    inputs = [of(x) for x in node.inputs]
    if node.op.commutative:
        inputs.sort()
    if node.bodies:
        return (node.op, node.attrs, *inputs, *[numbers[body] for body in node.bodies])
    return (node.op, node.attrs, *inputs)


def _numbers(graph: Graph) -> dict[Graph, int]:
    """Return a number for each body in a graph, the same for equal bodies."""
    numbers: dict[Graph, int] = {}
    seen: dict[Hashable, int] = {}
    for body in graphs(graph)[:-1]:
        at: dict[Symbol, int] = {}
        keys: list[Hashable] = []
        for node in body.nodes:
            keys.append((node.data, *[x.known_shape for x in node.outputs])
                        if node.op is PARAMETER else key(node, at.__getitem__, numbers))
            at.update(zip(node.outputs, count(len(at)), strict=False))
        whole = (*keys, *[at[y] for y in body.outputs])
        numbers[body] = seen.setdefault(whole, len(seen))
    return numbers


def _constant_key(x: Tensor | Weight) -> Hashable:
    return id(x) if isinstance(x, Weight) or x.nbytes > BYTES_MAX else (x.dtype, x.shape, bits(x))
