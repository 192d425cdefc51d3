"""Graphs as TensorBoard shows them: nodes in scopes, types, shapes, attributes, control inputs.

The bodies of a branch, a loop or a call are scopes below the name of their node: what goes in flows
to their parameters, and what comes out flows to the node. What a gradient added is in the scope
`gradients`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dualflow._core import Symbol, Tensor
from dualflow.arguments import shown
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
from dualflow.graph.trace.parameters import Kept
from dualflow.summary.tensorboard import part, proto

DEVICE = "/device:CPU:0"
GRADIENTS = "gradients/"
SHOWN = 16                # elements of a constant that is written out

LEAF_OPS = {PARAMETER: "Placeholder", CONSTANT: "Const", VARIABLE: "VariableV2"}


class _Open:
    """Where the writing of one graph is."""

    def __init__(self, graph: Graph, scope: str, owner: Node | None = None) -> None:
        self.graph = graph
        self.scope = scope
        self.owner = owner
        # A session's graph has operations that no program has: text, summaries.
        self.nodes: Iterator[Node] = iter(getattr(graph, "operations", graph.nodes))
        self.last_effect = ""       # the node that the next one with an effect comes after


class GraphDefWriter:
    """Writes a graph, and what its nodes own, as a GraphDef.

    Attributes
    ----------
    graph_def : GraphDef
    names : dict of Node to str
        What nodes are called in it.
    """

    def __init__(self) -> None:
        self.graph_def: Any = proto("graph").GraphDef()
        self.graph_def.versions.producer = 22
        self.names: dict[Node, str] = {}
        self._taken: set[str] = set()
        self._flows: dict[Symbol, str] = {}     # what a body's parameter stands for
        self._returned: dict[Node, list[str]] = {}  # by owner, the outputs of its bodies

    def write(self, graph: Graph, scope: str = "") -> None:
        """Appends the nodes of a graph; those that it keeps between runs come first."""
        if graph.kept is not None:
            self._write(graph.kept, f"{scope}kept/")
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
        """The bodies of a node, about to be written. What none of them reads flows to the node
        itself, as what decides which one is taken."""
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
        """A scope that no node is in yet, with its slash."""
        return f"{self._unique(valid(name) or 'graph')}/"

    def _name(self, node: Node, at: _Open) -> str:
        """A name for a node, which no other has."""
        name = valid(node.name) or node.op.name
        if at.owner is not None:            # scopes that it shares with its owner are there already
            name = f"input_{node.data.place}" if node.op is PARAMETER else name.removeprefix(
                at.owner.name.rpartition("/")[0] + "/")
        elif node.line and node.line.gradient_of and not name.startswith("gradients"):
            name = GRADIENTS + name
        return self._unique(at.scope + name)

    def _unique(self, name: str) -> str:
        """A name with a number appended if it is taken."""
        whole, n = name, 0
        while whole in self._taken:
            n += 1
            whole = f"{name}_{n}"
        self._taken.add(whole)
        return whole

    def _flow(self, x: Symbol) -> str:
        """A value as an input: the name of its node, and which of its outputs it is."""
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
        elif isinstance(node.data, Kept) and at.graph.kept is not None:
            inputs = [self._flow(at.graph.kept.outputs[node.data.place])]
        name = self.names.get(node) or self._name(node, at)
        self.names[node] = name
        made = self.graph_def.node.add(name=name, op=op_name(node), device=DEVICE)
        made.input.extend([x for x in inputs if x])
        made.input.extend([f"^{before}" for before in self._before(node, at) if before])
        if node.effect and not node.writes:
            at.last_effect = name
        self._attributes(node, made.attr)

    def _before(self, node: Node, at: _Open) -> list[str]:
        """What it comes after, besides what makes its inputs: what its author said, else the last
        effect if it has one."""
        said = getattr(node, "control_inputs", None)
        if said is not None:
            return [self.names.get(other, "") for other in said]
        return [at.last_effect] if node.effect and not node.writes else []

    def _attributes(self, node: Node, attr: Any) -> None:
        """Dtypes and shapes of the outputs, the op's attributes, the user's line."""
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
            if node.data.size <= SHOWN and node.data.dtype.name != "bfloat16":
                make = part("util.tensor_util").make_tensor_proto
                attr["value"].tensor.CopyFrom(make(node.data.numpy()))
        elif node.op is VARIABLE:
            attr["shared_name"].s = data_text(node).encode()
        elif node.attrs is not None:
            attr["attributes"].s = self._text(node).encode()
        if node.line:
            attr["line"].s = str(node.line).encode()

    def _text(self, node: Node) -> str:
        """Attributes of an application; of a cluster its steps."""
        if tile_text.CODE in node.op.attrs and node.attrs is not None:
            return tile_text.to_text(node.attrs.as_dict()[tile_text.CODE])
        return attrs_text(node.op, node.attrs, len(node.inputs))


def _again(node: Node, rest: Iterator[Node]) -> Iterator[Node]:
    yield node
    yield from rest


def op_name(node: Node) -> str:
    """What kind of node it is, in TensorFlow's words where TensorBoard knows these."""
    if isinstance(node.data, Input | Kept) or passes_on(node):
        return "Identity"
    return LEAF_OPS.get(node.op, node.op.name) if node.type == node.op.name else node.type


def passes_on(node: Node) -> bool:
    """Whether it has bodies in which nothing happens: a rule for gradients, around values that are
    there already."""
    inside = [inner for body in node.bodies for inner in body.nodes]
    return bool(inside) and all([inner.op is PARAMETER for inner in inside])


def valid(name: str) -> str:
    """A name without what TensorFlow does not allow in one."""
    return re.sub(r"[^\w.\\/>-]+", "_", name).strip("_/")


def data_type(dtype: DType) -> int:
    """A dtype in the numbers of DataType."""
    names = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF"}
    name = names.get(dtype.name, f"DT_{dtype.name.upper()}")
    number: int = proto("types").DataType.Value(name)
    return number


def to_graph_def(graph: Graph) -> tuple[Any, dict[Node, str]]:
    """A graph as a GraphDef, and the names of its nodes there."""
    writer = GraphDefWriter()
    writer.write(graph)
    return writer.graph_def, writer.names


def as_graph_def(graph: Any) -> Any:
    """The GraphDef of a graph or of a concrete function; one that is given is handed on."""
    if isinstance(graph, proto("graph").GraphDef):
        return graph
    found = getattr(graph, "graph", graph)
    if not isinstance(found, Graph):
        raise DTypeError(f"graph: got {shown(graph)}, want a df.Graph, a concrete function, its "
                         "graph, or a GraphDef")
    return to_graph_def(found)[0]
