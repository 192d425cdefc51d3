"""Sections of a trace: the nodes of the function and, separately, of each gradient.

`differentiate.py` compiles them. A gradient is recorded as if a tape had been inside the trace: a
new trace continues the old one, so that the Symbols which gradient rules hold stay valid. Each
section lists the values that it reads from earlier sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dualflow import dtypes
from dualflow._core import (
    Dim,
    MaskedGradient,
    StateGuards,
    Symbol,
    Tape,
    as_tensor,
    symbol,
    tensor_id,
)
from dualflow._util.locks import reentrant_lock
from dualflow.autodiff.backward import backward
from dualflow.autodiff.masked_gradient import zeroed
from dualflow.errors import DualflowError
from dualflow.graph.ir import CONSTANT, PARAMETER, VARIABLE, Node, RegionRecord, walk
from dualflow.graph.reads.state_reads import StateReads
from dualflow.graph.trace.control_gradient import any_flag
from dualflow.graph.trace.cotangents import is_differentiable
from dualflow.graph.trace.dims import leaves
from dualflow.graph.trace.parameters import Argument, Cotangent, Feed, Number
from dualflow.graph.trace.replay_on_tape import replay_on_tape
from dualflow.graph.trace.trace import Trace
from dualflow.ops.indexing.indexed_slices import IndexedSlices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Group = Sequence[Symbol]            # sources that are one tensor object


class Section:
    """The nodes of a trace, compiled as one program.

    Parameters
    ----------
    trace : Trace
    given : list of Symbol
        The inputs of a run.

    Attributes
    ----------
    sources : list of Symbol
        The differentiable inputs: given values, variables and constants.
    outputs : list of Symbol
    like : dict of Symbol to Symbol
        From a given cotangent to its value.
    state : list of StateGuards
        The Python state that gradient rules of the user read; shared with the gradients.
    sized : dict of Symbol to Symbol
        From a value of another section whose size is read to a given value of that size.
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
                        if is_differentiable(x)]
        self.state: list[StateGuards] = []
        self._lock = reentrant_lock()
        self._gradients: dict[Any, Gradient] = {}

    def tape(self, groups: Sequence[Group]) -> Tape:
        """Return the records of a tape that watched `groups` while the section ran. The sources of
        a group have the identity of the first."""
        tape = Tape(False)
        for group in groups:
            for x in group:
                for y in (x, self.trace.outliner.recorded(x)):
                    tape.watch(y)
        replay_on_tape(tape, self.trace.nodes, self.trace.outliner, self.known_as(groups))
        return tape

    def known_as(self, groups: Sequence[Group]) -> dict[int, int]:
        """Return a dict from the id of a source to the id of the first source of its group."""
        return {tensor_id(y): tensor_id(group[0]) for group in groups for x in group
                for y in (x, self.trace.outliner.recorded(x)) if y is not group[0]}

    def gradient(self, targets: Sequence[Symbol], groups: Sequence[Group],
                 summed: Sequence[bool], flagged: Sequence[bool] = ()) -> Gradient:
        """Return the gradient: from cotangents of targets, and accumulators of the groups in
        `summed`, to accumulators of each group. A source may also be a value that the section
        computes. `flagged`: targets whose cotangent has a flag, which is an input, too."""
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
            # A target without a cotangent gets zeros, whose size must be read. Of any two targets,
            # some of these subsets contain the first but not the second.
            for bit in range(len(targets).bit_length()):
                for part in (0, 1):
                    chosen = [y for k, y in enumerate(targets) if k >> bit & 1 == part]
                    found += self._reads(chosen, groups) if chosen else []
        return list(dict.fromkeys(found))

    def _reads(self, targets: Sequence[Symbol], groups: Sequence[Group]) -> list[Symbol]:
        try:
            return list(self.gradient(targets, groups, [False] * len(groups)).reads)
        except DualflowError:
            # Raised again when this gradient is computed; gradients of fewer targets may exist.
            if len(targets) * len(groups) == 1:
                return []
            return [x for y in targets for group in groups for x in self._reads([y], [group])]

    @property
    def _sized_by_data(self) -> bool:
        """True if the size of a differentiable value depends on data."""
        return any([y.data_dependent_shape and y.dtype.is_inexact
                    for node in walk(self.trace.nodes) for y in node.outputs])


