"""Encoder and decoder of tile code: steps over numbered values as a list of integers.

The fusion passes encode; printing and profiling decode. The format is specified in
csrc/fuse/cluster.h, which must change in step. No code here depends on the name of an op.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from dualflow._core import Op, get_op, ops
from dualflow._util.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FULL, ROW, FOLD = 0, 1, 2
ROW_MAX = 65536                     # DF_CLUSTER_ROW_MAX
HALF_ROW_MAX = 8192                 # DF_CLUSTER_HALF_ROW_MAX

_OPS = tuple(map(get_op, ops()))        # by index


class Step(NamedTuple):
    """One application of an op.

    Attributes
    ----------
    op : Op
    space : int
        FULL, ROW or FOLD: one element per element of the tile, one per row, or the result of a
        column reduction.
    operands : tuple of int
        Value numbers: the inputs first, then the results of steps.
    words : tuple of int
        Attributes: integers, or the bits of a float; of a FOLD step `outer` and `n`.
    """

    op: Op
    space: int
    operands: tuple[int, ...]
    words: tuple[int, ...] = ()


class Code(NamedTuple):
    """Decoded tile code."""

    row_length: int
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]


def words(values: Sequence[Any]) -> tuple[int, ...]:
    """Return the attributes of an op as words.

    >>> words((3, 1.0))
    (3, 4607182418800017408)
    """
    return tuple([struct.unpack("<q", struct.pack("<d", v))[0] if isinstance(v, float) else v
                  for v in values])


def assemble(code: Code) -> tuple[int, ...]:
    """Return the encoded list of integers.

    >>> assemble(Code(1, (Step(get_op("exp"), FULL, (0,)),), (1,)))[:2]
    (1, 1)
    """
    out = [code.row_length, len(code.steps)]
    for step in code.steps:
        out += (step.op.index, step.space, len(step.operands))
        out += step.operands
        out.append(len(step.words))
        out += step.words
    out.append(len(code.outputs))
    out += code.outputs
    return tuple(out)


def disassemble(numbers: Sequence[int]) -> Code:
    """Decode tile code; the inverse of `assemble`.

    >>> disassemble(assemble(Code(1, (Step(get_op("exp"), FULL, (0,)),), (1,)))).steps
    (Step(op=<dualflow op exp>, space=0, operands=(0,), words=()),)
    """
    row_length, n_steps = numbers[:2]
    at = 2

    def take_list() -> tuple[int, ...]:
        nonlocal at
        start, at = at + 1, at + 1 + numbers[at]
        return tuple(numbers[start:at])

    steps = []
    for _ in range(n_steps):
        op, space = numbers[at:at + 2]
        at += 2
        steps.append(Step(_OPS[op], space, take_list(), take_list()))
    return Code(row_length, tuple(steps), take_list())
