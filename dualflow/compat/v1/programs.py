"""Programs of parts of a graph: the nodes that fetches need, compiled once for all sessions.

Invariant of the order: nodes that do not depend on a variable write run first and read the values
from the start of the run; the remaining nodes follow. Both groups are in recording order, in which
a node comes after its inputs and control inputs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterable, Sequence
from typing import Any

from dualflow._core import Dim, Symbol, get_op
from dualflow._util.locks import reentrant_lock
from dualflow.compat.v1 import errors
from dualflow.compat.v1.dtypes import MESSAGE_NAMES
from dualflow.compat.v1.value_sizes import (
    Values,
    element_of,
    elements,
    is_settled,
    numbers_of,
    source,
)
from dualflow.compat.v1.variable_handle import VariableHandle
from dualflow.errors import DualflowError
from dualflow.graph.ir import VARIABLE, Graph, Node, walk
from dualflow.graph.passes.options import Options
from dualflow.graph.program.compile import Compiled
from dualflow.graph.trace.dynamic import DependsOnData
from dualflow.graph.trace.parameters import Argument
from dualflow.graph.trace.specialize import Specializer, leaves
from dualflow.graph.trace.trace import Trace, suspended

MAX_PROGRAMS = 64          # per graph; the least recently used is evicted
ASSIGN = get_op("assign")

Shapes = tuple[tuple[int, ...], ...]


class PartProgram:
    """The program of a part of a graph, shared by all sessions.

    Attributes
    ----------
    compiled : Compiled
    reads : dict of VariableHandle to Node
        Variables that must be initialized before it runs, and their first readers.
    writes : set of VariableHandle
    """

    def __init__(self, graph: Graph) -> None:
        self.reads: dict[VariableHandle, Node] = read_first(graph)
        self.compiled: Compiled = Compiled(graph, Options())
        written: list[Any] = [x.variable for x in self.compiled.spec.variables if x.written]
        self.writes: set[VariableHandle] = {x for x in written if isinstance(x, VariableHandle)}


class Programs:
    """The programs of a graph, which may grow between runs."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self._lock = reentrant_lock()
        self._known: OrderedDict[Any, PartProgram] = OrderedDict()

    def get(self, fetches: tuple[Symbol | Node, ...], fed: tuple[Symbol, ...],
            shapes: Shapes, values: Values = ()) -> PartProgram:
        """Return the program that computes the fetches; `values` are tensors used as sizes."""
        key = (fetches, fed, shapes, values)
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = self._make(fetches, fed, shapes, values)
                if len(self._known) > MAX_PROGRAMS:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
        return found

    def _make(self, fetches: Sequence[Symbol | Node], fed: Sequence[Symbol],
              shapes: Shapes, values: Values) -> PartProgram:
        part, given = part_for(self.trace, fetches, fed), set(fed)
        for node in part.nodes:
            if isinstance(node.data, Argument) and node.outputs[0] not in given:
                raise errors.InvalidArgumentError(unfed(node), node)
            for before, _ in node.written:
                if before in given:
                    raise errors.InvalidArgumentError(
                        f"{before.name} is fed, and {node.name} (made at {node.line}) assigns to "
                        "it in the same run", node)
        player = Player(part, fed, shapes, values, self.trace.every_value_size())
        with suspended():
            graph = player.run()
        if graph is None:
            fed_sizes = "".join([f", {x.name} is {value}" for x, value in values])
            raise errors.InvalidArgumentError(
                f"run: Python code that built {self.trace.name} branched on a size that "
                f"differs for the fed values{fed_sizes}; build it with placeholders of known shape")
        return PartProgram(graph)

    def sizes_for(self, fetches: tuple[Symbol | Node, ...],
                  fed: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
        """Return the tensors used as sizes by the fetches whose values can be computed first."""
        part, given = part_for(self.trace, fetches, fed), set(fed)
        numbers = [n for node in walk(part.nodes) for n in numbers_of(node)]
        numbers += [n for guard in part.guards.values() for n in guard.args]
        sizes = self.trace.every_value_size()
        found = dict.fromkeys([source(d) for d in elements(numbers) if d.args[0] in sizes])
        own = {x for node in part.nodes for x in node.outputs}
        late = waiting(self.trace.every_operation(), set(part.nodes), given)
        return tuple([x for x in found if x in given or (
            x in own and x.node not in late and is_settled(needed_for([x.node], given)))])


class Player(Specializer):
    """Replays a part into a new graph: fed values become parameters, and each variable has one
    version after the other."""

    def __init__(self, part: Trace, fed: Sequence[Symbol], shapes: Shapes,
                 values: Values, value_sizes: Container[Symbol]) -> None:
        super().__init__(part, {}, {}, None)
        self._values, self._value_sizes = dict(values), value_sizes
        for k, (x, shape) in enumerate(zip(fed, shapes, strict=True)):
            self.give(x, Argument(k, x.node.name), shape)
        self._fed = {x: self.stands_for[x] for x in fed}
        self._nodes = {x.node for x in fed}

    def size(self, d: Dim) -> Any:
        if d.kind != "element" or d.args[0] not in self._value_sizes:
            return super().size(d)
        x = source(d)
        if x not in self._values:
            raise DependsOnData(f"{x.name} is used as a size, and depends on data")
        return element_of(self._values[x], d.args[1:])

    def _measured(self, x: Symbol) -> Symbol:
        return super()._measured(self.trace.outliner.now(x))

    def step(self, node: Node) -> None:
        try:
            super().step(node)
        except DualflowError as error:      # the fed values are incompatible
            raise errors.translated(type(error)(
                f"{error} ({node.name}, made at {node.line})"), node) from error
        self._go_on(node)

    def own(self, node: Node, inputs: Sequence[Symbol],
            bodies: Sequence[Graph]) -> Sequence[Symbol]:
        made = super().own(node, inputs, bodies)
        self._go_on(node)
        return made

    def _go_on(self, node: Node) -> None:
        if node.writes and len(self.open) == 1:
            for before, after in node.written:
                if before.node.op is VARIABLE and isinstance(before.node.data, VariableHandle):
                    self.stands_for[before] = self.stands_for[after]
        if node in self._nodes:
            self.stands_for.update(self._fed)


def unfed(node: Node) -> str:
    """Return the message for a placeholder without a value."""
    x = node.outputs[0]
    sizes = ",".join(["?" if n is None else str(n) for n in x.known_shape])
    unranked = [y.op.name for y in x.graph.base.unranked]
    shape = "" if node.name in unranked else f" and shape [{sizes}]"
    dtype = MESSAGE_NAMES.get(x.dtype.name, x.dtype.name)
    return (f"You must feed a value for placeholder tensor {node.name!r} with dtype {dtype}{shape} "
            f"(made at {node.line})")


def read_first(graph: Graph) -> dict[VariableHandle, Node]:
    """Return the variables that must be initialized when a run starts, with their first readers."""
    found: dict[VariableHandle, Node] = {}
    for node in graph.nodes:
        for k, x in enumerate(node.inputs):
            if x.node.op is VARIABLE and not (node.op is ASSIGN and k == 0):
                found.setdefault(x.node.data, node)
    for x in graph.outputs:
        if x.node.op is VARIABLE:
            found.setdefault(x.node.data, x.node)
    return {slot: node for slot, node in found.items()
            if isinstance(slot, VariableHandle) and slot.begin is None}


def part_for(trace: Any, fetches: Sequence[Symbol | Node], fed: Sequence[Symbol]) -> Trace:
    """Return the nodes that fetches need if some values are given, with the guards on them."""
    given = set(fed)
    wanted = [x if isinstance(x, Node) else x.node for x in fetches
              if isinstance(x, Node) or x not in given]
    needed = needed_for(wanted, given)
    late = waiting(trace.every_operation(), needed, given)
    nodes = [node for node in trace.every_node() if node in needed]
    part: Trace = trace.part(
        [*[node for node in nodes if node not in late], *[node for node in nodes if node in late]],
        list(fed), [x for x in fetches if isinstance(x, Symbol)],
        {key: guard for node in needed for key, guard in getattr(node, "decisions", {}).items()
         if all([x in given or x.node in needed for x in sized_by(guard.args)])})
    return part


def waiting(operations: Iterable[Node], needed: set[Node], given: set[Symbol]) -> set[Node]:
    """Return the needed operations that write a variable, read it for the write, or depend on a
    write."""
    late: set[Node] = set()
    for node in operations:
        if node in needed and (
                getattr(node, "in_order", False)
                or any([getattr(before.node.data, "begin", None) is None
                        for before, _ in node.written])
                or any([x.node in late for x in read_by(node) if x not in given])
                or any([op in late for op in control_inputs(node)])):
            late.add(node)
    return late


def needed_for(nodes: Iterable[Any], given: set[Symbol]) -> set[Node]:
    """Return the nodes and their transitive dependencies: inputs, control inputs, and the values
    from which sizes in attributes are computed."""
    needed: set[Node] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in needed:
            needed.update(walk([node]) if node.bodies else (node,))
            pending += control_inputs(node)
            pending += [x.node for x in read_by(node) if x not in given]
    return needed


def control_inputs(node: Node) -> list[Node]:
    """Return the control inputs of a node and of the nodes in its bodies."""
    if not node.bodies:
        return list(getattr(node, "control_inputs", ()))
    return [op for inside in walk([node]) for op in getattr(inside, "control_inputs", ())]


def read_by(node: Node) -> list[Symbol]:
    """Return the inputs of a node, and the values from which sizes in its attributes and in its
    bodies are computed."""
    read = list(node.inputs)
    for inside in walk([node]) if node.bodies else (node,):
        read += sized_by(numbers_of(inside))
    return read


def sized_by(values: Iterable[Any]) -> list[Symbol]:
    """Return the values whose sizes or elements the Dims among `values` are computed from."""
    return [source(d) for value in values if isinstance(value, Dim)
            for d in leaves(value) if isinstance(d.args[0], Symbol)]
