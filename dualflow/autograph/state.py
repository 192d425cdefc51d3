"""The user's variables that a branch or an iteration may change, read from the user's frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from dualflow.autograph.values import UNDEFINED, MutableRef
from dualflow.nest import rebuild

GLOBAL = "global:"
DEFERRED = "caught:"


class State:
    """Everything that a statement may assign: variables, attributes, and lists and dicts that are
    changed in place. Variables are assigned by the converted code itself.

    Parameters
    ----------
    names, dead, mutable_containers, attributes : str
        Words: `x`, `ys` or `self.ys`, `self.x`, with `[]` for every item; `dead` are variables that
        are not read later, and, with the prefix `DEFERRED`, variables that only an exception
        handler or a nested function may read.
    """

    def __init__(self, frame: FrameType, names: str, dead: str, mutable_containers: str,
                 attributes: str,
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
        self._boxes = {id(x): (word, x) for path in mutable_containers.split() for word, x in
                       _objects(frame, path) if isinstance(x, list | dict)}
        self.words: list[str] = [*[x.removeprefix(GLOBAL) for x in self.names],
                      *[x[0] for x in self._attributes.values()],
                      *[x[0] for x in self._boxes.values()]]

    def read(self, frame: FrameType) -> list[Any]:
        """Return the current values."""
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
        """Assign attributes and containers; return the values of variables, for the caller to
        assign."""
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
        """Return True if entry k is a variable, not an attribute or the content of a container."""
        return k < len(self.names)

    def is_needed(self, k: int) -> bool:
        """Return True if the value may be read later."""
        return not self.is_variable(k) or self.words[k] not in self.dead

    def is_deferred(self, k: int) -> bool:
        """Return True if an error about a variable is raised only when the variable is read."""
        return self.is_owned(k) and self.words[k] in self.deferred

    def is_owned(self, k: int) -> bool:
        """Return True if entry k is a local variable of the frame; reads of it pass through `value`
        if it may have no value."""
        return (self.is_variable(k) and not self.names[k].startswith(GLOBAL)
                and self.names[k] not in self._around)

    def _held(self, x: Any) -> Any:
        """Return a value with handles in place of the containers that are changed in place."""
        return _replaced(x, lambda y: id(y) in self._boxes, MutableRef)


def _held(x: Any) -> Any:
    """Return the handle of an item if it is a list or dict, which retains its identity."""
    return MutableRef(x) if isinstance(x, list | dict) else x


def _released(x: Any) -> Any:
    return _replaced(x, lambda y: type(y) is MutableRef, lambda y: y.box)


def _replaced(x: Any, is_one: Callable[[Any], bool], other: Callable[[Any], Any]) -> Any:
    """Return a structure with some leaves replaced; the same object if there are none."""
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
    """Return the objects that a path `a.b[].c` may denote, with their names."""
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
