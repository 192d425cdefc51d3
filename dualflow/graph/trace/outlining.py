"""Outlining: the nodes that a called function recorded become the body of a `call` node.

Python, tapes and guards still hold the values that are inside the body now. `outside` maps such a
value to an output of the call, which is added on first use; `recorded` maps outputs and parameters
back to the recorded value. `Trace` translates with both, so no other code needs to know of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence, Set as AbstractSet
from types import CodeType

from dualflow._core import Dim, PushedItem, Symbol, symbol, symbol_like, twin
from dualflow._util.locks import reentrant_lock
from dualflow.errors import TracedValueError
from dualflow.graph.ir import (
    CALL,
    COND,
    LEAVES,
    PARAMETER,
    Graph,
    Input,
    Node,
    RegionRecord,
)
from dualflow.graph.trace import messages
from dualflow.graph.trace.dims import leaves
from dualflow.graph.trace.parameters import Feed, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Outliner:
    """The calls of a trace and of the traces that continue it.

    Attributes
    ----------
    recorded_as : dict of Symbol to Symbol
        From a parameter of a body or an output of a call to the recorded value, or to a value one
        step nearer.
    question : callable or None
        Called before control flow raises, with the tensor whose truth is needed or None. Returns an
        addition to the message, or the truth.
    converted : callable or None
        Returns True if a code object has been converted.
    sizes_choose, sizes_chose : bool
        Whether sizes that depend on data may select branches of the graph, and whether any did.
    decided : dict of Symbol to (operator, operands)
        From a traced bool to the comparison of such a size that it is the result of.
    left : bool
        Whether the trace was abandoned and will restart.
    refusal : Exception or None
        Why the trace failed for good; an `except` of the traced code does not stop it.
    escaped : Exception or None
        The error to raise if an exception that left a recorded branch was caught outside of it.
    conditions : object
        Facts about traced bools, for the conversion of control flow.
    undefined : set of Node
        Placeholders in a branch for a value that another branch computes (`undefined.py`).
    measured : set of Symbol
        Values of which Python has data-dependent elements as numbers.
    lock : lock
        Held while outputs are added to a call, while the trace is copied, and in the contexts of
        `opened` and `reading`.
    """

    def __init__(self) -> None:
        self.recorded_as: dict[Symbol, Symbol] = {}
        self.question: Callable[[Symbol | None], str | bool] | None = None
        # by argument: what Python receives in place of any Variable of a call
        self.stand_ins: dict[int, Any] = {}
        self.converted: Callable[[CodeType], bool] | None = None
        self.sizes_choose = True
        self.sizes_chose = False
        self.decided: dict[Symbol, tuple[str, tuple[Any, ...]]] = {}
        self.left = False
        self.refusal: Exception | None = None
        self.escaped: Exception | None = None
        self.conditions: Any = None
        self.undefined: set[Node] = set()
        self.measured: set[Symbol] = set()
        self.lock: Any = reentrant_lock()
        self._owner: dict[Node, Node] = {}              # node of a body -> owner of the body
        self._outside: dict[Symbol, Symbol] = {}        # inner value -> output of its call
        self.replaced: dict[Symbol, Symbol] = {}        # removed loop parameter -> outer value
        self._open: list[Node] = []                     # owners being differentiated
        self._played: list[tuple[Container[Symbol], Sequence[Node]]] = []   # see `reading`

    def __bool__(self) -> bool:
        return bool(self._owner)

    def outline(self, graph: Graph, start: int, name: str, call: Node,
                outputs: Sequence[Symbol]) -> None:
        """Move the nodes of `graph` from `start` on into the body of `call`, a new node. If
        `outputs` is given (a call with a Rule), the call returns them under new identities.

        Leaves stay in the graph. If a size or a number of Python depends on data, all nodes stay.
        """
        own = [node for node in graph.nodes[start:] if node.op not in LEAVES]
        if sized_inside(graph.nodes[start:], own, self.measured):
            own = []
        if not own and not outputs:
            return
        inside = set(own)
        body = Graph(name)
        given: dict[Symbol, Symbol] = {}
        for node in own:
            node.inputs = tuple([x if x.node in inside or is_number(x)
                                 else self._given(body, given, x) for x in node.inputs])
            self._owner[node] = call
        returned = [x if x.node in inside else self._given(body, given, x) for x in outputs]
        body.inputs = list(given.values())
        body.nodes += own
        body.outputs = [*returned, *last_versions(body)]
        call.inputs = tuple(given)
        call.own([body])
        made = [symbol_like(graph, call, 0, y) for y in outputs]
        made += [twin(graph, call, 0, y) for y in body.outputs[len(returned):]]
        self._return(call, made)
        for y, x in zip(body.outputs[len(returned):], made[len(returned):], strict=True):
            self._outside[y], self.recorded_as[x] = x, y
        graph.nodes[start:] = [*[node for node in graph.nodes[start:] if node not in inside], call]

    def keep_inside(self, owner: Node) -> None:
        """Register the nodes of the bodies of a cond or loop, which cannot be read outside."""
        for body in owner.bodies:
            for node in body.nodes:
                self._owner[node] = owner

    def put_inside(self, node: Node, owner: Node) -> None:
        """Register a node that was added to a body."""
        self._owner[node] = owner

    def is_within(self, node: Node, owners: Container[Node]) -> bool:
        """Return True if a node is one of `owners`, or inside a body of an owner."""
        at: Node | None = node
        while at is not None and at not in owners:
            at = self._owner.get(at)
        return at is not None

    def opened(self, node: Node) -> PushedItem:
        """Return a context in which values inside a cond or loop may be read, because its transpose
        will make them outputs of the node. The caller holds `lock`."""
        return PushedItem(self._open, node)

    def reading(self, played: Container[Symbol], nodes: Sequence[Node]) -> PushedItem:
        """Return a context in which the values `played` inside of `nodes` may be read. The caller
        holds `lock`.

        `vmap` replays the bodies of these nodes and batches the gradient rules recorded in them.
        The values that a rule reads have been computed for the whole batch.
        """
        return PushedItem(self._played, (played, nodes))

    def parameter(self, body: Graph, place: int, x: Symbol) -> Symbol:
        """Add a parameter to a body for input `place` of its owner; `x` is the outer value."""
        node = Node(PARAMETER, (), None, (), PARAMETER.name, None, Input(place))
        made = symbol(body, node, 0, x.dtype, x.known_shape, row=x.row)
        node.outputs = (made,)
        body.nodes.append(node)
        self.recorded_as[made] = x
        return made

    def _given(self, body: Graph, given: dict[Symbol, Symbol], x: Symbol) -> Symbol:
        """Return the parameter of the body of a call for an outer value."""
        if x not in given:
            given[x] = self.parameter(body, len(given), x)
        return given[x]

    def outside(self, x: Symbol, rows: Container[Symbol] = ()) -> Symbol:
        """Return the value to read instead of `x`, which may be inside calls that are closed: an
        output of the outermost one. A value inside a loop is returned as it is if it is in `rows`.
        """
        if is_number(x):
            return x                    # computed again wherever it is read
        for played, nodes in reversed(self._played):
            y = row_of(x, nodes)
            if y in played and self.is_within(y.node, nodes):
                return y
        while True:
            x = self.now(x)
            owner = self._owner.get(x.node)
            if owner is None or owner in self._open or x in rows:
                return x
            found = self._output(owner, x)
            if found is None:
                raise TracedValueError(messages.inside(x, owner))
            x = found

    def size_source(self, x: Symbol) -> Symbol | None:
        """Return the value with the sizes of `x` that can be read now: `x`, or an output of the
        branch or call that contains it. Return None if there is no such output."""
        found: Symbol | None = x
        while found is not None:
            found = self.now(found)
            owner = self._owner.get(found.node)
            if owner is None or owner in self._open:
                break
            found = self._output(owner, found)
        return found

    def is_enclosed(self, x: Symbol) -> bool:
        """Return True if a call, a branch or a loop contains a value."""
        return x.node in self._owner

    def _output(self, owner: Node, x: Symbol) -> Symbol | None:
        """Return the output of a call or a branch for a value inside it, or None."""
        if owner.op is CALL:
            found = self._outside.get(x)
            return self._add_output(owner, x) if found is None else found
        if owner.op is COND and isinstance(owner.data, RegionRecord):
            return owner.data.outside.get(x)
        return None

    def now(self, x: Symbol) -> Symbol:
        """Return the current name of a value. A loop parameter may have been replaced, and in the
        gradient of the gradient of a loop, a value of the loop is a row."""
        while x in self.replaced:
            x = self.replaced[x]
        for node in self._open:
            x = node.data.rows.get(x, x)
        return x

    def _add_output(self, call: Node, y: Symbol) -> Symbol:
        """Add an output to a call for a value inside it, and return the output."""
        with self.lock:
            body, n = call.bodies[0], len(call.outputs) - call.writes.bit_count()
            x = twin(y.graph, call, n, y)
            body.outputs.insert(n, y)
            self._return(call, [*call.outputs[:n], x, *call.outputs[n:]])
            self._outside[y], self.recorded_as[x] = x, y
        return x

    def _return(self, call: Node, outputs: Sequence[Symbol]) -> None:
        for k, y in enumerate(outputs):
            y.node, y.index = call, k
        call.outputs = tuple(outputs)

    def inner_value(self, x: Symbol) -> Symbol:
        """Return the inner value behind an output of a call; any other value is returned as it is.
        """
        while x.node.op is CALL and x in self.recorded_as:
            x = self.recorded_as[x]
        return x

    def recorded(self, x: Symbol) -> Symbol:
        """Return the recorded value behind parameters of bodies and outputs of calls."""
        while x in self.recorded_as:
            x = self.recorded_as[x]
        return x


def row_of(x: Symbol, nodes: Iterable[Node]) -> Symbol:
    """Return the name of a value inside `nodes`. In the gradient of a loop, a value of the loop is
    a row."""
    for node in nodes:
        if isinstance(node.data, RegionRecord):
            x = node.data.rows.get(x, x)
    return x


def sized_inside(nodes: Iterable[Node], own: Sequence[Node],
                 measured: AbstractSet[Symbol]) -> bool:
    """Return True if a size of an output of `own` depends on data, if the output is in `measured`,
    or if a Feed among `nodes` has an argument that depends on such a size."""
    made = {y for node in own for y in node.outputs}
    return not made.isdisjoint(measured) or any(
        [y.data_dependent or y.data_dependent_shape for y in made]) or any(
        [d.kind != "argument" and d.args[0] in made for node in nodes
         if isinstance(node.data, Feed) for a in node.data.args if isinstance(a, Dim)
         for d in leaves(a)])


def last_versions(body: Graph) -> list[Symbol]:
    """Return the last versions of the inputs that a body writes, in the order of the inputs."""
    first: dict[Symbol, Symbol] = {}
    for node in body.nodes:
        for before, after in node.written:
            first[after] = first.pop(before, before)
    last = {x: version for version, x in first.items()}
    return [last[x] for x in body.inputs if x in last]
