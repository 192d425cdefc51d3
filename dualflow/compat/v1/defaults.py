"""What is in force in a thread: graphs, sessions, and whether there are any."""

from __future__ import annotations

import threading
from typing import Any


class Defaults(threading.local):
    """The stacks of one thread.

    Attributes
    ----------
    graphs : list of Graph
        Those of open ``with`` blocks, the innermost last.
    base : Graph or None
        What is in force outside of all blocks, made when first needed.
    sessions : list of Session
    """

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.base: Any = None
        self.sessions: list[Any] = []


class Mode:
    """Whether functions run at once instead of recording."""

    eager = False


DEFAULTS = Defaults()


def default_session(given: Any, method: str, what: str, graph: Any) -> Any:
    """The session given, or the one in force, which must be of a graph."""
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
    """The session in force in this thread, or None.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Session() as sess:
    ...     tf.get_default_session() is sess
    True
    """
    return DEFAULTS.sessions[-1] if DEFAULTS.sessions else None


def executing_eagerly() -> bool:
    """Whether functions run at once.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.executing_eagerly()
    False
    """
    return Mode.eager


def enable_eager_execution(config: Any = None, device_policy: Any = None,
                           execution_mode: Any = None) -> None:
    """From now on functions run at once, and sessions are not needed.

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
    """From now on functions record in the graph in force, as they do from the start.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.disable_eager_execution()
    >>> tf.executing_eagerly()
    False
    """
    Mode.eager = False
