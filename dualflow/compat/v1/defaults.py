"""The default graphs and sessions of each thread, and the switch for eager execution."""

from __future__ import annotations

import threading
from typing import Any


class Defaults(threading.local):
    """The default graphs and sessions of one thread.

    Attributes
    ----------
    graphs : list of Graph
        Graphs of the open ``with`` blocks, the innermost last.
    base : Graph or None
        The default graph outside all blocks, created at its first use.
    sessions : list of Session
    """

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.base: Any = None
        self.sessions: list[Any] = []


class Mode:
    """Process-wide flag: if `eager` is True, functions run at once instead of recording."""

    eager = False


DEFAULTS = Defaults()


def default_session(given: Any, method: str, what: str, graph: Any) -> Any:
    """Return the given session or the default one; raise ValueError if it is of another graph."""
    if given is not None:
        if given.graph is not graph:
            raise ValueError(f"{what}: The given session's graph is different from the tensor's "
                             "graph.")
        return given
    if not DEFAULTS.sessions:
        raise ValueError(f"{what}: No default session is registered. Use `with "
                         f"sess.as_default()` or pass an explicit session to "
                         f"`{method}(session=sess)`")
    session = DEFAULTS.sessions[-1]
    if session.graph is not graph:
        raise ValueError(f"{what}: The default session's graph is different from the tensor's "
                         f"graph. Pass an explicit session to `{method}(session=sess)`.")
    return session


def get_default_session() -> Any:
    """Return the default session of this thread, or None.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Session() as sess:
    ...     tf.get_default_session() is sess
    True
    """
    return DEFAULTS.sessions[-1] if DEFAULTS.sessions else None


def executing_eagerly() -> bool:
    """Return True if functions run at once.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.executing_eagerly()
    False
    """
    return Mode.eager


def enable_eager_execution(config: Any = None, device_policy: Any = None,
                           execution_mode: Any = None) -> None:
    """Switch to eager execution: functions run at once and need no session.

    Parameters
    ----------
    config, device_policy, execution_mode
        Ignored: ops run on the CPU.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.enable_eager_execution()
    >>> tf.add(1, 2).numpy().item()
    3
    >>> tf.disable_eager_execution()
    """
    Mode.eager = True


def disable_eager_execution() -> None:
    """Switch to graph execution, the initial mode: functions record in the default graph.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.disable_eager_execution()
    >>> tf.executing_eagerly()
    False
    """
    Mode.eager = False
