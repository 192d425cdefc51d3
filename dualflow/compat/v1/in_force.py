"""The graph in force, and functions that record in it."""

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
    """The graph in force in this thread.

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
    """Begins a new graph, outside of all ``with`` blocks of graphs and sessions.

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
    """A function whose ops are recorded in the graph in force, or in the one that records already;
    in eager mode they run."""
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
    """The graph that the tensors among arguments, and in lists there, are of, if that is another
    one than records, or one that it continues; else the one that records."""
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
    """The graph that records, which is none in eager mode and inside a `df.function`."""
    current = current_graph()
    return current if isinstance(current, Graph) else None


def last_op() -> Any:
    """The operation recorded last, if a graph records."""
    graph = recording()
    return None if graph is None else graph.nodes[-1]


def runs_at_once() -> bool:
    """Whether there is no graph in force: in eager mode, and inside a `df.function`."""
    return recording() is None and (Mode.eager or current_graph() is not None)


def graph_in_force() -> Graph:
    """The graph that functions record in; `recorded` ones are called inside of it."""
    current = current_graph()
    return current if isinstance(current, Graph) else get_default_graph()


def of_the_graph(x: Any) -> Any:
    """A tensor of the graph that records, whatever it was before; in eager mode the tensor."""
    graph = current_graph()
    return graph.made(x) if isinstance(graph, Graph) else x
