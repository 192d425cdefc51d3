"""Warnings about effects of Python that happen while a function is traced, but not when it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dualflow._util.frames import warn
from dualflow.errors import RetracingWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class UnrepeatedWarnings:
    """Warns about effects of one function, once for each kind of effect.

    Parameters
    ----------
    name : str
        The name of the function, for messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._changes = self._draws = False     # whether a warning was issued

    def watch_containers(self, function: Callable[..., Any], run: Callable[[], Any]) -> Any:
        """Return ``run()``; warn if it changes the length of a container that `function` names."""
        before = {name: (container, len(container)) for name, container in containers(function)}
        result = run()
        changed = [name for name, (container, n) in before.items() if len(container) != n]
        if changed and not self._changes:
            self._changes = True
            warn(f"{self.name} changed {', '.join(changed)} while it was traced; only ops on "
                 "tensors are repeated when it runs", RetracingWarning)
        return result

    def of_state(self, changed: Sequence[tuple[str, str]], unrepeated: Sequence[str]) -> None:
        """Warn about numbers that the function changes each time it is traced, and about reads of
        random generators and clocks of Python and NumPy.

        Parameters
        ----------
        changed : sequence of (str, str)
            The locations that the function changed, and how.
        unrepeated : sequence of str
            The calls of generators and clocks.
        """
        counted = [location for location, how in changed if is_count(how)]
        if counted and not self._changes:
            self._changes = True
            warn(f"{self.name} changes {counted[0]} while it is traced, which runs do not "
                 "repeat; count with a dualflow.Variable and assign_add", RetracingWarning)
        if unrepeated and not self._draws:
            self._draws = True
            warn(f"{self.name} calls {unrepeated[0]} while it is traced, and runs reuse the "
                 "value; use dualflow.random, or an argument", RetracingWarning)


def is_count(change: str) -> bool:
    """Return True if a number became another number: ``self.n: 3 -> 4``."""
    before, arrow, after = change.rpartition(": ")[2].partition(" -> ")
    return bool(arrow) and is_plain(before) and is_plain(after)


def is_plain(number: str) -> bool:
    """Return True for an integer, or for a decimal number without an exponent."""
    return number.removeprefix("-").replace(".", "").isdecimal()


def containers(function: Any) -> list[tuple[str, Any]]:
    """Return the lists, dicts and sets that a Python function names, of its closure and module."""
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    named = {name: function.__globals__.get(name) for name in code.co_names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            named[name] = cell.cell_contents
        except ValueError:                      # a name that is not bound yet
            continue
    return [(name, box) for name, box in named.items() if type(box) in (list, dict, set)]
