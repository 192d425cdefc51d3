"""Values that are one tensor in eager mode.

Where Python hands a tensor on, ``y = x``, eager mode has one tensor: what flows back into it, by
whatever name, is added to one sum, use by use, in their order. In a graph, what a branch returns
and what a loop carries are values of their own. If the branch returns what it found around it, or
the round is the first, each use of `y` is one of `x`: what flows into it goes to the sum of `x`,
under a flag that says whether that is so. It goes to the sum of `y`, too, which is forgotten where
the flag holds: where `y` comes from, nothing flows on into `x`.

That is done only where the order of a sum depends on it: if `x` is read after `y` is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from dualflow._core import Maybe, Op, RecordLog, Symbol, as_tensor, current_graph, filled, tensor_id
from dualflow.autodiff.backward import total
from dualflow.autodiff.maybe import add_maybes, flag_of
from dualflow.graph.ir import CALL, LOOP, Node, Owned, loop_parts, walk
from dualflow.graph.trace.flows import dense, is_inside, n_made
from dualflow.ops.array import reshape
from dualflow.ops.bitwise import logical_and, logical_not, logical_or

if TYPE_CHECKING:
    from dualflow.graph.trace.enclosed import Enclosed

Flows = dict[int, Any]


class Alias(NamedTuple):
    """Another name of a value: of `of`, where `holds`; `fits`: both have one shape in any case."""

    of: Symbol
    holds: Symbol
    fits: bool

    def part(self, g: Any) -> Maybe:
        """What flows into `of` because `g` flows into the other."""
        m = only(g, self.holds)
        if self.fits:
            return m
        chosen = current_graph().cond(
            m.flag, [lambda: filled(-0.0, self.of), lambda: like(m.value, self.of)], "alias")
        return Maybe(chosen, m.flag, True)


class Aliases:
    """Those of a trace.

    Attributes
    ----------
    known : dict of int to list of Alias
        By the id of the value, as tapes know it.
    owners : dict of Op to Node
        By what tapes take a node that owns bodies for, the node.
    lasts : dict of int to Symbol
        By the id of what a round hands on: what the loop returns, which is that of the last round.
    active : set of int
        Those that make a difference in the walk under way.
    """

    def __init__(self, enclosed: Enclosed) -> None:
        self.enclosed = enclosed
        self.known: dict[int, list[Alias]] = {}
        self.owners: dict[Op, Node] = {}
        self.lasts: dict[int, Symbol] = {}
        self.active: set[int] = set()
        self._together: dict[int, list[int]] = {}   # those that are active if one is

    def recorded_id(self, x: Symbol) -> int:
        """The id by which tapes know a value."""
        return tensor_id(self.enclosed.recorded(x))

    def add(self, y: Symbol, aliases: Sequence[Alias], inside: Iterable[Symbol]) -> None:
        """Notes what `y` may be, and the values inside its node that it comes from."""
        self.known[tensor_id(y)] = list(aliases)
        self._together[tensor_id(y)] = list(map(self.recorded_id, inside))

    def ways(self, x: Symbol, wanted: Callable[[Symbol], bool]) -> dict[Symbol, list[list[Symbol]]]:
        """What a value, or what that may be, and so on, may be of what is wanted: for each, groups
        of flags, of which one must hold as a whole."""
        found: dict[Symbol, list[list[Symbol]]] = {}
        pending: list[tuple[Symbol, list[Symbol]]] = [(self.enclosed.recorded(x), [])]
        while pending:
            of, flags = pending.pop()
            if wanted(of):
                found.setdefault(of, []).append(flags)
            else:
                pending += [(more.of, [*flags, more.holds])
                            for more in self.known.get(tensor_id(of), ())]
        return found

    def of(self, y: Symbol) -> list[Alias]:
        """What a value may be, if that makes a difference."""
        i = tensor_id(y)
        return self.known.get(i, []) if i in self.active else []

    def handled(self, y: Symbol) -> set[int]:
        """What gets its part of what flows into a value where that is read."""
        return {tensor_id(alias.of) for alias in self.of(y)}

    def entering(self, flows: Flows, known_as: Mapping[int, int] | None = None) -> Flows:
        """What flows into values where a walk begins, with what then flows into others; `known_as`
        gives the ids that these are known by."""
        found: Flows = {}
        for i, g in flows.items():
            for at, part in [(i, g), *self.shared(i, g)]:
                at = known_as.get(at, at) if known_as else at
                found[at] = total([found[at], part]) if at in found else part
        return found

    def merged(self, found: Flows, sources: Iterable[int]) -> Flows:
        """The sums for sources: where one is something else, the sum for that."""
        made: Flows = {}
        for i in sources:
            parts: list[Any] = []
            later: Any = None
            for of, holds, _ in self.known.get(i, ()) if i in self.active else ():
                later = holds if later is None else logical_or(later, holds)
                if tensor_id(of) in found:
                    parts.append(only(found[tensor_id(of)], holds))
            if i in found:
                parts.append(found[i] if later is None else only(found[i], logical_not(later)))
            if parts:
                made[i] = add_maybes(parts) if len(parts) > 1 else parts[0]
        return made

    def targets_of(self, ids: Iterable[int]) -> list[int]:
        """The ids of all that values with the given ids may be."""
        first = [alias.of for i in ids for alias in self.known.get(i, ())]
        return [*map(tensor_id, first), *self.targets(first)]

    def targets(self, values: Iterable[Symbol]) -> dict[int, Symbol]:
        """By id, all that values may be, and what that may be; and what is their last row."""
        found: dict[int, Symbol] = {}
        pending = list(values)
        while pending:
            i = tensor_id(pending.pop())
            others = [alias.of for alias in self.known.get(i, ())]
            for of in [*others, self.lasts[i]] if i in self.lasts else others:
                if tensor_id(of) not in found:
                    found[tensor_id(of)] = of
                    pending.append(of)
        return found

    def flags(self, values: Iterable[Symbol]) -> list[Symbol]:
        """What says whether values, and what they may be, are something else."""
        values = list(values)
        return [alias.holds for x in [*values, *self.targets(values).values()]
                for alias in self.known.get(tensor_id(x), ())]

    def shared(self, i: int, g: Any, handled: Iterable[int] = ()) -> list[tuple[int, Any]]:
        """What flows into others because it flows into value `i`, except into those `handled`."""
        found: list[tuple[int, Any]] = []
        for alias in self.known.get(i, ()) if i in self.active else ():
            at = tensor_id(alias.of)
            if at not in handled:
                part = alias.part(g)
                found += [(at, part), *self.shared(at, part, handled)]
        return found

    def values(self, given: Iterable[Symbol]) -> list[Symbol]:
        """What inputs of nodes are, and what is inside of others, of which they are the values."""
        found: list[Symbol] = []
        pending = list(given)
        while pending:
            x = self.enclosed.recorded(pending.pop())
            found.append(x)
            if is_inside(x):
                pending += [body.outputs[x.index] for body in x.node.bodies]
        return found

    # --- which make a difference ---

    @contextmanager
    def walking(self, records: RecordLog | Iterable[Any], flows: Iterable[int],
                sources: Iterable[int]) -> Iterator[None]:
        """Inside the block, those are active that make a difference to a walk through records."""
        before, self.active = self.active, set()
        try:
            for i in sources:
                self._activate(i)
            used = set(flows)
            log = records.records() if isinstance(records, RecordLog) else list(records)
            for r in log:
                node = self.owners.get(r.op)
                self._decide(r.input_ids, r.output_ids, node, used)
            del log             # a walk that frees records keeps no more alive than it must
            yield
        finally:
            self.active = before

    def _decide(self, inputs: Iterable[int], outputs: Iterable[int], node: Node | None,
                used: set[int]) -> None:
        for y in outputs:
            if any([tensor_id(alias.of) in used for alias in self.known.get(y, ())]):
                self._activate(y)
        if node is not None:
            self._inside(node, used)
            inputs = self._read(node)
        used.update(inputs)

    def _activate(self, i: int) -> None:
        pending = [i]
        while pending:
            i = pending.pop()
            if i in self.known and i not in self.active:
                self.active.add(i)
                pending += self._together[i]

    def _inside(self, node: Node, used: set[int]) -> None:
        """Those of what is inside of a node that owns bodies."""
        for body in node.bodies:
            seen = used | {tensor_id(y) for y in body.outputs}
            if node.op is LOOP:
                seen |= {i for inner in walk(body.nodes) for i in self._read(inner)}
                parts = loop_parts(node)
                begins = list(map(self.recorded_id, node.inputs[parts.carried]))
                captured = set(map(self.recorded_id, node.inputs[parts.captured]))
                for c, begin in zip(body.inputs[parts.carried], begins, strict=True):
                    if begin in used or begin in captured or begins.count(begin) > 1:
                        self._activate(tensor_id(c))
            for inner in reversed(list(walk(body.nodes, into=CALL))):
                if isinstance(inner.data, Owned):
                    made = (inner.data.inside, *inner.outputs[:n_made(inner)])
                    self._decide((), map(tensor_id, made), inner, seen)
                else:
                    _, given, made = inner.applied
                    self._decide(map(self.recorded_id, given), map(tensor_id, made), None, seen)

    def _read(self, node: Node) -> list[int]:
        """What a node reads, values inside of others among it."""
        return [tensor_id(x) for x in self.values(node.inputs)]


def like(value: Any, x: Symbol) -> Any:
    """A value that has the shape of x, where data decides about its own."""
    return value if value.known_shape == x.known_shape else reshape(value, x.shape)


def is_alike(y: Symbol, x: Symbol) -> bool:
    """Whether two values have the same shape, as far as data does not decide about it."""
    return y.known_shape == x.known_shape and y.hints == x.hints and None not in x.hints


def only(g: Any, flag: Any) -> Maybe:
    """A gradient that flows only if the flag holds."""
    if not isinstance(g, Maybe):
        return Maybe(as_tensor(dense(g)), flag)
    return Maybe(g.value, logical_and(flag_of(g), flag))
