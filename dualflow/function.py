"""dualflow.function: a Python function that is traced once and then runs as one program."""

from __future__ import annotations

import functools
import threading
import time
import types
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from dualflow import config
from dualflow._core import Dim, Symbol, TensorSpec, Variable, as_tensor, current_graph
from dualflow.errors import InvalidArgumentError, RetracingWarning
from dualflow.graph.arguments import (
    Arguments,
    NumberLeaf,
    StaticLeaf,
    TensorLeaf,
    flatten,
    leaf_key,
    rebuild,
)
from dualflow.graph.compile import Compiled, compile_trace
from dualflow.graph.options import Options
from dualflow.graph.specialize import deciding_arguments
from dualflow.graph.trace import Trace

__all__ = ["ConcreteFunction", "Function", "function"]

MAX_TRACES = 64           # of one function; the least recently used goes
MAX_PLANS = 256           # programs of one function, one per set of sizes
WARN_TRACES = 12
UNKNOWN_HINT = 8          # for a size that no call has given yet


class ConcreteFunction:
    """One trace of a function, for arguments of certain dtypes, shapes and static values.

    Made by `Function.get_concrete_function` and by calls; not directly.
    """

    def __init__(self, name: str, skeleton: Any, leaves: Sequence[Any], paths: Sequence[str],
                 options: Options, cause: str) -> None:
        self.name = name
        self.skeleton = skeleton
        self.leaves = tuple(leaves)
        self.paths = tuple(paths)
        self.options = options
        self.cause = cause
        self.ms = 0.0
        self.trace = Trace(name)
        self._output: Any = None                # skeleton
        self._rest: list[Any] = []              # static leaves of the output, or None
        self._plans: OrderedDict[tuple[Any, ...], Compiled] = OrderedDict()

    # --- tracing ---

    def record(self, call: Callable[[list[Any]], Any], values: Sequence[Any],
               may_create: str | None) -> None:
        """Runs the Python function on symbols. `values`: leaves of the call that asked for it."""
        start = time.perf_counter()
        self.trace.may_create = may_create
        with self.trace.recording():
            given = [self._symbol(k, leaf, value)
                     for k, (leaf, value) in enumerate(zip(self.leaves, values, strict=True))]
            result = call(given)
            self._keep(result)
        self.ms = (time.perf_counter() - start) * 1e3

    def _symbol(self, k: int, leaf: Any, value: Any) -> Any:
        """What the Python function gets for a leaf."""
        if isinstance(leaf, TensorLeaf):
            sizes = getattr(value, "shape", leaf.shape)
            hints = [UNKNOWN_HINT if h is None else h for h in sizes]
            return self.trace.parameter(k, self.paths[k], leaf.dtype, leaf.shape, hints)
        if isinstance(leaf, NumberLeaf):
            return Dim(value, "argument", (k,), self.trace)
        return leaf.value

    def _keep(self, result: Any) -> None:
        """Notes what the function returned."""
        leaves: list[Any] = []
        self._output = flatten(result, "result", leaves, [])
        for x in leaves:
            if isinstance(x, Dim):
                x = as_tensor(x)
            if isinstance(x, Symbol):
                if x.graph is not self.trace:
                    x.graph.escaped(x, self.name)
                self.trace.outputs.append(x)
                self._rest.append(None)
            else:
                self._rest.append((x,))

    # --- running ---

    def admits(self, skeleton: Any, leaves: Sequence[Any]) -> bool:
        """Whether a call with these leaf keys is one of this trace's."""
        return skeleton == self.skeleton and all(
            mine.admits(given) for mine, given in zip(self.leaves, leaves, strict=True))

    def compiled(self, shapes: dict[int, tuple[int, ...]]) -> Compiled | None:
        """The program for the sizes of a call; None if Python would have decided otherwise."""
        key = tuple(shapes.items())
        found = self._plans.get(key)
        if found is None:
            found = compile_trace(self.trace, shapes, self.options)
            if found is None:
                return None
            self._plans[key] = found
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)
        return found

    def pack(self, outputs: list[Any]) -> Any:
        """The structure the function returned, around the outputs of a run."""
        if self._output == "leaf" and self._rest[0] is None:
            return outputs[0]
        made = iter(outputs)
        return rebuild(self._output, iter([next(made) if x is None else x[0]
                                           for x in self._rest]))

    def __call__(self, *args: Any) -> Any:
        leaves: list[Any] = []
        skeleton = tuple([flatten(a, f"argument {k}", leaves, []) for k, a in enumerate(args)])
        leaves = [x.value() if isinstance(x, Variable) and isinstance(m, TensorLeaf) else x
                  for x, m in zip(leaves, self.leaves, strict=False)]
        if len(leaves) != len(self.leaves) or not self.admits(skeleton, [leaf_key(x)
                                                                         for x in leaves]):
            wanted = ", ".join(f"{p}: {m}" for p, m in zip(self.paths, self.leaves, strict=True))
            got = ", ".join(str(leaf_key(x)) for x in leaves)
            raise InvalidArgumentError(f"{self.name}: got ({got}), this trace is for ({wanted})")
        compiled = self.compiled(shapes_of(leaves, self.leaves))
        if compiled is None:
            raise InvalidArgumentError(f"{self.name}: this trace does not hold for these sizes")
        return self.pack(compiled.run(leaves))


