"""Estimates of peak memory: of ops applied one by one as in eager mode, and of a program."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from dualflow._core import workspace_bytes
from dualflow.graph.ir import LEAVES, PARAMETER, Graph, is_dynamic
from dualflow.graph.program.lifetimes import last_uses, nbytes, wave_spans
from dualflow.graph.program.plan import Plan
from dualflow.graph.program.spec import SlotKind


def peak_one_by_one(graph: Graph) -> int:
    """Return the peak in bytes if each node is applied as in eager mode and every value, arguments
    included, is freed after its last read. A lower bound, since Python may hold values longer."""
    change: dict[int, int] = {}
    last = last_uses(graph, [(k, k) for k in range(len(graph.nodes))])
    for k, node in enumerate(graph.nodes):
        if node.op.kind == "view" or (node.op in LEAVES and node.op is not PARAMETER):
            continue
        for y in node.outputs:
            if not is_dynamic(y):
                alive(change, 0 if node.op is PARAMETER else k, max(last[y], k), nbytes(y))
        if node.op not in LEAVES and not node.bodies:
            alive(change, k, k, max(0, workspace_bytes(node.op, node.inputs, node.outputs,
                                                       node.attrs)))
    return most(change)


def peak_of_plan(plan: Plan, donation_min_bytes: int) -> int:
    """Return the peak in bytes of a run that frees arguments after their last reader, and allocates
    results at their first writer, if they have at least `donation_min_bytes`."""
    change: dict[int, int] = {}
    n = len(plan.graph.nodes)
    last = last_uses(plan.graph, wave_spans(plan.graph))
    for buffer in {buffer for buffer, _ in plan.where.values() if buffer.kind is SlotKind.RESULT}:
        alive(change, buffer.start if buffer.size >= donation_min_bytes else 0, n, buffer.size)
    for x in plan.graph.inputs:
        alive(change, 0, last[x] if nbytes(x) >= donation_min_bytes else n, nbytes(x))
    return plan.arena_bytes + most(change)


def alive(change: dict[int, int], start: int, end: int, size: int) -> None:
    """Add bytes that are in use from `start` to `end`, both included."""
    change[start] = change.get(start, 0) + size
    change[end + 1] = change.get(end + 1, 0) - size


def most(change: Mapping[int, int]) -> int:
    """Return the largest prefix sum of the changes."""
    return max(accumulate([change[time] for time in sorted(change)]), default=0)
