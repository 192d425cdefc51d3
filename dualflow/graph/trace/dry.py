"""What a function would return, found out by tracing it once, for eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow.graph.ir import PARAMETER
from dualflow.graph.trace.trace import Trace
from dualflow.ops import state


def would_make(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What `f` returns for traced tensors like those of `args`; nothing runs."""
    trace = Trace(getattr(f, "__name__", "function"))
    given = state.packed(args, [
        trace.leaf(PARAMETER, x, x.shape, x.shape, None, None, "argument")
        for x in state.leaves(args)])
    with trace.recording():
        return f(*given)

