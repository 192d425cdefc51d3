"""`Function`: a Python function that is traced once and then runs as one program.

`decorator.py` creates it. The dispatcher in the core compares a call with recent calls; if none
matches, `call_slow_path` searches for a trace or records one. A trace must never run for a call for
which Python would decide differently.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence

from dualflow._core import BoundFunction, Dispatcher, GuardError, current_graph, current_tape
from dualflow._util.cached import cached_property
from dualflow._util.flags import Switches
from dualflow._util.frames import warn
from dualflow._util.generic import Generic
from dualflow._util.locks import reentrant_lock
from dualflow.errors import DualflowError, InvalidArgumentError, RetracingWarning
from dualflow.graph import calls
from dualflow.graph.calls import relax
from dualflow.graph.calls.arguments import (
    Arguments,
    VariableLeaf,
    leaf_key,
    may_change,
    number_leaf,
    unordered,
)
from dualflow.graph.calls.concrete import MAX_PLANS, UNKNOWN_HINT, ConcreteFunction
from dualflow.graph.calls.conversion import Conversion, converting
from dualflow.graph.calls.dispatch_cache import cache_entry
from dualflow.graph.calls.generalize import Generalizer, plain_key
from dualflow.graph.calls.held import BoundCall, HeldTensors
from dualflow.graph.calls.method import Instances, reduced
from dualflow.graph.calls.nested import Nested
from dualflow.graph.calls.signature import is_generator_or_coroutine
from dualflow.graph.calls.unrepeated import UnrepeatedWarnings
from dualflow.graph.inspect.inspection import Inspection
from dualflow.graph.passes.options import Options
from dualflow.graph.program.compile import Compiled
from dualflow.graph.reads.state_reads import StateReads
from dualflow.graph.trace.parameters import Guard
from dualflow.tracebacks import filtered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Concatenate, ParamSpec, Self, TypeVar, overload

    P = ParamSpec("P")
    Q = ParamSpec("Q")
    R = TypeVar("R", covariant=True)

__all__ = ["ConcreteFunction", "Function"]

MAX_TRACES = 64           # limit of traces of one function; the oldest is dropped
WARN_TRACES = 12
MAKES_VARIABLE = ("makes a Variable on a call that is not its first: make it outside, or keep it "
                  "and make it only once; an optimizer makes its own beforehand by build()")


class Function(Inspection, Dispatcher, Generic["P", "R"]):
    """A Python function that runs as a program; created by `dualflow.function`."""

    if TYPE_CHECKING:           # methods of the core, with the types of the Python function
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Self: ...

        @overload
        def __get__(self: Function[Concatenate[Any, Q], R], instance: object,
                    owner: type | None = None) -> BoundFunction[Q, R]: ...

        def __get__(self, instance: Any, owner: type | None = None) -> Any: ...

    def __init__(self, python_function: Callable[P, R], name: str | None = None,
                 input_signature: Sequence[Any] | None = None, fast_math: bool = False,
                 passes: bool = True, autograph: bool = True, jit_compile: bool = False) -> None:
        if not callable(python_function):
            raise InvalidArgumentError(f"function: got {python_function!r}, expected a callable")
        if is_generator_or_coroutine(python_function):
            raise InvalidArgumentError(f"function: {python_function.__name__} is a generator or a "
                                       "coroutine; expected a function that returns its result, "
                                       "for example as a list")
        self.python_function: Callable[P, R] = python_function
        self.name: str = name or str(getattr(python_function, "__name__",
                                            type(python_function).__name__))
        self.input_signature = input_signature
        self.options: Options = Options(passes=passes, fast_math=fast_math, jit=jit_compile)
        self._settings = self.name, input_signature, fast_math, passes, autograph, jit_compile
        self._conversion = Conversion(python_function, autograph)
        self._lock = reentrant_lock()
        self._traces: list[ConcreteFunction] = []
        self._calls: OrderedDict[Any, tuple[ConcreteFunction, Compiled]] = OrderedDict()
        self._runtime: set[str] = set()         # paths of numbers that are inputs
        self._static: dict[str, str] = {}       # by path: why it cannot be generalised
        self._nested = Nested(self.name)
        self._held = HeldTensors()
        self._made_variables = False
        self._unrepeated = UnrepeatedWarnings(self.name)
        self._n_traces = 0
        self._tries = 0                 # since a call was remembered
        self._methods: Instances[Function] = Instances(self.methods)
        functools.update_wrapper(self, python_function, updated=())

    # --- calling ---

    @filtered
    def call_slow_path(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call that the dispatcher does not recognise."""
        if Switches.functions_run_eagerly:
            return self.python_function(*args, **kwargs)
        if (trace := current_graph()) is not None:
            return self._inline(trace, args, kwargs)
        call, concrete, compiled = self._find(args, kwargs)
        try:
            result = concrete.run(compiled, call.leaves)
        except GuardError:
            concrete, compiled = self._find_exact(call)
            return concrete.run(compiled, call.leaves)
        if current_tape() is None:
            self._remember(args, kwargs, call, concrete, compiled)
        return result

    def _remember(self, args: tuple[Any, ...], kwargs: dict[str, Any], call: BoundCall,
                  concrete: ConcreteFunction, compiled: Compiled) -> None:
        """Later calls like this one skip the search. After a call that cannot be recognised the
        next tries are ever further apart: calls like it, with arrays perhaps, tend to go on."""
        self._tries += 1
        if self._tries & (self._tries - 1):
            return
        known = cache_entry(self.arguments, args, kwargs, call, concrete, compiled)
        if known is not None:
            self._tries = 0
            self.remember(known)
            if concrete.trace.stale:    # another thread has changed the state
                self.forget()

    def _inline(self, trace: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call while another function is traced: Python runs and is recorded there."""
        treedef, leaves, _ = self.arguments.bind(args, kwargs)
        run = functools.partial(self.arguments.call, self.python_function, treedef, leaves)
        with converting(self._conversion.wanted):
            return self._nested.call(trace, (treedef, *map(leaf_key, leaves)), run)

    # --- finding a trace ---

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any],
              ) -> tuple[BoundCall, ConcreteFunction, Compiled]:
        """Return the bound call, its trace and its program, traced and compiled if they do not
        exist yet."""
        bound = BoundCall(*self.arguments.bind(args, kwargs))
        call = bound.holding(self._held.places)
        found = self._calls.get((call.treedef, self._kinds(call)))
        if found is None or found[0].trace.stale or not found[0].places.holds():
            with self._lock:
                call, concrete, compiled = self._search(bound)
                # The kinds again: tracing may have found that a number decides.
                found = self._calls[call.treedef, self._kinds(call)] = concrete, compiled
                if len(self._calls) > MAX_PLANS:
                    self._calls.popitem(last=False)
        return call, found[0], found[1]

    def _find_exact(self, call: BoundCall) -> tuple[ConcreteFunction, Compiled]:
        """Return the trace and the program for the numbers of this call alone."""
        kinds = tuple(map(plain_key, call.leaves))
        with self._lock:
            found = [c for c in self._traces if c.is_for(call.treedef, kinds)]
            concrete = found[0] if found else self._added(self._record(
                call, "Python computes otherwise with these numbers", kinds))
            compiled = concrete.compiled(call.leaves)
        assert compiled is not None             # everything is known
        return concrete, compiled

    def _kinds(self, call: BoundCall) -> tuple[Any, ...]:
        """The keys of leaves; numbers known to change are inputs."""
        return tuple([number_leaf(x) if p in self._runtime and may_change(x) else leaf_key(x)
                      for x, p in zip(call.leaves, call.paths, strict=True)])

    def _search(self, bound: BoundCall) -> tuple[BoundCall, ConcreteFunction, Compiled]:
        """Return what `_find` does for a call without held tensors."""
        call = bound.holding(self._held.places)
        kinds = self._kinds(call)
        broken: list[Guard] = []
        for concrete in self._traces:
            if concrete.matches(call.treedef, kinds):
                try:
                    compiled = concrete.compiled(call.leaves, broken)
                except DualflowError:       # Python may catch it and take another branch
                    compiled = None
                if compiled is not None:
                    return call, concrete, compiled
        cause = self._cause(call, kinds, broken)
        if self._held.add_replaced([c.places for c in self._peers(call)]):
            call = bound.holding(self._held.places)
        try:
            concrete = self._trace(call, cause)
        except Exception:
            if not call.held:
                raise
            concrete = self._trace(bound, cause)
            self._held.refuse()             # the code requires constants, such as known elements
            call = bound
        compiled = concrete.compiled(call.leaves)
        if compiled is None:
            raise InvalidArgumentError(f"{self.name}: the trace does not hold for its own sizes")
        return call, concrete, compiled

    # --- tracing ---

    def _cause(self, call: BoundCall, kinds: tuple[Any, ...], broken: Sequence[Guard] = ()) -> str:
        """Return why no trace admits a call."""
        if not self._traces:
            return "first call"
        changed = [c.trace.stale for c in self._traces if c.trace.stale]
        peers = self._peers(call)
        changed += [x for c in peers if (x := c.places.broken()) is not None]
        return changed[-1] if changed else relax.cause(kinds, call.paths, peers, self._static,
                                                       broken)

    def _trace(self, call: BoundCall, cause: str) -> ConcreteFunction:
        """Trace the function for a call that no trace admits."""
        self._traces = [c for c in self._traces if not c.trace.stale]
        paths, leaves = call.paths, call.leaves
        self._static.update((p.what, "a tensor of Python's state") for p in call.held)
        wanted = relax.relaxed(self._kinds(call), paths, self._peers(call), self._static,
                               self.arguments.specs)
        attempt = Generalizer(functools.partial(self._record, call, cause), leaves)
        made = attempt.run(wanted)
        self._static.update((paths[k], why) for k, why in attempt.static.items())
        self._runtime |= {paths[k] for k in made.numbers}
        self._runtime -= self._static.keys()
        same = self._in_other_order(made, leaves)
        if same is not None:
            same.treedefs.add(call.treedef)
            return same
        return self._added(made)

    def _added(self, made: ConcreteFunction) -> ConcreteFunction:
        self._traces.append(made)
        if len(self._traces) > MAX_TRACES:
            self._traces.pop(0)
        self._n_traces += 1
        if self._n_traces == WARN_TRACES:
            warn(f"{self.name} was traced {WARN_TRACES} times, the last time because {made.cause}; "
                 "trace_report() lists all", RetracingWarning)
        return made

    def _in_other_order(self, made: ConcreteFunction, leaves: list[Any]) -> ConcreteFunction | None:
        """A trace that differs from a new one only in the order of dicts' keys."""
        for c in self._traces:
            if (c.treedef != made.treedef and c.leaves == made.leaves and c.places.holds()
                    and c.held == made.held and unordered(c.treedef) == unordered(made.treedef)
                    and calls.compare.same_decisions(c.trace, made.trace)
                    and c.same_as(made, leaves)):
                return c
        return None

    def _record(self, call: BoundCall, cause: str, kinds: tuple[Any, ...],
                sizes_choose: bool = True, hint: int | None = UNKNOWN_HINT) -> ConcreteFunction:
        treedef = call.treedef
        made = ConcreteFunction(self.name, self.arguments, treedef, kinds, call.paths,
                                self.options, cause, call.held)
        again = None
        if self._made_variables or any(isinstance(kind, VariableLeaf) for kind in kinds):
            again = f"{self.name} {MAKES_VARIABLE}"
        made.trace.owner, made.hint = weakref.ref(self), hint
        made.trace.outliner.sizes_choose = sizes_choose
        run = functools.partial(self._call_python, treedef)
        reads = StateReads(self.python_function)
        try:
            with self._nested.within((treedef, *kinds)), reads.watching() as watch:
                whole = self._conversion.run(made.trace,
                                             lambda: made.record(run, call.leaves, again))
        except Exception:
            if not made.trace.outliner.sizes_chose:
                raise
            try:        # with the choices of this call, which runs check
                return self._record(call, cause, kinds, False, hint)
            except Exception:
                pass
            raise
        made.places = reads.places
        made.places.relax({p.mark for p in call.held}, made.trace.captured, watch.values_read)
        self._unrepeated.of_state(reads.settle(), reads.unrepeated)
        self._made_variables |= whole and self._conversion.made_variables
        if made.trace.made_variables or not whole:  # once more, with them, as all later traces
            return self._record(call, cause, kinds, sizes_choose, hint)
        return made

    def _call_python(self, treedef: Any, values: list[Any]) -> Any:
        """Run the Python function."""
        run = functools.partial(self._conversion.through, self.arguments.call, treedef, values)
        return self._unrepeated.watch_containers(self.python_function, run)

    def _peers(self, call: BoundCall) -> list[ConcreteFunction]:
        """The traces for arguments of the same structure, whatever the order of dicts' keys."""
        plain = unordered(call.treedef)
        return [c for c in self._traces
                if unordered(c.treedef) == plain and len(c.leaves) == len(call.leaves)]

    # --- access to traces ---

    @filtered
    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction[R]:
        """Return the trace for some arguments; a TensorSpec may replace a tensor.

        Examples
        --------
        >>> import dualflow as df
        >>> @df.function
        ... def double(x):
        ...     return x + x
        >>> double.get_concrete_function(df.TensorSpec([None]))(df.constant([1., 2.])).tolist()
        [2.0, 4.0]
        """
        if not args and not kwargs and self.input_signature is not None:
            args = tuple(self.input_signature)
        if calls.any_rank.has_unknown_rank(args, kwargs):
            return calls.any_rank.any_rank_function(self.get_concrete_function, args, kwargs)
        call = BoundCall(*self.arguments.bind(args, kwargs))    # tensors of the state are constants
        kinds = self._kinds(call)
        with self._lock:
            wanted = relax.relaxed(kinds, call.paths, self._peers(call), self._static,
                                   self.arguments.specs)
            for leaves in (kinds, wanted):
                for concrete in self._traces:
                    if concrete.is_for(call.treedef, leaves) and relax.serves(concrete, kinds):
                        return concrete.sized(call.leaves)
            return self._trace(call, self._cause(call, kinds)).sized(call.leaves)

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """The traces of the function, the oldest first."""
        return [c for c in self._traces if not c.trace.stale]

    @cached_property
    def arguments(self) -> Arguments:
        """The signature of the function."""
        return Arguments(self.python_function, self.name, self.input_signature)

    def compiled_for(self, *args: Any, **kwargs: Any) -> Compiled:
        """What a call with these arguments runs: graphs, plan and program."""
        return self._find(args, kwargs)[2]

    def leaves_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments of a call as its program takes them."""
        return BoundCall(*self.arguments.bind(args, kwargs)).holding(self._held.places).leaves

    def experimental_get_tracing_count(self) -> int:
        """Return how many times Python was traced.

        Examples
        --------
        >>> import dualflow as df
        >>> double = df.function(lambda x: x + x)
        >>> y = double(df.constant(1.))
        >>> double.experimental_get_tracing_count()
        1
        """
        return self._n_traces

    def trace_report(self) -> str:
        """Return a line for each trace: its arguments, its time, and its cause.

        Examples
        --------
        >>> import dualflow as df
        >>> double = df.function(lambda x: x + x)
        >>> y = double(df.constant(1.))
        >>> "first call" in double.trace_report()
        True
        """
        lines = [f"{self.name}: {self._n_traces} trace{'s'[:self._n_traces != 1]}"]
        return "\n".join(lines + [f"  {k}. {c.report()}" for k, c in enumerate(self._traces, 1)])

    def of_instance(self, instance: object) -> Function:
        """Return the function for one instance, if this one is a method."""
        return self._methods.get(instance, self._bound_to)

    def _bound_to(self, alive: Any) -> Function:
        function = self.python_function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(alive(), *args, **kwargs)

        bound = types.MethodType(function, alive())
        made = Function(call, *self._settings)
        made.arguments = Arguments(bound, self.name, self.input_signature)
        return made

    def __reduce__(self) -> Any:
        return reduced(self, (self.python_function, *self._settings))
