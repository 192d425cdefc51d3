"""A concrete function: one trace of a Python function, and its programs, one per set of sizes.

`function.py` creates it; savers and exporters read it. A program may run only if all guards hold.
"""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from dualflow._core import (
    AutocastRegion,
    Dim,
    StateGuard,
    StateGuards,
    Symbol,
    Tensor,
    Variable,
    as_tensor,
    current_graph,
    current_tape,
    drop_value,
)
from dualflow._util.generic import Generic
from dualflow._util.late_binding import late, late_method
from dualflow.dtypes import float64, int64
from dualflow.errors import DualflowError, InvalidArgumentError
from dualflow.graph import calls
from dualflow.graph.calls.arguments import (
    LEAF,
    Arguments,
    NumberLeaf,
    StaticLeaf,
    TensorLeaf,
    VariableLeaf,
    flatten,
    fresh,
    leaf_key,
    rebuild,
)
from dualflow.graph.calls.exact import equivalent
from dualflow.graph.calls.results import with_values
from dualflow.graph.ir import Graph
from dualflow.graph.passes.options import Options
from dualflow.graph.program.clusters import COMPILED
from dualflow.graph.program.compile import Compiled, compile_trace
from dualflow.graph.trace.computed import Computed
from dualflow.graph.trace.parameters import DoesNotHold, Guard
from dualflow.graph.trace.specialize import specialize
from dualflow.graph.trace.trace import Trace, suspended
from dualflow.tracebacks import filtered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import TypeVar  # the default comes with Python 3.13

    from dualflow.graph.calls.differentiate import Call
    from dualflow.graph.calls.section import Section

    R = TypeVar("R", covariant=True, default=Any)

MAX_PLANS = 256           # limit of programs of one trace, one per set of sizes
UNKNOWN_HINT = 8          # hint of a size that no call has determined
DATA_NUMBER = "a Python number that only a run knows, one of its outputs"
ROWS = "a list, of the rows of one of its outputs"
MADE = None, DATA_NUMBER, ROWS          # markers of results that are computed from an output


