"""Calls bound to a signature, and tensors outside their arguments that a trace takes as inputs.

A tensor that traced code finds in Python's state, such as ``self.state`` or a global, is a constant
of the first trace. Once the state holds another tensor, the place becomes a further input of the
function: later traces read its current tensor at each call. `Function` appends these tensors to the
leaves of a call, after those of the arguments.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import StateGuard, StateGuards
from dualflow._util.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_HELD = 64          # places of one function; any more stay constants


class BoundCall(NamedTuple):
    """A call of a function: the structure of its arguments, its leaves, and their names.

    Attributes
    ----------
    treedef : hashable
        The structure of the arguments.
    leaves : list
        The leaves of the arguments, then the current tensors of `held`.
    paths : list of str
        What messages call each leaf.
    held : tuple of StateGuard
        The places that are inputs.
    """

    treedef: Any
    leaves: list[Any]
    paths: list[str]
    held: tuple[StateGuard, ...] = ()

    def holding(self, held: Sequence[StateGuard]) -> BoundCall:
        """Return the call with these places as further inputs."""
        return BoundCall(self.treedef, self.leaves + [p.tensor() for p in held],
                         self.paths + [p.what for p in held], (*self.held, *held))


class HeldTensors:
    """The places whose tensors are inputs of one function.

    Attributes
    ----------
    places : tuple of StateGuard
    """

    def __init__(self) -> None:
        self.places: tuple[StateGuard, ...] = ()
        self._refused: set[Any] = set()

    def add_replaced(self, state: Sequence[StateGuards]) -> bool:
        """Add the places that hold another tensor than when a trace was made. Return True if there
        are any."""
        found = {p.mark: p for places in state for p in places.replaced_tensors()}
        for mark in (*self._refused, *[p.mark for p in self.places]):
            found.pop(mark, None)
        if not found:
            return False
        live = [p for p in self.places if p.tensor() is not None]
        self.places = (*live, *found.values())[:MOST_HELD]
        return len(live) < MOST_HELD

    def refuse(self) -> None:
        """Make all places constants for good."""
        self._refused.update(p.mark for p in self.places)
        self.places = ()
