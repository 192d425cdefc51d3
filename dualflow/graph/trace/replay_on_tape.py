"""Replay of the nodes of a trace on a tape.

Used for gradients of bodies, of calls of traced functions and of `compat.v1` graphs. The records
must equal the records of a tape that was active during the trace.
"""

from __future__ import annotations

from collections.abc import Iterable

from dualflow._core import Tape
from dualflow.graph.ir import CALL, LEAVES, Node, RegionRecord, Rule, walk
from dualflow.graph.trace.outlining import Outliner


def replay_on_tape(tape: Tape, nodes: Iterable[Node], outliner: Outliner,
                   known_as: dict[int, int] | None = None) -> None:
    """Add the applications of nodes to the records of a tape. `known_as` maps ids of values to the
    ids to record instead.

    Writes of variables are left out: the value assigned to a variable is unrelated to the variable
    as a source.
    """
    for node in walk(nodes, into=CALL):
        if isinstance(node.data, Rule | RegionRecord) or not (
                node.op in LEAVES or node.bodies or node.writes):
            op, inputs, outputs = node.applied
            tape.add(op, node.attrs, tuple(map(outliner.recorded, inputs)), outputs, known_as)
