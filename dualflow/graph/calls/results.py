"""Results of traced functions: a variable in a result is its value when the function returns."""

from __future__ import annotations

from dualflow._core import Variable
from dualflow.graph.calls.arguments import flatten, rebuild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def with_values(result: Any, read: Callable[[Variable], Any]) -> Any:
    """Return a result with the values of its variables, which `read` returns, in their places: the
    results of two calls differ if the variable has changed between them."""
    leaves: list[Any] = []
    treedef = flatten(result, "result", leaves, [], arrays=True)
    if not any([isinstance(x, Variable) for x in leaves]):
        return result
    return rebuild(treedef, iter([read(x) if isinstance(x, Variable) else x for x in leaves]))
