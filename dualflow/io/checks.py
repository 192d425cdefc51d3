"""The assertions of saved functions: host functions with arguments that JSON holds."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._util.late_binding import loaded
from dualflow.errors import UnimplementedError

# The modules of the functions, by name. Each takes its arguments, then the values of tensors.
CHECKS = {"check_all": "debugging.assertions", "check_any": "optimizers.base",
          "check_assert": "autograph.operators", "check_broadcast": "ops.array.broadcast_shapes",
          "check_case": "ops.control_flow.cond", "check_counts": "debugging.numerics",
          "check_int": "autograph.numbers"}


def check(name: str, arguments: Sequence[Any]) -> Callable[..., None]:
    """Return the host function of an assertion."""
    if name not in CHECKS:
        raise UnimplementedError(f"load: the check {name!r} is unknown to this version")
    return functools.partial(getattr(loaded(f"dualflow.{CHECKS[name]}"), name), *arguments)


def description(call: Any) -> list[Any] | None:
    """Return the arguments of `check` for a host function, or None if it is no such function or
    JSON does not hold its arguments."""
    function, arguments = getattr(call, "func", call), list(getattr(call, "args", ()))
    name = getattr(function, "__name__", "")
    if getattr(function, "__module__", "") != f"dualflow.{CHECKS.get(name)}":
        return None
    try:
        return [name, arguments] if json.loads(json.dumps(arguments)) == arguments else None
    except (TypeError, ValueError):
        return None
