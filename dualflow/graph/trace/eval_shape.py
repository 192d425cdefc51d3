"""Abstract evaluation: the types of a function's results, found by tracing it. Eager mode uses it
for control flow; no op may run."""

from __future__ import annotations

from collections.abc import Callable

from dualflow.graph.ir import PARAMETER
from dualflow.graph.trace.trace import Trace
from dualflow.ops.control_flow import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def eval_shape(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return the Symbols that `f` returns for traced tensors like those of `args`."""
    trace = Trace(getattr(f, "__name__", "function"))
    given = state.packed(args, [
        trace.leaf(PARAMETER, x, x.shape, x.shape, None, None, "argument")
        for x in state.leaves(args)])
    with trace.recording():
        return f(*given)

