"""In-place rewriting of a graph, node by node: the base of most passes.

A rewrite must never make a version of a variable be read after a node has overwritten the version;
`edit` rejects such rewrites.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dualflow._core import Symbol
from dualflow.graph.ir.graph import Graph
from dualflow.graph.ir.node import Node

Edit = Callable[[Graph, Node], "Sequence[Symbol] | None"]


def edit(graph: Graph, visit: Edit) -> Graph:
    """Rewrite a graph in place in one pass over its nodes.

    Unchanged nodes stay the same objects and their types are not inferred again, so that a pass
    without rewrites is cheap. Bodies are not entered, and their parameters keep their types: a size
    may be known outside but not inside.

    Parameters
    ----------
    graph : Graph
    visit : callable (graph, node) -> sequence of Symbol, or None
        Adds nodes to the graph as needed and returns the replacements of the outputs of the node,
        or returns None to leave the node. The inputs of the node are replaced before the call.

    Notes
    -----
    If a replacement would make a version of a variable be read after it is overwritten, `edit`
    rejects the replacement and the node stays. So `visit` need not consider versions.
    """
    old, graph.nodes = graph.nodes, []
    stands_for: dict[Symbol, Symbol] = {}
    retyped: set[Symbol] = set()
    versions = _Versions(old, graph.outputs)
    for at, node in enumerate(old):
        outputs = node.outputs
        if stands_for and not stands_for.keys().isdisjoint(node.inputs):
            node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
            if retyped and not node.bodies and not retyped.isdisjoint(node.inputs):
                node = graph.add(node.op, node.inputs, node.attrs, node.name, node.line)
                graph.nodes.pop()
        nodes = graph.nodes
        start = len(nodes)
        found = visit(graph, node)
        if found is None or not versions.allow(at, outputs, found, nodes[start:]):
            if len(nodes) > start:
                del nodes[start:]
            nodes.append(node)
            found = node.outputs
            if found is outputs:
                continue
        for before, after in zip(outputs, found, strict=True):
            if before is not after:
                stands_for[before] = after
                graph.changes += 1
                versions.rename(before, after)
                if before.known_shape != after.known_shape:
                    retyped.add(after)
    graph.outputs = [stands_for.get(x, x) for x in graph.outputs]
    return graph


class _Versions:
    """The versions of variables that a graph overwrites, with the position of the writing node."""

    def __init__(self, nodes: list[Node], outputs: list[Symbol]) -> None:
        self.nodes = nodes
        self.outputs = outputs
        self.overwritten = {before: at for at, node in enumerate(nodes) if node.writes
                            for before, _ in node.written}
        self.last_use: dict[Symbol, int] | None = None

    def rename(self, before: Symbol, after: Symbol) -> None:
        if before in self.overwritten:
            self.overwritten[after] = self.overwritten[before]

    def allow(self, at: int, outputs: Sequence[Symbol], found: Sequence[Symbol],
              added: list[Node]) -> bool:
        """Return True if no node reads an overwritten version after `added` has replaced node `at`,
        and `found` its outputs."""
        if not self.overwritten:
            return True
        if any([self.overwritten.get(x, at) < at for node in added for x in node.inputs]):
            return False
        return all([self._last_use(before, at) < self._read_until(self.overwritten[after])
                    for before, after in zip(outputs, found, strict=True)
                    if after in self.overwritten and after is not before])

    def _read_until(self, at: int) -> int:
        """Return the first position that may not read a version which node `at` overwrites.

        An op without bodies may read the version in one operand and write it in another, since it
        writes last. A node with bodies may not: its bodies have one parameter for both."""
        return at if self.nodes[at].bodies else at + 1

    def _last_use(self, x: Symbol, at: int) -> int:
        """Return the last position that reads `x`, an output of node `at`, or -1. Only nodes from
        `at` on count: earlier nodes may have been replaced."""
        if self.last_use is None:
            self.last_use = {y: k for k in range(at, len(self.nodes))
                             for y in self.nodes[k].inputs}
            self.last_use.update((y, len(self.nodes)) for y in self.outputs)
        return self.last_use.get(x, -1)
