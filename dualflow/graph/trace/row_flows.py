"""What flows into the rows of what the rounds of a loop made: by a round later, without the last.

Where a round hands a tensor on that is stacked, too, what flows into its row flows into what the
next round is given and, from the last row, into what the loop returns.
"""

from __future__ import annotations

from typing import Any

from dualflow._core import Maybe, as_tensor
from dualflow.autodiff.maybe import clean
from dualflow.ops.array import broadcast_to
from dualflow.ops.join import concat
from dualflow.ops.reduce import reduce_any


def row_flags(g: Any) -> tuple[Any, Any]:
    """Rows of a gradient, -0.0 where nothing flows, and a flag for each."""
    value = clean(g) if isinstance(g, Maybe) else as_tensor(g)
    flag = g.flag if isinstance(g, Maybe) else as_tensor(True)
    if flag.ndim > 1:
        flag = reduce_any(flag, list(range(1, flag.ndim)))
    return value, flag if flag.ndim else broadcast_to(flag, (value.shape[0],))


def delayed(g: Any, reverse: bool) -> tuple[Any, Any]:
    """Rows of a gradient, each a round later, and what is left of the last round. In the first one
    nothing flows: -0.0 is neutral in sums."""
    value, flags = row_flags(g)
    nothing = broadcast_to(as_tensor(-0.0, value.dtype), (1, *value.shape[1:]))
    never = as_tensor([False])
    if reverse:
        value, flags = concat([value, nothing], 0), concat([flags, never], 0)
        return Maybe(value[1:], flags[1:], True), Maybe(value[0], flags[0], True)
    value, flags = concat([nothing, value], 0), concat([never, flags], 0)
    return Maybe(value[:-1], flags[:-1], True), Maybe(value[-1], flags[-1], True)
