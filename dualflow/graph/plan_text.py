"""The memory plan as people read it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from dualflow._core import Symbol
from dualflow.graph.ir import type_text
from dualflow.graph.plan import Buffer, Plan


def to_text(plan: Plan) -> str:
    """A line for each buffer: where, how large, from which step to which, and what lies in it."""
    held: dict[Buffer, list[Symbol]] = {}
    for x, (buffer, _) in plan.where.items():
        held.setdefault(buffer, []).append(x)
    positions = [step.position for step in plan.steps]
    share = f" ({100 * plan.arena_bytes / plan.lower_bound - 100:.1f} % above)" \
        if plan.lower_bound else ""
    lines = [f"{len(plan.steps)} steps; arena of {plan.arena_bytes:,} bytes, at least "
             f"{plan.lower_bound:,} are alive at once{share}"]
    for buffer, values in held.items():
        what = ", ".join(f"{x.name} {type_text(x)}" for x in values[:3])
        more = f" and {len(values) - 3} more" if len(values) > 3 else ""
        lines.append(f"  {_place(buffer):24} {buffer.size:>14,} bytes  "
                     f"{_life(buffer, positions):14}  {what}{more}")
    spaces = [s for s in plan.steps if s.workspace is not None and s.workspace.size]
    lines += [f"  {f'arena +{s.workspace.offset}':24} {s.workspace.size:>14,} bytes  "
              f"{f'step {bisect_left(positions, s.position)}':14}  workspace of {s.node.name}"
              for s in spaces if s.workspace is not None]
    return "\n".join(lines)


def _place(buffer: Buffer) -> str:
    if buffer.variable is not None:
        return f"variable {buffer.variable.name}"
    if buffer.kind == "arena":
        return f"arena +{buffer.offset}"
    return f"{buffer.kind} {buffer.index}" if buffer.kind in ("argument", "result") else buffer.kind


def _life(buffer: Buffer, positions: list[int]) -> str:
    """First and last step of an arena's buffer; the others live as long as the run."""
    if buffer.kind != "arena":
        return ""
    first, last = bisect_left(positions, buffer.start), bisect_right(positions, buffer.end) - 1
    return f"steps {first}-{max(first, last)}"
