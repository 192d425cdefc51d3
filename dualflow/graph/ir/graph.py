"""Graphs: nodes in order, what goes in and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualflow._core import Attrs, Op, Symbol, Tensor, Variable, infer, symbol
from dualflow._util.late_binding import late
from dualflow.graph.ir import owners
from dualflow.graph.ir.node import CONSTANT, Line, Node, walk
from dualflow.graph.ir.text import to_text


class Graph:
    """Nodes, each after those that make its inputs.

    Attributes
    ----------
    name : str
    nodes : list of Node
    inputs : list of Symbol
        Outputs of its parameter nodes, in the order of the call.
    outputs : list of Symbol
        What a run returns. Variables written are not among them.
    numbers : list of number or Computed
        Python numbers that the function returns besides.
    kept : Graph or None
        Computes, of variables and constants alone, parameters that are kept between runs.
    n_versions : int
        Of a body: how many of its last outputs are versions of variables that its owner writes.
    changes : int
        How many values passes have replaced by others.
    is_open : bool
        Whether ops on its values are recorded in it wherever they are applied.
    face : type or None
        What users see of its values, besides what all tensors have; None: nothing. Such graphs
        keep TensorFlow 1's manners: arrays take the dtype of the tensor beside them, quotients of
        int32 are float64, ``==`` compares identities.
    """

    is_open = False
    face: type | None = None

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.inputs: list[Symbol] = []
        self.outputs: list[Symbol] = []
        self.numbers: list[Any] = []
        self.kept: Graph | None = None
        self.n_versions = 0
        self.changes = 0

    def empty_copy(self) -> Graph:
        """A graph of the same name with nothing in it."""
        return Graph(self.name)

    def add(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None = None, name: str = "",
            line: Line | None = None, data: Any = None, bodies: Sequence[Graph] = ()) -> Node:
        """Appends a node of an op of the C table and infers its outputs."""
        node = Node(op, inputs, attrs, (), name or op.name, line, data, bodies)
        made = outputs_of(node, self)
        for k, y in enumerate(made):
            y.node, y.index = node, k
        node.outputs = tuple(made)
        self.nodes.append(node)
        return node

    def add_leaf(self, op: Op, like: Symbol | Tensor | Variable, name: str = "",
                 line: Line | None = None, data: Any = None,
                 shape: Sequence[int | None] | None = None) -> Symbol:
        """Appends a parameter, constant or variable node with the dtype and shape of `like`."""
        node = Node(op, (), None, (), name or op.name, line, data)
        node.outputs = (symbol(self, node, 0, like.dtype, like.shape if shape is None else shape),)
        self.nodes.append(node)
        return node.outputs[0]

    def constant(self, value: Tensor, name: str = "", line: Line | None = None) -> Symbol:
        """Appends a constant."""
        return self.add_leaf(CONSTANT, value, name, line, value)

    def text(self, lines: bool = True) -> str:
        """A line per node: values, op, attributes, types and, if asked for, the user's line."""
        return to_text(self, lines)

    def _repr_svg_(self) -> str:
        """Its drawing, which notebooks show."""
        drawn: str = late("draw")(self)
        return drawn

    def __repr__(self) -> str:
        return self.text()


def graphs(graph: Graph) -> list[Graph]:
    """A graph and those that its nodes own, each before the graph that contains its owner."""
    owners = [node for node in graph.nodes if node.bodies]
    return [*[body for node in walk(owners) for body in node.bodies], graph]


def outputs_of(node: Node, graph: Graph) -> list[Symbol]:
    """What a node's outputs must be like, according to its op's rule or to its bodies."""
    if node.bodies:
        return [symbol(graph, node, 0, dtype, shape) for dtype, shape in owners.made(node)]
    made = infer(node.op, list(node.inputs), node.attrs, graph)
    if node.writes:
        made += [symbol(graph, node, 0, x.dtype, x.shape) for i, x in enumerate(node.inputs)
                 if node.writes >> i & 1]
    return made
