"""Loaded functions: the original signature, and a serialised trace for each accepted call."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from dualflow._core import Symbol, TensorSpec, Variable, as_tensor
from dualflow.dtypes import as_dtype
from dualflow.errors import DataLossError, DualflowError, InvalidArgumentError, ShapeError
from dualflow.graph.calls.arguments import (
    Arguments,
    NumberLeaf,
    StaticLeaf,
    TensorLeaf,
    flatten,
    leaf_key,
)
from dualflow.graph.calls.function import Function
from dualflow.io.replay import OtherSizes, TraceInterpreter
from dualflow.io.structure import TEXT, loaded, signature_of
from dualflow.ops.random.random_generator import get_global_generator
from dualflow.ops.string_tensor import is_text, text

GLOBAL = "global"               # the name of the global generator
CONSTANT = "value", "saved"     # kinds of results that are not computed


class LoadedFunction:
    """A loaded function, for arguments like the ones for which it was traced.

    Attributes
    ----------
    name : str
    """

    name: Any
    said: Any

    def __init__(self, said: Any, saved: dict[str, Any]) -> None:
        self.name, self._who = said["name"], said["who"]
        self.said = said
        self.saved: dict[str, Any] = {**saved, GLOBAL: get_global_generator()}
        self._arguments = Arguments(signature_of(said["parameters"]), self.name, None)
        self._traces = [LoadedTrace(self.name, trace, self.saved) for trace in said["traces"]]

    def __reduce__(self) -> Any:
        own = {name: x for name, x in self.saved.items() if name != GLOBAL}
        return LoadedFunction, (self.said, own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        treedef, leaves, paths = self._arguments.bind(*self._with_text(args, kwargs))
        leaves = [x.value() if isinstance(x, Variable) else x for x in leaves]
        keys = [leaf_key(x) for x in leaves]
        refused: OtherSizes | None = None
        for trace in self._traces:
            if trace.matches(treedef, keys):
                try:
                    return trace(leaves)
                except OtherSizes as error:
                    refused = error
                except ShapeError as error:
                    raise ShapeError(f"{self.name}: got {listed(paths, keys)}: {error}"
                                     ) from error
        if refused is not None:
            raise refused
        for trace in self._traces:
            converted = trace.converted(leaves)
            if treedef == trace.treedef and converted is not None:
                return trace(converted)
        if not self._traces:
            raise InvalidArgumentError(
                f"{self._who} was not traced when it was saved: call it before, or give it an "
                "input_signature")
        raise InvalidArgumentError(
            f"{self.name}: got ({listed(paths, keys)}), it was saved for "
            + " and ".join(map(str, self._traces)))

    def _with_text(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Convert the Python texts and lists of texts among arguments to tensors, for parameters
        that take text tensors in a trace and no other value in any."""
        names = self._arguments.names
        found = [name for name, *parts in zip(names, *[t.treedef for t in self._traces],
                                              strict=False) if parts and {*parts} == {TEXT}]
        if not found:
            return args, kwargs

        def convert(name: str, x: Any) -> Any:
            return text(x, f"{self.name}: {name}") if name in found and is_text(x) else x

        return ([*map(convert, names, args), *args[len(names):]],
                {name: convert(name, x) for name, x in kwargs.items()})

    def validate(self) -> None:
        """Trace and compile all traces, and raise the resulting errors."""
        for trace in self._traces:
            trace.validate()

    def __repr__(self) -> str:
        return f"<LoadedFunction {self.name} for {' and '.join(map(str, self._traces))}>"


def listed(paths: Sequence[str], keys: Sequence[Any]) -> str:
    """Return the leaves of a call as text, with their names."""
    return ", ".join([f"{path}: {key}" for path, key in zip(paths, keys, strict=True)])


