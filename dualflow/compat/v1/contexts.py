"""What is in force inside a ``with`` block. The contexts are the core's: Ctrl-C finds no place
between entering and the block."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dualflow._core import OnTop, Recording
from dualflow.compat.v1.defaults import DEFAULTS

if TYPE_CHECKING:
    from dualflow.compat.v1.graph import Graph


def in_force(graph: Graph, recording: Recording) -> AbstractContextManager[Graph]:
    """Inside the block, a graph is in force, and what `recording` says is done with ops."""
    return OnTop(DEFAULTS.graphs, graph, graph, recording)


def in_session(session: Any) -> AbstractContextManager[Any]:
    """Inside the block, a session is the default."""
    return OnTop(DEFAULTS.sessions, session, session)