def shapes_of(leaves: Sequence[Any], kinds: Sequence[Any]) -> dict[int, tuple[int, ...]]:
    """The shapes of the leaves that are tensors."""
    return {k: x.shape for k, (x, kind) in enumerate(zip(leaves, kinds, strict=True))
            if isinstance(kind, TensorLeaf)}


class Function:
    """A Python function that runs as a program; made by `dualflow.function`."""

    def __init__(self, python_function: Callable[..., Any], name: str | None = None,
                 input_signature: Sequence[Any] | None = None, fast_math: bool = False,
                 passes: bool = True) -> None:
        if not callable(python_function):
            raise InvalidArgumentError(f"function: got a {type(python_function).__name__}, want a "
                                       "callable")
        self.python_function = python_function
        self.name = name or str(getattr(python_function, "__name__",
                                            type(python_function).__name__))
        self.input_signature = input_signature
        self.options = Options(passes=passes, fast_math=fast_math)
        self._arguments: Arguments | None = None
        self._lock = threading.RLock()
        self._traces: list[ConcreteFunction] = []
        self._report: list[str] = []
        self._calls: OrderedDict[Any, tuple[ConcreteFunction, Compiled]] = OrderedDict()
        self._runtime: set[str] = set()         # paths of numbers that are inputs
        self._static: set[str] = set()          # paths of numbers something was decided by
        self._tracing = threading.local()
        self._made_variables = False
        self._n_traces = 0
        self._methods: dict[int, tuple[Any, Function]] = {}
        functools.update_wrapper(self, python_function, updated=())

    # --- calling ---

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if config.functions_run_eagerly():
            return self.python_function(*args, **kwargs)
        if current_graph() is not None:
            return self._inline(args, kwargs)
        skeleton, leaves, paths = self._bind(args, kwargs)
        concrete, compiled, leaves = self._find(skeleton, leaves, paths)
        return concrete.pack(compiled.run(leaves))

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
        if self._arguments is None:
            self._arguments = Arguments(self.python_function, self.name, self.input_signature)
        return self._arguments.bind(args, kwargs)

    def _inline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call while another function is traced becomes part of that trace."""
        skeleton, leaves, _ = self._bind(args, kwargs)
        key = (skeleton, *map(leaf_key, leaves))
        active = self._active()
        if key in active:
            raise InvalidArgumentError(
                f"{self.name} calls itself while it is traced, with arguments of the same shapes "
                "and static values: the trace would never end; let a static value change from call "
                "to call, or write a loop")
        active.append(key)
        try:
            assert self._arguments is not None
            return self._arguments.call(self.python_function, skeleton, leaves)
        finally:
            active.pop()

    def _active(self) -> list[Any]:
        """Keys of the calls of this function that are being traced in this thread."""
        if not hasattr(self._tracing, "keys"):
            self._tracing.keys = []
        keys: list[Any] = self._tracing.keys
        return keys

    # --- finding a trace ---

    def _find(self, skeleton: Any, leaves: list[Any], paths: list[str],
              ) -> tuple[ConcreteFunction, Compiled, list[Any]]:
        """The trace and the program of a call; traces and compiles what is not there yet."""
        kinds = tuple([self._kind(x, p) for x, p in zip(leaves, paths, strict=True)])
        key = skeleton, kinds
        found = self._calls.get(key)
        if found is None:
            with self._lock:
                found = self._search(skeleton, kinds, leaves, paths)
                self._calls[key] = found
                if len(self._calls) > MAX_PLANS:
                    self._calls.popitem(last=False)
        return (*found, leaves)

    def _kind(self, x: Any, path: str) -> Any:
        """The key of a leaf; numbers known to change are inputs."""
        if path in self._runtime and type(x) in (int, float):
            return NumberLeaf(type(x))
        return leaf_key(x)

    def _search(self, skeleton: Any, kinds: tuple[Any, ...], leaves: list[Any], paths: list[str],
                ) -> tuple[ConcreteFunction, Compiled]:
        for concrete in self._traces:
            if concrete.admits(skeleton, kinds):
                compiled = concrete.compiled(shapes_of(leaves, kinds))
                if compiled is not None:
                    return concrete, compiled
        concrete = self._trace(skeleton, kinds, leaves, paths)
        compiled = concrete.compiled(shapes_of(leaves, kinds))
        if compiled is None:
            raise InvalidArgumentError(f"{self.name}: the trace does not hold for its own sizes")
        return concrete, compiled

    # --- tracing ---

    def _trace(self, skeleton: Any, kinds: tuple[Any, ...], leaves: list[Any], paths: list[str],
               ) -> ConcreteFunction:
        """Traces the function for a call that no trace admits."""
        cause = self._cause(skeleton, kinds, paths)
        relaxed = self._relax(skeleton, kinds, paths)
        made = self._record(skeleton, relaxed, leaves, paths, cause)
        deciding = {paths[k] for k in deciding_arguments(made.trace)}
        if deciding:                    # shapes or decisions depend on these numbers
            self._static |= deciding
            self._runtime -= deciding
            relaxed = tuple([StaticLeaf(x) if p in deciding else kind
                             for x, p, kind in zip(leaves, paths, relaxed, strict=True)])
            made = self._record(skeleton, relaxed, leaves, paths, cause)
        self._traces.append(made)
        if len(self._traces) > MAX_TRACES:
            self._traces.pop(0)
        self._n_traces += 1
        if self._n_traces == WARN_TRACES:
            warnings.warn(f"{self.name} was traced {WARN_TRACES} times, the last time because "
                          f"{cause}; trace_report() lists all", RetracingWarning, stacklevel=5)
        return made

    def _record(self, skeleton: Any, kinds: tuple[Any, ...], leaves: list[Any], paths: list[str],
                cause: str) -> ConcreteFunction:
        made = ConcreteFunction(self.name, skeleton, kinds, paths, self.options, cause)
        again = None
        if self._made_variables:
            again = (f"{self.name} makes a Variable on a call that is not its first: make it "
                     "outside, or keep it and make it only where there is none yet")
        key = (skeleton, *kinds)
        self._active().append(key)
        try:
            made.record(functools.partial(self._call_python, skeleton), leaves, again)
        finally:
            self._active().pop()
        if made.trace.made_variables:   # once more, as all later traces see it
            self._made_variables = True
            return self._record(skeleton, kinds, leaves, paths, cause)
        return made

    def _call_python(self, skeleton: Any, values: list[Any]) -> Any:
        """Runs the Python function; warns where it changes containers, which runs won't repeat."""
        assert self._arguments is not None
        before = {name: (box, len(box)) for name, box in containers(self.python_function)}
        result = self._arguments.call(self.python_function, skeleton, values)
        changed = [name for name, (box, n) in before.items() if len(box) != n]
        if changed:
            warnings.warn(f"{self.name} changed {', '.join(changed)} while it was traced; only "
                          "ops on tensors are repeated when it runs", RetracingWarning,
                          stacklevel=2)
        return result

    def _relax(self, skeleton: Any, kinds: tuple[Any, ...], paths: list[str]) -> tuple[Any, ...]:
        """Kinds of leaves, made more general where earlier traces differ from this call."""
        peers = [c for c in self._traces if c.skeleton == skeleton]
        out = list(kinds)
        for k, kind in enumerate(kinds):
            if (isinstance(kind, StaticLeaf) and type(kind.value) in (int, float)
                    and paths[k] not in self._static
                    and any(isinstance(c.leaves[k], StaticLeaf) and c.leaves[k] != kind
                            and type(c.leaves[k].value) is type(kind.value) for c in peers)):
                self._runtime.add(paths[k])
                out[k] = NumberLeaf(type(kind.value))
        if self.input_signature is not None:
            for k, spec in enumerate((self._arguments.specs if self._arguments else None) or ()):
                if isinstance(spec, TensorSpec):
                    out[k] = TensorLeaf(spec.dtype, spec.shape)
            return tuple(out)
        alike = [c for c in peers if all(map(same_but_sizes, c.leaves, out))]
        if len(alike) >= 2:
            for k, kind in enumerate(out):
                if isinstance(kind, TensorLeaf):
                    shapes = [c.leaves[k].shape for c in alike] + [kind.shape]
                    out[k] = TensorLeaf(kind.dtype, tuple(
                        d if all(s[i] == d for s in shapes) else None
                        for i, d in enumerate(kind.shape)))
        return tuple(out)

    def _cause(self, skeleton: Any, kinds: tuple[Any, ...], paths: list[str]) -> str:
        """Why a call needs a trace of its own, by comparison with the trace nearest to it."""
        if not self._traces:
            return "first call"
        peers = [c for c in self._traces if c.skeleton == skeleton]
        if not peers:
            return "the arguments are built otherwise"
        differences = [[f"{p}: {mine} became {kind}" for p, mine, kind in
                        zip(paths, c.leaves, kinds, strict=True) if not mine.admits(kind)]
                       for c in peers]
        least = min(reversed(differences), key=len)
        return "; ".join(least) or "Python decides otherwise for these sizes"

    # --- more ways to a trace ---

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for arguments, of which tensors may be given as TensorSpec.

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
        skeleton, leaves, paths = self._bind(args, kwargs)
        kinds = tuple([self._kind(x, p) for x, p in zip(leaves, paths, strict=True)])
        with self._lock:
            for concrete in self._traces:
                if concrete.skeleton == skeleton and concrete.leaves == kinds:
                    return concrete
            return self._trace(skeleton, kinds, leaves, paths)

    def compiled_for(self, *args: Any, **kwargs: Any) -> Compiled:
        """What a call with these arguments runs: graphs, plan and program."""
        return self._find(*self._bind(args, kwargs))[1]

    def graph_for(self, *args: Any, **kwargs: Any) -> Any:
        """The graph that a call with these arguments runs, after the passes; print it.

        Examples
        --------
        >>> import dualflow as df
        >>> double = df.function(lambda x: x + x, name="double")
        >>> print(double.graph_for(df.constant([1., 2.])))  # doctest: +ELLIPSIS
        graph double:
        ...
        """
        return self.compiled_for(*args, **kwargs).graph

    def trace_report(self) -> str:
        """A line for each trace: its arguments, what it took, and what caused it.

        Examples
        --------
        >>> import dualflow as df
        >>> double = df.function(lambda x: x + x)
        >>> y = double(df.constant(1.))
        >>> "first call" in double.trace_report()
        True
        """
        lines = [f"{self.name}: {self._n_traces} traces"]
        for k, c in enumerate(self._traces):
            plans = sum(p.ms for p in c._plans.values())
            what = ", ".join(f"{p}: {m}" for p, m in zip(c.paths, c.leaves, strict=True))
            lines.append(f"  {k + 1}. ({what}) traced in {c.ms:.1f} ms, {len(c._plans)} plans in "
                         f"{plans:.1f} ms; {c.cause}")
        return "\n".join(lines)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: each instance has traces of its own, which live as long as it does."""
        if instance is None:
            return self
        found = self._methods.get(id(instance))
        if found is None:
            gone = functools.partial(self._methods.pop, id(instance))
            alive = weakref.ref(instance, lambda _: gone(None))
            found = self._methods[id(instance)] = alive, self._bound_to(alive)
        return Method(found[1], instance)

    def _bound_to(self, alive: Any) -> Function:
        function = self.python_function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(alive(), *args, **kwargs)

        bound = types.MethodType(function, alive())
        made = Function(call, self.name, self.input_signature, self.options.fast_math,
                        self.options.passes)
        made._arguments = Arguments(bound, self.name, self.input_signature)
        return made

    def __repr__(self) -> str:
        return f"<dualflow.Function {self.name}>"


class Method:
    """A Function bound to an instance."""

    __slots__ = ("__self__", "function")

    def __init__(self, bound: Function, instance: Any) -> None:
        self.function = bound
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


def same_but_sizes(mine: Any, other: Any) -> bool:
    """Whether two leaf kinds differ at most in sizes."""
    if isinstance(mine, TensorLeaf) and isinstance(other, TensorLeaf):
        return mine.dtype is other.dtype and len(mine.shape) == len(other.shape)
    return bool(mine.admits(other))


def containers(function: Any) -> list[tuple[str, Any]]:
    """Lists, dicts and sets a Python function can reach by name: of its closure and its module."""
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    named = {name: function.__globals__.get(name) for name in code.co_names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            named[name] = cell.cell_contents
        except ValueError:                      # a name that is bound later
            continue
    return [(name, box) for name, box in named.items() if type(box) in (list, dict, set)]


def function(func: Callable[..., Any] | None = None, input_signature: Sequence[Any] | None = None,
             *, name: str | None = None, fast_math: bool = False, passes: bool = True) -> Any:
    """A function that is traced to a graph once and then runs as one program.

    Parameters
    ----------
    func : callable, optional
        A function of tensors and Python values; without it, a decorator is returned.
    input_signature : sequence of nested TensorSpec, optional
        Dtypes and shapes of the positional arguments; None in a shape admits any size. Without it
        each new combination of dtypes, shapes and Python values is traced, and sizes that go on
        changing become unknown by themselves.
    name : str, optional
    fast_math : bool, default False
        Whether rewrites may change the last bits of results.
    passes : bool, default True
        False: the graph runs as it was traced.

    Returns
    -------
    Function

    Notes
    -----
    Python runs only while tracing: its side effects do not repeat. Tensors and variables it reaches
    are captured, variables by reference. Results are those of eager mode bit for bit.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def norm(x):
    ...     return df.sqrt(df.reduce_sum(x * x))
    >>> norm(df.constant([3., 4.])).item()
    5.0
    """
    if func is None:
        return functools.partial(function, input_signature=input_signature, name=name,
                                 fast_math=fast_math, passes=passes)
    return Function(func, name, input_signature, fast_math, passes)
