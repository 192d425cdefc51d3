"""Comparisons of sizes that depend on data, while Python is traced.

The core calls these functions through `Trace`. In converted user code, a comparison is a traced
bool, so that `if`, `while` and `assert` become branches, loops and checks. Elsewhere (in installed
packages, in code without source, in a comparison of tuples) the hint answers, and a guard checks in
each run that the answer is the same.
"""

from __future__ import annotations

import operator
import sys
from types import FrameType

from dualflow._core import Dim, Symbol, as_tensor, current_graph
from dualflow._util.frames import is_installed, is_users
from dualflow.dtypes import float64, int64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMPARISONS = {op: getattr(operator, op) for op in ("eq", "ne", "lt", "le", "gt", "ge")}


def decision(trace: Any, op: str, args: tuple[Any, ...]) -> Symbol | None:
    """Return a comparison of numbers as a traced bool, or None if the hint answers and a guard
    checks the answer. Restart the trace if the calling code can be converted first."""
    current = current_graph()
    if current is not trace:
        if not trace.goes_on_in(current):
            return None
        trace = current
    if not trace.outliner.sizes_choose or not _may_convert(sys._getframe(1)):
        return None
    converted = trace.outliner.converted
    if converted is None or not converted(sys._getframe(1).f_code):
        if trace.outliner.question is not None:
            trace.outliner.question(None)       # restarts the trace if the code can be converted
        return None
    if op not in COMPARISONS:
        return None
    number = float64 if any([isinstance(_hint(x), float) for x in args]) else int64
    made: Symbol = COMPARISONS[op](*[as_tensor(x, number) for x in args])
    trace.outliner.sizes_chose = True
    trace.outliner.decided[made] = op, args
    return made


def ask_to_convert(trace: Any) -> None:
    """Restart the trace if the calling code can be converted; called where Python needs a size that
    depends on data as an int."""
    current = current_graph()
    if trace.goes_on_in(current) and current.outliner.sizes_choose and (
            current.outliner.question is not None and _may_convert(sys._getframe(1))):
        current.outliner.question(None)


def truth_of(trace: Any, x: Symbol) -> bool | None:
    """Return the truth of a traced bool that is a comparison of sizes, and add a guard that checks
    it in each run. Return None for any other bool."""
    if x not in trace.outliner.decided:
        return None
    op, args = trace.outliner.decided[x]
    answer = bool(COMPARISONS[op](*map(_hint, args)))
    trace.guard(op, args, answer)
    return answer


def _hint(x: Any) -> Any:
    return x.hint if type(x) is Dim else x


def _may_convert(frame: FrameType) -> bool:
    """Return True if a frame runs user code that is not an installed package."""
    return is_users(frame) and not is_installed(frame.f_code.co_filename)
