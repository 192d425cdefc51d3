"""The table of replaced builtins, and helpers of its entries.

Converted code calls builtins through `call`, whose first argument is the current value of the
builtin's name. An entry computes the builtin's result in the graph; for arguments that are not
traced it calls the builtin.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any, NoReturn, TypeVar

from dualflow._core import Symbol, current_graph, unwrapped
from dualflow._util.frames import user_frame
from dualflow.autograph.choices import where_of
from dualflow.autograph.list_append import Rows
from dualflow.autograph.values import described, in_run
from dualflow.errors import TracedValueError

F = TypeVar("F", bound=Callable[..., Any])
REPLACEMENTS: dict[Any, Callable[..., Any]] = {}


def replaces(function: Any) -> Callable[[F], F]:
    """Register the decorated function as the replacement of a builtin while a graph is recorded."""
    def decorate(replacement: F) -> F:
        REPLACEMENTS[function] = replacement
        return replacement

    return decorate


def traced(function: Any) -> Any:
    """Return the replacement of a builtin while a graph is recorded, else the function itself."""
    if isinstance(function, BuiltinFunctionType | type) and current_graph() is not None:
        return REPLACEMENTS.get(function, function)
    return function


def call(function: Any, /, *args: Any, **keywords: Any) -> Any:
    """Return `function(*args, **keywords)`; the call's name is a builtin's."""
    found = traced(function)
    return found(*args, **keywords) if found is function else found(*map(in_run, args), **keywords)


def user_line() -> str:
    """Return the line of the user's code that calls a builtin."""
    frame, _ = user_frame(1)
    return "" if frame is None else where_of(frame)


def refuse(what: str, x: Any, why: str) -> NoReturn:
    """Raise the error for a builtin that does not support a traced tensor."""
    raise TracedValueError(f"{what} of a traced tensor ({described(x)}) {why}")


def data_dependent_shape(x: Any) -> bool:
    """Return True if the number of rows of a tensor is known only when the graph runs."""
    inner = unwrapped(x.tensor if isinstance(x, Rows) else x)
    return isinstance(inner, Symbol) and inner.ndim > 0 and inner.known_shape[0] is None and (
        bool(inner.data_dependent_shape))


def iterable_of(x: Any, what: str) -> Any:
    """Return the iterable for a builtin. Raise if the number of rows is not known."""
    if isinstance(x, Rows):
        x = x.tensor
    if data_dependent_shape(x):
        refuse(what, x, "whose number of rows depends on data iterates only when the graph runs: "
                "use a `for` statement, dualflow.map_fn, dualflow.foldl, or an op on the whole "
                "tensor")
    return x
