"""What flows back into values of branches and loops: which do, and in which parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dualflow._core import Dim, Maybe, Symbol, as_tensor
from dualflow.autodiff.maybe import clean
from dualflow.dtypes import uint8
from dualflow.graph.ir import LoopParts, Node, Owned, loop_parts, walk
from dualflow.graph.trace.dims import leaves
from dualflow.graph.trace.parameters import is_number

if TYPE_CHECKING:
    from dualflow.graph.trace.trace import Trace


def n_made(node: Node) -> int:
    """How many outputs of a node are no versions of variables."""
    return len(node.outputs) - node.writes.bit_count()


def is_inside(x: Symbol) -> bool:
    """Whether an output of a node that owns bodies gives a value inside, for a gradient."""
    data = x.node.data
    return isinstance(data, Owned) and data.n_outputs <= x.index < n_made(x.node)


def varies(row: Symbol) -> bool:
    """Whether data decides about the shape of a row."""
    return None in row.hints


def limited(parts: LoopParts) -> bool:
    """Whether an input says how many rounds there are."""
    return not isinstance(parts.times, Dim) and bool(parts.times < 0)


def is_packed(y: Symbol) -> bool:
    """Return True if a value is rows of different shapes that a loop packs, or their cotangent."""
    return y.dtype is uint8 and y.row is not None and varies(y.row)


def flows_into(y: Symbol) -> bool:
    """Return True if a value has a cotangent: it is floating, or packed rows that are."""
    return y.dtype.is_floating or (is_packed(y) and flows_into(y.row))


def rounds_of(trace: Trace, node: Node) -> list[Symbol]:
    """How many rounds a loop has had, if only a run can tell."""
    parts = loop_parts(node)
    if parts.tested:
        return trace.adopt(None, [node.outputs[parts.n_carried]])
    return trace.adopt(None, [trace.enclosed.recorded(node.inputs[0])]) if limited(parts) else []


def measured(nodes: Iterable[Node]) -> Iterable[Symbol]:
    """Values whose sizes, about which data decides, are attributes or numbers in nodes."""
    for node in walk(nodes):
        given = node.attrs.values if node.attrs is not None and node.attrs.symbolic else ()
        numbers = [x.node.data.dim for x in node.inputs if is_number(x)]
        for value in (*given, numbers):
            for d in value if isinstance(value, tuple | list) else (value,):
                if isinstance(d, Dim):
                    yield from [at.args[0] for at in leaves(d)
                                if at.from_data and at.kind != "argument"]


def row_parts(g: Any) -> list[Any]:
    """What a loop sees rows of for a gradient: its value, and flags of rows."""
    if not isinstance(g, Maybe):
        return [g]
    return [clean(g), g.flag] if g.flag.ndim else [clean(g)]


def dense(g: Any) -> Any:
    """A gradient that is no IndexedSlices."""
    return g if g is None or isinstance(g, Maybe) else as_tensor(g)


def flag_of(g: Any) -> Any:
    """Whether something flows."""
    return g.flag if isinstance(g, Maybe) else as_tensor(g is not None)
