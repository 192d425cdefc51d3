"""Recording a loop of another graph as a node of the current trace.

Used where a call is inlined into a trace and where a saved trace is loaded; `io/serialize_trace.py`
stores the list that `rounds_of_loop` returns, so its form must not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dualflow import dtypes
from dualflow._core import Symbol, symbol
from dualflow.graph.ir import LOOP, PARAMETER, Node, loop_attrs, loop_parts
from dualflow.graph.trace import cond_gradient, loop_gradient  # noqa: F401  gradient rules
from dualflow.graph.trace.bodies import Body, param
from dualflow.graph.trace.control_gradient import own_recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def rounds_of_loop(loop: Node, any_unknown: bool = False) -> list[Any]:
    """Return how the parameters of the body of a loop differ from the inputs of the loop.

    For each carry: its shape if the shape changes from iteration to iteration (with `any_unknown`,
    if it has any unknown size), or None. For each sliced input: dtype and shape of a row if the
    rows are packed, or None.
    """
    parts = loop_parts(loop)
    pairs = list(zip(loop.inputs, loop.bodies[0].inputs, strict=True))
    carried = [list(inside.known_shape) if any(
        [a is None and (any_unknown or b is not None)
         for a, b in zip(inside.hints, x.hints, strict=True)]) else None
        for x, inside in pairs[parts.carried]]
    rows = [[inside.dtype.name, list(inside.known_shape)]
            if inside.dtype is not x.dtype or inside.ndim != x.ndim - 1
            else None for x, inside in pairs[parts.sliced]]
    return [*carried, *rows]


def record_loop(graph: Any, rounds: Sequence[Any], round: Callable[..., list[Any]],
                inputs: Sequence[Any], first: int, given: dict[str, Any]) -> Sequence[Symbol]:
    """Record a loop and return its outputs. `round` is the body, `rounds` the result of
    `rounds_of_loop`, `given` has the attributes, `first` is the index of the first carry."""
    inputs = graph.to_symbols(None, inputs)
    n = given["n_carried"]
    params = [param(graph, x, f"loop/{k}", shape=shape) for k, (x, shape) in enumerate(
        zip(inputs[first:first + n], rounds[:n], strict=True))]
    params += [param(graph, x, f"loop/row {k}", 1) if row is None else packed_row(graph, x, *row)
               for k, (x, row) in enumerate(zip(inputs[first + n:], rounds[n:], strict=True))]
    body = Body(graph, "loop/body", round, params, rounds=True)
    packed = sum([1 << k for k in given["packed"]])
    attrs = loop_attrs(given["times"], n, given["n_sliced"], given["tested"], given["reverse"],
                       packed, given["recompute"])
    node = own_recorded(graph, LOOP, attrs, inputs, len(params), [body], "loop")
    return node.outputs[:len(node.outputs) - len(node.written)]


def packed_row(graph: Any, x: Symbol, dtype: str, shape: Sequence[int | None]) -> Symbol:
    """Return the parameter of a loop body for a row of `x`, whose rows are packed."""
    node = Node(PARAMETER, (), None, (), graph.names.unique("loop/row"), graph.line())
    made = symbol(graph, node, 0, dtypes.as_dtype(dtype), shape, shape,
                  row=None if x.row is None else x.row.row)
    node.outputs = (made,)
    return made
