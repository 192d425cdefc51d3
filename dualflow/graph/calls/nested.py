"""Calls of a traced function while it, or another function, is traced.

Used by `function.py`. The recorded nodes become the body of a call; endless recursion must raise.
"""

from __future__ import annotations

from collections.abc import Callable

from dualflow._core import PushedItem
from dualflow._util.locks import ThreadLocal
from dualflow.errors import InvalidArgumentError
from dualflow.graph.calls.results import with_values
from dualflow.graph.trace.trace import Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEEP = 20       # nested traces of one function that count as endless recursion


class Nested:
    """The calls of one function that each thread is tracing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._local = ThreadLocal()

    def within(self, key: Any) -> PushedItem:
        """Return a context in which a call with this key is being traced."""
        return PushedItem(self._keys(), key)

    def call(self, trace: Trace, key: Any, run: Callable[[], Any]) -> Any:
        """Return the result of `run`; the nodes it records become the body of a call in `trace`."""
        active, mark = self._keys(), trace.mark
        if key in active:
            raise InvalidArgumentError(
                f"{self.name} calls itself while it is traced, with arguments of the same shapes "
                "and static values: the trace would never end; let a static value change from call "
                "to call, or write a loop")
        try:
            with PushedItem(active, key):
                result = with_values(run(), trace.read)
        except RecursionError:
            if len(active) < DEEP:          # Python's own recursion, inside the function
                raise
            raise InvalidArgumentError(f"{self.name} calls itself while it is traced, {len(active)}"
                                       " deep, and no static value ends it") from None
        trace.outline(mark, self.name)
        return result

    def _keys(self) -> list[Any]:
        if not hasattr(self._local, "keys"):
            self._local.keys = []
        keys: list[Any] = self._local.keys
        return keys
