"""Tile code (csrc/fuse/cluster.h) as text, for printed graphs, drawings and profiles."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence

from dualflow import dtypes
from dualflow.graph.ir.tile_code import FOLD, ROW, Step, disassemble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CODE = "code"             # the attribute that holds tile code, in every op with tile code


def to_text(code: Sequence[int]) -> str:
    """Return the ops of the steps, such as `multiply, 2 add, tanh`; a run of one op is counted."""
    runs = [(op.name, len(list(run)))
            for op, run in itertools.groupby(disassemble(code).steps, lambda step: step.op)]
    return ", ".join(name if n == 1 else f"{n} {name}" for name, n in runs)


def flops_per_run(code: Sequence[int], elements: int) -> int:
    """Return the number of operations of a run: one per element for each step, one per row for a
    step in ROW space that is not a reduction."""
    decoded = disassemble(code)
    rows = elements // max(decoded.row_length, 1)
    return sum(rows if step.space == ROW and step.op.kind != "reduction" else elements
               for step in decoded.steps)


def listing(code: Sequence[int], n_in: int) -> str:
    """Return the steps as text: `$0` is an input or an earlier result, `'` marks ROW values and
    `''` FOLD values.

    >>> from dualflow._core import get_op
    >>> from dualflow.graph.ir.tile_code import FULL, Code, Step, assemble
    >>> listing(assemble(Code(1, (Step(get_op("exp"), FULL, (0,)),), (1,))), 1)
    '{$1 = exp($0); return $1}'
    """
    decoded = disassemble(code)
    lines = []
    for k, step in enumerate(decoded.steps):
        operands = ", ".join([f"${v}" for v in step.operands] + _attrs_text(step))
        lines.append(f"${n_in + k}{chr(39) * step.space} = {step.op.name}({operands})")
    returned = ", ".join([f"${v}" for v in decoded.outputs])
    head = f"rows of {decoded.row_length}: " if decoded.row_length != 1 else ""
    return "{" + head + "; ".join([*lines, f"return {returned}"]) + "}"


def _attrs_text(step: Step) -> list[str]:
    """Return the attributes of a step, such as `alpha=0.2`. The word of a float holds its bits."""
    if not step.words:
        return []
    if step.space == FOLD:
        return [f"outer={step.words[0]}", f"n={step.words[1]}"]
    return [f"{name}={value_text(kind, float_of(word) if kind == 'float' else word)}"
            for name, kind, word in zip(step.op.attrs, step.op.attr_types, step.words,
                                      strict=True)]


def float_of(word: int) -> float:
    """Return the double whose bits are in a word."""
    value: float = struct.unpack("<d", struct.pack("<q", word))[0]
    return value


def value_text(kind: str, value: Any) -> str:
    """Return an attribute in Python syntax; `kind` is one of `Op.attr_types`."""
    if kind == "bool":
        return str(bool(value))
    return dtypes.ALL[value].name if kind == "dtype" else str(value)
