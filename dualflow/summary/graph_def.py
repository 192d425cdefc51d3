"""Conversion of graphs to TensorBoard's GraphDef: nodes in scopes with types, shapes, attributes
and control inputs.

The bodies of a branch, a loop or a call are scopes below the name of their node. The node's inputs
are edges to the parameters of the bodies, and the outputs of the bodies are edges to the node.
Nodes added by a gradient are in the scope `gradients`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dualflow._core import Symbol, Tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import DType
from dualflow.errors import DTypeError
from dualflow.graph.ir import (
    CONSTANT,
    LEAVES,
    PARAMETER,
    VARIABLE,
    Graph,
    Input,
    Node,
    attrs_text,
    data_text,
    tile_text,
)
from dualflow.graph.trace.parameters import CachedParameter
from dualflow.summary.tensorboard import part, proto

DEVICE = "/device:CPU:0"
GRADIENTS = "gradients/"
SHOWN = 16                # largest size of a constant whose value is written

LEAF_OPS = {PARAMETER: "Placeholder", CONSTANT: "Const", VARIABLE: "VariableV2"}


class _Open:
    """A cursor over the nodes of one graph."""

    def __init__(self, graph: Graph, scope: str, owner: Node | None = None) -> None:
        self.graph = graph
        self.scope = scope
        self.owner = owner
        # Graphs of sessions also have operations that programs do not have: text, summaries.
        self.nodes: Iterator[Node] = iter(getattr(graph, "operations", graph.nodes))
        self.last_effect = ""       # the previous node with a side effect


class GraphDefWriter:
    """Writes a graph and the bodies of its nodes as a GraphDef.

    Attributes
    ----------
    graph_def : GraphDef
    names : dict of Node to str
        The names of the nodes in the GraphDef.
    """

    def __init__(self) -> None:
        self.graph_def: Any = proto("graph").GraphDef()
        self.graph_def.versions.producer = 22
        self.names: dict[Node, str] = {}
        self._taken: set[str] = set()
        self._flows: dict[Symbol, str] = {}     # the input edge of each body parameter
        self._returned: dict[Node, list[str]] = {}  # per owner, the outputs of its bodies

    def write(self, graph: Graph, scope: str = "") -> None:
        """Append the nodes of a graph, after the nodes whose results are cached between runs."""
        if graph.cached is not None:
            self._write(graph.cached, f"{scope}cached/")
        self._write(graph, scope)

    def _write(self, graph: Graph, scope: str) -> None:
        stack = [_Open(graph, scope)]
        while stack:
            at = stack[-1]
            node = next(at.nodes, None)
            if node is None:
                if at.owner is not None:
                    self._returned[at.owner] += [self._flow(x) for x in at.graph.outputs]
                stack.pop()
                continue
            if node.bodies and node not in self._returned and not passes_on(node):
                self.names[node] = self._name(node, at)
                at.nodes = _again(node, at.nodes)
                stack += self._inside(node)
                continue
            self._node(node, at)

    def _inside(self, owner: Node) -> list[_Open]:
        """Open the bodies of a node. Inputs that no body reads, such as the branch index, become
        edges to the node itself."""
        opened = []
        read_inside = set()
        for k, body in enumerate(owner.bodies):
            label = "" if len(owner.bodies) == 1 else f"branch_{k}/"
            opened.append(_Open(body, f"{self.names[owner]}/{label}", owner))
            read = {x for node in body.nodes for x in node.inputs} | set(body.outputs)
            for x, parameter in zip(owner.inputs, body.inputs, strict=True):
                if parameter in read:
                    self._flows[parameter] = self._flow(x)
                    read_inside.add(x)
        self._returned[owner] = [self._flow(x) for x in owner.inputs if x not in read_inside]
        return opened[::-1]

    # --- names ---

    def scope(self, name: str) -> str:
        """Return an unused scope name, with its slash."""
        return f"{self._unique(valid(name) or 'graph')}/"

    def _name(self, node: Node, at: _Open) -> str:
        """Return a unique name for a node."""
        name = valid(node.name) or node.op.name
        if at.owner is not None:            # remove the scopes that the node shares with its owner
            name = f"input_{node.data.place}" if node.op is PARAMETER else name.removeprefix(
                at.owner.name.rpartition("/")[0] + "/")
        elif node.line and node.line.gradient_of and not name.startswith("gradients"):
            name = GRADIENTS + name
        return self._unique(at.scope + name)

    def _unique(self, name: str) -> str:
        """Return a name, with a number appended if it is used already."""
        whole, n = name, 0
        while whole in self._taken:
            n += 1
            whole = f"{name}_{n}"
        self._taken.add(whole)
        return whole

    def _flow(self, x: Symbol) -> str:
        """Return a value as an input: the name of its node, and the output index if not 0."""
        name = self.names.get(x.node)
        if name is None:
            return self._flows.get(x, "")
        return f"{name}:{x.index}" if x.index else name

    # --- nodes ---

    def _node(self, node: Node, at: _Open) -> None:
        inputs = self._returned.get(node) or [self._flow(x) for x in node.inputs]
        if at.owner is not None and node.op is PARAMETER:
            if node.outputs[0] not in self._flows:
                return
            inputs = [self._flows[node.outputs[0]]]
        elif isinstance(node.data, CachedParameter) and at.graph.cached is not None:
            inputs = [self._flow(at.graph.cached.outputs[node.data.place])]
        name = self.names.get(node) or self._name(node, at)
        self.names[node] = name
        made = self.graph_def.node.add(name=name, op=op_name(node), device=DEVICE)
        made.input.extend([x for x in inputs if x])
        made.input.extend([f"^{before}" for before in self._before(node, at) if before])
        if node.effect and not node.writes:
            at.last_effect = name
        self._attributes(node, made.attr)

    def _before(self, node: Node, at: _Open) -> list[str]:
        """Return the control inputs of a node: those set by its author, or the previous side effect
        if it has one."""
        said = getattr(node, "control_inputs", None)
        if said is not None:
            return [self.names.get(other, "") for other in said]
        return [at.last_effect] if node.effect and not node.writes else []

    def _attributes(self, node: Node, attr: Any) -> None:
        """Write dtypes and shapes of the outputs, attributes of the op, and the source line."""
        outputs = [y for y in node.outputs if isinstance(y, Symbol)]
        for y in outputs:
            shape = attr["_output_shapes"].list.shape.add()
            for d in y.known_shape:
                shape.dim.add(size=-1 if d is None else d)
        if len(outputs) == 1:
            attr["dtype" if node.op in LEAVES else "T"].type = data_type(outputs[0].dtype)
        else:
            attr["T"].list.type.extend([data_type(y.dtype) for y in outputs])
        if node.op is CONSTANT and isinstance(node.data, Tensor):
            if node.data.size <= SHOWN and node.data.dtype.is_numpy_compatible:
                make = part("util.tensor_util").make_tensor_proto
                attr["value"].tensor.CopyFrom(make(node.data.numpy()))
        elif node.op is VARIABLE:
            attr["shared_name"].s = data_text(node).encode()
        elif node.attrs is not None:
            attr["attributes"].s = self._text(node).encode()
        if node.line:
            attr["line"].s = str(node.line).encode()

    def _text(self, node: Node) -> str:
        """Return the attributes of an application as text; for a cluster its steps."""
        if tile_text.CODE in node.op.attrs and node.attrs is not None:
            return tile_text.to_text(node.attrs.as_dict()[tile_text.CODE])
        return attrs_text(node.op, node.attrs, len(node.inputs))


def _again(node: Node, rest: Iterator[Node]) -> Iterator[Node]:
    yield node
    yield from rest


def op_name(node: Node) -> str:
    """Return the op name of a node, in TensorFlow's terms where TensorBoard knows them."""
    if isinstance(node.data, Input | CachedParameter) or passes_on(node):
        return "Identity"
    return LEAF_OPS.get(node.op, node.op.name) if node.type == node.op.name else node.type


