"""Gradients through a call of a traced function, for a tape that records around the call.

`ConcreteFunction.run` uses `Call` if a tape is active. A forward program also returns the residuals
and is one record on the tape; its rule calls a backward program, which is recorded in the same way.
Values keep the identities, and sums the order, that they would have if each op had been recorded,
so that gradients of any order have the bits of eager mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dualflow._core import (
    MaskedGradient,
    Symbol,
    Tensor,
    Variable,
    as_tensor,
    current_graph,
    current_tape,
    record_call,
    recorded,
    tensor_id,
    value_of,
)
from dualflow._util.cached import cached_property
from dualflow._util.locks import reentrant_lock
from dualflow._util.named_tuple import NamedTuple
from dualflow.autodiff.masked_gradient import (
    clean,
    either,
    flag_of,
    resolve_flags,
    with_flag,
    zeroed,
)
from dualflow.errors import DualflowError, UnimplementedError
from dualflow.graph.calls.inline import Inlined, as_rows
from dualflow.graph.calls.section import Gradient, Group, Section
from dualflow.graph.ir import CONSTANT, VARIABLE, Graph, Rule, walk
from dualflow.graph.passes.options import Options
from dualflow.graph.program.compile import Compiled
from dualflow.graph.trace.cotangents import is_differentiable
from dualflow.graph.trace.parameters import Argument, DoesNotHold
from dualflow.graph.trace.record_call import record_call_here
from dualflow.graph.trace.specialize import Specializer, deciding_arguments
from dualflow.graph.trace.trace import suspended
from dualflow.graph.trace.without_gradient import without_gradient
from dualflow.ops.indexing.indexed_slices import IndexedSlices, plus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_CALLS = 64          # limit of cached gradients, and of cached recordings, of one call


class Call:
    """A section for one set of sizes, callable in eager mode, also under a tape.

    Parameters
    ----------
    section : Section
    options : Options
    places : dict of Symbol to int
        From a given value to its leaf among the arguments of a call.
    shapes : dict of Symbol to tuple
        The shape of each given value; None: a size that depends on data.
    variables : dict of Variable to Variable
        From the variables of the trace to the variables of the call.
    known : dict of Symbol to Symbol, optional
        The specialised values of earlier sections.
    compiled : Compiled, optional
        The program, if it exists.
    """

    stands_for: dict[Symbol, Symbol]

    def __init__(self, section: Section, options: Options, places: Mapping[Symbol, int],
                 shapes: Mapping[Symbol, Sequence[int | None]],
                 variables: Mapping[Variable, Variable],
                 known: Mapping[Symbol, Symbol] | None = None,
                 compiled: Compiled | None = None) -> None:
        self.section = section
        self.options = options
        self.places: dict[Symbol, int] = dict(places)
        self.shapes = shapes
        self.variables = variables
        self.known: Mapping[Symbol, Symbol] | dict[Symbol, Symbol] = known or {}
        self._compiled = compiled
        self._graph, self.stands_for = self.specialize(section.outputs)
        # The sources of the section, in order: `_given`, the floating variables, `_constants`.
        self._given = [places[x] for x in section.given if is_differentiable(x)]
        self._constants = [x.node.data for x in section.sources if x.node.op is CONSTANT]
        self._lock = reentrant_lock()
        self._recordings: dict[Any, DifferentiableCall] = {}
        self._gradients: dict[Section, Call] = {}

    def specialize(self, outputs: Sequence[Symbol]) -> tuple[Graph, dict[Symbol, Symbol]]:
        """Return a graph that computes `outputs` for these sizes, and the map from values of the
        trace to values of the graph."""
        trace = self.section.trace
        inputs = [*self.places, *[x for x in trace.inputs if x not in self.places]]
        part = trace.part(trace.nodes, inputs, list(outputs), trace.guards)
        walk = Specializer(part, {}, self.variables, None, self.known)
        for x, leaf in self.places.items():
            data = x.node.data
            path = data.path if isinstance(data, Argument) else x.node.name
            walk.give(x, Argument(leaf, path), self.shapes[x])
        walk.sized = {y: walk.stands_for[x] for y, x in self.section.sized.items()}
        with suspended():
            graph = walk.run()
        if graph is None:
            raise DoesNotHold(f"{trace.name}: this trace does not hold for these sizes")
        return graph, walk.stands_for

    def __call__(self, leaves: Sequence[Any]) -> list[Tensor]:
        """Return the outputs for the leaves of a call; record the call if a tape watches any."""
        if any([type(x) is Symbol for x in leaves]):
            return self._inline(leaves)
        if current_tape() is not None:
            values = {x: self.variable(x.node.data).value() for x in self.section.variables}
            sources = [leaves[k] for k in self._given]
            sources += [x for x in values.values() if x.dtype.is_inexact] + self._constants
            groups: dict[int, list[Symbol]] = {}
            inputs = []
            for k in recorded(sources):
                group = groups.setdefault(tensor_id(sources[k]), [])
                if not group:
                    inputs.append(sources[k])
                group.append(self.section.sources[k])
            if groups:
                return self._record(leaves, values, inputs, list(groups.values()))
            del values, sources             # a run may then overwrite variables directly
        if self._compiled is None:
            self._compiled = Compiled(self._graph, self.options)
        return self._compiled.run(list(leaves))

    def _inline(self, leaves: Sequence[Any]) -> list[Any]:
        """Record the call op by op in the current trace and return the outputs. If the section has
        a gradient rule, which specialised graphs lose, the call is one record as in eager mode."""
        trace = self.section.trace
        rows = {leaf: x.row for x, leaf in self.places.items() if x.row is not None}
        if not any([isinstance(node.data, Rule) for node in walk(trace.nodes)]):
            return Inlined(self._graph, leaves, rows, self.options).run()
        leaves = [as_rows(x, rows[k]) if k in rows else x for k, x in enumerate(leaves)]
        values = {x: self.variable(x.node.data).value() for x in self.section.variables}
        groups: dict[int, list[Symbol]] = {}
        inputs = []
        for x in self.section.sources:
            y = self._value(x, leaves, values)
            if tensor_id(y) not in groups:
                inputs.append(y)
            groups.setdefault(tensor_id(y), []).append(x)
        mark = current_graph().mark
        try:
            recording = self._recording(list(groups.values()), len(leaves))
        except UnimplementedError as error:
            made = Inlined(self._graph, leaves, rows, self.options).run()
            return [without_gradient(y, str(error)) for y in made]
        made = Inlined(recording.graph, leaves, rows, self.options).run()
        made += [self._value(x, leaves, values) for x in recording.there]
        return self._recorded(recording, leaves, inputs, made, mark)

    def variable(self, v: Variable) -> Variable:
        """Return the variable of the call for a variable of the trace."""
        return self.variables.get(v, v)

    def _value(self, x: Symbol, leaves: Sequence[Any], values: Mapping[Symbol, Tensor]) -> Tensor:
        """Return a value that exists before the program runs."""
        if x in self.places:
            return leaves[self.places[x]]
        value: Tensor = values.get(x, x.node.data)
        return value

    def _record(self, leaves: Sequence[Any], values: Mapping[Symbol, Tensor],
                inputs: list[Tensor], groups: list[Group]) -> list[Tensor]:
        recording = self._recording(groups, len(leaves))
        made = recording.compiled.run(list(leaves))
        made += [self._value(x, leaves, values) for x in recording.there]
        for k, variable in recording.versions:
            made[k] = value_of(variable, made[k])
        return self._recorded(recording, leaves, inputs, made, None)

    def _recorded(self, recording: DifferentiableCall, leaves: Sequence[Any], inputs: list[Tensor],
                  made: list[Any], mark: int | None) -> list[Any]:
        """Record the call, with residuals among its outputs; return its outputs from `made`."""
        numbers = [None if isinstance(x, Tensor) else x for x in leaves]
        residuals: list[Any] = []
        shapes = [x.shape for x in inputs]

        def rule(gs: list[Any], sums: list[Any], wanted: list[bool]) -> list[Any]:
            maybe = [isinstance(g, MaskedGradient) for g in gs]
            flag = resolve_flags(gs)[1] if any(maybe) else None
            flags = [flag_of(g) for g in gs if isinstance(g, MaskedGradient)]
            gs = [g if g is None else zeroed(g) if isinstance(g, MaskedGradient) else as_tensor(g)
                  for g in gs]
            before, sums = sums, [clean(s) if isinstance(s, MaskedGradient) else s for s in sums]
            program, sums, rows = recording.backward_program([g is not None for g in gs], sums,
                                                             wanted, maybe)
            given = [residuals[k] for k in program.reads]
            given += [gs[k] for k in program.flows] + [sums[k] for k in program.sums] + flags
            made = iter(program.call(numbers + given))
            results: list[Any] = [None] * len(wanted)
            for k, kind in zip(program.results, program.kinds, strict=True):
                g: Any = next(made)
                if kind == "rows":
                    g = IndexedSlices(g, next(made), shapes[k])
                elif kind == "maybe":
                    flows = next(made)
                    g = MaskedGradient(g, flows) if type(flows) is Symbol else g if flows else None
                certain = flag is None or g is None or isinstance(g, MaskedGradient)
                results[k] = g if certain else flowing(g, flag, before[k])
            for k, s in rows.items():
                results[k] = s if results[k] is None else plus(s, results[k])
            return results

        if recording.targets:
            outputs = [made[k] for k in recording.on_tape]
            name = self.section.trace.name
            fresh = (record_call(name, rule, inputs, outputs) if mark is None
                     else record_call_here(name, rule, inputs, outputs, mark))
            for k, x in zip(recording.on_tape, fresh, strict=True):
                made[k] = x
            residuals += [x if k in recording.residuals else None for k, x in enumerate(made)]
        return [made[k] for k in recording.outputs]

    def _recording(self, groups: list[Group], n_leaves: int) -> DifferentiableCall:
        key = tuple([tuple(map(id, group)) for group in groups])
        with self._lock:
            if key not in self._recordings:
                if len(self._recordings) >= MAX_CALLS:
                    self._recordings.clear()
                self._recordings[key] = DifferentiableCall(self, groups, n_leaves)
            return self._recordings[key]

    def gradient(self, gradient: Gradient, n: int) -> Call:
        """Return a gradient of the section for these sizes. Its given values are the leaves from
        `n` on."""
        with self._lock:
            if gradient not in self._gradients:
                if deciding_arguments(gradient.trace):
                    raise DoesNotHold(f"{self.section.trace.name}: a gradient rule decides by a "
                                      "Python number that changes from call to call")
                if len(self._gradients) >= MAX_CALLS:
                    self._gradients.clear()
                places = {x: n + k for k, x in enumerate(gradient.given)}
                recorded = self.section.trace.outliner.recorded
                like = {x: recorded(gradient.like.get(x, x)) for x in places
                        if x not in gradient.flags}
                if any([y not in self.stands_for for y in like.values()]):
                    # Loops and branches have more outputs since then: residuals.
                    self._graph, self.stands_for = self.specialize(self.section.outputs)
                shapes = {x: self.stands_for[y].known_shape for x, y in like.items()}
                shapes |= dict.fromkeys(gradient.flags, ())
                self._gradients[gradient] = Call(gradient, self.options, places, shapes,
                                                 self.variables, self.stands_for)
            return self._gradients[gradient]


def flowing(g: Any, flag: Any, before: Any) -> Any:
    """Return a result of a gradient rule whose cotangents exist only if `flag` holds. `before` is
    the accumulator that the result continues, or None."""
    if isinstance(before, MaskedGradient):
        return MaskedGradient(g, either(flag_of(before), flag))
    return g if before is not None else with_flag(lambda g, _: g, flag, g, None)


class BackwardProgram(NamedTuple):
    """A backward program, and the indices of its inputs and results."""

    call: Call
    reads: list[int]
    flows: list[int]
    sums: list[int]
    results: list[int]
    kinds: list[str]


class DifferentiableCall:
    """The forward program and the backward programs of a call under tapes that watch some sources.

    Attributes
    ----------
    targets : list of Symbol
        The outputs and residuals that depend on a watched source. They are the outputs of the
        record, so that gradients of the gradient reach it.
    needed, there : list of Symbol
        The residuals, which gradients read; the values that exist before the program runs.
    on_tape, outputs, residuals : collections of int
        Positions of the targets, of the outputs of the call and of the residuals among all values.
    versions : list of (int, Variable)
        Positions of values that are versions of a variable.
    """

    def __init__(self, call: Call, groups: list[Group], n_leaves: int) -> None:
        section = call.section
        self.call = call
        self.groups = groups
        self.n_leaves = n_leaves
        self._backward_programs: dict[Any, BackwardProgram] = {}
        tape = section.tape(groups)
        self.targets: list[Symbol] = [y for y in dict.fromkeys(section.outputs)
                                      if self._on_tape(y, tape)]
        self.needed: list[Symbol] = []
        more = self.targets
        if more:
            self._check()
        while more:
            needed = section.needed(self.targets, groups)
            tape = section.tape(groups)         # loops and branches may have more outputs now
            more = [x for x in needed if self._on_tape(x, tape) and x not in set(self.targets)]
            self.targets = self.targets + more
            self.needed = list(dict.fromkeys(self.needed + needed))
            if not section.trace.may_lead_further:
                break
        values = list(dict.fromkeys([*section.outputs, *self.needed]))
        self.there: list[Symbol] = [x for x in values if self._is_there(x)]
        there = set(self.there)
        made = [x for x in values if x not in there]
        own = {y for node in section.trace.nodes for y in node.outputs}
        for x in made:
            if x not in own:
                raise UnimplementedError(
                    f"{section.trace.name}: a gradient of a gradient reads {x.name}, which the "
                    f"gradient itself does not (made at {x.node.line}); put the tapes inside the "
                    "function")
        owners = [section.trace.variable_of(x) for x in made]
        self.versions: list[tuple[int, Variable]] = [(k, call.variable(v)) for k,
                                                     v in enumerate(owners) if v is not None]
        self.at: dict[Symbol, int] = {x: k for k, x in enumerate([*made, *self.there])}
        self.on_tape: list[int] = [self.at[y] for y in self.targets]
        self.outputs: list[int] = [self.at[y] for y in section.outputs]
        self.residuals: set[int] = {self.at[x] for x in self.needed}
        self.graph: Graph = call.specialize(made)[0]

    @cached_property
    def compiled(self) -> Compiled:
        """The compiled forward program."""
        return Compiled(self.graph, self.call.options)

    def backward_program(self, flows: list[bool], sums: list[Any], wanted: list[bool],
                         maybe: list[bool],
                         ) -> tuple[BackwardProgram, list[Any], dict[int, IndexedSlices]]:
        """Return the backward program, the accumulators that it continues, and the accumulators to
        which its results are added. `maybe`: whether a cotangent has a flag."""
        rows = {k: s for k, s in enumerate(sums) if isinstance(s, IndexedSlices)}
        if rows:
            sums = [None if k in rows else s for k, s in enumerate(sums)]
            program = self.find_backward(flows, [s is not None for s in sums], wanted, maybe)
            kinds = dict(zip(program.results, program.kinds, strict=True))
            # IndexedSlices are added to IndexedSlices; for a dense result the sum becomes dense.
            sums = [as_tensor(rows.pop(k)) if k in rows and kinds.get(k, "rows") != "rows" else s
                    for k, s in enumerate(sums)]
        return self.find_backward(flows, [s is not None for s in sums], wanted, maybe), sums, rows

    def find_backward(self, flows: list[bool], summed: list[bool], wanted: list[bool],
                      maybe: list[bool]) -> BackwardProgram:
        """Return the backward program for targets with cotangents (`flows`), sources with
        accumulators (`summed`) and sources whose gradient is needed (`wanted`)."""
        key = (*flows, *summed, *wanted, *maybe)
        found = self._backward_programs.get(key)
        if found is None:
            if len(self._backward_programs) >= MAX_CALLS:
                self._backward_programs.clear()
            found = self._backward_programs[key] = self._make_backward(flows, summed, wanted, maybe)
        return found

    def _make_backward(self, flows: list[bool], summed: list[bool], wanted: list[bool],
                       maybe: list[bool]) -> BackwardProgram:
        sources = [*self.groups, *[[y] for y in self.targets]]
        chosen = [k for k, want in enumerate(wanted) if want]
        summed = summed + [False] * len(self.targets)
        places = [k for k, flow in enumerate(flows) if flow]
        gradient = self.call.section.gradient([self.targets[k] for k in places],
                                              [sources[k] for k in chosen],
                                              [summed[k] for k in chosen],
                                              [maybe[k] for k in places])
        return BackwardProgram(self.call.gradient(gradient, self.n_leaves),
                               [self.at[x] for x in gradient.reads], places,
                               [k for k in chosen if summed[k]],
                               [chosen[k] for k in gradient.places],
                               gradient.kinds)

    def _check(self) -> None:
        """Build the gradient of all outputs, so that DoesNotHold is raised before a run."""
        try:
            gradient = self.call.section.gradient(self.targets, self.groups,
                                                  [False] * len(self.groups))
        except DualflowError:
            return                      # raised again when the gradient is computed
        self.call.gradient(gradient, self.n_leaves)

    def _is_there(self, x: Symbol) -> bool:
        return x in self.call.places or x.node.op in (CONSTANT, VARIABLE)

    def _on_tape(self, y: Symbol, tape: Any) -> bool:
        """Return True if a value must be an output of the record."""
        return (is_differentiable(y) and not self._is_there(y) and tape.tracks(y)
                and self.call.section.trace.variable_of(y) is None)
