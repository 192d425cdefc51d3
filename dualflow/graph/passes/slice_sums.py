"""Sums of gradients of slices: the parts are added into one tensor, without a tensor of zeros per
part.

    add_n(strided_slice_grad(a), strided_slice_grad(b), c, ...)  ->  sum_of_slices(a, b, c, ...)

Exact for float32 and float64 if no element is in all parts: a sum that has 0.0 as a term is not
-0.0, so that it is the sum, from 0.0 on, of the other terms in their order.
"""

from __future__ import annotations

from collections import Counter

from dualflow._core import Symbol, get_op
from dualflow.graph.ir import Graph, Node, edit
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import is_known, replacement
from dualflow.ops.array.slice_parts import KEYS, PART_ATTRS, Limits, common, is_empty, limits

SUMS = {get_op("add"), get_op("add_n")}
PART, SUM_OF_SLICES = get_op("strided_slice_grad"), get_op("sum_of_slices")


def run(graph: Graph, options: Options) -> Graph:
    """Rewrite the sums in which two terms or more are gradients of slices that nothing else
    reads."""
    if sum([node.op is PART for node in graph.nodes]) < 2:
        return graph
    return _Run(graph).go()


class _Run:
    """One pass over the nodes.

    Attributes
    ----------
    readers : Counter of Symbol
    parts : set of Symbol
        The values that are zero outside a slice, and that only one node reads.
    inner : dict of Symbol to Node
        The sums with such a term, or whose first term is in `inner`, that one other sum reads as
        its first term: `terms` replaces them by their terms.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.readers = Counter([x for node in graph.nodes for x in node.inputs])
        self.readers.update(graph.outputs)
        self.parts = {node.outputs[0] for node in graph.nodes if node.op is PART
                      and self.readers[node.outputs[0]] == 1 and _is_static(node)}
        self.inner: dict[Symbol, Node] = {}
        with_parts: dict[Symbol, Node] = {}
        for node in graph.nodes:
            if _is_sum(node):
                first = node.inputs[0]
                if first in with_parts and self.readers[first] == 1:
                    self.inner[first] = with_parts[first]
                if first in self.inner or not self.parts.isdisjoint(node.inputs):
                    with_parts[node.outputs[0]] = node

    def go(self) -> Graph:
        return edit(self.graph, self.visit)

    def visit(self, graph: Graph, node: Node) -> list[Symbol] | None:
        if not _is_sum(node) or node.outputs[0] in self.inner:
            return None
        terms = self.terms(node)
        parts = [x.node for x in terms if x in self.parts]
        if len(parts) < 2 or _overlap(parts):
            return None
        return [self.in_one_tensor(graph, node, terms)]

    def terms(self, node: Node) -> list[Symbol]:
        """Return the terms of a sum, from first to last."""
        found = [*node.inputs[:0:-1]]               # from last to first
        while node.inputs[0] in self.inner:
            node = self.inner[node.inputs[0]]
            found += node.inputs[:0:-1]
        return [node.inputs[0], *reversed(found)]

    def in_one_tensor(self, graph: Graph, node: Node, terms: list[Symbol]) -> Symbol:
        keys: dict[str, list[int]] = {name: [] for name in KEYS}
        inputs, counts = [], []
        for x in terms:
            is_part = x in self.parts
            inputs.append(x.node.inputs[0] if is_part else x)
            counts.append(len(x.node.attr_dict["begin"]) if is_part else 0)
            for name in KEYS if is_part else ():
                keys[name] += x.node.attr_dict[name]
        return replacement(graph, node, SUM_OF_SLICES, *inputs, counts=counts,
                           shape=list(node.outputs[0].known_shape), **keys)


def _is_sum(node: Node) -> bool:
    """Return True for a sum of float32 or float64 tensors without broadcasting."""
    if node.op not in SUMS:
        return False
    y = node.outputs[0]
    return (y.dtype.name in ("float32", "float64") and is_known(y) and y.ndim > 0
            and all([x.known_shape == y.known_shape for x in node.inputs]))


def _is_static(part: Node) -> bool:
    """Return True if neither the keys nor sizes depend on data or on arguments."""
    return is_known(part.inputs[0]) and all([type(n) is int for name in PART_ATTRS
                                             for n in part.attr_dict[name]])


def _overlap(parts: list[Node]) -> bool:
    """Return True if an element may be in all parts."""
    shared = _limits(parts[0])
    for part in parts[1:]:
        shared = common(shared, _limits(part))
    return not is_empty(shared)


def _limits(part: Node) -> Limits:
    return limits(*[part.attr_dict[name] for name in PART_ATTRS])
