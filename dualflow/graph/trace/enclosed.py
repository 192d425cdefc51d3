"""Calls in a trace: what was recorded while a function ran becomes the body of one node.

Python goes on with the values it was given, which are inside now: `outside` says what stands for
one where it is read, and makes it an output of the call when it is first asked for. `recorded` is
the way back: the value as Python and tapes know it, to which both belong. So tapes, guards and
gradient rules need not know of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

from dualflow._core import Dim, Symbol, symbol, symbol_like, twin
from dualflow.errors import TracedValueError
from dualflow.graph.ir import (
    CALL,
    COND,
    LEAVES,
    PARAMETER,
    Graph,
    Input,
    Node,
    Owned,
)
from dualflow.graph.trace import messages
from dualflow.graph.trace.dims import leaves
from dualflow.graph.trace.parameters import Feed, is_number
from dualflow.locks import reentrant_lock


class Enclosed:
    """The calls of a trace and of those that continue it.

    Attributes
    ----------
    recorded_as : dict of Symbol to Symbol
        For a parameter of a body and an output of a call: the value as it was recorded, or one that
        is closer to it.
    question : callable or None
        Called before control flow is refused, with the tensor whose truth is asked, if that is it:
        says what the message should add, or the answer.
    converted : callable or None
        Whether a code object has been converted.
    sizes_choose, sizes_chose : bool
        Whether sizes that depend on data may choose branches of the graph, and whether any did.
    decided : dict of Symbol to (operator, operands)
        What a traced bool compares, where that is such a size.
    left : bool
        Whether the trace was left, to begin anew.
    refusal : Exception or None
        Why the trace was left for good; Python's own `except` does not stop it.
    escaped : Exception or None
        What the trace raises if an exception that left a recorded branch was caught outside of it.
    conditions : object
        What is known of traced bools; belongs to the conversion of control flow.
    undefined : set of Node
        Those that stand in a branch for a value that another branch computes.
    lock : lock
        Held while a call gets another output, and by whoever copies the trace.
    """

    def __init__(self) -> None:
        self.recorded_as: dict[Symbol, Symbol] = {}
        self.question: Callable[[Symbol | None], str | bool] | None = None
        self.converted: Callable[[CodeType], bool] | None = None
        self.sizes_choose = True
        self.sizes_chose = False
        self.decided: dict[Symbol, tuple[str, tuple[Any, ...]]] = {}
        self.left = False
        self.refusal: Exception | None = None
        self.escaped: Exception | None = None
        self.conditions: Any = None
        self.undefined: set[Node] = set()
        self.lock: Any = reentrant_lock()
        self._owner: dict[Node, Node] = {}              # the call that a node is inside of
        self._outside: dict[Symbol, Symbol] = {}        # outputs of calls by what they return
        self.replaced: dict[Symbol, Symbol] = {}        # parameters of loops that are none any more
        self._open: list[Node] = []                     # what is being differentiated
        self._played: list[tuple[Container[Symbol], Sequence[Node]]] = []   # see `reading`

    def __bool__(self) -> bool:
        return bool(self._owner)

    def enclose(self, graph: Graph, start: int, name: str, call: Node,
                outputs: Sequence[Symbol]) -> None:
        """Makes a body of the nodes of a graph from `start` on, and `call`, a new node, its owner.
        `outputs` is what a call with a Rule returns, under identities of its own.

        Leaves stay in the graph. So does everything if data decides about sizes.
        """
        own = [node for node in graph.nodes[start:] if node.op not in LEAVES]
        if sized_inside(graph.nodes[start:], own):
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
        """Notes what is inside a branch or a loop, and cannot be read outside."""
        for body in owner.bodies:
            for node in body.nodes:
                self._owner[node] = owner

    def put_inside(self, node: Node, owner: Node) -> None:
        """Notes a node added to a branch or a loop."""
        self._owner[node] = owner

    def is_within(self, node: Node, owners: Container[Node]) -> bool:
        """Return True if a node is one of some owners of bodies, or inside one of them."""
        at: Node | None = node
        while at is not None and at not in owners:
            at = self._owner.get(at)
        return at is not None

    @contextmanager
    def opened(self, node: Node) -> Iterator[None]:
        """Inside the block, what is inside a branch or a loop may be read, because that is made to
        return it in the end."""
        with self.lock:
            self._open.append(node)
            try:
                yield
            finally:
                self._open.pop()

    @contextmanager
    def reading(self, played: Container[Symbol], nodes: Sequence[Node]) -> Iterator[None]:
        """Inside the block, `played` values inside of `nodes` may be read under their own names.

        `vmap` replays the bodies of these nodes and maps the gradient rules that were recorded in
        them: the values that a rule reads have been computed for all lanes.
        """
        with self.lock:
            self._played.append((played, nodes))
            try:
                yield
            finally:
                self._played.pop()

    def parameter(self, body: Graph, place: int, x: Symbol) -> Symbol:
        """Add a parameter to a body for input `place` of its owner, a value around it."""
        node = Node(PARAMETER, (), None, (), PARAMETER.name, None, Input(place))
        made = symbol(body, node, 0, x.dtype, x.known_shape, row=x.row)
        node.outputs = (made,)
        body.nodes.append(node)
        self.recorded_as[made] = x
        return made

    def _given(self, body: Graph, given: dict[Symbol, Symbol], x: Symbol) -> Symbol:
        """The parameter of the body of a call for a value around it."""
        if x not in given:
            given[x] = self.parameter(body, len(given), x)
        return given[x]

    def outside(self, x: Symbol, rows: Container[Symbol] = ()) -> Symbol:
        """What stands for a value where no call that contains it is open any more; values inside a
        loop stand for themselves if they are in `rows`."""
        if is_number(x):
            return x                    # computed anew wherever it is read
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
        """Return the value that gives the sizes of `x` at the place that is being recorded: `x`, or
        an output of the branch or call that contains it. None if no output gives them."""
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
        if owner.op is COND and isinstance(owner.data, Owned):
            return owner.data.outside.get(x)
        return None

    def now(self, x: Symbol) -> Symbol:
        """What a value is called where it stands: a parameter may be none any more, and in the
        gradient of a loop's gradient a value of the loop is a row."""
        while x in self.replaced:
            x = self.replaced[x]
        for node in self._open:
            x = node.data.rows.get(x, x)
        return x

    def _add_output(self, call: Node, y: Symbol) -> Symbol:
        """An output of a call for a value inside."""
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

    def given_by(self, x: Symbol) -> Symbol:
        """A value as what is inside of calls gives it, if calls return it."""
        while x.node.op is CALL and x in self.recorded_as:
            x = self.recorded_as[x]
        return x

    def recorded(self, x: Symbol) -> Symbol:
        """A value as it was recorded."""
        while x in self.recorded_as:
            x = self.recorded_as[x]
        return x


def row_of(x: Symbol, nodes: Iterable[Node]) -> Symbol:
    """Return the name of a value inside some nodes: in the gradient of a loop, values of the loop
    are rows."""
    for node in nodes:
        if isinstance(node.data, Owned):
            x = node.data.rows.get(x, x)
    return x


def sized_inside(nodes: Iterable[Node], own: Sequence[Node]) -> bool:
    """Whether data decides about sizes of what `own` make, or their sizes about other parameters
    among the nodes."""
    made = {y for node in own for y in node.outputs}
    return any([y.from_data or y.sized_by_data for y in made]) or any(
        [d.kind != "argument" and d.args[0] in made for node in nodes
         if isinstance(node.data, Feed) for a in node.data.args if isinstance(a, Dim)
         for d in leaves(a)])


def last_versions(body: Graph) -> list[Symbol]:
    """The last versions of the inputs that a body writes, in their order."""
    first: dict[Symbol, Symbol] = {}
    for node in body.nodes:
        for before, after in node.written:
            first[after] = first.pop(before, before)
    last = {x: version for version, x in first.items()}
    return [last[x] for x in body.inputs if x in last]
