"""Cotangents of values in branches and loops: predicates, and access to rows and flags.

Used by the gradients of cond and loop nodes and by the backward programs of calls. A cotangent is a
tensor, packed rows (`is_packed`), or a `MaskedGradient` with one flag or a flag for each row.
"""

from __future__ import annotations

from collections.abc import Iterable

from dualflow._core import Dim, MaskedGradient, Symbol, as_tensor
from dualflow.autodiff.masked_gradient import clean
from dualflow.dtypes import uint8
from dualflow.graph.ir import LoopParts, Node, RegionRecord, loop_parts, walk
from dualflow.graph.trace.dims import leaves
from dualflow.graph.trace.parameters import is_number
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import broadcast_to
from dualflow.ops.reduction.reduce import reduce_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.graph.trace.trace import Trace


def n_made(node: Node) -> int:
    """Return the number of outputs of a node that are not versions of variables."""
    return len(node.outputs) - node.writes.bit_count()


def is_inside(x: Symbol) -> bool:
    """Return True if `x` is a residual: an output that was added to a node for its gradient."""
    data = x.node.data
    return isinstance(data, RegionRecord) and data.n_outputs <= x.index < n_made(x.node)


def varies(row: Symbol) -> bool:
    """Return True if the shape of a row depends on data."""
    return None in row.hints


def limited(parts: LoopParts) -> bool:
    """Return True if an input of the loop is its trip count."""
    return not isinstance(parts.times, Dim) and bool(parts.times < 0)


def is_packed(y: Symbol) -> bool:
    """Return True if a value is packed rows of different shapes, or their cotangent."""
    return y.dtype is uint8 and y.row is not None and varies(y.row)


def is_differentiable(y: Symbol) -> bool:
    """Return True if a value is differentiable: floating, or packed rows that are floating."""
    return y.dtype.is_inexact or (is_packed(y) and is_differentiable(y.row))


def trip_counts(trace: Trace, node: Node) -> list[Symbol]:
    """Return the trip count of a loop as a list of one value, empty if it is static."""
    parts = loop_parts(node)
    if parts.tested:
        return trace.to_symbols(None, [node.outputs[parts.n_carried]])
    return (trace.to_symbols(None, [trace.outliner.recorded(node.inputs[0])]) if limited(parts)
            else [])


def measured(nodes: Iterable[Node]) -> Iterable[Symbol]:
    """Yield the values whose data-dependent sizes are attributes or numbers of nodes."""
    for node in walk(nodes):
        given = node.attrs.values if node.attrs is not None and node.attrs.symbolic else ()
        numbers = [x.node.data.dim for x in node.inputs if is_number(x)]
        for value in (*given, numbers):
            for d in value if isinstance(value, tuple | list) else (value,):
                if isinstance(d, Dim):
                    yield from [at.args[0] for at in leaves(d)
                                if at.data_dependent and at.kind != "argument"]


def row_parts(g: Any) -> list[Any]:
    """Return the sliced inputs of a loop for a cotangent: its value, and flags of rows."""
    if not isinstance(g, MaskedGradient):
        return [g]
    return [clean(g), g.flag] if g.flag.ndim else [clean(g)]


def dense(g: Any) -> Any:
    """Return a gradient with IndexedSlices converted to a tensor."""
    return g if g is None or isinstance(g, MaskedGradient) else as_tensor(g)


def flag_of(g: Any) -> Any:
    """Return the flag of a cotangent, True if it certainly exists."""
    return g.flag if isinstance(g, MaskedGradient) else as_tensor(g is not None)


# --- rows ---

def row_flags(g: Any) -> tuple[Any, Any]:
    """Return the rows of a cotangent, -0.0 for missing ones, and a flag for each row."""
    value = clean(g) if isinstance(g, MaskedGradient) else as_tensor(g)
    flag = g.flag if isinstance(g, MaskedGradient) else as_tensor(True)
    if flag.ndim > 1:
        flag = reduce_any(flag, list(range(1, flag.ndim)))
    return value, flag if flag.ndim else broadcast_to(flag, (value.shape[0],))


def delayed(g: Any) -> tuple[Any, Any]:
    """Return the rows of a cotangent shifted by one iteration, and the last row. The first
    iteration gets -0.0, the additive identity, with flag False."""
    value, flags = row_flags(g)
    nothing = broadcast_to(as_tensor(-0.0, value.dtype), (1, *value.shape[1:]))
    value, flags = concat([nothing, value], 0), concat([as_tensor([False]), flags], 0)
    return MaskedGradient(value[:-1], flags[:-1], True), MaskedGradient(value[-1], flags[-1], True)
