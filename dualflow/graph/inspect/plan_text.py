"""The text of a memory plan, for `Function.plan_for`."""

from __future__ import annotations

from dualflow._core import Symbol
from dualflow.graph.ir import type_text
from dualflow.graph.program.arena import Buffer
from dualflow.graph.program.plan import Plan
from dualflow.graph.program.spec import SlotKind, place_text


def to_text(plan: Plan) -> str:
    """Return a line for each buffer: location, size, first and last instruction, and values."""
    held: dict[Buffer, list[Symbol]] = {}
    for x, (buffer, _) in plan.where.items():
        held.setdefault(buffer, []).append(x)
    life: dict[Buffer, tuple[int, int]] = {}
    for k, instruction in enumerate(plan.instructions):
        for x in (*instruction.inputs, *instruction.outputs):
            buffer = plan.where[x][0]
            life[buffer] = life.get(buffer, (k, k))[0], k
    share = f" ({100 * plan.arena_bytes / plan.lower_bound - 100:.1f} % above)" \
        if plan.lower_bound else ""
    lines = [f"{len(plan.instructions)} instructions; arena of {plan.arena_bytes:,} bytes, at "
             f"least {plan.lower_bound:,} are alive at once{share}"]
    for buffer, values in held.items():
        what = ", ".join(f"{x.name} {type_text(x)}" for x in values[:3])
        more = f" and {len(values) - 3} more" if len(values) > 3 else ""
        time = "instructions {}-{}".format(*life[buffer]) if buffer in life else "never"
        lines.append(f"  {_place(buffer):24} {buffer.size:>14,} bytes  {time:22}  {what}{more}")
    for k, instruction in enumerate(plan.instructions):
        space = instruction.workspace
        if space is not None and space.size:
            lines.append(f"  {f'arena +{space.offset}':24} {space.size:>14,} bytes  "
                         f"{f'instruction {k}':22}  workspace of {instruction.node.name}")
    return "\n".join(lines)


def _place(buffer: Buffer) -> str:
    if buffer.variable is not None:
        return f"variable {buffer.variable.name}"
    if buffer.kind is SlotKind.ARENA:
        return f"arena +{buffer.offset}"
    return "constant" if buffer.kind is SlotKind.CONSTANT else place_text(buffer.kind, buffer.index)
