"""Gradients of nodes that a graph already holds.

The nodes that the targets depend on are recorded on a tape as if it had watched them being
recorded; then the usual backward pass runs. Gradient rules are applied in the current graph.
"""

from __future__ import annotations

from typing import Any

from dualflow._core import (
    Symbol,
    Tape,
    Variable,
    current_graph,
    tensor_id,
    unwrapped,
)
from dualflow.autodiff.backward import backward, zeros
from dualflow.autodiff.tape import UnconnectedGradients, check_tensors, seed_gradients, wants_zero
from dualflow.compat.v1.graph import Graph, name_scope
from dualflow.errors import InvalidArgumentError
from dualflow.graph.ir import Node
from dualflow.graph.trace.replay_on_tape import replay_on_tape
from dualflow.graph.trace.trace import Trace
from dualflow.nest import flatten

__all__ = ["gradients"]


def gradients(ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients",
              colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
              aggregation_method: Any = None, stop_gradients: Any = None,
              unconnected_gradients: str = UnconnectedGradients.NONE) -> list[Any]:
    """Return the gradient of the sum of `ys` with respect to each of `xs`, in their graph.

    Parameters
    ----------
    ys : Tensor or nested lists of them
    xs : Tensor, Variable or nested lists of them
    grad_ys : Tensor or the structure of `ys`, optional
        Weights of the elements of `ys` in the sum; None means ones.
    name : str, default "gradients"
        Scope of the new nodes.
    colocate_gradients_with_ops, gate_gradients, aggregation_method : ignored
    stop_gradients : Tensor or nested lists of them, optional
        Treated as constants.
    unconnected_gradients : {"none", "zero"}
        Result for a source that the targets do not depend on: None or zeros.

    Returns
    -------
    list, one for each of `xs`

    Raises
    ------
    InvalidArgumentError
        If there is no graph; eager mode has `GradientTape`.

    Notes
    -----
    If a variable is assigned between source and target, the gradient is with respect to every value
    that it has had, as with a `GradientTape`. The time is linear in the nodes that `ys` depend on.

    Examples
    --------
    >>> import dualflow as df
    >>> g = df.Graph()
    >>> with g.as_default():
    ...     x = g.placeholder([])
    ...     dx, = df.gradients(x * x * x, x)
    ...     ddx, = df.gradients(dx, x)
    >>> dx.shape, ddx.shape
    (TensorShape([]), TensorShape([]))
    """
    args = ys, xs, grad_ys, name, stop_gradients, unconnected_gradients
    graph = current_graph()
    if graph is None:
        graph = next((x.graph for x in tensors_in([ys, xs]) if isinstance(x, Symbol)), None)
    if isinstance(graph, Graph):
        return graph.call(recorded_gradients, args, {})
    if current_graph() is None:
        raise InvalidArgumentError("gradients: no graph records in this thread; call it inside "
                                   "graph.as_default(), or use GradientTape")
    return recorded_gradients(*args)


def tensors_in(structure: Any) -> list[Any]:
    """Return the tensors and variables in nested lists; a graph's variables as their values."""
    return [unwrapped(x) for x in flatten(structure)]


def recorded_gradients(ys: Any, xs: Any, grad_ys: Any, name: str, stop_gradients: Any,
                       unconnected_gradients: str) -> list[Any]:
    """Return the gradients, recorded in the current graph."""
    graph: Trace = current_graph()
    targets, wanted = tensors_in(ys), tensors_in(xs)
    given = None if grad_ys is None else flatten(grad_ys)
    if given is not None and len(given) != len(targets):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(targets)} ys")
    stopped = [] if stop_gradients is None else tensors_in(stop_gradients)
    check_tensors("target", targets)
    check_tensors("source", wanted)
    with name_scope(name):
        targets = graph.to_symbols(None,
                                   [y.value() if isinstance(y, Variable) else y for y in targets])
        for y in targets:
            if y.graph is not graph:
                graph.raise_leaked(y, "gradients")
        tape = Tape(False)
        for x in wanted:
            tape.watch(x)
        stops = {tensor_id(x) for x in stopped}
        replay_on_tape(tape, leading_to(graph, targets, stops), graph.outliner)
        seeds = seed_gradients(targets, list(targets), given)
        found = backward(tape, seeds, [tensor_id(x) for x in wanted], free=True)
        zero = wants_zero(unconnected_gradients)
        results = [found.get(tensor_id(x)) for x in wanted]
        return [zeros(x) if g is None and zero else g for g, x in zip(results, wanted, strict=True)]


def leading_to(graph: Trace, targets: list[Symbol], stops: set[int]) -> list[Node]:
    """Return the nodes that the targets depend on, in program order.

    The search stops at values in `stops` and at written variables: the value assigned to a variable
    does not depend on the variable as a source.
    """
    found: set[Node] = set()
    pending = list(targets)
    while pending:
        x = graph.outliner.recorded(pending.pop())
        node = x.node
        written = any([x is after for _, after in node.written])
        if node not in found and not written and tensor_id(x) not in stops:
            found.add(node)
            pending += node.applied[1]
    return sorted(found, key=lambda node: tensor_id(node.outputs[0]))
