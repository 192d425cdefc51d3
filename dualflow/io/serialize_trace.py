"""Serialisation of a trace as JSON. `replay.py` interprets the result.

Graphs are in one list: each body before its owner's graph, the whole trace last. Values are
numbered across all graphs. A step is a list that begins with its kind:

    ["argument", y, leaf]          ["constant", y, tensor]          ["variable", y, variable]
    ["key", y, generator]          ["number", y, dim, dtype]
    ["op", xs, ys, written, name, attributes]
    ["call", xs, ys, written, body, why]        `why`: the reason for a missing gradient, or None
    ["cond", xs, ys, written, bodies]
    ["loop", xs, ys, written, body, attributes, rounds]     `rounds`: see `rounds_of_loop`
    ["print", xs, arguments]                    see `dualflow.ops.printing.printing`
    ["check", xs, arguments]                    see `dualflow.io.checks.check`
    ["guard", op, dims, answer, line]           a decision of Python that depends on sizes

`written` are pairs of versions of variables, overwritten and new. A list among attributes is
{"all": list}. A number that depends on sizes is a list of steps, each [operator, operands] with
numbers or ["#", step] as operands; other numbers are themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow._core import Dim, Symbol, Tensor, Variable, host_function
from dualflow.dtypes import ALL
from dualflow.errors import UnimplementedError
from dualflow.graph.ir import (
    CALL,
    COND,
    CONSTANT,
    LOOP,
    VARIABLE,
    Graph,
    Input,
    Node,
    Rule,
    graphs,
    walk,
)
from dualflow.graph.trace.dims import LEAF_KINDS, in_order
from dualflow.graph.trace.parameters import Argument, Feed, Guard, Number
from dualflow.graph.trace.record_loop import rounds_of_loop
from dualflow.graph.trace.specialize import by_last_leaf
from dualflow.graph.trace.trace import Trace
from dualflow.io import checks
from dualflow.ops.printing import Printing
from dualflow.ops.random.random_generator import Generator

NAMED = "constant", "variable", "key", "saved"      # steps that end with a name of saved data


class SerializedTrace:
    """The serialisation of a trace.

    Parameters
    ----------
    trace : Trace
    name : callable
        Returns the name in the file of a Variable, Tensor or Generator.

    Attributes
    ----------
    graphs : list
        For each graph: the numbers of its inputs; of its outputs, the last of which are versions of
        variables; the number of versions; its steps; and pairs of an input and a value of the same
        sizes, possibly in another body, by which Python's size arithmetic refers to them.
    """

    def __init__(self, trace: Trace, name: Callable[[Variable | Tensor | Generator], str]) -> None:
        self.trace = trace
        self._name = name
        self._number: dict[Symbol, int] = {}
        self._guards = by_last_leaf(trace)
        self._places: dict[Graph, int] = {}
        self._made = {y for node in walk(trace.nodes) for y in node.outputs}
        self.graphs: list[Any] = []
        for graph in graphs(trace):
            self._places[graph] = len(self.graphs)
            steps = [self._guard(guard) for guard in self._guards.get(None, ())
                     ] if graph is trace else []
            for node in graph.nodes:
                step = self._step(node)
                steps += [] if step is None else [step]
                steps += [self._guard(guard) for guard in self._guards.get(node, ())]
            self.graphs.append([self._all(graph.inputs), self._all(graph.outputs),
                                graph.n_versions, steps, self._same_sizes(graph)])

    def _same_sizes(self, graph: Graph) -> list[list[int]]:
        if graph is self.trace:
            return []
        recorded = [(x, self.trace.outliner.recorded(x)) for x in graph.inputs]
        return [[self._at(x), self._at(y)] for x, y in recorded if x is not y]

    def _at(self, x: Symbol) -> int:
        return self._number.setdefault(x, len(self._number))

    def _all(self, xs: Any) -> list[int]:
        return [self._at(x) for x in xs]

    def _step(self, node: Node) -> list[Any] | None:
        data, places = node.data, [self._places[body] for body in node.bodies]
        if node.op is CONSTANT or node.op is VARIABLE:
            return [node.op.name, self._at(node.outputs[0]), self._name(data)]
        if isinstance(data, Input):
            return None
        if isinstance(data, Argument):
            return ["argument", self._at(node.outputs[0]), data.leaf]
        if isinstance(data, Number):
            return ["number", self._at(node.outputs[0]), self.dim(data.dim), data.dtype.name]
        if isinstance(data, Feed):
            return ["key", self._at(node.outputs[0]), self._name(self._generator(node))]
        written = [self._all(pair) for pair in node.written]
        flow = [self._all(node.inputs), self._all(node.outputs)[:len(node.outputs) - len(written)],
                written]
        if node.op is CALL:
            why = f"{data!r} is Python code" if isinstance(data, Rule) else None
            return ["call", *flow, places[0], why]
        if node.op is COND:
            return ["cond", *flow, places]
        if node.op is LOOP:
            return ["loop", *flow, places[0], self._attributes(node), rounds_of_loop(node)]
        host = None if node.attrs is None else host_function(node.op, node.attrs)
        if host is not None:
            call: Any = host.call
            prints = isinstance(call, Printing)
            said = call.description() if prints else checks.description(call)
            if said is None:
                raise self._refused(node, "calls Python")
            return ["print" if prints else "check", self._all(node.inputs), said]
        return ["op", *flow, node.op.name, self._attributes(node)]

    def _generator(self, node: Node) -> Generator:
        source = getattr(node.data.make, "__self__", None)
        if not isinstance(source, Generator):
            raise self._refused(node, "requires a value from Python at each run")
        return source

    def _refused(self, node: Node, why: str) -> UnimplementedError:
        at = f" (made at {node.line})" if node.line else ""
        return UnimplementedError(f"save: {self.trace.name} cannot be saved: {node.name}{at} {why}")

    def _attributes(self, node: Node) -> dict[str, Any]:
        """Return attributes by name; dtypes are given by name."""
        kinds = dict(zip(node.op.attrs, node.op.attr_types, strict=True))
        return {key: ALL[value].name if kinds[key] == "dtype" else
                {"all": [self.dim(v) for v in value]} if isinstance(value, tuple)
                else self.dim(value)
                for key, value in node.attr_dict.items()}

    # --- numbers that depend on sizes ---

    def dim(self, x: Any) -> Any:
        """Return a number, or the steps that compute it."""
        if not isinstance(x, Dim):
            return x
        steps: list[Any] = []
        place: dict[int, int] = {}
        for d in in_order(x):
            args = d.args
            if d.kind in LEAF_KINDS and d.kind != "argument":
                args = (self._at(self._in_graph(args[0])), *args[1:])
            place[id(d)] = len(steps)
            steps.append([d.kind, [["#", place[id(a)]] if isinstance(a, Dim) else a
                                   for a in args]])
        return steps

    def _in_graph(self, x: Symbol) -> Symbol:
        """Return the value of a node from which a size is taken."""
        found = x if x in self._made else self.trace.outliner.recorded(x)
        if found not in self._made:
            raise self._refused(x.node, "has a size that is used, but is not in the graph")
        return found

    def _guard(self, guard: Guard) -> list[Any]:
        return ["guard", guard.op, [self.dim(a) for a in guard.args], guard.answer,
                str(guard.line)]
