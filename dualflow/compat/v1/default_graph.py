"""The default graph, and the decorator of functions that record in it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from dualflow._core import Symbol, current_graph
from dualflow.compat.v1.defaults import DEFAULTS, Mode
from dualflow.compat.v1.graph import Graph

__all__ = ["get_default_graph", "reset_default_graph"]

F = TypeVar("F", bound=Callable[..., Any])


def get_default_graph() -> Graph:
    """Return the default graph of this thread.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default() as g:
    ...     tf.get_default_graph() is g
    True
    """
    found: Graph
    if DEFAULTS.graphs:
        found = DEFAULTS.graphs[-1]
        return found
    if DEFAULTS.base is None:
        DEFAULTS.base = Graph()
    found = DEFAULTS.base
    return found


def reset_default_graph() -> None:
    """Replace the default graph by an empty one; raises inside a ``with`` block of a graph.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.reset_default_graph()
    >>> tf.get_default_graph().get_operations()
    []
    """
    if DEFAULTS.graphs:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you "
                             "need a cleared graph, exit the nesting and create a new graph.")
    DEFAULTS.base = Graph()


def recorded(function: F) -> F:
    """Decorate a function so that its ops are recorded in the current graph, else in the default
    graph; in eager mode they run."""
    @functools.wraps(function)
    def in_graph(*args: Any, **kwargs: Any) -> Any:
        graph = current_graph()
        if graph is None and not Mode.eager:
            graph = get_default_graph()
        if isinstance(graph, Graph):
            graph = graph_of([*args, *kwargs.values()], graph)
            return graph.call(function, args, kwargs)
        return function(*args, **kwargs)

    return in_graph  # type: ignore[return-value]


def graph_of(args: list[Any], current: Graph) -> Graph:
    """Return the graph that owns the tensors among the arguments (nested lists included), or
    `current` if one of them is usable there."""
    found = current
    for arg in args:
        for x in arg if isinstance(arg, list | tuple) else (arg,):
            if type(x) is Symbol:
                if x.graph is current or not isinstance(x.graph, Graph) or (
                        x.graph.goes_on_in(current)):
                    return current
                found = x.graph
    return found


def recording() -> Graph | None:
    """Return the graph that records, or None in eager mode and inside a `df.function`."""
    current = current_graph()
    return current if isinstance(current, Graph) else None


def last_op() -> Any:
    """Return the operation recorded last, or None if no graph records."""
    graph = recording()
    return None if graph is None else graph.nodes[-1]


def runs_at_once() -> bool:
    """Return True if ops do not record in a Graph: in eager mode or inside a `df.function`."""
    return recording() is None and (Mode.eager or current_graph() is not None)


def default_graph() -> Graph:
    """Return the graph in which functions record; `recorded` functions are called inside it."""
    current = current_graph()
    return current if isinstance(current, Graph) else get_default_graph()


def of_the_graph(x: Any) -> Any:
    """Return `x` as a tensor of the current graph; in eager mode return it unchanged."""
    graph = current_graph()
    return graph.made(x) if isinstance(graph, Graph) else x
