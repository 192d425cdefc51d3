"""The text form of graphs, nodes and values.

Used by `Graph.text`, the drawing, the memory plan and the program text. docs/ir.md has the grammar.
"""

from __future__ import annotations

from dualflow._core import Attrs, Op, Symbol, host_function
from dualflow.dtypes import DType
from dualflow.graph.ir import tile_text
from dualflow.graph.ir.node import CONSTANT, LEAVES, Node
from dualflow.ops.display import short_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from dualflow.graph.ir.graph import Graph

    class Typed(Protocol):
        """A value or its description: anything with a dtype and a shape."""

        @property
        def dtype(self) -> DType: ...
        @property
        def shape(self) -> tuple[Any, ...]: ...


class _Open:
    """The printing state of one graph."""

    def __init__(self, graph: Graph, title: str, indent: str) -> None:
        self.title = title
        self.indent = indent
        self.nodes = iter(graph.nodes)
        values = [y for node in graph.nodes for y in node.outputs]
        self.number = {y: k for k, y in enumerate(values)}
        returned = ", ".join(_value_text(x, self.number) for x in graph.outputs)
        self.end = f"{indent}return {returned}".rstrip()


def to_text(graph: Graph, lines: bool) -> str:
    """Return a graph as text, a line per node: values, op, attributes, types and the user's line.
    The bodies of a node follow its line, indented."""
    text: list[str] = []
    open_graphs = [_Open(graph, f"graph {graph.name}:", "  ")]
    while open_graphs:
        at = open_graphs[-1]
        if at.title:
            text.append(at.title)
            at.title = ""
        node = next(at.nodes, None)
        if node is None:
            text.append(at.end)
            open_graphs.pop()
            continue
        text.append(at.indent + _node_text(node, at.number, lines))
        indent = at.indent + "  "
        open_graphs += [_Open(body, f"{indent}body {body.name}:", indent + "  ")
                        for body in reversed(node.bodies)]
    return "\n".join(text)


def type_text(x: Typed) -> str:
    """Return the type of a value, such as `float32 (2, ?)`."""
    shape = x.known_shape if isinstance(x, Symbol) else x.shape
    dims = ", ".join("?" if d is None else str(d) for d in shape)
    return f"{x.dtype} ({dims}{',' if len(shape) == 1 else ''})"


def data_text(node: Node) -> str:
    """Return the text for the data of a leaf: a path, a name, or the elements of a constant."""
    if node.op is CONSTANT:
        return str(short_list(node.data)) if node.outputs[0].size <= 4 else "..."
    return repr(getattr(node.data, "name", node.data))


def attrs_text(op: Op, attrs: Attrs | None, n_inputs: int) -> str:
    """Return attributes as text, such as `axes=(0,), keepdims=False`. Long lists are cut, tile code
    is printed as steps, and a Python function as its name."""
    if attrs is None:
        return ""
    host = host_function(op, attrs)
    if host is not None:
        return repr(host.name)
    parts = []
    for (key, value), kind in zip(attrs.as_dict().items(), op.attr_types, strict=True):
        if key == tile_text.CODE:
            # Value 0 of the code of a product is the product itself, in place of its two operands.
            parts.append(tile_text.listing(value, n_inputs - ("shape" not in op.attrs)))
            continue
        text = tile_text.value_text(kind, value)
        parts.append(f"{key}={text if len(text) <= 60 else text[:56] + ' ...'}")
    return ", ".join(parts)


def _value_text(x: Symbol, number: dict[Symbol, int]) -> str:
    """Return the number of a value, as `%3`. If the graph does not define the value, which is an
    error of a pass, return its name."""
    return f"%{number[x]}" if x in number else f"<{x.name}>"


def _node_text(node: Node, number: dict[Symbol, int], lines: bool) -> str:
    outputs = ", ".join(f"%{number[y]}" for y in node.outputs)
    if node.op in LEAVES:
        inside = data_text(node)
    else:
        reads = ", ".join(_value_text(x, number) for x in node.inputs)
        attrs = attrs_text(node.op, node.attrs, len(node.inputs))
        inside = ", ".join(part for part in (reads, attrs) if part)
    types = ", ".join(type_text(y) for y in node.outputs)
    text = f"{outputs + ' = ' if outputs else ''}{node.op.name}({inside})"
    if types:
        text += f" : {types}"
    if node.wave:
        text += f" in wave {node.wave}"
    return f"{text}    # {node.line}" if lines and node.line else text
