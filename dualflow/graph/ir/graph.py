"""Graphs: a list of nodes in execution order, with inputs and outputs.

`Trace` extends Graph while Python records, passes change graphs in place, `graph.program` lowers
them. A node comes after the nodes whose outputs it reads (`ir.check`).
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import Attrs, Op, Symbol, Tensor, Variable, infer, symbol
from dualflow._util.late_binding import late
from dualflow.graph.ir import control_flow
from dualflow.graph.ir.node import CONSTANT, Line, Node, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Graph:
    """A list of nodes, each after the producers of its inputs.

    Attributes
    ----------
    name : str
    nodes : list of Node
    inputs : list of Symbol
        Outputs of the parameter nodes, in the order of the arguments.
    outputs : list of Symbol
        Results of a run. New values of variables are not among them.
    numbers : list of number or Computed
        Python numbers that the function also returns.
    cached : Graph or None
        A graph of variables and constants only. Its outputs are parameters of this graph, and are
        computed again only after a variable has changed (`passes/cache_invariants.py`).
    n_versions : int
        Of a body: the number of its last outputs that are versions of variables its owner writes.
    changes : int
        Number of values that passes have replaced.
    generators : list of weak references to Generator
        Random generators that were created while the graph was recorded.
    is_open : bool
        Whether ops on its values are recorded in this graph even outside of its context.
    methods : type or None
        Class whose attributes its values have in addition to those of Tensor (`compat.v1`). Graphs
        with a face follow TensorFlow 1: arrays take the dtype of the other operand, quotients of
        int32 are float64, ``==`` compares identities.
    """

    is_open = False
    methods: type | None = None

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.inputs: list[Symbol] = []
        self.outputs: list[Symbol] = []
        self.numbers: list[Any] = []
        self.cached: Graph | None = None
        self.n_versions = 0
        self.changes = 0
        self.generators: list[Any] = []

    def empty_copy(self) -> Graph:
        """Return a graph of the same name without nodes."""
        return Graph(self.name)

    def add(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None = None, name: str = "",
            line: Line | None = None, data: Any = None, bodies: Sequence[Graph] = ()) -> Node:
        """Append a node and infer its outputs."""
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
        """Append a leaf of the dtype of `like`, and of its shape unless `shape` is given."""
        node = Node(op, (), None, (), name or op.name, line, data)
        node.outputs = (symbol(self, node, 0, like.dtype, like.shape if shape is None else shape),)
        self.nodes.append(node)
        return node.outputs[0]

    def constant(self, value: Tensor, name: str = "", line: Line | None = None) -> Symbol:
        """Append a constant."""
        return self.add_leaf(CONSTANT, value, name, line, value)

    def get_operations(self) -> list[Any]:
        """Return the nodes in the order of execution."""
        return list(self.nodes)

    def get_operation_by_name(self, name: str) -> Any:
        """Return the node of this name, or raise KeyError."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(f"the graph {self.name} has no operation {name!r}; there are "
                       f"{', '.join([node.name for node in self.nodes])}")

    def get_tensor_by_name(self, name: str) -> Any:
        """Return an output of a node by ``"node:index"``, or raise KeyError."""
        node, _, index = name.rpartition(":")
        if not node or not index.isdecimal():
            raise ValueError(f"{name!r} is not the name of a tensor, such as 'add:0'")
        outputs = self.get_operation_by_name(node).outputs
        if int(index) >= len(outputs):
            raise KeyError(f"{node!r} has {len(outputs)} outputs, no {name!r}")
        return outputs[int(index)]

    def text(self, lines: bool = True) -> str:
        """Return a line per node: values, op, attributes, types and, if `lines`, the user's line.
        """
        text: str = late("graph_text")(self, lines)
        return text

    def _repr_svg_(self) -> str:
        """Return the drawing that notebooks show."""
        drawn: str = late("draw")(self)
        return drawn

    def __repr__(self) -> str:
        return self.text()


def graphs(graph: Graph) -> list[Graph]:
    """Return a graph and all its bodies, each body before the graph that contains its owner."""
    control_flow = [node for node in graph.nodes if node.bodies]
    return [*[body for node in walk(control_flow) for body in node.bodies], graph]


def outputs_of(node: Node, graph: Graph) -> list[Symbol]:
    """Return new Symbols of the dtypes and shapes that the bodies, or the shape rule of the op,
    determine for the outputs of a node."""
    if node.bodies:
        return [symbol(graph, node, 0, dtype, shape) for dtype, shape in control_flow.made(node)]
    made = infer(node.op, list(node.inputs), node.attrs, graph)
    if node.writes:
        made += [symbol(graph, node, 0, x.dtype, x.shape) for i, x in enumerate(node.inputs)
                 if node.writes >> i & 1]
    return made
