"""Playing one graph into another: the walk that copies, specialises and inlines graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dualflow._core import Symbol, symbol
from dualflow.graph.ir.graph import Graph
from dualflow.graph.ir.node import LEAVES, Node


@dataclass
class Open:
    """A graph that a walk is inside of.

    Attributes
    ----------
    nodes : iterator of Node
        Those still to be played.
    graph : Graph
        Where they are played to.
    owner, body, inputs
        Of a body: the node that owns it, the body, and what stands for the node's inputs around it.
    made : list of Graph
        The bodies of that node that have been played.
    """

    nodes: Iterator[Node]
    graph: Graph
    owner: Node | None = None
    body: Graph | None = None
    inputs: list[Symbol] = field(default_factory=list)
    made: list[Graph] = field(default_factory=list)


class Copier:
    """Plays nodes, and the bodies they own, into a graph, each once.

    Hooks: `leaf`, `apply` and `own` add to the current graph what stands for a leaf, an application
    and a node whose bodies have been played; `begin` says where a body is played to, `end` finishes
    it.

    Attributes
    ----------
    graph : Graph
        The one that nodes are being added to.
    stands_for : dict of Symbol to Symbol
    bound : dict of Symbol to Symbol
        For an input of a body: what stands for that input of its node.
    open : list of Open
        The graph played to, and the bodies the walk is in, the innermost last.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph: Graph = graph
        self.stands_for: dict[Symbol, Symbol] = {}
        self.bound: dict[Symbol, Symbol] = {}
        self.open: list[Open] = [Open(iter(()), graph)]

    def play(self, nodes: Sequence[Node]) -> None:
        """Plays nodes in their order."""
        self.open = [Open(iter(nodes), self.graph)]
        while self.open:
            at = self.open[-1]
            node = self._until_owner(at.nodes)
            if node is not None:
                self._enter(node, [self.value_of(x) for x in node.inputs], [])
            elif at.owner is None:
                break
            else:
                self._leave(at)

    def _until_owner(self, nodes: Iterator[Node]) -> Node | None:
        """Plays up to a node that owns bodies, and returns that node."""
        step = self.step
        for node in nodes:
            if node.bodies:
                return node
            step(node)
        return None

    def step(self, node: Node) -> None:
        """Plays a node without bodies."""
        if node.op not in LEAVES:
            made = self.apply(node, [self.value_of(x) for x in node.inputs])
            self.stands_for.update(zip(node.outputs, made.outputs, strict=True))
        elif node.outputs[0] not in self.stands_for:
            self.stands_for[node.outputs[0]] = self.leaf(node)

    def _enter(self, node: Node, inputs: list[Symbol], made: list[Graph]) -> None:
        """Enters the next body of a node."""
        body = node.bodies[len(made)]
        self.bound.update(zip(body.inputs, inputs, strict=False))
        graph = self.begin(node, body)
        self.open.append(Open(iter(body.nodes), graph, node, body, inputs, made))
        self.turn_to(graph)

    def _leave(self, at: Open) -> None:
        node = at.owner
        assert node is not None
        self.end(at)
        at.made.append(at.graph)
        self.open.pop()
        self.turn_to(self.open[-1].graph)
        if len(at.made) < len(node.bodies):
            self._enter(node, at.inputs, at.made)
        else:
            made = self.own(node, at.inputs, at.made)
            self.stands_for.update(zip(node.outputs, made, strict=True))

    def turn_to(self, graph: Graph) -> None:
        """Makes a graph the current one."""
        self.graph = graph

    # --- hooks ---

    def value_of(self, x: Symbol) -> Symbol:
        """What stands for a value."""
        return self.stands_for[x]

    def leaf(self, node: Node) -> Symbol:
        """A parameter, constant or variable."""
        y = node.outputs[0]
        return self.graph.add_leaf(node.op, y, node.name, node.line, node.data, y.known_shape)

    def apply(self, node: Node, inputs: Sequence[Symbol], bodies: Sequence[Graph] = ()) -> Node:
        """An application, its outputs like those it had. A Rule is not copied: it refers to values
        of its own trace."""
        graph = self.graph
        made = Node(node.op, inputs, node.attrs, (), node.name, node.line)
        if bodies:
            made.own(bodies, node.writes)
        made.outputs = tuple([symbol(graph, made, k, y.dtype, y.known_shape)
                              for k, y in enumerate(node.outputs)])
        made.wave = node.wave
        graph.nodes.append(made)
        return made

    def begin(self, owner: Node, body: Graph) -> Graph:
        """Where a body is played to."""
        return Graph(body.name)

    def end(self, at: Open) -> None:
        """Called when a body has been played."""
        assert at.body is not None
        at.graph.inputs = [self.value_of(x) for x in at.body.inputs]
        at.graph.outputs = [self.value_of(y) for y in at.body.outputs]

    def own(self, node: Node, inputs: Sequence[Symbol],
            bodies: Sequence[Graph]) -> Sequence[Symbol]:
        """What stands for the outputs of a node whose bodies have been played."""
        return self.apply(node, inputs, bodies).outputs


def copy(graph: Graph) -> Graph:
    """The same graph with nodes, values and bodies of its own, for a caller that is going to change
    it."""
    new = graph.empty_copy()
    walk = Copier(new)
    walk.play(graph.nodes)
    new.inputs = [walk.stands_for[x] for x in graph.inputs]
    new.outputs = [walk.stands_for[x] for x in graph.outputs]
    return new
