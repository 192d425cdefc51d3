"""The compiler driver: specialise, optimise, plan, lower and build the program of a trace.

Concrete functions, gradients, sessions and exporters call it. The outputs of `Compiled.run` have
the order and the identities of the traced outputs, whatever the passes replaced.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from dualflow._core import (
    AutocastRegion,
    CachedResults,
    CollectorSuspended,
    Executable,
    Program,
    Symbol,
    Tensor,
    Variable,
    checks_numerics,
    renewed,
)
from dualflow._util.cached import cached_property
from dualflow.errors import DualflowError
from dualflow.graph.ir import LEAVES, Graph
from dualflow.graph.passes import optimize
from dualflow.graph.passes.options import Options
from dualflow.graph.program import clusters
from dualflow.graph.program.lower import lower
from dualflow.graph.program.plan import Plan, make_plan
from dualflow.graph.program.spec import ArgumentSpec, ProgramSpec
from dualflow.graph.trace import parameters
from dualflow.graph.trace.parameters import Argument, Feed, Guard
from dualflow.graph.trace.specialize import specialize
from dualflow.graph.trace.trace import Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Hooks of debugging tools: the last one runs the executable instead of `Compiled.run`.
WATCHERS: list[Callable[[Compiled, list[Any]], list[Tensor]]] = []


class Compiled:
    """A trace compiled for one set of sizes.

    Attributes
    ----------
    traced : Graph
        The specialised graph before the passes.
    graph : Graph
        The graph after the passes.
    plan : Plan
    spec : ProgramSpec
    program : Program
    executable : Executable
    clusters : sequence of Cluster
        The clusters that are compiled in the background.
    ms : float
        Compile time.
    """

    def __init__(self, traced: Graph, options: Options) -> None:
        start = time.perf_counter()
        self.traced = traced
        self.options = options
        with CollectorSuspended(), AutocastRegion():
            self.graph: Graph = optimize(traced, options)
            self.plan: Plan = make_plan(self.graph, in_place=not options.check_numerics)
            self.spec: ProgramSpec = lower(self.plan, self.graph)
        self.program: Program = Program(self.spec, self.locate, False,
                                        options.donation_min_bytes)
        self.clusters: Sequence[clusters.Cluster] = (
            clusters.start(self.spec, self.program) if options.jit else ())
        distinct = {x: k for k, x in enumerate(dict.fromkeys(self.graph.outputs))}
        self.order: list[int] = [distinct[x] for x in self.graph.outputs]
        self.renewed: dict[int, int] = identical_outputs(traced, self.graph)
        self.ms: float = (time.perf_counter() - start) * 1e3

    @cached_property
    def executable(self) -> Executable:
        """The program bound to the variables of the trace."""
        return self.bound(lambda variable: variable)

    def bound(self, to: Callable[[Any], Variable]) -> Executable:
        """Return the program bound to other variables; `to` maps the variables of the trace."""
        variables = self.spec.variables
        return Executable(self.program, list(map(source, self.spec.arguments)),
                          [to(x.variable) for x in variables], [x.written for x in variables],
                          self.cache_for(to))

    def cache_for(self, to: Callable[[Any], Variable]) -> CachedResults | None:
        """Return the cache of the values that are cached between runs, or None."""
        spec = self.spec.cached
        if spec is None:
            return None
        return CachedResults(Program(spec, functools.partial(located, spec)),
                             [to(x.variable) for x in spec.variables])

    def run(self, leaves: list[Any]) -> list[Tensor]:
        """Return the outputs for the leaves of a call's arguments."""
        if checks_numerics() and not self.options.check_numerics:
            return self.checked.run(leaves)
        if WATCHERS:
            return self.outputs(WATCHERS[-1](self, leaves))
        return self.outputs(self.executable.run(leaves, self.options.check_numerics))

    def outputs(self, made: list[Tensor]) -> list[Tensor]:
        """Return the outputs of the traced graph, in order, from the results of the program."""
        outputs = [made[k] for k in self.order]
        for k, first in self.renewed.items():
            outputs[k] = outputs[first] if first < k else renewed([outputs[k]])[0]
        return outputs

    @cached_property
    def checked(self) -> Compiled:
        """The trace compiled without fusion, with a check of the results of every op."""
        return Compiled(self.traced, self.options._replace(passes=False, check_numerics=True))

    def locate(self, index: int, error: Exception) -> Exception:
        """Return the error of an instruction with the user's line, after undoing later feeds."""
        line = self.spec.all_instructions[index].line
        if line is not None:
            self._give_back(line.place)
        return located(self.spec, index, error)

    def _give_back(self, place: int) -> None:
        """Undo the feeds that Python would not have evaluated if it had failed at `place`."""
        for x in reversed(self.graph.inputs):
            feed, line = x.node.data, x.node.line
            if isinstance(feed, Feed) and feed.give_back and line and line.place > place:
                feed.give_back()


def located(spec: ProgramSpec, index: int, error: Exception) -> Exception:
    """Return the error of an instruction with the user's line added."""
    failed = spec.all_instructions[index]
    if failed.line is not None:
        error.add_note(f"in {failed.name} of {spec.all_places[index]}, made at {failed.line}")
        # The message of an exception raised by the user's own Python is not changed.
        if isinstance(error, DualflowError) and error.args and isinstance(error.args[0], str):
            error.args = (f"{error.args[0]} (made at {failed.line})", *error.args[1:])
    return error


def identical_outputs(traced: Graph, graph: Graph) -> dict[int, int]:
    """Return the outputs that passes replaced by an argument, a constant or another output.

    Tapes must not confuse them with the replacement, so they need a new identity. The result maps
    the index of such an output to itself, or, if it was traced as the same value as an earlier
    output, to the index of that output, whose identity it shares.
    """
    found: dict[int, int] = {}
    taken: set[Symbol] = set()
    first: dict[Symbol, int] = {}
    for k, (y, x) in enumerate(zip(traced.outputs, graph.outputs, strict=True)):
        if y in first:
            found[k] = first[y]
            continue
        first[y] = k
        if y.node.op not in LEAVES and (x in taken or x.node.op in LEAVES):
            found[k] = k
        taken.add(x)
    return {k: f for k, f in found.items() if f == k or f in found}


def source(argument: ArgumentSpec) -> int | Callable[[Any], Tensor] | None:
    """Return the source of an argument: the index of a leaf of the call's arguments, a function of
    the leaves, or None for a cached value."""
    data = argument.source
    if isinstance(data, parameters.CachedParameter):
        return None
    if isinstance(data, Argument):
        return data.leaf
    if isinstance(data, Feed):
        make, args = data.make, data.args
        return lambda leaves: make(*args)
    number: Callable[[Any], Tensor] = data.source()
    return number


def compile_trace(trace: Trace, shapes: Mapping[int, Sequence[int]], options: Options,
                  variables: Mapping[Variable, Variable] = MappingProxyType({}),
                  broken: list[Guard] | None = None) -> Compiled | None:
    """Compile a trace for the sizes and variables of a call. If a guard does not hold, append the
    guard to `broken` and return None."""
    graph = specialize(trace, shapes, variables, None, broken)
    return None if graph is None else Compiled(graph, options)