class LoadedTrace:
    """A trace of a loaded function."""

    def __init__(self, name: str, said: Any, saved: dict[str, Any]) -> None:
        self.treedef: tuple[Any, ...] = tuple([flatten(loaded(s, object), "", [], [])
                                               for s in said["arguments"]])
        self.leaves: list[Any] = [leaf_of(*leaf) for leaf in said["leaves"]]
        self._result, self._returned = said["result"], said["returned"]
        check_result(self._result, self._returned, saved)
        self._saved = saved
        given = [k for k, leaf in enumerate(self.leaves) if not isinstance(leaf, StaticLeaf)]
        self._given = given
        static = [leaf.value if isinstance(leaf, StaticLeaf) else None for leaf in self.leaves]

        def run(*values: Any) -> tuple[Any, ...]:
            leaves = list(static)
            for k, value in zip(given, values, strict=True):
                leaves[k] = value
            try:
                replay = TraceInterpreter(name, said["graphs"], saved, leaves)
                outputs = iter(replay.run())
                return tuple([replay.dim(x[1]) if x[0] == "size" else next(outputs)
                              for x in self._returned if x[0] not in CONSTANT])
            except (LookupError, TypeError, ValueError, AttributeError, RuntimeError,
                    StopIteration) as error:
                if isinstance(error, DualflowError):
                    raise
                raise DataLossError(f"{name}: its saved graphs are invalid: {error!r}") from error

        specs = [TensorSpec(leaf.shape, leaf.dtype) if isinstance(leaf, TensorLeaf) else None
                 for leaf in map(self.leaves.__getitem__, given)]
        fast_math, passes = said["options"]
        self._function = Function(run, name, None if None in specs else specs, fast_math, passes,
                                  autograph=False)

    def validate(self) -> None:
        """Trace and compile it, for unknown sizes."""
        leaves = [self.leaves[k] for k in self._given]
        given = [TensorSpec(leaf.shape, leaf.dtype) if isinstance(leaf, TensorLeaf)
                 else leaf.kind(2) for leaf in leaves]

        with suppress(OtherSizes):
            trace = self._function.get_concrete_function(*given)
            if trace.hint is not None:
                trace.compiled(given)

    def matches(self, treedef: Any, keys: Sequence[Any]) -> bool:
        """Return True if the trace accepts a call."""
        return treedef == self.treedef and all(
            mine.matches(key) for mine, key in zip(self.leaves, keys, strict=True))

    def converted(self, leaves: Sequence[Any]) -> list[Any] | None:
        """Return arguments with Python numbers converted to scalar tensors, or None if the trace
        does not accept them."""
        made = list(leaves)
        for k, (mine, x) in enumerate(zip(self.leaves, leaves, strict=False)):
            if isinstance(mine, TensorLeaf) and isinstance(x, bool | int | float):
                try:
                    made[k] = as_tensor(x, mine.dtype)
                except DualflowError:
                    return None
        accepted = len(made) == len(self.leaves) and all(
            mine.matches(leaf_key(x)) for mine, x in zip(self.leaves, made, strict=True))
        return made if accepted else None

    def __call__(self, leaves: Sequence[Any]) -> Any:
        made = iter(self._function(*[leaves[k] for k in self._given]))
        values = iter([x[1] if x[0] == "value" else self._saved[x[1]] if x[0] == "saved"
                       else returned(x[0], next(made)) for x in self._returned])
        return loaded(self._result, lambda: next(values))

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.leaves))})"


def check_result(result: Any, returned: Sequence[Any], saved: dict[str, Any]) -> None:
    """Raise ValueError unless the saved description of a result is valid."""
    leaves: list[None] = []
    loaded(result, lambda: leaves.append(None))
    if len(leaves) != len(returned):
        raise ValueError(f"a result has {len(leaves)} leaves, expected {len(returned)}")
    for kind, *rest in returned:
        if len(rest) != (kind in ("size", *CONSTANT)) or (
                kind not in ("tensor", "number", "rows", "size", *CONSTANT)) or (
                kind == "saved" and rest[0] not in saved):
            raise ValueError(f"a leaf of a result is {[kind, *rest]}, expected a kind of result")


def returned(kind: str, x: Any) -> Any:
    """Convert an output to the value that the function returns."""
    if kind == "number" and type(x) is not Symbol:
        return x.item()
    return list(x) if kind == "rows" else x


def leaf_of(kind: str, *rest: Any) -> Any:
    """Return the pattern that a leaf of the arguments must match."""
    if kind == "tensor":
        return TensorLeaf(as_dtype(rest[0]), tuple(rest[1]))
    if kind == "number":
        return NumberLeaf({"int": int, "float": float}[rest[0]], rest[1])
    return StaticLeaf(rest[0])
