"""Fresh identities for values that enter a loop iteration or leave a branch.

In a graph these values are inputs and outputs of the control-flow node, so the cotangent of each is
accumulated separately. In eager mode tapes record an `identity` of each value, so that both modes
add gradients in the same order.
"""

from __future__ import annotations

from dualflow._core import Symbol, Tensor, current_graph, current_tape, recorded
from dualflow.nest import rebuild
from dualflow.ops.array.shape import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def fresh_identities(structure: Any) -> Any:
    """Return the structure with a new identity for each tensor that a tape does or may record."""
    if current_tape() is None and current_graph() is None:
        return structure
    return rebuild(structure, _fresh_identity)


def _fresh_identity(x: Any) -> Any:
    if not isinstance(x, Tensor) or not x.dtype.is_inexact:
        return x
    return identity(x) if type(x) is Symbol or recorded([x]) else x
