"""What a trace recorded, and its gradients: sections, each with what it reads from earlier ones.

A gradient is recorded as if a tape had been inside the trace: it continues where that ended, with
the Symbols that gradient rules hold, the user's own among them; but into lists of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dualflow import dtypes
from dualflow._core import Dim, Maybe, Places, RecordLog, Symbol, as_tensor, symbol, tensor_id
from dualflow.autodiff.backward import backward
from dualflow.autodiff.maybe import zeroed
from dualflow.errors import DualflowError
from dualflow.graph.ir import CONSTANT, PARAMETER, VARIABLE, Node, Owned, walk
from dualflow.graph.reads.watch import StateReads
from dualflow.graph.trace.control_gradient import any_flag
from dualflow.graph.trace.cotangents import flows_into
from dualflow.graph.trace.dims import leaves
from dualflow.graph.trace.parameters import Argument, Cotangent, Feed, Number
from dualflow.graph.trace.play import play
from dualflow.graph.trace.trace import Trace
from dualflow.locks import reentrant_lock
from dualflow.ops.indexed_slices import IndexedSlices

Group = Sequence[Symbol]            # sources that are one tensor


class Section:
    """Nodes of a trace, or of one that continues it, which run together.

    Parameters
    ----------
    trace : Trace
    given : list of Symbol
        What it is given when it runs.

    Attributes
    ----------
    sources : list of Symbol
        Floating values that gradients may flow to: given ones, variables and constants.
    outputs : list of Symbol
    like : dict of Symbol to Symbol
        The value of which a given value is the cotangent.
    state : list of Places
        The state of Python that gradient rules of the user have read; shared with its gradients.
    sized : dict of Symbol to Symbol
        For a value of another section whose size is read: a given value that has that size.
    """

    def __init__(self, trace: Trace, given: Sequence[Symbol], outputs: Sequence[Symbol]) -> None:
        self.trace = trace
        self.given: list[Symbol] = list(given)
        self.outputs: list[Symbol] = list(outputs)
        self.like: dict[Symbol, Symbol] = {x: x.node.data.of for x in self.given
                                           if isinstance(x.node.data, Cotangent)}
        self.sized: dict[Symbol, Symbol] = {y: x for x, y in self.like.items()}
        self.variables: list[Symbol] = [node.outputs[0] for node in trace.nodes
                                        if node.op is VARIABLE]
        constants = dict.fromkeys(
            x for values in (*[node.inputs for node in trace.nodes], self.outputs)
            for x in values if x.node.op is CONSTANT)
        self.sources: list[Symbol] = [x for x in (*self.given, *self.variables, *constants)
                        if flows_into(x)]
        self.state: list[Places] = []
        self._lock = reentrant_lock()
        self._gradients: dict[Any, Gradient] = {}

    def log(self, groups: Sequence[Group]) -> RecordLog:
        """The section as if a tape that watches sources had recorded it. Sources of one group are
        known by the identity of the first."""
        log = RecordLog(False)
        for group in groups:
            for x in group:
                for y in (x, self.trace.enclosed.recorded(x)):
                    log.watch(y)
        play(log, self.trace.nodes, self.trace.enclosed, self.known_as(groups))
        return log

    def known_as(self, groups: Sequence[Group]) -> dict[int, int]:
        """By the ids of sources of a group, the id of the first one."""
        return {tensor_id(y): tensor_id(group[0]) for group in groups for x in group
                for y in (x, self.trace.enclosed.recorded(x)) if y is not group[0]}

    def gradient(self, targets: Sequence[Symbol], groups: Sequence[Group],
                 summed: Sequence[bool], flagged: Sequence[bool] = ()) -> Gradient:
        """From what flows into targets, and the sums so far of what flows into sources if there are
        any, to the sums for each group of sources. A value that the section makes may be a source,
        too. `flagged`: targets to which something flows only if a flag, which is given, holds."""
        key = (tuple(map(id, targets)), tuple(tuple(map(id, g)) for g in groups), tuple(summed),
               tuple(flagged))
        with self._lock:
            if key not in self._gradients:
                self._gradients[key] = Gradient(self, targets, groups, summed, flagged)
            return self._gradients[key]

    def needed(self, targets: Sequence[Symbol], groups: Sequence[Group]) -> list[Symbol]:
        """Return the values that gradients of any of the targets read."""
        found = self._reads(targets, groups)
        if self._sized_by_data:
            # Zeros for a target without a cotangent have a size that is to be read: for any two
            # targets, one of these parts has the one and not the other.
            for bit in range(len(targets).bit_length()):
                for part in (0, 1):
                    chosen = [y for k, y in enumerate(targets) if k >> bit & 1 == part]
                    found += self._reads(chosen, groups) if chosen else []
        return list(dict.fromkeys(found))

    def _reads(self, targets: Sequence[Symbol], groups: Sequence[Group]) -> list[Symbol]:
        try:
            return list(self.gradient(targets, groups, [False] * len(groups)).reads)
        except DualflowError:
            # It is raised when that gradient is asked for; others may exist.
            if len(targets) * len(groups) == 1:
                return []
            return [x for y in targets for group in groups for x in self._reads([y], [group])]

    @property
    def _sized_by_data(self) -> bool:
        """Whether data decides about the size of any value that may have a gradient."""
        return any([y.sized_by_data and y.dtype.is_floating
                    for node in walk(self.trace.nodes) for y in node.outputs])


class Gradient(Section):
    """The gradient of a section.

    Attributes
    ----------
    reads : list of Symbol
        The first of those given: values of the section it is the gradient of, or given to that.
    places : list of int
        For each result, its group of sources.
    kinds : list of str
        For each result: "dense"; "rows", IndexedSlices: two of the outputs, values and indices; or
        "maybe": a value, and a flag that says whether anything flowed.
    flags : set of Symbol
        The last of those given: for flagged targets, whether anything flows.
    """

    def __init__(self, of: Section, targets: Sequence[Symbol], groups: Sequence[Group],
                 summed: Sequence[bool], flagged: Sequence[bool]) -> None:
        trace = Trace(of.trace.name, of.trace)
        trace.may_create = f"{trace.name}: a gradient rule makes a Variable; make it outside"
        gs = [trace.parameter_like(y, "gradient", Cotangent(y)) for y in targets]
        sums = {k: trace.parameter_like(groups[k][0], "sum", Cotangent(groups[k][0]))
                for k, s in enumerate(summed) if s}
        flags = {k: flag_parameter(trace) for k, is_flagged in enumerate(flagged) if is_flagged}
        self.flags: set[Symbol] = set(flags.values())
        flows = {tensor_id(y): Maybe(g, flags[k]) if k in flags else g
                 for k, (y, g) in enumerate(zip(targets, gs, strict=True))}
        flows |= {tensor_id(groups[k][0]): s for k, s in sums.items()}
        log, given = of.log(groups), {id(x) for x in of.sources}
        reads_of_rules = StateReads(None)
        with reads_of_rules.watching(), trace.recording():
            found = backward(log, flows, [tensor_id(group[0]) for group in groups], free=True,
                             maybe=True)
            results = [as_output(found.get(tensor_id(group[0])), id(group[0]) in given)
                       for group in groups]
        self.places: list[int] = [k for k, g in enumerate(results) if g is not None]
        self.kinds: list[str] = [kind_of(results[k]) for k in self.places]
        with trace.recording():
            trace.outputs = [x for k in self.places for x in components(results[k])]
        own = [*gs, *sums.values()]
        sized = sizes(trace, own, of)
        self.reads: list[Symbol] = reads(trace, [*own, *flags.values()], sized.values())
        super().__init__(trace, [*self.reads, *own, *flags.values()], trace.outputs)
        self.sized |= sized
        reads_of_rules.settle()
        self.state = of.state
        if len(reads_of_rules.places):
            self.state.append(reads_of_rules.places)


def flag_parameter(trace: Trace) -> Symbol:
    """A new parameter of a trace that says whether anything flows."""
    node = Node(PARAMETER, (), None, (), trace.names.unique("flows"), trace.line())
    made = symbol(trace, node, 0, dtypes.bool_, ())
    node.outputs = (made,)
    return made


def as_output(g: Any, by_rows: bool) -> Any:
    """A gradient or None; dense unless it may be by rows."""
    return as_tensor(g) if isinstance(g, IndexedSlices) and not by_rows else g


def kind_of(g: Any) -> str:
    """How a trace returns a gradient."""
    return "rows" if isinstance(g, IndexedSlices) else "maybe" if isinstance(g, Maybe) else "dense"


def components(g: Any) -> list[Symbol]:
    """What a trace returns for a gradient."""
    if isinstance(g, Maybe):
        return [zeroed(g) if g.dtype.is_floating else g.value, any_flag(g.flag)]
    return [g.values, g.indices] if isinstance(g, IndexedSlices) else [g]


def reads(trace: Trace, own: Sequence[Symbol], sizes: Iterable[Symbol]) -> list[Symbol]:
    """Return the values that a trace reads from the section it is the gradient of, or that were
    given to that section: all but constants, numbers and `own`; `sizes` are read for their sizes.
    """
    made = {y for node in trace.nodes for y in node.outputs} | set(own)
    read = (*[x for node in trace.nodes for x in node.inputs], *trace.outputs, *sizes)
    return [x for x in dict.fromkeys(read) if x not in made and x.node.op is not CONSTANT
            and not isinstance(x.node.data, Number)]


def sizes(trace: Trace, own: Sequence[Symbol], of: Section) -> dict[Symbol, Symbol]:
    """Return the values whose sizes, about which data decides, a gradient of a section reads, each
    with a value of the section, or given to it, that has this size."""
    nodes = list(walk(trace.nodes))
    known = {y for node in nodes for y in node.outputs}.union(own, [x.node.data.of for x in own])
    rows = {x for node in nodes if isinstance(node.data, Owned)
            for x in node.data.rows}            # the gradient of a loop has parameters for these
    found: dict[Symbol, Symbol] = {}
    for d in dims(trace):
        if d.kind != "argument" and d.from_data and d.args[0] not in known:
            x = trace.enclosed.outside(d.args[0], rows)
            if x not in rows and d.args[0] not in found:
                found[d.args[0]] = with_size_of(x, of)
    return found


def with_size_of(x: Symbol, section: Section) -> Symbol:
    """Return a value of a section, or given to it, that has the size of `x`."""
    if any([x is y for y in section.given]) or x.graph is section.trace:
        return x
    made = [y for node in section.trace.nodes for y in node.outputs]
    return next((g for g in (*section.given, *made) if section.like.get(g) is x
                 or same_dims(g.shape, x.shape)), x)


def same_dims(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return True if two shapes are certain to be equal, without a decision of Python's."""
    return len(a) == len(b) and all([m is n or (type(m) is type(n) is int and m == n)
                                     for m, n in zip(a, b, strict=True)])


def dims(trace: Trace) -> Iterable[Dim]:
    """The leaves of all Dims that a trace computes with."""
    nodes = list(walk(trace.nodes))
    for values in (*[node.attrs.values for node in nodes
                     if node.attrs is not None and node.attrs.symbolic],
                   *[node.data.args for node in nodes if isinstance(node.data, Feed)],
                   [node.data.dim for node in nodes if isinstance(node.data, Number)],
                   *[guard.args for guard in trace.guards.values()]):
        for value in values:
            for v in value if isinstance(value, tuple) else (value,):
                if isinstance(v, Dim):
                    yield from leaves(v)


def section_of(trace: Trace) -> Section:
    """All of a trace of a function."""
    return Section(trace, [x for x in trace.inputs if isinstance(x.node.data, Argument)],
                   trace.outputs)
