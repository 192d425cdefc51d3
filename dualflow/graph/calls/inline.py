"""Replay of the graph of a call into the current trace, op by op.

`differentiate.Call` uses it if the gradient rule of a call runs while Python is traced, for example
by `vmap`. Then no program runs: the ops of the graph are recorded, also on active tapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dualflow._core import (
    AutocastRegion,
    Symbol,
    TensorSpec,
    Variable,
    apply_ordered,
    as_tensor,
    current_graph,
    symbol,
)
from dualflow.dtypes import ALL
from dualflow.graph.ir import (
    COND,
    CONSTANT,
    LEAVES,
    LOOP,
    VARIABLE,
    Graph,
    Input,
    Node,
    loop_parts,
)
from dualflow.graph.passes import inline
from dualflow.graph.passes.options import Options
from dualflow.graph.trace.parameters import Argument, Feed
from dualflow.graph.trace.record_loop import record_loop, rounds_of_loop
from dualflow.graph.trace.trace import suspended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Inlined:
    """One replay of a graph into the current trace.

    Parameters
    ----------
    graph : Graph
        A specialised graph.
    leaves : sequence
        The leaves of the call: Symbols, tensors and numbers.
    rows : mapping of int to Symbol
        From a leaf with packed rows to a value like one row.
    options : Options
    """

    def __init__(self, graph: Graph, leaves: Sequence[Any], rows: Mapping[int, Symbol],
                 options: Options) -> None:
        self.graph = inline.run(graph, options)
        self.leaves = leaves
        self.rows = rows
        self.trace: Any = current_graph()
        self.values: dict[Symbol, Any] = {}
        self.variables: dict[Symbol, Variable] = {}     # version -> variable

    def run(self) -> list[Any]:
        """Record the graph and return its outputs."""
        self.play(self.graph.nodes)
        return [self.values[y] for y in self.graph.outputs]

    def play(self, nodes: Sequence[Node]) -> None:
        """Record nodes in order."""
        for node in nodes:
            if node.op in LEAVES:
                if not isinstance(node.data, Input):
                    self._leaf(node)
                continue
            made = (self._cond(node) if node.op is COND else
                    self._loop(node) if node.op is LOOP else self._apply(node))
            self.values.update(zip(node.outputs, made, strict=False))
            for before, after in node.written:
                self._bind(after, self.variables[before])

    def _bind(self, y: Symbol, variable: Variable) -> None:
        """Set the value of `y`, a version of a variable, to the variable's current value."""
        self.variables[y], self.values[y] = variable, variable.value()

    def _leaf(self, node: Node) -> None:
        y, data = node.outputs[0], node.data
        if node.op is VARIABLE:
            self._bind(y, data)
        elif node.op is CONSTANT:
            self.values[y] = data
        elif isinstance(data, Argument):
            self.values[y] = self._argument(data.leaf)
        elif isinstance(data, Feed):
            self.values[y] = self.trace.feed(data.make, data.args, TensorSpec(y.shape, y.dtype),
                                             node.name, data.give_back)
        else:                                   # a number computed from numbers of the call
            with suspended():
                self.values[y] = data.make(self.leaves)

    def _argument(self, leaf: int) -> Any:
        x = self.leaves[leaf]
        return as_rows(x, self.rows[leaf]) if leaf in self.rows else as_tensor(x)

    def _apply(self, node: Node) -> Sequence[Any]:
        """Apply the op of a node and return the outputs."""
        values: Sequence[Any] = () if node.attrs is None else node.attrs.values
        attrs = [ALL[v] if kind == "dtype" else v
                 for kind, v in zip(node.op.attr_types, values, strict=True)]
        given = [self.variables[x] if node.writes >> k & 1 else self.values[x]
                 for k, x in enumerate(node.inputs)]
        with AutocastRegion():          # the nodes contain the casts
            made = apply_ordered(node.op, tuple(given), tuple(attrs))
        return () if made is None else made if isinstance(made, tuple) else (made,)

    # --- bodies ---

    def _inside(self, node: Node, body: Graph, given: Mapping[int, Any]) -> list[Any]:
        """Record a body of a node and return its outputs without versions of variables. `given` has
        the values of some parameters by position; the others have the values of the inputs."""
        for k, (inner, x) in enumerate(zip(body.inputs, node.inputs, strict=True)):
            if k in given:
                self.values[inner] = given[k]
            elif x in self.variables:
                self._bind(inner, self.variables[x])
            else:
                self.values[inner] = self.values[x]
        self.play(body.nodes)
        n = len(body.outputs) - node.writes.bit_count()
        return [self.values[y] for y in body.outputs[:n]]

    def _cond(self, node: Node) -> Sequence[Any]:
        def branch(body: Graph) -> Callable[[], list[Any]]:
            return lambda: self._inside(node, body, {})

        index = self.trace.to_symbols(None, [self.values[node.inputs[0]]])[0]
        return list(self.trace.cond(index, list(map(branch, node.bodies)), "cond"))

    def _loop(self, node: Node) -> Sequence[Any]:
        parts = loop_parts(node)
        first = parts.carried.start

        def step(*values: Any) -> list[Any]:
            return self._inside(node, node.bodies[0], dict(enumerate(values, first)))

        inputs = [self.values[x] for x in node.inputs[:parts.sliced.stop]]
        return record_loop(self.trace, rounds_of_loop(node, True), step, inputs, first,
                           node.attr_dict)


def as_rows(x: Any, row: Symbol) -> Symbol:
    """Return a tensor as a value of the current trace, with packed rows like `row`."""
    if type(x) is Symbol:
        return x
    trace: Any = current_graph()
    node = trace.node(CONSTANT, (), None, None, x)
    made = symbol(trace, node, 0, x.dtype, x.shape, x.shape, x, row)
    node.outputs = (made,)
    trace.nodes.append(node)
    return made
