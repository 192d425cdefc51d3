"""Interpreter that runs a graph node by node on eager kernels: the reference for optimised runs.

Variables are not modified: their new values are returned.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dualflow._core import Symbol, Tensor, Variable, apply, constant, evaluate
from dualflow.dtypes import int64
from dualflow.graph.ir import (
    CALL,
    COND,
    CONSTANT,
    LOOP,
    PARAMETER,
    VARIABLE,
    Graph,
    Node,
    loop_parts,
)
from dualflow.graph.trace.trace import suspended
from dualflow.ops.array.creation import zeros
from dualflow.ops.array.join import stack


class Outcome(NamedTuple):
    """The result of a run."""

    outputs: list[Tensor]
    variables: dict[Variable, Tensor]


def interpret(graph: Graph, args: Sequence[Tensor]) -> Outcome:
    """Run a graph of known shapes.

    Parameters
    ----------
    graph : Graph
    args : sequence of Tensor
        The values of ``graph.inputs``, except for those that `graph.cached` computes.

    Returns
    -------
    Outcome
        The outputs, and the value of each variable that was written.

    Examples
    --------
    >>> import dualflow as df
    >>> from tests.graph.interpret import interpret
    >>> from dualflow.graph.trace.trace import Trace
    >>> trace = Trace()
    >>> with trace.recording():
    ...     x = trace.parameter(0, "x", df.float32, (2,), (2,))
    ...     trace.outputs = [x * 2.]
    >>> interpret(trace, [df.constant([1., 2.])]).outputs[0].tolist()
    [2.0, 4.0]
    """
    if graph.cached is not None:
        args = [*args, *interpret(graph.cached, ()).outputs]
    values: dict[Symbol, Tensor] = dict(zip(graph.inputs, args, strict=True))
    variables: dict[Symbol, Variable] = {}
    written: dict[Variable, Tensor] = {}
    with suspended():
        for node in graph.nodes:
            if node.op is PARAMETER:
                continue
            if node.op is CONSTANT:
                values[node.outputs[0]] = node.data
            elif node.op is VARIABLE:
                values[node.outputs[0]] = node.data.value()
                variables[node.outputs[0]] = node.data
            elif node.writes or node.bodies:
                if node.bodies:
                    made = _run_bodies(node, [values[x] for x in node.inputs])
                    values.update(zip(node.outputs, made, strict=True))
                else:
                    _write(node, values)
                for before, after in node.written:
                    if before in variables:         # otherwise an input of a body
                        variables[after] = variables[before]
                        written[variables[after]] = values[after]
            else:
                inputs = [values[x] for x in node.inputs]
                values.update(zip(node.outputs, evaluate(node.op, inputs, node.attrs),
                                  strict=True))
    return Outcome([values[x] for x in graph.outputs], written)


def _run_bodies(node: Node, inputs: list[Tensor]) -> list[Tensor]:
    """Return the outputs of a node with bodies."""
    if node.op is CALL:
        return interpret(node.bodies[0], inputs).outputs
    if node.op is COND:
        k, n = int(inputs[0].item()), len(node.bodies)
        return interpret(node.bodies[k if 0 <= k < n else n - 1], inputs).outputs
    assert node.op is LOOP
    return _run_rounds(node, inputs)


def _run_rounds(node: Node, inputs: list[Tensor]) -> list[Tensor]:
    parts, body, given = loop_parts(node), node.bodies[0], list(inputs)
    times = int(inputs[0].item()) if parts.times < 0 else parts.times
    for k in range(parts.sliced.start, parts.sliced.stop):
        times = min(times, inputs[k].shape[0])
    keep_going = not parts.tested or inputs[parts.carried.start - 1].item()
    writes = [k for k in range(len(inputs)) if node.writes >> k & 1]
    n_made = len(body.outputs) - len(writes)
    rows: list[list[Tensor]] = []
    while len(rows) < times and keep_going:
        at = times - 1 - len(rows) if parts.reverse else len(rows)
        for k in range(parts.sliced.start, parts.sliced.stop):
            given[k] = inputs[k][at]
        made = interpret(body, given).outputs
        keep_going = not parts.tested or made[0].item()
        given[parts.carried] = made[parts.first:parts.first + parts.n_carried]
        for k, y in zip(writes, made[n_made:], strict=True):
            given[k] = y
        rows.append(made[parts.first + parts.n_carried:n_made])
    if parts.reverse:
        rows.reverse()
    rounds = [constant(len(rows), int64)] * parts.tested
    stacked = [stack(list(column)) for column in zip(*rows, strict=True)] if rows else [
        zeros((0, *y.known_shape), y.dtype) for y in body.outputs[parts.stacked]]
    return [*given[parts.carried], *rounds, *stacked, *[given[k] for k in writes]]


def _write(node: Node, values: dict[Symbol, Tensor]) -> None:
    """Run a node that writes, on temporary variables."""
    inputs = [Variable(values[x]) if node.writes >> i & 1 else values[x]
              for i, x in enumerate(node.inputs)]
    attrs = {} if node.attrs is None else node.attrs.as_dict()
    found = apply(node.op.name, *inputs, **attrs)
    made = found if isinstance(found, tuple) else () if found is None else (found,)
    after = [x.value() for x in inputs if isinstance(x, Variable)]
    values.update(zip(node.outputs, [*made, *after], strict=True))
