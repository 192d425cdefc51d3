"""Canonical updates of variables: a computation, which can join a cluster, and an `assign`.

    assign_add(v, d)   ->  s = add(v, d);       assign(v, s)    the kernel is add's tile function
    assign_sub(v, d)   ->  s = subtract(v, d);  assign(v, s)    and subtract's: the same bits

Readers of the version that ``assign(v, x)`` creates read x instead. So an assignment that another
one follows has no readers and is dropped, unless a node in between may raise: the variable must
then hold the first value. If x is a version that is overwritten later, readers are not changed.
"""

from __future__ import annotations

from dualflow._core import Symbol, get_op
from dualflow.graph.ir import Graph, Node
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import is_known

ASSIGN = get_op("assign")
COMPUTED = {get_op("assign_add"): get_op("add"), get_op("assign_sub"): get_op("subtract")}


def run(graph: Graph, options: Options) -> Graph:
    """Rewrite the nodes that write variables, and the readers of the new versions."""
    if not any([node.writes for node in graph.nodes]):
        return graph
    old, graph.nodes = graph.nodes, []
    return _Run(graph).go(old)


class _Run:
    """One pass over the nodes.

    `reads` maps a version to its replacement for readers, `versions` to its replacement for
    writers. `unread` maps a version that is not read any more, not even after a failure, to the
    assignment that creates it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.reads: dict[Symbol, Symbol] = {}
        self.versions: dict[Symbol, Symbol] = {}
        self.unread: dict[Symbol, Node] = {}
        self.dropped: set[Node] = set()
        self.overwritten: set[Symbol] = set()

    def go(self, old: list[Node]) -> Graph:
        graph, reads = self.graph, self.reads
        self.overwritten.update([before for node in old if node.writes
                                 for before, _ in node.written])
        for node in old:
            if node.op is ASSIGN:
                self.assign(node, node.inputs[0], reads.get(node.inputs[1], node.inputs[1]))
            elif (node.op in COMPUTED and is_known(node.inputs[1])
                  and node.outputs[0].dtype.name in COMPUTED[node.op].dtypes):
                self.compute(node)
            else:
                node.inputs = self.inputs_of(node)
                graph.nodes.append(node)
                if self.unread and node.may_raise:
                    self.unread.clear()
        graph.nodes = [node for node in graph.nodes if node not in self.dropped]
        n = len(graph.outputs) - graph.n_versions           # the other outputs are versions
        graph.outputs = [*[reads.get(x, x) for x in graph.outputs[:n]],
                         *[self.versions.get(x, x) for x in graph.outputs[n:]]]
        return graph

    def inputs_of(self, node: Node) -> tuple[Symbol, ...]:
        """Return the replaced inputs of a node."""
        if not self.reads and not self.versions:
            return node.inputs
        return tuple([(self.versions if node.writes >> i & 1 else self.reads).get(x, x)
                      for i, x in enumerate(node.inputs)])

    def compute(self, node: Node) -> None:
        """Split a node into a computation and an assignment."""
        variable, change = [self.reads.get(x, x) for x in node.inputs]
        value = self.graph.add(COMPUTED[node.op], (variable, change), None, f"{node.name}/value",
                               node.line).outputs[0]
        self.graph.changes += 1
        self.assign(node, node.inputs[0], value)

    def assign(self, node: Node, variable: Symbol, value: Symbol) -> None:
        """Replace `node`, which assigns `value`, by an assignment to the current version."""
        version, after = self.versions.get(variable, variable), node.outputs[0]
        if value is self.reads.get(variable, variable):
            self.reads[after], self.versions[after] = value, version
            self.graph.changes += 1
            return
        before = self.unread.get(version)
        if before is not None:
            self.dropped.add(before)
            self.graph.changes += 1
            version = before.inputs[0]
        if node.op is ASSIGN:
            node.inputs = (version, value)
            self.graph.nodes.append(node)
        else:
            node = self.graph.add(ASSIGN, (version, value), None, node.name, node.line)
            self.versions[after] = node.outputs[0]
        if value not in self.overwritten and is_known(value):
            self.reads[after] = value
            self.unread[node.outputs[0]] = node
