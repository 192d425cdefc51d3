"""Inlining: replaces each call by the nodes of its body, also in bodies of other nodes.

Nodes keep their names and lines. Required even without optimisation: neither the planner nor the
program handles calls. A body may return a parameter unchanged, so a version may be read late
afterwards; `versions` must run next.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import Symbol
from dualflow.graph.ir import CALL, Copier, Graph, Node, Open, walk
from dualflow.graph.passes.options import Options


def run(graph: Graph, options: Options) -> Graph:
    """Return a graph without calls: a new graph if `graph` has calls, else `graph`."""
    found = n_calls(graph)
    if not found:
        return graph
    new = graph.empty_copy()
    inliner = Inliner(new)
    inliner.play(graph.nodes)
    new.inputs = [inliner.stands_for[x] for x in graph.inputs]
    new.outputs = [inliner.stands_for[x] for x in graph.outputs]
    new.changes = graph.changes + found
    return new


def n_calls(graph: Graph) -> int:
    """Return the number of calls in a graph and its bodies."""
    owners = [node for node in graph.nodes if node.bodies]
    return sum([node.op is CALL for node in walk(owners)])


class Inliner(Copier):
    """Copier that replays the body of a call into the graph of the call."""

    def begin(self, owner: Node, body: Graph) -> Graph:
        return self.graph if owner.op is CALL else super().begin(owner, body)

    def leaf(self, node: Node) -> Symbol:
        at, x = self.open[-1], node.outputs[0]
        inside = at.owner is not None and at.owner.op is CALL
        return self.bound[x] if inside and x in self.bound else super().leaf(node)

    def end(self, at: Open) -> None:
        if at.graph is not self.open[-2].graph:
            super().end(at)

    def own(self, node: Node, inputs: Sequence[Symbol],
            bodies: Sequence[Graph]) -> Sequence[Symbol]:
        if node.op is not CALL:
            return super().own(node, inputs, bodies)
        return [self.stands_for[y] for y in node.bodies[0].outputs]
