"""Replay of the nodes of one graph into another.

`Copier` is the base of copying, specialisation (`trace/specialize.py`) and inlining
(`passes/inline.py`). It does not recurse: the nesting depth of bodies is not limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dualflow._core import Symbol, symbol
from dualflow.graph.ir.graph import Graph
from dualflow.graph.ir.node import LEAVES, Node


class Open:
    """A graph that is being replayed: an entry of the stack of a Copier.

    Attributes
    ----------
    nodes : iterator of Node
        The nodes that remain.
    graph : Graph
        The target.
    owner, body, inputs
        Of a body: its owner, the body, and the new values for the inputs of the owner.
    made : list of Graph
        The new bodies of the owner so far.
    """

    def __init__(self, nodes: Iterator[Node], graph: Graph, owner: Node | None = None,
                 body: Graph | None = None, inputs: list[Symbol] | None = None,
                 made: list[Graph] | None = None) -> None:
        self.nodes, self.graph = nodes, graph
        self.owner, self.body = owner, body
        self.inputs: list[Symbol] = [] if inputs is None else inputs
        self.made: list[Graph] = [] if made is None else made


class Copier:
    """Replays nodes and their bodies into a graph, each once.

    Hooks for subclasses: `leaf`, `apply` and `own` add the replacement of a leaf, of an application
    and of a node whose bodies have been replayed; `begin` returns the target of a body, `end`
    completes it.

    Attributes
    ----------
    graph : Graph
        The current target.
    stands_for : dict of Symbol to Symbol
        From an old value to its new value.
    bound : dict of Symbol to Symbol
        From a parameter of an old body to the new value of that input of its owner.
    open : list of Open
        The stack: the root graph, then the open bodies, the innermost last.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph: Graph = graph
        self.stands_for: dict[Symbol, Symbol] = {}
        self.bound: dict[Symbol, Symbol] = {}
        self.open: list[Open] = [Open(iter(()), graph)]

    def play(self, nodes: Sequence[Node]) -> None:
        """Replay nodes in order."""
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
        """Replay up to the next node that owns bodies, and return that node or None."""
        step = self.step
        for node in nodes:
            if node.bodies:
                return node
            step(node)
        return None

    def step(self, node: Node) -> None:
        """Replay a node without bodies."""
        if node.op not in LEAVES:
            made = self.apply(node, [self.value_of(x) for x in node.inputs])
            self.stands_for.update(zip(node.outputs, made.outputs, strict=True))
        elif node.outputs[0] not in self.stands_for:
            self.stands_for[node.outputs[0]] = self.leaf(node)

    def _enter(self, node: Node, inputs: list[Symbol], made: list[Graph]) -> None:
        """Start the replay of the next body of a node."""
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
        """Make `graph` the current target."""
        self.graph = graph

    # --- hooks ---

    def value_of(self, x: Symbol) -> Symbol:
        """Return the new value of `x`."""
        return self.stands_for[x]

    def leaf(self, node: Node) -> Symbol:
        """Add the replacement of a parameter, constant or variable."""
        y = node.outputs[0]
        return self.graph.add_leaf(node.op, y, node.name, node.line, node.stored, y.known_shape)

    def apply(self, node: Node, inputs: Sequence[Symbol], bodies: Sequence[Graph] = ()) -> Node:
        """Add a copy of an application, with outputs of the same types. `data` is not copied: a
        Rule refers to values of the old trace."""
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
        """Return the target graph of a body."""
        return Graph(body.name)

    def end(self, at: Open) -> None:
        """Complete a body whose nodes have all been replayed."""
        assert at.body is not None
        at.graph.inputs = [self.value_of(x) for x in at.body.inputs]
        at.graph.outputs = [self.value_of(y) for y in at.body.outputs]

    def own(self, node: Node, inputs: Sequence[Symbol],
            bodies: Sequence[Graph]) -> Sequence[Symbol]:
        """Add the replacement of a node whose new bodies are `bodies`; return its outputs."""
        return self.apply(node, inputs, bodies).outputs


def copy(graph: Graph) -> Graph:
    """Return a deep copy of a graph: new nodes, values and bodies."""
    new = graph.empty_copy()
    walk = Copier(new)
    walk.play(graph.nodes)
    new.inputs = [walk.stands_for[x] for x in graph.inputs]
    new.outputs = [walk.stands_for[x] for x in graph.outputs]
    return new