class Gradient(Section):
    """The gradient of a section.

    Attributes
    ----------
    reads : list of Symbol
        The first given values: values or inputs of the differentiated section.
    places : list of int
        For each result, the index of its group of sources.
    kinds : list of str
        For each result: "dense"; "rows" (IndexedSlices: two outputs, values and indices); or
        "maybe": a value, and a flag that is False if there is no cotangent.
    flags : set of Symbol
        The last given values: the flags of the cotangents of flagged targets.
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
        flows = {tensor_id(y): MaskedGradient(g, flags[k]) if k in flags else g
                 for k, (y, g) in enumerate(zip(targets, gs, strict=True))}
        flows |= {tensor_id(groups[k][0]): s for k, s in sums.items()}
        tape, given = of.tape(groups), {id(x) for x in of.sources}
        reads_of_rules = StateReads(None)
        with reads_of_rules.watching(), trace.recording():
            found = backward(tape, flows, [tensor_id(group[0]) for group in groups], free=True,
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
    """Return a new parameter of a trace for the flag of a cotangent."""
    node = Node(PARAMETER, (), None, (), trace.names.unique("flows"), trace.line())
    made = symbol(trace, node, 0, dtypes.bool_, ())
    node.outputs = (made,)
    return made


def as_output(g: Any, by_rows: bool) -> Any:
    """Return a gradient or None; IndexedSlices become dense unless `by_rows`."""
    return as_tensor(g) if isinstance(g, IndexedSlices) and not by_rows else g


def kind_of(g: Any) -> str:
    """Return the kind of a gradient, see `Gradient.kinds`."""
    return ("rows" if isinstance(g, IndexedSlices) else "maybe" if isinstance(g, MaskedGradient)
            else "dense")


def components(g: Any) -> list[Symbol]:
    """Return the outputs of a trace for a gradient."""
    if isinstance(g, MaskedGradient):
        return [zeroed(g) if g.dtype.is_inexact else g.value, any_flag(g.flag)]
    return [g.values, g.indices] if isinstance(g, IndexedSlices) else [g]


def reads(trace: Trace, own: Sequence[Symbol], sizes: Iterable[Symbol]) -> list[Symbol]:
    """Return the values and inputs of the differentiated section that a gradient reads, without
    constants, Python numbers and `own`. Of `sizes` only the sizes are read."""
    made = {y for node in trace.nodes for y in node.outputs} | set(own)
    read = (*[x for node in trace.nodes for x in node.inputs], *trace.outputs, *sizes)
    return [x for x in dict.fromkeys(read) if x not in made and x.node.op is not CONSTANT
            and not isinstance(x.node.data, Number)]


def sizes(trace: Trace, own: Sequence[Symbol], of: Section) -> dict[Symbol, Symbol]:
    """Return the values whose data-dependent sizes a gradient reads, each with a value or an input
    of the differentiated section that has this size."""
    nodes = list(walk(trace.nodes))
    known = {y for node in nodes for y in node.outputs}.union(own, [x.node.data.of for x in own])
    rows = {x for node in nodes if isinstance(node.data, RegionRecord)
            for x in node.data.rows}            # the gradient of a loop has parameters for these
    found: dict[Symbol, Symbol] = {}
    for d in dims(trace):
        if d.kind != "argument" and d.data_dependent and d.args[0] not in known:
            x = trace.outliner.outside(d.args[0], rows)
            if x not in rows and d.args[0] not in found:
                found[d.args[0]] = with_size_of(x, of)
    return found


def with_size_of(x: Symbol, section: Section) -> Symbol:
    """Return a value or an input of a section with the size of `x`."""
    if any([x is y for y in section.given]) or x.graph is section.trace:
        return x
    made = [y for node in section.trace.nodes for y in node.outputs]
    return next((g for g in (*section.given, *made) if section.like.get(g) is x
                 or same_dims(g.shape, x.shape)), x)


def same_dims(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return True if two shapes are certainly equal, without adding a guard."""
    return len(a) == len(b) and all([m is n or (type(m) is type(n) is int and m == n)
                                     for m, n in zip(a, b, strict=True)])


def dims(trace: Trace) -> Iterable[Dim]:
    """Yield the leaves of all Dims that a trace computes with."""
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
    """Return the section of a whole trace of a function."""
    return Section(trace, [x for x in trace.inputs if isinstance(x.node.data, Argument)],
                   trace.outputs)
