"""The operators `while` and `for`. Python runs the loop until its test is a traced tensor, or if
its items are not traced; otherwise one iteration is recorded as the body of a loop node."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

from dualflow._core import as_tensor, current_graph, unobserved
from dualflow.autograph.assigned import peeled, settled
from dualflow.autograph.carried import Carried, Flag, Peel, RetraceBody
from dualflow.autograph.conditions import Atom, Formula, choice, conditions
from dualflow.autograph.errors import left_early, note_escape
from dualflow.autograph.items import Items, items_of
from dualflow.autograph.list_append import Rows, Stacks
from dualflow.autograph.state import State
from dualflow.autograph.values import guesses, is_traced, truth
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.elementwise.bitwise import logical_and, logical_not


class Loop:
    """The common part of `while` and `for`.

    Attributes
    ----------
    traced : bool
        Whether the loop is a node of the graph.
    """

    what = "loop"
    size: Any = None
    learning: bool
    learned: bool
    count: Any
    rows: list[Any]
    tested: bool

    def __init__(self, names: str, dead: str, flags: str, rows: str, mutable_containers: str,
                 attributes: str,
                 ) -> None:
        self.words: tuple[str, str, str, str] = names, dead, mutable_containers, attributes
        self.flags: list[str] = flags.split()
        self.row_names: list[str] = rows.split()
        self.traced: bool = False
        self.go_first: Any = None           # whether there is a first iteration
        self.loop_builder: Any = None
        self.body: Any = None
        self.finished: list[Any] | None = None
        self.peeling: bool = False
        self.learning = self.learned = False    # inference of the dtypes of Python numbers

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.body is not None:
            self.drop()
            if kind is None:
                left_early(self.what)
            code, line = self.place
            note_escape(error, self.what, f"{code.co_filename}:{line}")

    def drop(self) -> None:
        """Discard the iteration that is being recorded."""
        self.body.drop()
        self.body = None
        self.settle()
        self.stacks.forget()

    def settle(self) -> None:
        """Mark the iteration as no longer recorded with guessed dtypes."""
        if self.place in guesses.open:
            guesses.open.remove(self.place)

    # --- an iteration ---

    @unobserved
    def begin(self, frame: FrameType, count: Any, rows: list[Any], counters: list[Any],
              tested: bool, can_peel: bool = False) -> None:
        """Read the variables before the first iteration of the loop node."""
        self.traced = True
        self.place: tuple[CodeType, int | Any] = frame.f_code, frame.f_lineno
        self.state: State = State(frame, *self.words)
        self.stacks: Stacks = Stacks(frame, self.row_names, self.what)
        self.before: list[Any] = self.state.read(frame)
        self.count, self.rows, self.tested = count, rows, tested
        self.carried: list[Any] = []
        for k, (word, value) in enumerate(zip(self.state.words, self.before, strict=True)):
            self.carried.append(
                Flag(word, value) if word in self.flags else
                Carried(word, value, self.what, not self.state.is_variable(k), can_peel,
                        self.state.is_owned(k), self.state.is_deferred(k), self.place))
        self.carried += [Carried("the counter", x, self.what, False, False) for x in counters]

    @unobserved
    def record(self) -> tuple[list[Any], list[Any]]:
        """Begin to record an iteration; return its rows and counters."""
        self.loop_builder = current_graph().loop_builder(self.count, self.tested)
        start = [(c, k, x) for c in self.carried for k, x in enumerate(c.begin())]
        params, rows = self.loop_builder.open([x for _, _, x in start], self.rows,
                                              [c.shape(k, x) for c, k, x in start])
        self.body = self.loop_builder.body
        if guesses.known(self.place):
            self.learning |= self.may_learn()
            self.learned = True
        elif self.may_learn():
            guesses.open.append(self.place)
        left = iter(params)
        self.params: list[list[Any]] = [[next(left) for _ in c.start] for c in self.carried]
        self.stacks.begin()
        n = len(self.before)
        for c, given in zip(self.carried, self.params, strict=True):
            c.params = given
        self.inside: list[Any] = [c.at_first(p) if self.learning else c.inside(p)
                       for c, p in zip(self.carried, self.params, strict=True)]
        return rows, self.inside[n:]

    def enter(self) -> tuple[Any, ...]:
        """Return the values of the variables at the start of the iteration."""
        if self.peeling:
            return self.state.write(self.before)
        return self.state.write(self.inside[:len(self.before)])

    @unobserved
    def close(self, frame: FrameType, keep_going: Any, counters: list[Any]) -> bool:
        """End the iteration; return False if it must be recorded again."""
        values = [*map(settled, self.state.read(frame)), *counters]
        if self.learning:
            for c, value in zip(self.carried, values, strict=True):
                c.learn(value)
            return self.fresh_identities()
        self.settle()
        for c, value in zip(self.carried, values, strict=True):
            c.final = value
        bools = [c for c in self.carried if isinstance(c, Carried)]
        try:
            made = [c.end(value, params, k >= len(self.before) or self.state.is_needed(k), bools)
                    for k, (c, value, params) in enumerate(
                        zip(self.carried, values, self.params, strict=True))]
            stacked = self.stacks.end()
        except (RetraceBody, Peel) as reason:
            self.peeling = isinstance(reason, Peel)
            return self.fresh_identities()
        except (InvalidArgumentError, DTypeError):
            if self.may_learn():
                return self.fresh_identities(True)
            raise
        if self.may_learn() and converts(self.body.recorded()):
            return self.fresh_identities(True)
        self.body.close()
        self.body = None
        self.finish(keep_going, made, stacked)
        return True

    def may_learn(self) -> bool:
        """Return True if dtypes of Python numbers are guesses: a number takes the dtype of the
        first tensor it meets, whereas the tensor that replaces it does not."""
        return not self.learned and any([
            number and type(x) is not bool
            for c in self.carried for number, x in zip(c.numbers, c.given, strict=True)])

    def fresh_identities(self, learning: bool = False) -> bool:
        """Discard the iteration, to record it again; with `learning`, the next recording only
        infers the dtypes of numbers."""
        self.drop()
        self.learning = learning
        self.learned |= learning
        return False

    def finish(self, keep_going: Any, made: list[list[Any]], stacked: list[Any]) -> None:
        """Create the loop node and store the values of the variables after it."""
        to_symbols, known = current_graph().to_symbols, conditions()
        early = [x for c, xs in zip(self.carried, made, strict=True) if not c.late for x in xs]
        late = [to_symbols(None, [start, x]) for c, xs in zip(self.carried, made, strict=True)
                if c.late for start, x in zip(c.begins(xs), xs, strict=True)]
        carried, rows = self.loop_builder.finish(self.go_first, keep_going, early, late, stacked)
        first, second = iter(carried[:len(early)]), iter(carried[len(early):])
        outputs = [[next(second if c.late else first) for _ in xs]
                   for c, xs in zip(self.carried, made, strict=True)]
        ran = self.ran()
        for c, xs, ys in zip(self.carried, made, outputs, strict=True):
            for k, (x, y) in enumerate(zip(xs, ys, strict=True)):
                if y.dtype.is_bool and y.ndim == 0:
                    before = c.value if isinstance(c, Flag) else False if c.late else c.given[k]
                    known.define(y, choice(ran, known.of(x), known.of(before)))
        last = [c.last(ys, ran) for c, ys in zip(self.carried, outputs, strict=True)]
        times = self.count if isinstance(self.count, int) and not self.tested else None
        self.finished = [*self.state.write(last[:len(self.before)]),
                         *self.stacks.lists(rows, times, self.size)]

    def ran(self) -> Formula:
        """Return the condition that there was an iteration."""
        enough = self.count is None or type(self.count) is int
        first = True if self.go_first is None else conditions().of(self.go_first)
        return first if enough else choice(first, Atom(), False)

    @unobserved
    def done(self) -> tuple[Any, ...]:
        """Return the values of the variables after the loop."""
        if self.body is not None or self.finished is None:
            if self.body is not None:
                self.drop()
            left_early(self.what)
        assert self.finished is not None
        return tuple(self.finished)


def converts(nodes: Sequence[Any]) -> bool:
    """Return True if a node converts between numeric dtypes, as when two dtypes meet."""
    return any([
        any([x.dtype is not y.dtype and not (x.dtype.is_bool or y.dtype.is_bool)
             for x in node.inputs[:1] for y in node.outputs[:1]])
        or any([converts(body.nodes) for body in node.bodies]) for node in nodes])


class While(Loop):
    """A `while` loop, run by Python until its test is a traced tensor."""

    what = "`while`"

    def test(self, value: Any) -> bool:
        """Return True if Python is to run the body once more."""
        if self.body is not None:
            again = not self.close(sys._getframe(1), truth(value) if is_traced(value)
                                   else as_tensor(bool(value)), [])
            if again:
                self.record()
            return again
        if not is_traced(value):
            return bool(value)
        self.go_first: Any = truth(value)
        self.begin(sys._getframe(1), None, [], [], True)
        self.record()
        return True


class For(Loop):
    """A `for` over traced tensors."""

    what = "`for`"

    def __init__(self, items: Items, *words: str) -> None:
        super().__init__(*words)
        self.items = items
        self.size: Any = items.size
        self.left: Any = False

    def more(self, left: Any) -> None:
        """Store, at the end of an iteration, whether the iteration leaves the loop."""
        self.left = left

    def __iter__(self) -> Iterator[Any]:
        """Yield an item for each run of the body by Python, usually once."""
        items, tested = self.items, bool(self.flags)
        if isinstance(items.count, int) and items.count == 0:
            return
        can_peel = isinstance(items.count, int)
        while True:
            self.go_first: Any = self._not_left() if tested else None
            self.begin(sys._getframe(1), items.count, items.rows,
                       [x for x, _ in items.counters], tested, can_peel)
            closed = False
            self.peeling = can_peel and self.place in peeled
            while not closed and not self.peeling:
                rows, counters = self.record()
                self.left = False
                yield items.item(rows, counters)
                keep_going = self._not_left() if tested else None
                steps = [x + step for x, (_, step) in zip(counters, items.counters, strict=True)]
                closed = self.close(sys._getframe(1), keep_going, steps)
            if closed:
                return
            can_peel = False
            yield items.first()
            self.peeling = False
            if self.left is True or (isinstance(items.count, int) and items.count == 1):
                frame = sys._getframe(1)
                state = State(frame, *self.words)
                self.finished: list[Any] = [*state.read(frame)[:len(state.names)],
                                 *[frame.f_locals[x] for x in self.row_names]]
                return
            items = items.rest()

    def _not_left(self) -> Any:
        left = self.left
        return logical_not(truth(left)) if is_traced(left) else as_tensor(not left)


class ForElements(For):
    """A `for` over a dataset: a loop node that calls Python for each element."""

    def __init__(self, elements: Any, *words: str) -> None:
        Loop.__init__(self, *words)
        self.elements = elements
        self.left: Any = False

    def __iter__(self) -> Iterator[Any]:
        """Yield an element for each recording of the body, usually one."""
        self.go_first = self.elements.more()
        self.begin(sys._getframe(1), None, [], [], True)
        closed = False
        while not closed:
            self.record()
            self.left = False
            yield self.elements.item()
            keep_going = self._not_left() if self.flags else None
            more = self.elements.more()
            keep_going = more if keep_going is None else logical_and(keep_going, more)
            closed = self.close(sys._getframe(1), keep_going, [])
        self.elements.close()


class PlainFor:
    """A `for` loop over values that are not traced."""

    traced = False

    def __init__(self, items: Any) -> None:
        self.items = items
        self.left: bool = False

    def __enter__(self) -> PlainFor:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def more(self, left: Any) -> None:
        """Stop the loop if `left` is True. If `left` is a traced tensor, Python continues with
        iterations that are guarded by the break flag."""
        self.left = left is True

    def __iter__(self) -> Iterator[Any]:
        for item in self.items:
            yield item
            if self.left:
                return


def while_(names: str = "", dead: str = "", flags: str = "", rows: str = "",
           mutable_containers: str = "",
           attributes: str = "") -> Any:
    """`while`; the parameters are described at `State`."""
    return While(names, dead, flags, rows, mutable_containers, attributes)


def for_(items: Any, names: str = "", dead: str = "", flags: str = "", rows: str = "",
         mutable_containers: str = "", attributes: str = "") -> Any:
    """`for`; the parameters are described at `State`."""
    items = items.tensor if isinstance(items, Rows) else items
    if current_graph() is not None and hasattr(type(items), "__df_elements__"):
        return ForElements(items.__df_elements__(), names, dead, flags, rows, mutable_containers,
                           attributes)
    found = items_of(items)
    if found is None:
        return PlainFor(items)
    return For(found, names, dead, flags, rows, mutable_containers, attributes)
