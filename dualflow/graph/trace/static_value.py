"""Static values: the value of a Symbol, if it can be computed without a run of the program.

Used for initial values of variables, for integers as attributes and by specialisation. The walk
does not recurse.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, MutableMapping

from dualflow._core import Symbol, Tensor, TraceContext, constant, evaluate
from dualflow.graph.ir import CALL, CONSTANT, PARAMETER, VARIABLE, is_dynamic
from dualflow.graph.trace.parameters import Number


def static_value(x: Symbol, read: Callable[[Symbol], Tensor],
                 around: MutableMapping[Symbol, Symbol] | None = None) -> Tensor:
    """Return the value of a Symbol; a number that may change counts as its hint.

    `read` returns the values of parameters, variables and outputs of nodes with effects or bodies,
    or raises. `around` maps parameters of bodies whose owners are not in the graph yet to the outer
    values.
    """
    values: dict[Symbol, Tensor] = {}
    same: ChainMap[Symbol, Symbol] = ChainMap({}, around or {})     # value -> an equal value
    pending = [x]
    while pending:
        y = pending[-1]
        node = y.node
        if y in values:
            pending.pop()
            continue
        if node.op is CALL and not node.effect and y not in same:
            body = node.bodies[0]
            same.update(zip(body.inputs, node.inputs, strict=True))
            same.update(zip(node.outputs, body.outputs, strict=True))
        waiting = [same[y]] if y in same else [] if node.effect or node.bodies else [
            z for i, z in enumerate(node.inputs) if not node.op.shape_only >> i & 1]
        waiting = [z for z in waiting if z not in values]
        if waiting:
            pending.extend(waiting)
            continue
        pending.pop()
        if y in same:
            values[y] = values[same[y]]
        elif node.op is CONSTANT:
            values[y] = node.data
        elif any([is_dynamic(z) for i, z in enumerate(node.inputs)
                  if node.op.shape_only >> i & 1]):
            values[y] = read(y)
        elif node.op is PARAMETER and isinstance(node.data, Number) and (
                not node.data.dim.data_dependent):
            with TraceContext(None):
                values[y] = constant(node.data.dim.hint, node.data.dtype)
        elif node.op in (PARAMETER, VARIABLE) or node.effect or node.bodies:
            values[y] = read(y)
        else:
            inputs = [values.get(z, z) for z in node.inputs]
            values.update(zip(node.outputs, evaluate(node.op, inputs, node.attrs), strict=True))
    return values[x]
