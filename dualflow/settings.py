"""Objects whose attributes are numbers of a trace: if one changes, functions are traced again.

All it knows of a trace is how to tell it that it is `outdated`.
"""

from __future__ import annotations

import weakref

from dualflow._core import current_graph
from dualflow.arguments import Limits, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

__all__ = ["Checked", "Settings"]


class Checked:
    """Base of objects some of whose attributes must be numbers, whenever they are given one."""

    limits: ClassVar[Mapping[str, Limits]] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.limits:
            title = self.__dict__.get("name") or type(self).__name__
            number(value, f"{title}: {name}", self.limits[name])
        super().__setattr__(name, value)


class Settings(Checked):
    """Base of objects whose attributes are read while tracing, and may be changed at any time.

    A trace has the attributes as they were. One that used such an object (`used`) is told about
    every change of a public attribute, and its function is traced again at the next call.

    Examples
    --------
    >>> import dualflow as df
    >>> optimizer, v = df.optimizers.SGD(0.5, momentum=0.5), df.Variable(0.)
    >>> step = df.function(lambda: optimizer.minimize(lambda: 2. * v, [v]))
    >>> loss = step()
    >>> optimizer.momentum = 0.75
    >>> loss = step()
    >>> v.item()
    -2.75
    """

    def used(self) -> None:
        """Notes that the graph that records in this thread, if any, depends on this object."""
        graph = current_graph()
        if graph is not None:
            users = self.__dict__.setdefault("_users", {})
            key = id(graph)
            users[key] = weakref.ref(graph, lambda _: users.pop(key, None))

    def changed(self, what: str) -> None:
        """Tells the traces that used it, except the one recording now, which sees the change."""
        for user in list(self.__dict__.get("_users", {}).values()):
            graph = user()
            if graph is not None and graph is not current_graph():
                graph.outdated(what)

    def validate(self) -> None:
        """Raises if an attribute has an invalid value; called after each change."""

    def __setattr__(self, name: str, value: Any) -> None:
        known = name in self.__dict__ and not name.startswith("_")
        before = self.__dict__.get(name)
        super().__setattr__(name, value)
        if not known or _same(before, value):
            return
        try:
            self.validate()
        except Exception:
            super().__setattr__(name, before)
            raise
        self.changed(f"{type(self).__name__}.{name} became {value!r}")

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name != "_users"}


def _same(a: Any, b: Any) -> bool:
    """Whether a trace made with `a` also holds for `b`."""
    return a is b or (type(a) is type(b) and isinstance(a, bool | int | float | str)
                      and repr(a) == repr(b))
