"""What a trace recorded, as tapes would have recorded it."""

from __future__ import annotations

from collections.abc import Iterable

from dualflow._core import RecordLog
from dualflow.graph.ir import CALL, LEAVES, Node, Owned, Rule, walk
from dualflow.graph.trace.enclosed import Enclosed


def play(log: RecordLog, nodes: Iterable[Node], enclosed: Enclosed,
         known_as: dict[int, int] | None = None) -> None:
    """Plays nodes of a trace into a log, as if it had recorded when they were made; `known_as` maps
    ids of values to the ids that the log is to use instead.

    Writes of variables are left out: the value assigned to a variable is unrelated to the variable
    as a source.
    """
    for node in walk(nodes, into=CALL):
        if isinstance(node.data, Rule | Owned) or not (
                node.op in LEAVES or node.bodies or node.writes):
            op, inputs, outputs = node.applied
            log.add(op, node.attrs, tuple(map(enclosed.recorded, inputs)), outputs, known_as)
