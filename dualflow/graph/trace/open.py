"""Branches and loops recorded while Python goes through them by itself, a piece at a time.

Whoever converts Python's own `if`, `while` and `for` cannot hand over functions: the code of a
branch or a round runs in the frame it stands in. `open` begins one, `close` ends it, `finish` makes
the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from dualflow._core import Symbol, as_tensor, tensor_id
from dualflow.graph.ir import COND, LEAVES, LOOP, Node, loop_attrs
from dualflow.graph.trace.aliases import Alias, is_alike
from dualflow.graph.trace.bodies import Body, param
from dualflow.graph.trace.body_gradient import own_recorded as own
from dualflow.graph.trace.control import ENDLESS
from dualflow.ops.bitwise import logical_and, logical_not, logical_or

if TYPE_CHECKING:
    from dualflow.graph.trace.trace import Trace


class OpenBody(Body):
    """A body that is recorded until it is closed."""

    def __init__(self, trace: Trace, name: str, params: Sequence[Symbol] = (),
                 rounds: bool = False) -> None:
        self.trace = trace
        self.name = name
        self.params: list[Symbol] = list(params)
        self.result: None = None
        self.rounds = rounds
        self.same_tensors = True
        self.rows: dict[Symbol, Symbol] = {}
        self.outputs: list[Symbol] = []
        self._guards = dict(trace.guards)
        self._enter(trace)
        self._recording = trace.recording()     # and by no tape that was active before
        self._recording.__enter__()

    def recorded(self) -> Sequence[Node]:
        """The nodes so far."""
        return self.trace.nodes[self._mark:]

    def close(self) -> None:
        """Ends it; its outputs are told later."""
        self._recording.__exit__(None, None, None)
        self._cut_out(self.trace)
        self._same = {x: self.trace.variables[v] for v, x in self.stand_ins.items()
                      if v not in self.written}

    def returns(self, outputs: Sequence[Symbol]) -> None:
        """Tells the outputs of a body that is closed."""
        self.outputs = [self._same.get(x, x) for x in self.trace.adopt(None, list(outputs))]

    def add(self, f: Callable[[], Any]) -> Symbol:
        """Another value, of a body that is closed."""
        mark = self.trace.mark
        with self.trace.recording():
            made = self.trace.adopt(None, [as_tensor(f())])[0]
        added = self.trace.nodes[mark:]
        self.nodes += [node for node in added if node.op not in LEAVES]
        self.trace.nodes[mark:] = [node for node in added if node.op in LEAVES]
        return made

    def drop(self) -> None:
        """Ends it as if nothing had been recorded."""
        self.close()
        self.trace.guards = self._guards

    def put_back(self) -> None:
        """What was recorded runs in any case: it goes back to where it was taken from."""
        self.trace.nodes += self.nodes
        self.trace.variables.update({v: after for v, (_, after) in self.written.items()})


class Branches:
    """Two branches, of which a traced bool chooses one."""

    name = "cond"

    def __init__(self, trace: Trace, chosen: Symbol) -> None:
        self.trace = trace
        self.chosen = chosen
        self.bodies: list[OpenBody] = []

    def open(self) -> OpenBody:
        """Begins the branch for True, then that for False."""
        self.bodies.append(OpenBody(self.trace, f"{self.name}/{1 - len(self.bodies)}"))
        return self.bodies[-1]

    def finish(self, first: Sequence[Symbol], second: Sequence[Symbol]) -> tuple[Symbol, ...]:
        """What the branch taken returns, of what both do."""
        for body, outputs in zip(self.bodies, (first, second), strict=True):
            body.returns(outputs)
        aliases = self._aliases(len(first))
        made = own(self.trace, COND, None, [self.chosen], 0, self.bodies[::-1], self.name).outputs
        for k, y in enumerate(made[:len(first)]):
            found = [Alias(of, made[holds] if isinstance(holds, int) else holds, False)
                     for of, holds in aliases.get(k, {}).items()]
            if found:
                inside = [body.outputs[k] for body in self.bodies]
                self.trace.enclosed.aliases.add(y, found, inside)
        return made[:len(first)]

    def _aliases(self, n: int) -> dict[int, dict[Symbol, Symbol | int]]:
        """What each output may be of the values around, and what says whether it is: a flag, or the
        place of one among the outputs, to which it is added."""
        found: dict[int, dict[Symbol, Symbol | int]] = {}
        for k in range(n):
            if not self.bodies[0].outputs[k].dtype.is_floating:
                continue
            ways = [self._ways(body, body.outputs[k]) for body in self.bodies]
            for of in dict.fromkeys([*ways[0], *ways[1]]):
                holds: Symbol | int
                if ways[0].get(of) == [[]] and of not in ways[1]:
                    holds = self.chosen
                elif ways[1].get(of) == [[]] and of not in ways[0]:
                    holds = self.trace.adopt(None, [logical_not(self.chosen)])[0]
                else:
                    holds = len(self.bodies[0].outputs)
                    for body, there in zip(self.bodies, ways, strict=True):
                        body.outputs.append(body.add(partial(either, there.get(of, ()))))
                found.setdefault(k, {})[of] = holds
        return found

    def _ways(self, body: OpenBody, y: Symbol) -> dict[Symbol, list[list[Symbol]]]:
        """The values around a branch that one in it may be, with the flags that say so."""
        own, enclosed = set(body.nodes), self.trace.enclosed
        return enclosed.aliases.ways(y, lambda of: not enclosed.is_within(of.node, own))


def and_(a: Any, b: Any) -> Any:
    """Whether two flags hold."""
    return logical_and(a, b)


def either(ways: Iterable[Sequence[Symbol]]) -> Any:
    """Whether all flags of one of some groups hold."""
    found: Any = None
    for flags in ways:
        every: Any = reduce(and_, flags) if flags else True
        found = every if found is None else logical_or(found, every)
    return False if found is None else found


class Rounds:
    """The rounds of a loop, of which one is recorded.

    Parameters
    ----------
    times : int or Symbol or None
        How many there are at most.
    tested : bool
        Whether each says if there is another.
    """

    name = "loop"

    def __init__(self, trace: Trace, times: int | Symbol | None, tested: bool) -> None:
        self.trace = trace
        self.times = times
        self.tested = tested

    def open(self, start: Sequence[Symbol], rows: Sequence[Symbol],
             shapes: Sequence[Sequence[int | None]]) -> tuple[list[Symbol], list[Symbol]]:
        """Begins a round: what it is given of what is carried, which has the given shapes from
        round to round, and of the tensors it sees a row of."""
        self.start: list[Symbol] = self.trace.adopt(None, list(start))
        self.rows: list[Symbol] = self.trace.adopt(None, list(rows))
        carried = [param(self.trace, x, f"{self.name}/{k}",
                         shape=None if tuple(shape) == x.known_shape else shape)
                   for k, (x, shape) in enumerate(zip(self.start, shapes, strict=True))]
        seen = [param(self.trace, x, f"{self.name}/row {k}", 1)
                for k, x in enumerate(self.rows)]
        self.carried = carried
        for x, c in zip(self.start, carried, strict=True):
            if c.dtype.is_floating and is_alike(c, x):
                self.trace.enclosed.aliases.add(c, [self._is(c, x, self._flag())], [])
        self.body: OpenBody = OpenBody(self.trace, f"{self.name}/body", [*carried, *seen],
                                       rounds=True)
        return carried, seen

    def _flag(self) -> Symbol:
        """A param that says whether what is carried is still what the loop began with."""
        return param(self.trace, self.trace.adopt(None, [as_tensor(True)])[0],
                     f"{self.name}/first")

    def _is(self, y: Symbol, x: Symbol, holds: Symbol) -> Alias:
        return Alias(self.trace.enclosed.recorded(x), holds, is_alike(y, x))

    def _alias(self, k: int, made: Sequence[Symbol], found: Sequence[tuple[Symbol, Symbol, Symbol]],
               after: Symbol) -> None:
        """Notes what is carried at place k may be, by flags in a round and after the loop."""
        c, y, aliases = self.carried[k], made[k], self.trace.enclosed.aliases
        if tensor_id(c) in aliases.known:       # then what it begins with comes first
            aliases.add(c, [self._is(c, *found[0][:2])], [y, after])
        aliases.add(y, [self._is(y, x, holds) for x, _, holds in found], [c])

    def finish(self, first: Symbol | None, go_on: Symbol | None, carried: Sequence[Symbol],
               more: Sequence[tuple[Symbol, Symbol]], stacked: Sequence[Symbol],
               ) -> tuple[Sequence[Symbol], Sequence[Symbol]]:
        """What is carried in the end, and all rows made.

        `first`: whether there is a first round, `go_on`: what the one recorded says of the next;
        `more`: what is carried and not read in a round, as it begins and as the round makes it.
        """
        trace = self.trace
        for start, last in more:
            carried = [*carried, last]
            self.body.params.insert(len(self.start), param(
                trace, start, f"{self.name}/{len(self.start)}", shape=last.known_shape))
            self.start.append(start)
        flags = self._flags(carried)
        places = dict(zip(self._next, range(len(self.start), len(self.start) + len(self._next)),
                          strict=True))
        carried = [*carried, *self._carry()]
        n = len(self.start)
        returned = [*carried, *stacked] if go_on is None else [go_on, *carried, *stacked]
        self.body.returns(returned)
        limit = [self.times] if isinstance(self.times, Symbol) else []
        tested = [] if first is None else [first]
        given = trace.adopt(None, [*limit, *tested, *self.start, *self.rows])
        times = self.times if isinstance(self.times, int) else -1 if limit else ENDLESS
        attrs = loop_attrs(times, n, len(self.rows), self.tested, False)
        made = own(trace, LOOP, attrs, given, n + len(self.rows), [self.body], self.name).outputs
        for k, found in flags.items():
            self._alias(k, made, [(x, flag, made[places[flag]]) for x, flag in found], carried[k])
        inside = set(self.body.nodes)
        for x, y in zip(carried, made, strict=False):
            if x.node in inside and x.dtype.is_floating and None not in x.hints:
                self.trace.enclosed.aliases.lasts[tensor_id(x)] = y
        first_row = n + self.tested
        return made[:n], made[first_row:first_row + len(stacked)]


    def _flags(self, carried: Sequence[Symbol]) -> dict[int, list[tuple[Symbol, Symbol]]]:
        """By the place of what is carried: the values around the loop that it may be, what it
        begins with first, each with the param that says so."""
        enclosed, own = self.trace.enclosed, set(self.body.nodes)
        params = {*self.carried, *self.body.params, *self.body.stand_ins.values()}
        found: dict[int, list[tuple[Symbol, Symbol]]] = {}
        self._next: dict[Symbol, tuple[bool, Symbol]] = {}
        for k, c in enumerate(self.carried):
            if not c.dtype.is_floating:
                continue
            begins = {a.of: a.holds for a in enclosed.aliases.known.get(tensor_id(c), ())}

            def wanted(of: Symbol, c: Symbol = c) -> bool:
                return of is c or (of not in params and not enclosed.is_within(of.node, own))

            ways = enclosed.aliases.ways(carried[k], wanted)
            kept = ways.pop(c, [])
            for of in dict.fromkeys([*begins, *ways]):
                flag = begins[of] if of in begins else self._flag()
                some = [*ways.get(of, []), *[[*flags, flag] for flags in kept]]
                self._next[flag] = of in begins, self.body.add(partial(either, some))
                found.setdefault(k, []).append((of, flag))
        return found

    def _carry(self) -> list[Symbol]:
        """Has the loop carry flags, after all else; what a round makes of them."""
        for flag, (first, _) in self._next.items():
            self.body.params.insert(len(self.start), flag)
            self.start += self.trace.adopt(None, [as_tensor(first)])
        return [after for _, after in self._next.values()]


def branches(trace: Trace, chosen: Symbol) -> Branches:
    """Two branches of a trace."""
    return Branches(trace, chosen)


def rounds(trace: Trace, times: int | Symbol | None, tested: bool) -> Rounds:
    """The rounds of a loop of a trace."""
    return Rounds(trace, times, tested)
