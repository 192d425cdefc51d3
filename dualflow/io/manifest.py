"""Checks of the JSON part of saved modules, so that errors name the part that is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dualflow._util.arguments import shown
from dualflow.errors import DataLossError, DualflowError, ResourceExhaustedError
from dualflow.io.loaded import GLOBAL
from dualflow.io.serialize_trace import NAMED

# Patterns: a type; [pattern] for a list; a tuple of patterns for the first parts of a list; a dict
# with str as its only key for any dict, else for a dict with these keys; `object` for anything.
LISTED = (str, str, object)
FUNCTION: Any = {
    "name": str, "who": str, "parameters": [(str, int)],
    "traces": [{"arguments": [object], "leaves": [(str,)], "result": object, "returned": [(str,)],
                "options": (object, object),
                "graphs": [([int], [int], int, [(str, object, object)], list)]}]}
MODULE: Any = {
    "modules": [{"name": object, "has": {str: object}}], "functions": [FUNCTION],
    "variables": {str: (str, bool)}, "generators": {str: dict},
    "signatures": {str: {"function": int, "inputs": [LISTED], "outputs": [LISTED]}},
    "texts": {str: ([int], [str])}}
OPTIONAL = "signatures", "texts"        # files of earlier versions lack them
LENGTHS = {"argument": 3, "constant": 3, "variable": 3, "key": 3, "number": 4, "op": 6, "call": 6,
           "cond": 5, "loop": 7, "print": 3, "check": 3, "guard": 5}        # of steps


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Raise DataLossError for the errors of a malformed file."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, OverflowError,
            DualflowError) as error:
        if isinstance(error, ResourceExhaustedError):
            raise
        why = str(error) if type(error) is DataLossError else (
            f"{error!r}, expected the content that save writes")
        raise DataLossError(f"{path} has an invalid manifest: {why}") from error


def check_manifest(said: Any, tensors: Iterable[str]) -> None:
    """Raise DataLossError unless the JSON part of a file has the structure that `load` expects.
    `tensors`: the names of the tensors in the file."""
    _match(said, MODULE, "")
    names = {*tensors, *said["generators"], *said.get("texts", ()), GLOBAL}
    for name in said["variables"]:
        _demand(name in names, f"variables.{name}", "is no tensor of the file", "a tensor")
    for key, x in said.get("signatures", {}).items():
        k = x["function"]
        _demand(0 <= k < len(said["functions"]), f"signatures.{key}.function", f"is {k}",
                "an index of functions")
    for i, function in enumerate(said["functions"]):
        for j, trace in enumerate(function["traces"]):
            where = f"functions[{i}].traces[{j}].graphs"
            _demand(trace["graphs"], where, "is empty", "a graph")
            for k, graph in enumerate(trace["graphs"]):
                for n, step in enumerate(graph[3]):
                    _check_step(step, k, names, f"{where}[{k}][3][{n}]")


def _check_step(step: list[Any], graph: int, names: set[str], where: str) -> None:
    """Check a step of the trace's graph with an index: bodies come before their owners."""
    kind = step[0]
    _demand(LENGTHS.get(kind) == len(step), where, f"is {shown(step)}", "a step")
    if kind in NAMED:
        _demand(step[-1] in names, where, f"has {shown(step[-1])}", "a name of the file")
    if kind == "op":
        _demand(not str(step[4]).startswith("host_"), where, f"has {step[4]}", "an op")
    for body in step[4] if kind == "cond" else step[4:5] if kind in ("call", "loop") else ():
        _demand(type(body) is int and 0 <= body < graph, where, f"has the body {shown(body)}",
                f"an index below {graph}")


def _match(value: Any, pattern: Any, where: str) -> None:
    """Raise unless a value has a pattern."""
    kind = pattern if isinstance(pattern, type) else dict if isinstance(pattern, dict) else list
    _demand(kind is object or type(value) is kind, where or "the whole", f"is {shown(value)}",
            kind.__name__)
    if isinstance(pattern, list | tuple):
        n = len(pattern) if isinstance(pattern, tuple) else 0
        _demand(len(value) >= n, where, f"has {len(value)} parts", f"at least {n}")
        for k, x in enumerate(value[:n or None]):
            _match(x, pattern[k if n else 0], f"{where}[{k}]")
    elif isinstance(pattern, dict):
        for key in pattern:
            _demand(key is str or key in value or key in OPTIONAL, where or "the whole",
                    f"has no {key!r}", ", ".join(map(str, pattern)))
        for key, x in value.items():
            _match(x, pattern.get(key, pattern.get(str, object)), f"{where}.{key}".lstrip("."))


def _demand(holds: Any, where: str, found: str, expected: str) -> None:
    if not holds:
        raise DataLossError(f"{where} {found}, expected {expected}")
