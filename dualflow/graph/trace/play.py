"""Replay of the nodes of a trace on a tape.

Used for gradients of bodies, of calls of traced functions and of `compat.v1` graphs. The records
must equal the records of a tape that was active during the trace.
"""

from __future__ import annotations

from collections.abc import Iterable

from dualflow._core import RecordLog
from dualflow.graph.ir import CALL, LEAVES, Node, Owned, Rule, walk
from dualflow.graph.trace.enclosed import Enclosed


def play(log: RecordLog, nodes: Iterable[Node], enclosed: Enclosed,
         known_as: dict[int, int] | None = None) -> None:
    """Add the applications of nodes to the records of a tape. `known_as` maps ids of values to the
    ids to record instead.

    Writes of variables are left out: the value assigned to a variable is unrelated to the variable
    as a source.
    """
    for node in walk(nodes, into=CALL):
        if isinstance(node.data, Rule | Owned) or not (
                node.op in LEAVES or node.bodies or node.writes):
            op, inputs, outputs = node.applied
            log.add(op, node.attrs, tuple(map(enclosed.recorded, inputs)), outputs, known_as)