def passes_on(node: Node) -> bool:
    """Return True if the bodies of a node have only parameters: a gradient rule around existing
    values."""
    inside = [inner for body in node.bodies for inner in body.nodes]
    return bool(inside) and all([inner.op is PARAMETER for inner in inside])


def valid(name: str) -> str:
    """Replace the characters of a name that TensorFlow does not allow."""
    return re.sub(r"[^\w.\\/>-]+", "_", name).strip("_/")


def data_type(dtype: DType) -> int:
    """Return the DataType number of a dtype."""
    names = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF"}
    name = names.get(dtype.name, f"DT_{dtype.name.upper()}")
    number: int = proto("types").DataType.Value(name)
    return number


def to_graph_def(graph: Graph) -> tuple[Any, dict[Node, str]]:
    """Return a graph as a GraphDef, and the names of its nodes."""
    writer = GraphDefWriter()
    writer.write(graph)
    return writer.graph_def, writer.names


def as_graph_def(graph: Any) -> Any:
    """Return the GraphDef of a graph or a concrete function; a GraphDef is returned unchanged."""
    if isinstance(graph, proto("graph").GraphDef):
        return graph
    found = getattr(graph, "graph", graph)
    if not isinstance(found, Graph):
        raise DTypeError(f"graph: got {shown(graph)}, expected a df.Graph, a concrete function, "
                         "its graph, or a GraphDef")
    return to_graph_def(found)[0]
