"""Runs a graph node by node on eager kernels: what any optimised run of it must equal, bit for bit.

Variables are not touched: their new values are returned.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dualflow._core import Symbol, Tensor, Variable, apply, evaluate
from dualflow.graph.ir import CALL, CONSTANT, PARAMETER, VARIABLE, Graph, Node
from dualflow.graph.trace.trace import suspended


class Outcome(NamedTuple):
    """What a run gives."""

    outputs: list[Tensor]
    variables: dict[Variable, Tensor]


def interpret(graph: Graph, args: Sequence[Tensor]) -> Outcome:
    """Runs a graph of known shapes.

    Parameters
    ----------
    graph : Graph
    args : sequence of Tensor
        The values of ``graph.inputs``, except for those that `graph.kept` computes.

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
    if graph.kept is not None:
        args = [*args, *interpret(graph.kept, ()).outputs]
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
            elif node.writes or node.op is CALL:
                if node.op is CALL:
                    made = interpret(node.bodies[0], [values[x] for x in node.inputs]).outputs
                    values.update(zip(node.outputs, made, strict=True))
                else:
                    _write(node, values)
                for before, after in node.written:
                    if before in variables:         # else it is an input of a body
                        variables[after] = variables[before]
                        written[variables[after]] = values[after]
            else:
                inputs = [values[x] for x in node.inputs]
                values.update(zip(node.outputs, evaluate(node.op, inputs, node.attrs),
                                  strict=True))
    return Outcome([values[x] for x in graph.outputs], written)


def _write(node: Node, values: dict[Symbol, Tensor]) -> None:
    """Runs a node that writes, on variables of its own."""
    inputs = [Variable(values[x]) if node.writes >> i & 1 else values[x]
              for i, x in enumerate(node.inputs)]
    attrs = {} if node.attrs is None else node.attrs.as_dict()
    found = apply(node.op.name, *inputs, **attrs)
    made = found if isinstance(found, tuple) else () if found is None else (found,)
    after = [x.value() for x in inputs if isinstance(x, Variable)]
    values.update(zip(node.outputs, [*made, *after], strict=True))
