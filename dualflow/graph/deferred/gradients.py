"""Gradients of what a graph already holds.

The nodes that lead to the targets are played into a log, as if a tape had watched when they were
made; the usual backward walk goes through it. Rules are applied in the graph that records.
"""

from __future__ import annotations

from typing import Any

from dualflow._core import RecordLog, Symbol, Variable, current_graph, tensor_id
from dualflow.autodiff.backward import backward, zeros
from dualflow.autodiff.tape import UnconnectedGradients, check_tensors, seed_gradients, wants_zero
from dualflow.errors import InvalidArgumentError
from dualflow.graph.deferred.graph import name_scope
from dualflow.graph.ir import Node
from dualflow.graph.trace.play import play
from dualflow.graph.trace.trace import Trace
from dualflow.nest import flatten_tensors

__all__ = ["gradients"]


def gradients(ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients",
              stop_gradients: Any = None,
              unconnected_gradients: str = UnconnectedGradients.NONE) -> list[Any]:
    """Gradient of the sum of `ys` with respect to each of `xs`, in the graph that holds them.

    Parameters
    ----------
    ys : Tensor or nested lists of them
        Traced in the graph that records.
    xs : Tensor, Variable or nested lists of them
    grad_ys : Tensor or the structure of `ys`, optional
        What to multiply the elements of `ys` by before summing; None is ones.
    name : str, default "gradients"
        Scope of the nodes it adds.
    stop_gradients : Tensor or nested lists of them, optional
        Treated as constants.
    unconnected_gradients : {"none", "zero"}
        What stands for a gradient that does not exist.

    Returns
    -------
    list, one for each of `xs`

    Raises
    ------
    InvalidArgumentError
        If called outside a graph; eager mode has `GradientTape`.

    Notes
    -----
    If a variable is assigned on the way, the gradient is with respect to every value it has had, as
    with a `GradientTape`. The time is linear in the nodes that lead to `ys`.

    Examples
    --------
    >>> import dualflow as df
    >>> g = df.Graph()
    >>> with g.as_default():
    ...     x = g.placeholder([])
    ...     dx, = df.gradients(x * x * x, x)
    ...     ddx, = df.gradients(dx, x)
    >>> dx.shape, ddx.shape
    ((), ())
    """
    graph = current_graph()
    if graph is None:
        raise InvalidArgumentError("gradients: no graph records in this thread; call it inside "
                                   "graph.as_default(), or use GradientTape")
    targets, wanted = flatten_tensors(ys), flatten_tensors(xs)
    stopped = [] if stop_gradients is None else flatten_tensors(stop_gradients)
    check_tensors("target", targets)
    check_tensors("source", wanted)
    with name_scope(name):
        targets = graph.adopt(None, [y.value() if isinstance(y, Variable) else y for y in targets])
        for y in targets:
            if y.graph is not graph:
                graph.escaped(y, "gradients")
        log = RecordLog(False)
        for x in wanted:
            log.watch(x)
        stops = {tensor_id(x) for x in stopped}
        play(log, leading_to(graph, targets, stops), graph.enclosed)
        seeds = seed_gradients(targets, ys, grad_ys)
        found = backward(log, seeds, [tensor_id(x) for x in wanted], free=True)
        zero = wants_zero(unconnected_gradients)
        results = [found.get(tensor_id(x)) for x in wanted]
        return [zeros(x) if g is None and zero else g for g, x in zip(results, wanted, strict=True)]


def leading_to(graph: Trace, targets: list[Symbol], stops: set[int]) -> list[Node]:
    """The applications that make the targets, in the order of the program.

    The walk stops at values in `stops`, and at variables that were written: the value assigned to a
    variable is unrelated to the variable as a source.
    """
    found: set[Node] = set()
    pending = list(targets)
    while pending:
        x = graph.enclosed.recorded(pending.pop())
        node = x.node
        if node not in found and not node.writes and tensor_id(x) not in stops:
            found.add(node)
            pending += node.applied[1]
    return sorted(found, key=lambda node: tensor_id(node.outputs[0]))
