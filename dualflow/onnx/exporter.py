"""The exporter: writes the needed nodes of a trace in order, each op by its rule.

Calls are inlined, so that only branches and loops become subgraphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dualflow._core import Dim, Symbol, Tensor, Variable
from dualflow.errors import UnimplementedError
from dualflow.graph.ir import CALL, CONSTANT, VARIABLE, Graph, Input, Node, walk
from dualflow.graph.trace.dims import leaves
from dualflow.graph.trace.parameters import Argument, Feed, Number
from dualflow.graph.trace.trace import Trace
from dualflow.onnx.exporters import REASONS, RULES
from dualflow.onnx.exporters.registry import Application
from dualflow.onnx.values import Value
from dualflow.onnx.writer import Refused, Writer

NO_COMPLEX = ("and ONNX has no operators of complex numbers; df.math.real and df.math.imag return "
              "their parts")


class Exporter:
    """The export of one trace.

    Attributes
    ----------
    refused : list of str
        Ops that cannot be exported: op, line and reason.
    """

    def __init__(self, trace: Trace, writer: Writer) -> None:
        self.trace = trace
        self.refused: list[str] = []
        self.variables: dict[Variable, Value] = {}
        self._made = {y for node in walk(trace.nodes) for y in node.outputs}
        self.needed: set[Symbol] = self._needed(trace)
        writer.found = self._source

    def _source(self, x: Symbol) -> Symbol:
        """Return the value from which a size is taken."""
        return x if x in self._made else self.trace.outliner.recorded(x)

    # --- needed values ---

    def _needed(self, trace: Trace) -> set[Symbol]:
        """Return the values on which outputs and effects depend."""
        needed: set[Symbol] = {*trace.outputs, *self._sources(trace.returned)}
        for node in reversed(list(walk(trace.nodes))):
            if not (node.effect or any([y in needed for y in node.outputs])):
                continue
            if node.op is not CALL:
                needed.update(node.inputs)
            if node.op is CALL:
                needed.update([inner for inner, y in zip(node.bodies[0].outputs, node.outputs,
                                                         strict=False) if y in needed])
                needed.update(node.inputs)
            else:
                for body in node.bodies:
                    needed.update(body.outputs)
            needed.update(self._sizes(node))
        return needed

    def _sizes(self, node: Node) -> Iterator[Symbol]:
        """Yield the values from whose sizes the attributes of a node are computed."""
        numbers = list(node.attr_dict.values())
        if isinstance(node.data, Number):
            numbers.append(node.data.dim)
        for value in numbers:
            yield from self._sources(value if isinstance(value, tuple) else (value,))

    def _sources(self, numbers: Iterable[Any]) -> Iterator[Symbol]:
        """Yield the values from whose sizes numbers are computed."""
        for number in numbers:
            if isinstance(number, Dim):
                yield from [self._source(d.args[0]) for d in leaves(number)
                            if d.kind != "argument"]

    # --- nodes ---

    def write(self, w: Writer, graph: Graph) -> None:
        """Write the nodes of a graph, with calls inlined."""
        open_calls: list[tuple[Iterator[Node], Node | None]] = [(iter(graph.nodes), None)]
        while open_calls:
            nodes, owner = open_calls[-1]
            for node in nodes:
                if node.effect or any([y in self.needed for y in node.outputs]):
                    if node.op is CALL:
                        body = node.bodies[0]
                        self._bind(w, body.inputs, node.inputs)
                        open_calls.append((iter(body.nodes), node))
                        break
                    self._node(w, node)
            else:
                open_calls.pop()
                if owner is not None:
                    self._bind(w, owner.outputs, owner.bodies[0].outputs)

    def _bind(self, w: Writer, names: Any, values: Any) -> None:
        for x, y in zip(names, values, strict=False):
            found = w.find(y)
            if found is not None:
                w.values[x] = found

    def _node(self, w: Writer, node: Node) -> None:
        if isinstance(node.data, Input | Argument):
            return                                      # bound by the call, or a model input
        w.at = str(node.line) if node.line else ""
        try:
            made = self._written(w, node)
        except Refused as why:
            line = f" at {node.line}" if node.line else ""
            self.refused.append(f"{node.op.name}{line}: {why}")
            made = []
        made = list(made) if isinstance(made, list | tuple) else [made]
        for y, value in zip(node.outputs, made, strict=False):
            if value is not None:
                w.values[y] = value
            elif y in self.needed:
                self.refused.append(f"{node.op.name} at {node.line}: {y.name} is read, but no "
                                    "operator computes it")

    def _written(self, w: Writer, node: Node) -> Any:
        for y in node.outputs:
            if y.dtype.is_complex:
                raise Refused(f"{y.name} is {y.dtype.name}, {NO_COMPLEX}")
        if node.op is CONSTANT:
            assert isinstance(node.data, Tensor)
            return w.constant(node.data)
        if node.op is VARIABLE:
            return self._variable(w, node.data)
        if isinstance(node.data, Number):
            return w.number(node.data.dim).cast(node.data.dtype)
        if isinstance(node.data, Feed):
            raise Refused(REASONS["random_uniform"])
        name = node.op.name
        if name not in RULES:
            raise Refused(REASONS[name])
        if node.writes:
            raise Refused(REASONS["assign"])
        inputs = [w.find(x) for x in node.inputs]
        if any([x is None for x in inputs]):            # its producer was refused
            return []
        if node.bodies:
            return RULES[name](w, Application(node), *inputs, write_nodes=self.write)
        return RULES[name](w, Application(node), *inputs)

    def _variable(self, w: Writer, v: Variable) -> Value:
        if v not in self.variables:
            self.variables[v] = w.initializer(v.name or "variable", v.value())
        found = self.variables[v]
        return Value(w, found.name, found.dtype)

    def check(self, name: str) -> None:
        """Raise UnimplementedError that lists all refused ops."""
        if self.refused:
            listed = "\n  ".join(dict.fromkeys(self.refused))
            raise UnimplementedError(f"onnx.save: {name} has no form in ONNX:\n  {listed}")
