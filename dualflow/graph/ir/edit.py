"""Changing a graph in place, node by node: what most passes are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dualflow._core import Symbol
from dualflow.graph.ir.graph import Graph
from dualflow.graph.ir.node import Node

Edit = Callable[[Graph, Node], "Sequence[Symbol] | None"]


def edit(graph: Graph, visit: Edit) -> Graph:
    """Changes a graph in place, going through its nodes in order once.

    Nodes that stay are the same objects, and their types are not inferred again, so that a pass
    costs little where it changes nothing. Bodies stay as they are: a size may be known outside but
    not inside.

    Parameters
    ----------
    graph : Graph
    visit : callable (graph, node) -> sequence of Symbol, or None
        Returns what stands for the node's outputs, after adding any nodes it needs in its place;
        None: the node stays. The node's inputs are up to date.

    Notes
    -----
    An answer that would make a version of a variable be read after it is overwritten is rejected:
    the node stays. So `visit` need not think about versions.
    """
    old, graph.nodes = graph.nodes, []
    stands_for: dict[Symbol, Symbol] = {}
    retyped: set[Symbol] = set()
    versions = _Versions(old, graph.outputs)
    for at, node in enumerate(old):
        outputs = node.outputs
        if stands_for and any([x in stands_for for x in node.inputs]):
            node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
            if retyped and not node.bodies and any([x in retyped for x in node.inputs]):
                node = graph.add(node.op, node.inputs, node.attrs, node.name, node.line)
                graph.nodes.pop()
        start = len(graph.nodes)
        found = visit(graph, node)
        if found is None or not versions.allow(at, outputs, found, graph.nodes[start:]):
            del graph.nodes[start:]
            graph.nodes.append(node)
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
    """Which versions of variables a graph overwrites where, by the place in its list of nodes."""

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
        """Whether no overwritten version is read if `found` replaces the outputs of node `at`, and
        `added` the node."""
        if not self.overwritten:
            return True
        if any([self.overwritten.get(x, at) < at for node in added for x in node.inputs]):
            return False
        return all([self._last_use(before, at) < self._read_until(self.overwritten[after])
                    for before, after in zip(outputs, found, strict=True)
                    if after in self.overwritten and after is not before])

    def _read_until(self, at: int) -> int:
        """The place from which on nobody may read what node `at` overwrites: its bodies see one
        version, which they read and write, others compute before they write."""
        return at if self.nodes[at].bodies else at + 1

    def _last_use(self, x: Symbol, at: int) -> int:
        """The last place that reads `x`, made by node `at`; nodes before `at` may have changed."""
        if self.last_use is None:
            self.last_use = {y: k for k in range(at, len(self.nodes))
                             for y in self.nodes[k].inputs}
            self.last_use.update((y, len(self.nodes)) for y in self.outputs)
        return self.last_use.get(x, -1)
