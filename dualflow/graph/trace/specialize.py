"""Specialisation: from a trace with sizes that may change to a graph for one set of sizes.

Concrete functions, gradients and exporters call `specialize`. One pass over the nodes evaluates the
Dims in attributes and infers shapes again. A graph may only be returned if all guards hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dualflow._core import (
    Dim,
    GuardError,
    Symbol,
    Variable,
    constant,
    dim_value,
    exactly_equal,
    map_attrs,
)
from dualflow.dtypes import DType, float64, int64
from dualflow.errors import DualflowError, TracedValueError
from dualflow.graph.ir import (
    LOOP,
    PARAMETER,
    VARIABLE,
    Copier,
    Graph,
    Input,
    Line,
    Node,
    Open,
    is_invariant,
    loop_parts,
    walk,
)
from dualflow.graph.trace.computed import Computed, fitting
from dualflow.graph.trace.dims import depends_on_arguments, dim_now, formula, leaves
from dualflow.graph.trace.dynamic import DependsOnData, Numbers, refuse
from dualflow.graph.trace.parameters import Argument, Feed, Guard, Number, is_number
from dualflow.graph.trace.static_value import static_value
from dualflow.graph.trace.trace import Trace, suspended
from dualflow.graph.trace.undefined import size_undefined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Broken(Exception):
    """A guard does not hold for these sizes."""


class Specializer(Copier):
    """The state of one specialisation."""

    def __init__(self, trace: Trace, shapes: Mapping[int, Sequence[int]],
                 variables: Mapping[Variable, Variable], given: Sequence[Any] | None,
                 known: Mapping[Symbol, Symbol] | None = None) -> None:
        super().__init__(Graph(trace.name))
        self.trace = trace
        self.root: Graph = self.graph
        self.shapes = shapes
        self.variables = variables
        self.given = given
        self.broken: Guard | None = None        # the guard that does not hold
        self.stands_for.update(known or {})
        self.sized: dict[Symbol, Symbol] = {}   # old value -> value here of the same size
        self.numbers: Numbers = Numbers(self.root, self.size, self._tensor)  # in the current graph
        self._numbers = {self.root: self.numbers}
        self.arguments: dict[Any, Symbol] = {}  # parameters for numbers of the call
        self.around: dict[Symbol, Symbol] = {}  # parameter of a body -> input of its owner
        self._taken: dict[Graph, dict[Symbol, Symbol]] = {}     # additional inputs of bodies
        self._sized: dict[Graph, dict[Symbol, Symbol]] = {self.root: {}}    # `sized`, in bodies
        self.waiting: dict[Node | None, list[Guard]] = by_last_leaf(trace)

    def size(self, d: Dim) -> Any:
        """Return the value of a leaf of a Dim: a size, an element or an argument."""
        if d.kind == "argument" and self.given is not None:
            return self.given[d.args[0]]
        if d.args[0] not in self.stands_for:
            return 0    # an undefined value that `vmap` has mapped; a later branch computes it
        x = self._measured(d.args[0])
        if d.kind == "size":
            size = x.known_shape[d.args[1]]
            if size is None:
                raise DependsOnData(f"a size of {d.args[0].name} depends on data")
            return size
        return static_value(x, refuse, self.around)[d.args[1:]].item()

    def _measured(self, x: Symbol) -> Symbol:
        """Return the new value with the sizes of an old value."""
        found = self.stands_for[x]
        if any([at.graph is found.graph for at in self.open]):
            return found
        inside = [self._sized[at.graph][x] for at in self.open if x in self._sized[at.graph]]
        return inside[-1] if inside else self.sized.get(x, found)

    def _tensor(self, d: Dim) -> Symbol:
        """Return the tensor that holds a leaf of a Dim at run time."""
        if d.kind != "argument":
            x = self._measured(d.args[0])
            if not any([at.graph is x.graph for at in self.open]):
                self.trace.outliner.outside(d.args[0])      # raises the error for such a value
            return self.here(x)
        dtype = float64 if isinstance(d.hint, float) else int64
        if self.given is not None:
            return self.numbers.constant(self.size(d), dtype)
        return self.argument(id(d), constant(0, dtype), self.computed(d, dtype), "number",
                             self.numbers.line)

    def argument(self, key: Any, like: Any, number: Computed, name: str,
                 line: Line | None) -> Symbol:
        """Return a number of the call as a value of the current graph."""
        if key not in self.arguments:
            self.arguments[key] = self.root.add_leaf(PARAMETER, like, name, line, number, ())
        return self.here(self.arguments[key])

    # --- bodies ---

    def here(self, x: Symbol) -> Symbol:
        """Return the value of the current graph for `x`, a value of an enclosing graph. `x` becomes
        an additional input of the bodies in between."""
        graphs = [at.graph for at in self.open]
        for at in self.open[graphs.index(x.graph) + 1:]:
            taken = self._taken[at.graph]
            if x not in taken:
                taken[x] = self._bind(at.graph, len(at.inputs), x)
                at.inputs.append(x)
            x = taken[x]
        return x

    def _bind(self, body: Graph, place: int, x: Symbol, name: str = "", line: Line | None = None,
              shape: Sequence[int | None] | None = None) -> Symbol:
        """Add a parameter to a body for input `place` of its owner."""
        made = body.add_leaf(PARAMETER, x, name, line, Input(place),
                             x.known_shape if shape is None else shape)
        self.around[made] = x
        return made

    def _shape_inside(self, x: Symbol, place: int) -> Sequence[int | None]:
        """Return the shape of a parameter of a body. In a loop it may be a row of the input, or a
        carry whose size changes from iteration to iteration."""
        owner, shape = self.open[-1].owner, self.bound[x].known_shape
        if owner is None or owner.op is not LOOP:
            return shape
        parts = loop_parts(owner)
        if parts.sliced.start <= place < parts.sliced.stop:
            if len(shape) == x.ndim + 1:
                return shape[1:]
            row = self.stands_for.get(owner.inputs[place].row, x).known_shape       # packed
            return row if None in row else x.known_shape
        return x.known_shape if x.data_dependent_shape and place < parts.carried.stop else shape

    def begin(self, owner: Node, body: Graph) -> Graph:
        graph = super().begin(owner, body)
        self._numbers[graph] = Numbers(graph, self.size, self._tensor)
        self._taken[graph], self._sized[graph] = {}, {}
        return graph

    def turn_to(self, graph: Graph) -> None:
        super().turn_to(graph)
        self.numbers = self._numbers[graph]

    def end(self, at: Open) -> None:
        super().end(at)
        at.graph.inputs += self._taken[at.graph].values()

    def own(self, node: Node, inputs: Sequence[Symbol],
            bodies: Sequence[Graph]) -> Sequence[Symbol]:
        size_undefined(node, bodies, self.trace.outliner.undefined)
        for body in bodies:             # all bodies get the additional inputs of each
            have, n = {x.node.data.place: x for x in body.inputs}, len(body.nodes)
            body.inputs = [have[k] if k in have else self._bind(body, k, x)
                           for k, x in enumerate(inputs)]
            body.nodes = body.nodes[n:] + body.nodes[:n]    # parameters before their readers
        made = super().own(node, inputs, bodies)
        self.stands_for.update(zip(node.outputs, made, strict=True))
        if node in self.waiting:
            self.decide(node)
        return made

    # --- nodes ---

    def value(self, d: Dim) -> Any:
        """Return the value of a Dim for these sizes and numbers."""
        return fitting(lambda: dim_now(d, self.size), type(d.hint))

    def holds(self, guard: Guard) -> bool:
        """Return True if Python would have decided as in the trace. A decision that depends on data
        becomes a run-time check."""
        try:
            args = [self.value(a) if isinstance(a, Dim) else a for a in guard.args]
            return exactly_equal(dim_value(guard.op, *args), guard.answer)
        except DependsOnData:
            self.numbers.check(guard)
            return True
        except (GuardError, ArithmeticError, ValueError):  # Python would have raised before
            return False

    def leaf(self, node: Node) -> Symbol:
        """Add the replacement of a leaf."""
        x, data = node.outputs[0], node.stored
        if x in self.bound:
            made = self._bind(self.graph, data.place, x, node.name, node.line,
                              self._shape_inside(x, data.place))
            owner = self.open[-1].owner
            if owner is not None and is_invariant(owner, data.place):
                self.around[made] = self.bound[x]
            self._sized[self.graph][self.trace.outliner.recorded(x)] = made
            return made
        shape: Sequence[int | None] = x.known_shape
        if node.op is PARAMETER and isinstance(data, Argument):
            shape = self.shapes[data.leaf]
        elif node.op is PARAMETER and isinstance(data, Feed):
            data = data._replace(args=tuple([self.value(a) if isinstance(a, Dim) else a
                                             for a in data.args]))
        elif node.op is PARAMETER and isinstance(data, Number):
            try:
                if self.given is not None or not depends_on_arguments(data.dim):
                    return self.graph.constant(constant(self.value(data.dim), data.dtype),
                                               node.name, node.line)
                return self.argument(x, x, self.computed(data.dim, data.dtype), node.name,
                                     node.line)
            except DependsOnData:
                return self.numbers.number(data.dim, data.dtype)
        elif node.op is VARIABLE:
            data = self.variables.get(data, data)
        return self.graph.add_leaf(node.op, x, node.name, node.line, data, shape)

    def give(self, x: Symbol, data: Argument, shape: Sequence[int | None]) -> None:
        """Replace a value of the trace by a parameter of the given shape."""
        self.stands_for[x] = self.graph.add_leaf(PARAMETER, x, data.path, x.node.line, data, shape)

    def value_of(self, x: Symbol) -> Symbol:
        """Return the new value of `x`. Leaves may belong to a trace that this one continues."""
        found = self.stands_for.get(x)
        if found is None or found.graph is not self.graph:
            found = self.stands_for[x] = self.leaf(x.node)
        return found

    def computed(self, dim: Dim, dtype: DType) -> Computed:
        """Return a number computed from numbers of the call and sizes."""
        return Computed(formula(dim, self.size), dtype)

    def returned(self, dim: Dim) -> Any:
        """Return a returned number: its value, or Computed if it depends on the arguments."""
        if self.given is not None or not depends_on_arguments(dim):
            return self.value(dim)
        return self.computed(dim, float64)

    def apply(self, node: Node, inputs: Sequence[Symbol], bodies: Sequence[Graph] = ()) -> Node:
        """Add an application to the current graph, with evaluated attributes."""
        attrs = node.attrs
        if attrs is not None and attrs.symbolic:
            try:
                value = (lambda _: 0) if node in self.trace.outliner.undefined else self.value
                attrs = map_attrs(node.op, attrs, value)
            except DependsOnData:
                return self.numbers.apply(node, inputs)
        return self.graph.add(node.op, inputs, attrs, node.name, node.line, None, bodies)

    def step(self, node: Node) -> None:
        if isinstance(node.data, Number):       # added where it is read
            return
        self.numbers.line = node.line
        super().step(node)
        if node in self.waiting:
            self.decide(node)

    def decide(self, node: Node) -> None:
        """Check the guards whose operands are complete after this node."""
        for guard in self.waiting[node]:
            if not self.holds(guard):
                self.broken = guard
                raise Broken

    def run(self) -> Graph | None:
        """Return the graph, or None if a guard does not hold."""
        if not all([self.holds(guard) for guard in self.waiting.get(None, ())]):
            return None
        try:
            with self.trace.outliner.lock:
                self.play(self.trace.nodes)
        except Broken:
            return None
        self.graph.outputs = [self.value_of(x) for x in self.trace.outputs]
        self.graph.numbers = [self.returned(dim) for dim in self.trace.returned]
        made = [self.arguments.get(x) if is_number(x) else self.stands_for[x]
                for x in self.trace.inputs]
        inputs = dict.fromkeys([x for x in made if x is not None] + [*self.arguments.values()])
        self.graph.inputs = [x for x in inputs if x.node.op is PARAMETER]
        return self.graph


def by_last_leaf(trace: Trace) -> dict[Node | None, list[Guard]]:
    """Return the guards of a trace by the last node that an operand depends on, or by None if no
    operand depends on a node."""
    if not trace.guards:
        return {}
    place = {node: k for k, node in enumerate(walk(trace.nodes))}
    found: dict[Node | None, list[Guard]] = {}
    for guard in trace.guards.values():
        nodes = [d.args[0].node for a in guard.args if isinstance(a, Dim) for d in leaves(a)
                 if d.kind != "argument"]
        if nodes:
            last = max(nodes, key=lambda node: place.get(node, -1))
            found.setdefault(last if last in place else None, []).append(guard)
    return found


def deciding_arguments(trace: Trace) -> dict[int, Line | None]:
    """Return the Python numbers among the arguments that shapes or guards depend on, as a dict from
    leaf to the user's line. A graph for these values is not valid for others.
    """
    dims = [(a, guard.line) for guard in trace.guards.values() for a in guard.args]
    for node in walk(trace.nodes):
        if node.attrs is not None and node.attrs.symbolic:
            for value in node.attrs.values:
                dims += [(v, node.line) for v in (value if isinstance(value, tuple) else (value,))]
        if isinstance(node.data, Feed):
            dims += [(v, node.line) for v in node.data.args]
    found: dict[int, Line | None] = {}
    for dim, line in dims:
        for d in leaves(dim) if isinstance(dim, Dim) else ():
            if d.kind == "argument":
                found.setdefault(d.args[0], line)
    return found


def specialize(trace: Trace, shapes: Mapping[int, Sequence[int]],
               variables: Mapping[Variable, Variable] = MappingProxyType({}),
               given: Sequence[Any] | None = None,
               broken: list[Guard] | None = None) -> Graph | None:
    """Return the graph of a trace for the sizes of one call.

    Parameters
    ----------
    trace : Trace
    shapes : dict of int to tuple of int
        By leaf of the call's arguments.
    variables : dict of Variable to Variable
        From the variables of the trace to the variables of the call.
    given : sequence, optional
        The leaves of a call, whose numbers become constants. Without it, numbers are inputs.
    broken : list, optional
        If a guard does not hold, it is appended to this list.

    Returns
    -------
    Graph, or None if a guard does not hold for these sizes
    """
    walk = Specializer(trace, shapes, variables, given)
    with suspended():
        try:
            graph = walk.run()
        except GuardError:
            return None
        except TracedValueError:    # a number from inside a branch or a loop body
            raise
        except DualflowError:
            if trace.guards:        # the error may be due to a decision that does not hold
                return None
            raise
    if broken is not None and walk.broken is not None:
        broken.append(walk.broken)
    return graph
