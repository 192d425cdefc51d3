"""Objects whose attributes are constants of a trace: a change makes functions be traced again.

The only method of a trace that they call is `outdated`.
"""

from __future__ import annotations

import weakref

from dualflow._core import current_graph
from dualflow._util.arguments import Limits, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

__all__ = ["Checked", "Settings"]


class Checked:
    """Base class of objects with numeric attributes that are validated at each assignment."""

    limits: ClassVar[Mapping[str, Limits]] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.limits:
            title = self.__dict__.get("name") or type(self).__name__
            number(value, f"{title}: {name}", self.limits[name])
        super().__setattr__(name, value)


class Settings(Checked):
    """Base class of objects whose attributes are read while tracing and may change at any time.

    A trace contains the attributes as constants. Each trace that `used` the object is marked as
    outdated when a public attribute changes, and its function is traced again at the next call.

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
        """Record that the graph that records in this thread, if any, depends on this object."""
        graph = current_graph()
        if graph is not None:
            users = self.__dict__.setdefault("_users", {})
            key = id(graph)
            users[key] = weakref.ref(graph, lambda _: users.pop(key, None))

    def changed(self, what: str) -> None:
        """Mark the traces that used the object as outdated, except the current one."""
        for user in list(self.__dict__.get("_users", {}).values()):
            graph = user()
            if graph is not None and graph is not current_graph():
                graph.outdated(what)

    def validate(self) -> None:
        """Raise if an attribute has an invalid value; called after each change."""

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
    """Return True if a trace recorded with `a` is also valid for `b`."""
    return a is b or (type(a) is type(b) and isinstance(a, bool | int | float | str)
                      and repr(a) == repr(b))
