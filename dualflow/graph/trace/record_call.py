"""Recording of calls whose gradient rule continues accumulators, in eager mode and in a trace.

Used where a call of a traced function is inlined, and where `vmap` replays such a call. In a trace,
the nodes of the call become the body of a `call` with a `Rule`.
"""

from __future__ import annotations

from collections.abc import Callable

from dualflow._core import current_graph, record_call, record_owner
from dualflow.graph.ir import Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def record_call_here(name: str, rule: Callable[..., Any], inputs: list[Any], outputs: list[Any],
                     mark: int | None) -> list[Any]:
    """Record a call on the active tapes and return its outputs under new identities. In a trace,
    `mark` is the position at which the call began."""
    trace: Any = current_graph()
    if trace is None:
        return record_call(name, rule, inputs, outputs)
    inputs, returned = trace.to_symbols(None, inputs), trace.to_symbols(None, outputs)
    call = trace.outline(mark, name, returned)
    made = list(call.outputs[:len(outputs)])
    op = record_owner(name, rule, inputs, made)
    call.data = Rule(op, tuple(inputs), len(made), True)
    return made
