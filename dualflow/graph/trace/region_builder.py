"""Builders of cond and loop nodes, for branches and iterations that are not functions.

`autograph` converts `if`, `while` and `for` statements, whose code runs in the frame of its
function. It calls `open` before a branch or an iteration, `close` after it, and `finish` to create
the node. A body is either closed once or dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import Symbol
from dualflow.graph.ir import COND, LOOP, Node, loop_attrs
from dualflow.graph.trace.bodies import Body, param
from dualflow.graph.trace.control import NO_LIMIT
from dualflow.graph.trace.control_gradient import own_recorded as own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.graph.trace.trace import Trace


class OpenBody(Body):
    """A body that is recorded until it is closed."""

    def __init__(self, trace: Trace, name: str, params: Sequence[Symbol] = (),
                 loop_builder: bool = False) -> None:
        self.trace = trace
        self.name = name
        self.params: list[Symbol] = list(params)
        self.result: None = None
        self.rounds = loop_builder
        self.keeps_identity = True
        self.rows: dict[Symbol, Symbol] = {}
        self.outputs: list[Symbol] = []
        self._guards = dict(trace.guards)
        self._enter(trace)
        self._recording = trace.recording()     # hides the tapes of enclosing contexts
        self._recording.__enter__()

    def recorded(self) -> Sequence[Node]:
        """Return the nodes recorded since the body was opened."""
        return self.trace.nodes[self._mark:]

    def close(self) -> None:
        """End the body; `returns` sets its outputs later."""
        self._recording.__exit__(None, None, None)
        self._cut_out(self.trace)
        self._same = {x: self.trace.variables[v] for v, x in self.placeholders.items()
                      if v not in self.written}

    def returns(self, outputs: Sequence[Symbol]) -> None:
        """Set the outputs of a closed body."""
        self.outputs = [self._same.get(x, x) for x in self.trace.to_symbols(None, list(outputs))]

    def drop(self) -> None:
        """End the body and discard its nodes and guards."""
        self.close()
        self.trace.guards = self._guards

    def put_back(self) -> None:
        """Return the nodes of a closed body to the trace, where they run unconditionally."""
        self.trace.nodes += self.nodes
        self.trace.variables.update({v: after for v, (_, after) in self.written.items()})


class CondBuilder:
    """The builder of a cond with two branches, selected by a traced bool."""

    name = "cond"

    def __init__(self, trace: Trace, chosen: Symbol) -> None:
        self.trace = trace
        self.chosen = chosen
        self.bodies: list[OpenBody] = []

    def open(self) -> OpenBody:
        """Begin the branch for True, then the branch for False."""
        self.bodies.append(OpenBody(self.trace, f"{self.name}/{1 - len(self.bodies)}"))
        return self.bodies[-1]

    def finish(self, first: Sequence[Symbol], second: Sequence[Symbol]) -> tuple[Symbol, ...]:
        """Create the cond from the outputs of both branches; return its outputs."""
        for body, outputs in zip(self.bodies, (first, second), strict=True):
            body.returns(outputs)
        made = own(self.trace, COND, None, [self.chosen], 0, self.bodies[::-1], self.name).outputs
        return made[:len(first)]


class LoopBuilder:
    """The builder of a loop, which records one iteration.

    Parameters
    ----------
    times : int or Symbol or None
        The maximal trip count.
    tested : bool
        Whether the loop has a condition.
    """

    name = "loop"

    def __init__(self, trace: Trace, times: int | Symbol | None, tested: bool) -> None:
        self.trace = trace
        self.times = times
        self.tested = tested

    def open(self, start: Sequence[Symbol], rows: Sequence[Symbol],
             shapes: Sequence[Sequence[int | None]]) -> tuple[list[Symbol], list[Symbol]]:
        """Begin the iteration. Return its parameters for the carries, which have `shapes` in every
        iteration, and for one row of each tensor in `rows`."""
        self.start: list[Symbol] = self.trace.to_symbols(None, list(start))
        self.rows: list[Symbol] = self.trace.to_symbols(None, list(rows))
        carried = [param(self.trace, x, f"{self.name}/{k}",
                         shape=None if tuple(shape) == x.known_shape else shape)
                   for k, (x, shape) in enumerate(zip(self.start, shapes, strict=True))]
        seen = [param(self.trace, x, f"{self.name}/row {k}", 1)
                for k, x in enumerate(self.rows)]
        self.body: OpenBody = OpenBody(self.trace, f"{self.name}/body", [*carried, *seen],
                                       loop_builder=True)
        return carried, seen

    def finish(self, first: Symbol | None, keep_going: Symbol | None, carried: Sequence[Symbol],
               more: Sequence[tuple[Symbol, Symbol]], stacked: Sequence[Symbol],
               ) -> tuple[Sequence[Symbol], Sequence[Symbol]]:
        """Create the loop; return the last carries and the stacked outputs.

        `first` and `keep_going` are the condition before the first iteration and after an
        iteration, or None. `more` has further carries, which an iteration does not read: pairs
        (initial value, value after the iteration).
        """
        trace = self.trace
        for start, last in more:
            carried = [*carried, last]
            self.body.params.insert(len(self.start), param(
                trace, start, f"{self.name}/{len(self.start)}", shape=last.known_shape))
            self.start.append(start)
        n = len(self.start)
        returned = [*carried, *stacked] if keep_going is None else [keep_going, *carried, *stacked]
        self.body.returns(returned)
        limit = [self.times] if isinstance(self.times, Symbol) else []
        tested = [] if first is None else [first]
        given = trace.to_symbols(None, [*limit, *tested, *self.start, *self.rows])
        times = self.times if isinstance(self.times, int) else -1 if limit else NO_LIMIT
        attrs = loop_attrs(times, n, len(self.rows), self.tested, False)
        made = own(trace, LOOP, attrs, given, n + len(self.rows), [self.body], self.name).outputs
        first_row = n + self.tested
        return made[:n], made[first_row:first_row + len(stacked)]


def cond_builder(trace: Trace, chosen: Symbol) -> CondBuilder:
    """Return the builder of a cond."""
    return CondBuilder(trace, chosen)


def loop_builder(trace: Trace, times: int | Symbol | None, tested: bool) -> LoopBuilder:
    """Return the builder of a loop."""
    return LoopBuilder(trace, times, tested)
