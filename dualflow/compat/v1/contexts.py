"""Contexts that push the default graph and the default session.

They are instances of the core's PushedItem, so Ctrl-C cannot interrupt between entering the context
and the ``with`` block."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dualflow._core import PushedItem, TraceContext
from dualflow.compat.v1.defaults import DEFAULTS

if TYPE_CHECKING:
    from dualflow.compat.v1.graph import Graph


def make_default(graph: Graph, recording: TraceContext) -> AbstractContextManager[Graph]:
    """Return a context in which `graph` is the default graph and `recording` handles applied
    ops."""
    return PushedItem(DEFAULTS.graphs, graph, graph, recording)


def in_session(session: Any) -> AbstractContextManager[Any]:
    """Return a context in which a session is the default."""
    return PushedItem(DEFAULTS.sessions, session, session)
