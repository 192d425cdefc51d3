"""The variables that a branch or a round may change, as they are in the user's frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from dualflow.autograph.values import UNDEFINED, Held
from dualflow.nest import rebuild

GLOBAL = "global:"
DEFERRED = "caught:"


class State:
    """What a statement may assign: variables, which the code itself assigns, attributes, and lists
    and dicts that are changed in place.

    Parameters
    ----------
    names, dead, boxes, attributes : str
        Words: `x`, `ys` or `self.ys`, `self.x`, where `[]` stands for every item; `dead` are
        variables that nobody reads later, and, with a prefix, those that only a caught exception or
        a nested function may read.
    """

    def __init__(self, frame: FrameType, names: str, dead: str, boxes: str, attributes: str,
                 ) -> None:
        self.names: list[str] = names.split()
        self.dead: set[str] = {x for x in dead.split() if not x.startswith(DEFERRED)}
        self.deferred: set[str] = {x.removeprefix(DEFERRED) for x in dead.split()
                                   if x.startswith(DEFERRED)}
        self._around: set[str] = {*frame.f_code.co_freevars}
        self._attributes: dict[tuple[int, str], tuple[str, Any, str]] = {}
        for word in attributes.split():
            at, _, name = word.rpartition(".")
            for said, owner in _objects(frame, at):
                self._attributes[id(owner), name] = f"{said}.{name}", owner, name
        self._boxes = {id(x): (word, x) for path in boxes.split() for word, x in
                       _objects(frame, path) if isinstance(x, list | dict)}
        self.words: list[str] = [*[x.removeprefix(GLOBAL) for x in self.names],
                      *[x[0] for x in self._attributes.values()],
                      *[x[0] for x in self._boxes.values()]]

    def read(self, frame: FrameType) -> list[Any]:
        """The values now."""
        around, module = frame.f_locals, frame.f_globals
        found = [module.get(x[len(GLOBAL):], UNDEFINED) if x.startswith(GLOBAL)
                 else around.get(x, UNDEFINED) for x in self.names]
        found += [getattr(owner, name, UNDEFINED) for _, owner, name in self._attributes.values()]
        if not self._boxes:
            return found
        return [*map(self._held, found), *[
            [*map(_held, box)] if isinstance(box, list) else
            {key: _held(x) for key, x in box.items()} for _, box in self._boxes.values()]]

    def write(self, values: list[Any]) -> tuple[Any, ...]:
        """Gives attributes and boxes their values; returns those of variables, to be assigned."""
        n, m = len(self.names), len(self.names) + len(self._attributes)
        for (_, owner, name), value in zip(self._attributes.values(), values[n:m], strict=True):
            if value is not UNDEFINED:
                setattr(owner, name, _released(value))
            elif hasattr(owner, name):
                delattr(owner, name)
        for (_, box), value in zip(self._boxes.values(), values[m:], strict=True):
            if isinstance(box, list):
                box[:] = map(_released, value)
            else:
                box.clear()
                box.update([(key, _released(x)) for key, x in value.items()])
        return tuple(map(_released, values[:n]))

    def is_variable(self, k: int) -> bool:
        """Whether place k is a variable, not an attribute or what is in a box."""
        return k < len(self.names)

    def is_needed(self, k: int) -> bool:
        """Whether a value is wanted later."""
        return not self.is_variable(k) or self.words[k] not in self.dead

    def is_deferred(self, k: int) -> bool:
        """Whether an error about a variable waits until it is read."""
        return self.is_owned(k) and self.words[k] in self.deferred

    def is_owned(self, k: int) -> bool:
        """Whether place k is a variable of the frame itself, which is read by `value` where it may
        have none."""
        return (self.is_variable(k) and not self.names[k].startswith(GLOBAL)
                and self.names[k] not in self._around)

    def _held(self, x: Any) -> Any:
        """A value with something that stands for what is changed in place, wherever it is in it."""
        return _replaced(x, lambda y: id(y) in self._boxes, Held)


def _held(x: Any) -> Any:
    """What stands for an item: lists and dicts stay the objects they are."""
    return Held(x) if isinstance(x, list | dict) else x


def _released(x: Any) -> Any:
    return _replaced(x, lambda y: type(y) is Held, lambda y: y.box)


def _replaced(x: Any, is_one: Callable[[Any], bool], other: Callable[[Any], Any]) -> Any:
    """A structure with others for some of what is in it; the same object if there is none."""
    found = False

    def leaf(y: Any) -> Any:
        nonlocal found
        if not is_one(y):
            return y
        found = True
        return other(y)

    made = rebuild(x, leaf, is_one)
    return made if found else x


def _objects(frame: FrameType, path: str) -> Iterable[tuple[str, Any]]:
    """The objects that `a.b[].c` may mean, and what they are called."""
    first, *rest = path.replace("[]", ".[]").split(".")
    found = [(first, frame.f_locals.get(first, frame.f_globals.get(first, UNDEFINED)))]
    for step in rest:
        if step == "[]":
            found = [(f"{word}[{key!r}]", x) for word, box in found for key, x in _items(box)]
        else:
            found = [(f"{word}.{step}", getattr(x, step, UNDEFINED)) for word, x in found]
    return [(word, x) for word, x in found if x is not UNDEFINED]


def _items(box: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(box, dict):
        return box.items()
    return enumerate(box) if isinstance(box, list | tuple) else ()
