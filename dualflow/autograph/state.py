"""The variables that a branch or a round may change, as they are in the user's frame."""

from __future__ import annotations

from types import FrameType
from typing import Any

from dualflow.autograph.values import UNDEFINED

GLOBAL = "global:"


class State:
    """What a statement may assign: variables, which the code itself assigns, attributes, and lists
    and dicts that are changed in place.

    Parameters
    ----------
    names, dead, boxes, attributes : str
        Words: `x`, `ys` or `self.ys`, `self.x`; `dead` are variables that nobody reads later.
    """

    def __init__(self, frame: FrameType, names: str, dead: str, boxes: str, attributes: str,
                 ) -> None:
        self.names = names.split()
        self.dead = set(dead.split())
        self._attributes = [(word, *_owner(frame, word)) for word in attributes.split()]
        self._attributes = [x for x in self._attributes if x[1] is not UNDEFINED]
        self._boxes = [(word, _look_up(frame, word)) for word in boxes.split()]
        self._boxes = [x for x in self._boxes if type(x[1]) in (list, dict)]
        self.words = [*[x.removeprefix(GLOBAL) for x in self.names],
                      *[x[0] for x in self._attributes], *[x[0] for x in self._boxes]]

    def read(self, frame: FrameType) -> list[Any]:
        """The values now."""
        around, module = frame.f_locals, frame.f_globals
        found = [module.get(x[len(GLOBAL):], UNDEFINED) if x.startswith(GLOBAL)
                 else around.get(x, UNDEFINED) for x in self.names]
        found += [getattr(owner, name, UNDEFINED) for _, owner, name in self._attributes]
        return found + [box.copy() for _, box in self._boxes]

    def write(self, values: list[Any]) -> tuple[Any, ...]:
        """Gives attributes and boxes their values; returns those of variables, to be assigned."""
        n, m = len(self.names), len(self.names) + len(self._attributes)
        for (_, owner, name), value in zip(self._attributes, values[n:m], strict=True):
            if value is not UNDEFINED:
                setattr(owner, name, value)
            elif hasattr(owner, name):
                delattr(owner, name)
        for (_, box), value in zip(self._boxes, values[m:], strict=True):
            if isinstance(box, list):
                box[:] = value
            else:
                box.clear()
                box.update(value)
        return tuple(values[:n])

    def is_variable(self, k: int) -> bool:
        """Whether place k is a variable, not an attribute or what is in a box."""
        return k < len(self.names)

    def is_needed(self, k: int) -> bool:
        """Whether a value is certainly wanted later."""
        return not self.is_variable(k) or self.words[k] not in self.dead


def _look_up(frame: FrameType, word: str) -> Any:
    """The object that `a.b.c` is; UNDEFINED if there is none."""
    first, *rest = word.split(".")
    found = frame.f_locals.get(first, frame.f_globals.get(first, UNDEFINED))
    for name in rest:
        found = getattr(found, name, UNDEFINED)
    return found


def _owner(frame: FrameType, word: str) -> tuple[Any, str]:
    """The object of `a.b.c`, and `c`."""
    owner, _, name = word.rpartition(".")
    return _look_up(frame, owner), name