class ConcreteFunction(Generic["R"]):
    """One trace of a function, for arguments of certain dtypes, shapes and static values. Created
    by `Function.get_concrete_function` and by calls."""

    __repr__ = late_method("dualflow.graph.inspect.trace_text")
    _repr_svg_ = late_method("dualflow.graph.inspect.trace_text")
    _repr_html_ = late_method("dualflow.graph.inspect.trace_text")

    def __init__(self, name: str, arguments: Arguments, treedef: Any, leaves: Sequence[Any],
                 paths: Sequence[str], options: Options, cause: str,
                 held: tuple[StateGuard, ...] = ()) -> None:
        self.name = name
        self.arguments = arguments
        self.treedef = treedef
        self.treedefs: set[Any] = {treedef}     # and those with dict keys in another order
        self.leaves: tuple[Any, ...] = tuple(leaves)
        self.paths: tuple[str, ...] = tuple(paths)
        # leaf -> requested shape, if the trace admits other sizes for the leaf
        self.sizes: dict[int, tuple[int, ...]] = {}
        self.options = options
        self.cause = cause
        self.hint: int | None = UNKNOWN_HINT    # None: like sizes that depend on data
        self.general = False            # traced for all sizes of a spec
        self.ms: float = 0.0
        self.trace: Trace = Trace(name)
        self.places: StateGuards = StateGuards()  # of the program's state, which Python read
        self.held = held                # of these, those whose tensors are the last leaves
        self._stand_ins: dict[int, Variable] = {}       # by the first leaf they stand for
        self._output: Any = None                # skeleton
        self._rest: list[Any] = []              # leaves of the output; None where it is a tensor
        self._plans: OrderedDict[tuple[Any, ...], Compiled] = OrderedDict()
        self._recorded: dict[Compiled, Call] = {}
        self._section: Section | None = None
        self._python: Callable[[list[Any]], Any] | None = None
        self._exact: OrderedDict[Any, ConcreteFunction] = OrderedDict()

    # --- tracing ---

    def record(self, call: Callable[[list[Any]], Any], values: Sequence[Any],
               may_create: str | None) -> None:
        """Run the Python function on Symbols. `values`: the leaves of the traced call."""
        start = time.perf_counter()
        self._python = call
        self.trace.may_create, self.trace.outliner.stand_ins = may_create, self._stand_ins
        with self.trace.recording():
            given = [self._symbol(k, leaf, value)
                     for k, (leaf, value) in enumerate(zip(self.leaves, values, strict=True))]
            n = len(given) - len(self.held)
            self.trace.held.update((id(x), (x, y)) for x, y in zip(values[n:], given[n:],
                                                                   strict=True)
                                   if isinstance(x, Tensor))
            self._keep(with_values(call(given[:n]), self.trace.read))
        if not self.trace.rules:            # the user's own gradient rules may read them
            for v in self._stand_ins.values():
                drop_value(v)
        self.ms = (time.perf_counter() - start) * 1e3

    def _symbol(self, k: int, leaf: Any, value: Any) -> Any:
        """Return the argument of the Python function for a leaf."""
        if isinstance(leaf, TensorLeaf):
            sizes = getattr(value, "shape", leaf.shape)
            hints = [self.hint if h is None else h for h in sizes]
            return self.trace.parameter(k, self.paths[k], leaf.dtype, leaf.shape, hints)
        if isinstance(leaf, NumberLeaf):
            return Dim(value, "argument", (k,), self.trace)
        if isinstance(leaf, VariableLeaf):
            if leaf.place not in self._stand_ins:
                with suspended():
                    self._stand_ins[leaf.place] = Variable(value.value(), value.trainable,
                                                           value.name)
            return self._stand_ins[leaf.place]
        return leaf.value

    def _keep(self, result: Any) -> None:
        """Store the structure and the leaves of the result."""
        leaves: list[Any] = []
        self._output = flatten(result, "result", leaves, [], arrays=True)
        for x in leaves:
            if isinstance(x, Dim) and x.data_dependent:
                self.trace.outputs.append(self.trace.number(
                    x, float64 if isinstance(x.hint, float) else int64))
                self._rest.append(DATA_NUMBER)
            elif isinstance(x, Dim):
                self._rest.append(x)
                self.trace.returned.append(x)
            elif isinstance(x, Symbol):
                if x.graph is not self.trace:
                    x.graph.raise_leaked(x, self.name)
                self.trace.outputs.append(self.trace.outliner.outside(x))
                self._rest.append(None)
            elif hasattr(type(x), "__df_rows__"):
                self.trace.outputs.append(self.trace.to_symbols(None, [as_tensor(x)])[0])
                self._rest.append(ROWS)
            elif isinstance(x, set | frozenset) and any(isinstance(y, Symbol) for y in x):
                raise InvalidArgumentError(f"{self.name} returns tensors in a {type(x).__name__}, "
                                           "which has no order; use a list, tuple or dict")
            else:
                self._rest.append((x,))

    @property
    def graph(self) -> Trace:
        """The trace, before specialisation and passes."""
        return self.trace

    def sized(self, leaves: Sequence[Any]) -> ConcreteFunction[R]:
        """Return this trace with the sizes of these leaves, which exported programs have, for the
        sizes that it leaves open."""
        sizes = {k: tuple(x.shape) for k, (mine, x) in enumerate(zip(self.leaves, leaves,
                                                                     strict=True))
                 if isinstance(mine, TensorLeaf) and None in mine.shape and None not in x.shape}
        if not sizes:
            return self
        made: ConcreteFunction[R] = object.__new__(ConcreteFunction)
        made.__dict__.update(self.__dict__, sizes=sizes)
        return made

    # --- matching calls ---

    def matches(self, treedef: Any, leaves: Sequence[Any]) -> bool:
        """Whether a call with these leaf keys can use this trace."""
        return (not self.trace.stale and treedef in self.treedefs
                and len(leaves) == len(self.leaves) and self.places.holds()
                and all(mine.matches(x) for mine, x in zip(self.leaves, leaves, strict=True)))

    def report(self) -> str:
        """Return a text with its arguments, the times of tracing and planning, and its cause."""
        what = ", ".join(f"{p}: {m}" for p, m in zip(self.paths, self.leaves, strict=True))
        n, ms = len(self._plans), sum(plan.ms for plan in self._plans.values())
        clusters = [x for plan in self._plans.values() for x in plan.clusters]
        compiled = sum([x.state == COMPILED for x in clusters])
        ready = f", {compiled} of {len(clusters)} clusters compiled" if clusters else ""
        return (f"({what}) traced in {self.ms:.1f} ms, {n} plan{'s'[:n != 1]} in {ms:.1f} ms"
                f"{ready}; {self.cause}")

    def is_for(self, treedef: Any, leaves: Sequence[Any]) -> bool:
        """Return True if the trace has exactly these leaf keys."""
        return (not self.trace.stale and treedef in self.treedefs and self.places.holds()
                and self.leaves == tuple(leaves))

    def compiled(self, leaves: Sequence[Any], broken: list[Guard] | None = None) -> Compiled | None:
        """Return the program for the sizes and variables of a call. If a guard does not hold,
        append the guard to `broken` and return None."""
        shapes = self._shapes(leaves)
        key = (*shapes.items(), *[id(leaves[k]) for k in self._stand_ins])
        found = self._plans.get(key)
        if found is None:
            variables = self._variables(leaves)
            if variables is None:
                return None
            found = compile_trace(self.trace, shapes, self.options, variables, broken)
            if found is None:
                return None
            self._plans[key] = found
            if len(self._plans) > MAX_PLANS:
                self._recorded.pop(self._plans.popitem(last=False)[1], None)
        return found

    def _shapes(self, leaves: Sequence[Any]) -> dict[int, tuple[int, ...]]:
        """Return the shapes of the tensor leaves."""
        return {k: tuple([UNKNOWN_HINT if d is None else d for d in leaves[k].shape])
                for k, kind in enumerate(self.leaves) if isinstance(kind, TensorLeaf)}

    def _variables(self, leaves: Sequence[Any]) -> dict[Variable, Variable] | None:
        """Return the call's variables by variables of the trace; None if two are one object now."""
        found = {stands: leaves[k] for k, stands in self._stand_ins.items()}
        captured = [id(v) for v in self.trace.variables if v not in found]
        apart = {id(v) for v in found.values()}
        one = all([leaves[k] is leaves[kind.place] for k, kind in enumerate(self.leaves)
                   if isinstance(kind, VariableLeaf)])
        return found if one and len(apart) == len(found) and apart.isdisjoint(captured) else None

    def same_as(self, other: ConcreteFunction, leaves: Sequence[Any]) -> bool:
        """Return True if both traces are equivalent for the leaves of a call."""
        mine, others = self._variables(leaves), other._variables(leaves)
        if mine is None or others is None or self._output != other._output or any(
                [(x is kind) != (y is kind) for x, y in zip(self._rest, other._rest, strict=True)
                 for kind in MADE]):
            return False
        try:
            a = specialize(self.trace, self._shapes(leaves), mine, leaves)
            b = specialize(other.trace, other._shapes(leaves), others, leaves)
        except DualflowError:
            return False
        return (a is not None and b is not None and calls.compare.same_graphs(a, b)
                and equivalent(self._values(a), other._values(b)))

    def _values(self, graph: Graph) -> list[Any]:
        """Return the gradient rules, which may refer to values of the trace, and the results that
        are not tensors."""
        numbers = iter(graph.numbers)
        return [*self.trace.rules, *[next(numbers) if isinstance(x, Dim) else x[0]
                          for x in self._rest if not any([x is kind for kind in MADE])]]

    @property
    def result(self) -> tuple[Any, list[Any]]:
        """The skeleton of the result, and its leaves: a marker of `MADE`, a Dim, or a tuple with
        any other value."""
        return self._output, self._rest

    @property
    def numbers(self) -> list[int]:
        """The indices of the leaves that may be any number."""
        return [k for k, kind in enumerate(self.leaves) if isinstance(kind, NumberLeaf)]

    @property
    def lasting(self) -> bool:
        """True if calls with the same leaf objects are equal forever: no static leaf is mutable."""
        return all([kind.lasting for kind in self.leaves if isinstance(kind, StaticLeaf)])

    # --- running ---

    def run(self, compiled: Compiled, leaves: list[Any]) -> Any:
        """Return the result of the function for the leaves of a call; active tapes record it."""
        numbers = returned_numbers(compiled, leaves)
        if current_tape() is None:
            return self.pack(compiled.run(leaves), numbers)
        if self._section is not None and not all([s.holds() for s in self._section.state]):
            self._section = None
            self._recorded.clear()
        if compiled not in self._recorded:
            self._recorded[compiled] = self._call(compiled, leaves)
        try:
            made = self._recorded[compiled](leaves)
        except DoesNotHold:
            return self._exactly(leaves)
        return self.pack(made, numbers)

    def _exactly(self, leaves: list[Any]) -> Any:
        """Return the result by a trace for exactly these sizes and numbers, for which the gradient
        of this trace does not hold."""
        kinds = tuple([mine if isinstance(mine, VariableLeaf) else leaf_key(x)
                       for mine, x in zip(self.leaves, leaves, strict=True)])
        found = self._exact.get(kinds)
        if found is None:
            if kinds == self.leaves or self._python is None:
                raise InvalidArgumentError(f"{self.name}: the gradient of this trace does not hold "
                                           "for its own sizes")
            found = ConcreteFunction(self.name, self.arguments, self.treedef, kinds, self.paths,
                                     self.options,
                                     "a gradient rule decides otherwise for these sizes",
                                     self.held)
            found.record(self._python, leaves, self.trace.may_create)
            self._exact[kinds] = found
            if len(self._exact) > MAX_PLANS:
                self._exact.popitem(last=False)
        compiled = found.compiled(leaves)
        assert compiled is not None         # the trace has no number or size that may change
        return found.run(compiled, leaves)

    def _call(self, compiled: Compiled, leaves: list[Any]) -> Call:
        section = self._section = self._section or late("section_of")(self.trace)
        places = {x: x.node.data.leaf for x in section.given}
        shapes = {x: leaves[k].shape for x, k in places.items()}
        variables = self._variables(leaves) or {}
        return late("recorded_call")(section, self.options, places, shapes, variables,
                                     compiled=compiled)

    def pack(self, outputs: list[Any], numbers: list[Any]) -> Any:
        """Return the result of the function from the outputs of a run and the returned numbers."""
        if self._output == LEAF and self._rest[0] is None:
            return outputs[0]
        made, given = iter(outputs), iter(numbers)
        values: list[Any] = []
        for x in self._rest:
            values.append(next(made) if x is None else next(made).item() if x is DATA_NUMBER
                          else list(next(made)) if x is ROWS
                          else next(given) if isinstance(x, Dim) else fresh(x[0]))
        return rebuild(self._output, iter(values))

    def returned(self) -> list[Any]:
        """Return the leaves of the result in order: symbols of the trace, sizes and constants."""
        outputs = iter(self.trace.outputs)
        return [next(outputs) if x is None or x is DATA_NUMBER or x is ROWS
                else x if isinstance(x, Dim) else x[0] for x in self._rest]

    def structure(self, leaves: Sequence[Any]) -> Any:
        """Return the structure of the result with other leaves, one for each of `returned()`."""
        return rebuild(self._output, iter(leaves))

    def remember(self, compiled: Compiled) -> tuple[Any, Any]:
        """Return, for the dispatcher, a function that computes the returned numbers, or None if
        they are constant, and the packer."""
        fixed = compiled.traced.numbers
        if any([isinstance(x, Computed) for x in fixed]):
            return functools.partial(returned_numbers, compiled), self.packer(compiled, None)
        return None, self.packer(compiled, fixed)

    def packer(self, compiled: Compiled, fixed: list[Any] | None) -> Any:
        """Return a function from the distinct outputs of a run, and the numbers unless they are
        `fixed`, to the result; or None for a single output, or `tuple` for a tuple of outputs."""
        if compiled.renewed:
            return lambda made, numbers: self.pack(compiled.outputs(made),
                                                   numbers if fixed is None else fixed)
        if self._output == LEAF and self._rest[0] is None:
            return None
        if self._output == (tuple, (LEAF,) * len(self._rest)) and all(
                x is None for x in self._rest) and compiled.order == list(range(len(self._rest))):
            return tuple
        return lambda made, numbers: self.pack([made[k] for k in compiled.order],
                                               numbers if fixed is None else fixed)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self.name}: a trace holds variables and constants of this process; copy "
                        "or pickle the function instead")

    @filtered
    def __call__(self, *args: Any, **kwargs: Any) -> R:
        if self.trace.stale:
            raise InvalidArgumentError(f"{self.name}: {self.trace.stale} after this trace was "
                                       "made; get a new one by get_concrete_function")
        changed = self.places.broken()
        if changed is not None:
            raise InvalidArgumentError(f"{self.name}: {changed} after this trace was made; get a "
                                       "new one by get_concrete_function")
        with AutocastRegion(self.places.autocast_dtype):
            leaves = calls.trace_arguments.leaves_of_call(self, args, kwargs)
            if current_graph() is not None and self._python is not None:    # is recorded there
                called: R = self._python(leaves[:len(leaves) - len(self.held)])
                return called
        compiled = self.compiled(leaves)
        if compiled is None:
            raise InvalidArgumentError(f"{self.name}: this trace does not hold for these sizes")
        return self.run(compiled, leaves)


def returned_numbers(compiled: Compiled, leaves: Sequence[Any]) -> list[Any]:
    """Return the numbers that a call returns; called before the run, since it may raise."""
    return [x.number(leaves) if isinstance(x, Computed) else x for x in compiled.traced.numbers]
