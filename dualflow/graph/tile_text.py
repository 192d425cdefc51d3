"""Tile code (csrc/cluster.h) as people read it: which steps an instruction holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dualflow._core import get_op, ops

CODE = "code"             # the attribute that holds tile code, of every op that has any


class TileStep(NamedTuple):
    """One step: its op, whether it has an element per row only, and the values it reads."""

    op: str
    per_row: bool
    reads: tuple[int, ...]


class TileCode(NamedTuple):
    """Decoded tile code; `outputs` are values, numbered as `steps` read them."""

    row_length: int
    steps: tuple[TileStep, ...]
    outputs: tuple[int, ...]


def decode(code: Sequence[int]) -> TileCode:
    """The steps of tile code."""
    names = ops()
    row_length, n_steps, at = code[0], code[1], 2
    steps = []
    for _ in range(n_steps):
        op, space, n = code[at:at + 3]
        reads = tuple(code[at + 3:at + 3 + n])
        steps.append(TileStep(names[op], bool(space), reads))
        at += 4 + n + code[at + 3 + n]
    return TileCode(row_length, tuple(steps), tuple(code[at + 1:at + 1 + code[at]]))


def to_text(code: Sequence[int]) -> str:
    """`multiply, add, tanh`; a run of one op is counted."""
    parts: list[list[object]] = []
    for step in decode(code).steps:
        if parts and parts[-1][0] == step.op:
            parts[-1][1] = int(str(parts[-1][1])) + 1
        else:
            parts.append([step.op, 1])
    return ", ".join(f"{op}" if n == 1 else f"{n} {op}" for op, n in parts)


def flops_per_run(code: Sequence[int], elements: int) -> int:
    """Operations of a run: one an element for each step; a fold reads whole rows."""
    decoded = decode(code)
    rows = elements // max(decoded.row_length, 1)
    return sum(rows if step.per_row and get_op(step.op).kind != "reduction" else elements
               for step in decoded.steps)
