"""Undefined values: placeholders in branches that do not compute a residual.

A residual of one branch is an output of the `cond`, so the other branches must return a value, too,
which is never read. The transpose of a `cond` adds it (`undefined`); `specialize.py` sets its shape
to the shape of the residual (`size_undefined`), so that the output has a known shape.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from dualflow._core import Dim, Symbol, as_tensor, get_op, make_attrs
from dualflow.graph.ir import Graph, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.graph.trace.trace import Trace

BROADCAST = get_op("broadcast_to")


def undefined(trace: Trace, node: Node, body: Any, x: Symbol) -> Symbol:
    """Add a value like `x` to a body of a node that does not compute `x`. A size that depends on
    data is 0."""
    scalar = body.constant(as_tensor(0, x.dtype))
    shape = [0 if isinstance(n, Dim) and n.data_dependent else n for n in x.shape]
    made = body.add(BROADCAST, [scalar], make_attrs(BROADCAST, shape=shape))
    for new in (scalar.node, made):
        trace.outliner.put_inside(new, node)
    trace.outliner.undefined.add(made)
    return made.outputs[0]


def size_undefined(node: Node, bodies: Sequence[Graph], undefined: Container[Node]) -> None:
    """Set the shapes of the undefined outputs of `bodies`, copies of the bodies of a node, to the
    shapes of the values that another body computes. Sizes that depend on data stay 0."""
    returned = [list(zip(old.outputs, new.outputs, strict=True))
                for old, new in zip(node.bodies, bodies, strict=True)]
    for column in zip(*returned, strict=True):
        empty = [y for x, y in column if x.node in undefined]
        if not empty:
            continue
        like = next(y for x, y in column if x.node not in undefined)
        shape = [0 if n is None else n for n in like.known_shape]
        for y in empty:
            y.node.attrs = make_attrs(BROADCAST, shape=shape)
            y.know(shape)
