"""The Python side of a program's arguments and results, as JSON: the section of a program file that
C ignores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from dualflow._core import Tensor, Variable, as_tensor
from dualflow.aot.contents import Contents
from dualflow.aot.entry import is_fixed, paths_of
from dualflow.dtypes import DType
from dualflow.errors import DataLossError, DTypeError, InvalidArgumentError, ShapeError
from dualflow.graph.calls.arguments import Arguments, TensorLeaf, flatten, leaf_key, unordered
from dualflow.graph.calls.concrete import MADE, ROWS, ConcreteFunction
from dualflow.io.structure import (
    loaded,
    plain,
    saved_parameter,
    saved_skeleton,
    signature_of,
)

RETURNED = {"tensor", "rows", "variable", "value"}      # kinds of result leaves

Described = tuple[str, DType, tuple[int, ...]]


def structure_of(function: ConcreteFunction, contents: Contents) -> bytes:
    """Return the JSON of a function, the only entry of `contents`.

    A tensor is represented by its index among the inputs or outputs of the entry, and a returned
    variable by its index among the variables.
    """
    entry, = contents.entries
    caller = f"save_program: {function.name}"
    place = {leaf: k for k, leaf in enumerate(entry.leaves)}
    leaves = [["tensor", place[k]] if k in place
              else ["value", plain(leaf.value, f"{caller}, {path}")]
              for k, (leaf, path) in enumerate(zip(function.leaves, function.paths,
                                                   strict=True))]
    treedef, rest = function.result
    numbers, outputs = iter(entry.compiled.traced.numbers), iter(range(len(entry.outputs)))
    said = {"name": function.name,
            "parameters": [saved_parameter(p, caller)
                           for p in function.arguments.signature.full.parameters.values()],
            "arguments": [saved_skeleton(s, caller) for s in function.treedef],
            "leaves": leaves,
            "result": saved_skeleton(treedef, caller),
            "returned": [_returned(x, numbers, outputs, contents, f"{caller}, {path}")
                         for x, path in zip(rest, paths_of(treedef, len(rest)), strict=True)],
            "trainable": [isinstance(x.owner, Variable) and x.owner.trainable
                          for x in contents.variables]}
    return json.dumps(said).encode()


def _returned(x: Any, numbers: Iterator[Any], outputs: Iterator[int], contents: Contents,
              caller: str) -> list[Any]:
    if is_fixed(x, Tensor) or any([x is kind for kind in MADE]):
        return ["rows" if x is ROWS else "tensor", next(outputs)]
    if is_fixed(x, Variable):
        return ["variable", contents.place(x[0])]
    return ["value", plain(x[0] if isinstance(x, tuple) else next(numbers), caller)]


class Structure:
    """The decoded JSON of a program file, which is untrusted.

    Parameters
    ----------
    data : bytes
    inputs : sequence of (str, DType, tuple of int)
        Names, dtypes and shapes of the program's inputs.
    n_outputs, n_variables : int
    """

    def __init__(self, data: bytes, inputs: Sequence[Described], n_outputs: int,
                 n_variables: int) -> None:
        self.inputs = inputs
        try:
            said = json.loads(data)
            self.name: str = str(said["name"])
            self.arguments: Arguments = Arguments(signature_of(said["parameters"]), self.name, None)
            self.treedef: Any = unordered([flatten(loaded(s, object), "", [], [])
                                           for s in said["arguments"]])
            self.leaves: list[tuple[str, Any]] = [(kind, x) for kind, x in said["leaves"]]
            self.result: Any = said["result"]
            self.returned: list[tuple[str, Any]] = [(kind, x) for kind, x in said["returned"]]
            self.trainable: list[bool] = [x is True for x in said["trainable"]]
            given = [x for kind, x in self.leaves if kind == "tensor"]
            made = [x for kind, x in self.returned if kind in ("tensor", "rows")]
            variables = [x for kind, x in self.returned if kind == "variable"]
            self.pack([None] * n_outputs, [None] * n_variables)
            good = (sorted(given) == list(range(len(inputs))) and made == list(range(n_outputs))
                    and len(self.trainable) == n_variables
                    and all([type(x) is int for x in (*given, *made, *variables)])
                    and all([0 <= x < n_variables for x in variables])
                    and {kind for kind, _ in self.returned} <= RETURNED)
        except (ValueError, TypeError, LookupError, AttributeError, StopIteration,
                RecursionError) as error:
            raise DataLossError(f"its structure is not JSON of arguments and results: "
                                f"{error}") from None
        if not good:
            raise DataLossError(f"its structure is for {len(given)} inputs, {len(made)} outputs "
                                f"and {len(self.trainable)} variables, and the program has "
                                f"{len(inputs)}, {n_outputs} and {n_variables}")

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
        """Return the program's inputs for the arguments of a call. Raise if they do not match."""
        treedef, leaves, paths = self.arguments.bind(args, kwargs)
        if unordered(treedef) != self.treedef or len(leaves) != len(self.leaves):
            raise InvalidArgumentError(f"{self.name}: the structure of the arguments differs from "
                                       "the saved one: got leaves "
                                       f"{', '.join(paths) or 'none'}, expected {self.wanted()}")
        inputs: list[Any] = [None] * len(self.inputs)
        for (kind, said), x, path in zip(self.leaves, leaves, paths, strict=True):
            if kind == "tensor":
                inputs[said] = self._fit(said, x, path)
            elif type(x) is not type(said) or x != said:
                raise InvalidArgumentError(f"{self.name}: argument {path} is {x!r}, it was saved "
                                           f"for {said!r}")
        return inputs

    def _fit(self, k: int, x: Any, path: str) -> Tensor:
        _, dtype, shape = self.inputs[k]
        if isinstance(x, Variable):
            x = x.value()
        elif isinstance(x, int | float):
            x = as_tensor(x, dtype, path)
        want, have = TensorLeaf(dtype, shape), leaf_key(x)
        if not isinstance(x, Tensor) or have != want:
            error = (DTypeError if getattr(x, "dtype", None) is not dtype else ShapeError)
            raise error(f"{self.name}: argument {path} is {have}, expected {want}")
        return x

    def pack(self, outputs: Sequence[Any], variables: Sequence[Any]) -> Any:
        """Return the result of a call, given the outputs of the program and its variables."""
        values = iter([x if kind == "value" else variables[x] if kind == "variable" else
                       list(outputs[x]) if kind == "rows" and outputs[x] is not None else
                       outputs[x] for kind, x in self.returned])
        made = loaded(self.result, lambda: next(values))
        if next(values, self) is not self:
            raise ValueError("more leaves than results")
        return made

    def wanted(self) -> str:
        """Return a description of the inputs: ``x: float32 (3,), y: int32 ()``."""
        return ", ".join([described(x) for x in self.inputs])


def described(x: Described) -> str:
    """Return ``x: float32 (3,)``."""
    return f"{x[0]}: {TensorLeaf(x[1], x[2])}"

