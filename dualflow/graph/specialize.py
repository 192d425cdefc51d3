"""From a trace with sizes that may change to a graph for one set of sizes.

Walks the nodes once: Dims in attributes are evaluated, shapes inferred anew. A trace whose guards
say that Python would have decided otherwise does not hold for these sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dualflow._core import Dim, Symbol, Tensor, constant, dim_value, map_attrs
from dualflow.dtypes import DType
from dualflow.errors import DualflowError, UnimplementedError
from dualflow.graph.ir import LEAVES, PARAMETER, Graph, Node
from dualflow.graph.trace import (
    Argument,
    Feed,
    Number,
    Trace,
    dim_now,
    known_value,
    leaves,
    suspended,
)


class Computed(NamedTuple):
    """A parameter computed at each run from Python numbers among the arguments."""

    dim: Dim
    dtype: DType
    sizes: dict[int, Any]

    def make(self, leaves: Sequence[Any]) -> Tensor:
        """Its value for the leaves of a call's arguments."""
        def leaf(d: Dim) -> Any:
            return leaves[d.args[0]] if d.kind == "argument" else self.sizes[id(d)]

        return constant(dim_now(self.dim, leaf), self.dtype)


class Specializer:
    """One walk."""

    def __init__(self, trace: Trace, shapes: Mapping[int, Sequence[int]]) -> None:
        self.trace = trace
        self.shapes = shapes
        self.graph = Graph(trace.name)
        self.stands_for: dict[Symbol, Symbol] = {}

    def size(self, d: Dim) -> Any:
        """The value of a Dim's leaf that is a size or an element."""
        x = self.stands_for[d.args[0]]
        if d.kind == "size":
            size = x.shape[d.args[1]]
            if size is None:
                raise UnimplementedError(
                    f"a size of {d.args[0].name} is used as a number, and is known only when the "
                    "program runs, because it depends on data")
            return size
        value = known_value(x, self._refuse)
        for k in d.args[1:]:
            value = value[k]
        return value.item()

    def _refuse(self, x: Symbol) -> Tensor:
        raise UnimplementedError(f"{x.name} is used as a size, and depends on data")

    def value(self, d: Dim) -> Any:
        """The value of a Dim for these sizes and numbers."""
        return dim_now(d, self.size)

    def holds(self) -> bool:
        """Whether Python would have taken every decision as it did."""
        for guard in self.trace.guards.values():
            try:
                args = [self.value(a) if isinstance(a, Dim) else a for a in guard.args]
            except UnimplementedError:
                continue                    # depends on data: kernels check shapes when they run
            if dim_value(guard.op, *args) != guard.answer:
                return False
        return True

    def leaf(self, node: Node) -> Symbol:
        """A parameter, constant or variable in the new graph."""
        x, data = node.outputs[0], node.data
        shape: Sequence[int] = x.shape
        if node.op is PARAMETER and isinstance(data, Argument):
            shape = self.shapes[data.leaf]
        elif node.op is PARAMETER and isinstance(data, Feed):
            data = Feed(data.make, tuple([self.value(a) if isinstance(a, Dim) else a
                                          for a in data.args]))
        elif node.op is PARAMETER and isinstance(data, Number):
            if not depends_on_arguments(data.dim):
                return self.graph.constant(constant(self.value(data.dim), data.dtype), node.name,
                                           node.line)
            data = Computed(data.dim, data.dtype,
                            {id(d): self.size(d) for d in leaves(data.dim) if d.kind != "argument"})
        return self.graph.add_leaf(node.op, x, node.name, node.line, data, shape)

    def run(self) -> Graph | None:
        """The graph, or None where the trace does not hold."""
        for node in self.trace.nodes:
            if node.op in LEAVES:
                self.stands_for[node.outputs[0]] = self.leaf(node)
                continue
            attrs = node.attrs
            if attrs is not None and attrs.symbolic:
                attrs = map_attrs(node.op, attrs, self.value)
            inputs = [self.stands_for[x] for x in node.inputs]
            made = self.graph.add(node.op, inputs, attrs, node.name, node.line, node.data)
            self.stands_for.update(zip(node.outputs, made.outputs, strict=True))
        if not self.holds():
            return None
        inputs = [self.stands_for[x] for x in self.trace.inputs]
        self.graph.inputs = [x for x in inputs if x.node.op is PARAMETER]
        self.graph.outputs = [self.stands_for[x] for x in self.trace.outputs]
        return self.graph


def depends_on_arguments(dim: Dim) -> bool:
    """Whether a Python number among the arguments flows into a Dim."""
    return any(d.kind == "argument" for d in leaves(dim))


def deciding_arguments(trace: Trace) -> set[int]:
    """Python numbers among the arguments that shapes or decisions depend on, by leaf.

    A trace does not hold for other values of them.
    """
    dims = [a for guard in trace.guards.values() for a in guard.args if isinstance(a, Dim)]
    for node in trace.nodes:
        if node.attrs is not None and node.attrs.symbolic:
            for value in node.attrs.values:
                dims += [v for v in (value if isinstance(value, tuple) else (value,))
                         if isinstance(v, Dim)]
    return {d.args[0] for dim in dims for d in leaves(dim) if d.kind == "argument"}


def specialize(trace: Trace, shapes: Mapping[int, Sequence[int]]) -> Graph | None:
    """The graph of a trace for the sizes of one call.

    Parameters
    ----------
    trace : Trace
    shapes : dict of int to tuple of int
        By leaf of the call's arguments.

    Returns
    -------
    Graph, or None if Python would have decided otherwise for these sizes
    """
    walk = Specializer(trace, shapes)
    with suspended():
        try:
            return walk.run()
        except DualflowError:
            if trace.guards:        # shapes that do not fit may follow from a decision not taken
                return None
            raise
