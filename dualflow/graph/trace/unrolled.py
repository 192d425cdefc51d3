"""Python iteration over a traced tensor, which records its rows one by one.

Called by the `__iter__` of a Symbol. A `for` statement that can be converted calls it at most once:
the call restarts the trace, and the converted statement is recorded as a loop node.
"""

from __future__ import annotations

import sys

from dualflow._core import Symbol, current_graph
from dualflow._util.frames import in_for_statement
from dualflow.errors import TracedValueError
from dualflow.graph.trace import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 4096         # limit of rows that are recorded one by one


def unroll(trace: Any, x: Symbol, instead: str) -> int:
    """Return the number of rows of a traced tensor that Python iterates over.

    A size that may change from call to call becomes part of the trace's key. A size that depends
    on data, or more than `MOST` rows, raises TracedValueError.
    """
    if trace.for_any_size:                  # a graph built by hand, whose Python does not run again
        trace.no_value(x, messages.ITERATION, instead)
    if current_graph() is not trace:
        trace.raise_leaked(x, messages.ITERATION)
    question, why = trace.outliner.question, ""
    by_data = x.known_shape[0] is None and x.data_dependent_shape
    if question is not None and (by_data or in_for_statement(sys._getframe(1))):
        why = question(None)                # restarts the trace if the code can be converted
    if by_data:
        raise TracedValueError(messages.no_value(x, trace.name, messages.ITERATION, instead, why))
    n: int = x.shape[0].__index__()
    if n > MOST:
        raise TracedValueError(messages.too_many(x, n, MOST, instead, why))
    return n
