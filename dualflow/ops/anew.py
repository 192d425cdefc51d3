"""Values that enter a round, or leave a branch, under identities of their own.

In a graph they are inputs and outputs of what owns it, so what flows back into each is summed by
itself. So that eager mode makes the same sums, tapes see an `identity` of each there.
"""

from __future__ import annotations

from dualflow._core import Symbol, Tensor, current_graph, current_log, recorded
from dualflow.nest import rebuild
from dualflow.ops.array import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def anew(structure: Any) -> Any:
    """The structure with new identities for what a tape watches, or might watch later."""
    if current_log() is None and current_graph() is None:
        return structure
    return rebuild(structure, _anew)


def _anew(x: Any) -> Any:
    if not isinstance(x, Tensor) or not x.dtype.is_floating:
        return x
    return identity(x) if type(x) is Symbol or recorded([x]) else x
