"""A concrete function: one trace of a Python function, and its programs, one per set of sizes."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Dim, Symbol, Variable, as_tensor, current_log
from dualflow.errors import InvalidArgumentError
from dualflow.graph.arguments import LEAF, NumberLeaf, TensorLeaf, flatten, leaf_key, rebuild
from dualflow.graph.compile import Compiled, compile_trace
from dualflow.graph.differentiate import Call, DoesNotHold
from dualflow.graph.options import Options
from dualflow.graph.section import Section, section_of
from dualflow.graph.trace import Trace

MAX_PLANS = 256           # programs of one trace, one per set of sizes
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
        self._recorded: dict[Compiled, Call] = {}
        self._section: Section | None = None
        self._python: Callable[[list[Any]], Any] | None = None
        self._exact: OrderedDict[Any, ConcreteFunction] = OrderedDict()

    # --- tracing ---

    def record(self, call: Callable[[list[Any]], Any], values: Sequence[Any],
               may_create: str | None) -> None:
        """Runs the Python function on symbols. `values`: leaves of the call that asked for it."""
        start = time.perf_counter()
        self._python = call
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
            elif isinstance(x, set | frozenset) and any(isinstance(y, Symbol) for y in x):
                raise InvalidArgumentError(f"{self.name} returns tensors in a {type(x).__name__}, "
                                           "which has no order; use a list, tuple or dict")
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
                self._recorded.pop(self._plans.popitem(last=False)[1], None)
        return found

    def run(self, compiled: Compiled, leaves: list[Any]) -> Any:
        """What the function returns for the leaves of a call; recorded where a tape watches."""
        if current_log() is None:
            return self.pack(compiled.run(leaves))
        if compiled not in self._recorded:
            self._recorded[compiled] = self._call(compiled, leaves)
        try:
            made = self._recorded[compiled](leaves)
        except DoesNotHold:
            return self._exactly(leaves)
        return self.pack(made)

    def _exactly(self, leaves: list[Any]) -> Any:
        """What the function returns, by a trace for these sizes and numbers alone: the gradient of
        this one does not hold for them."""
        kinds = tuple(map(leaf_key, leaves))
        found = self._exact.get(kinds)
        if found is None:
            if kinds == self.leaves or self._python is None:
                raise InvalidArgumentError(f"{self.name}: the gradient of this trace does not hold "
                                           "for its own sizes")
            found = ConcreteFunction(self.name, self.skeleton, kinds, self.paths, self.options,
                                     "a gradient rule decides otherwise for these sizes")
            found.record(self._python, leaves, self.trace.may_create)
            self._exact[kinds] = found
            if len(self._exact) > MAX_PLANS:
                self._exact.popitem(last=False)
        compiled = found.compiled(shapes_of(leaves, found.leaves))
        assert compiled is not None         # nothing is unknown that could be decided by
        return found.run(compiled, leaves)

    def _call(self, compiled: Compiled, leaves: list[Any]) -> Call:
        if self._section is None:
            self._section = section_of(self.trace)
        places = {x: x.node.data.leaf for x in self._section.given}
        shapes = {x: leaves[k].shape for x, k in places.items()}
        return Call(self._section, self.options, places, shapes, compiled=compiled)

    def pack(self, outputs: list[Any]) -> Any:
        """The structure the function returned, around the outputs of a run."""
        if self._output == LEAF and self._rest[0] is None:
            return outputs[0]
        made = iter(outputs)
        return rebuild(self._output, iter([next(made) if x is None else x[0]
                                           for x in self._rest]))

    def packer(self, compiled: Compiled) -> Callable[[list[Any]], Any] | None:
        """From the distinct outputs of a run to what the function returns; None: the one output."""
        if compiled.renewed:
            return lambda made: self.pack(compiled.outputs(made))
        if self._output == LEAF and self._rest[0] is None:
            return None
        if self._output == (tuple, (LEAF,) * len(self._rest)) and all(
                x is None for x in self._rest) and compiled.order == list(range(len(self._rest))):
            return tuple
        return lambda made: self.pack([made[k] for k in compiled.order])

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
        return self.run(compiled, leaves)


def shapes_of(leaves: Sequence[Any], kinds: Sequence[Any]) -> dict[int, tuple[int, ...]]:
    """The shapes of the leaves that are tensors."""
    return {k: x.shape for k, (x, kind) in enumerate(zip(leaves, kinds, strict=True))
            if isinstance(kind, TensorLeaf)}
