"""Offsets of buffers in one arena, so that buffers alive at the same time never overlap.

The planner calls `assign_offsets` with sizes and lifetimes. Of two methods the smaller arena is
used: largest first into the lowest gap (Pisarchyk and Lee, "Efficient memory management for deep
neural net inference", MLSys 2020, section 5.3), and best fit in the order of first use.
"""

from __future__ import annotations

import bisect
import heapq

from dualflow._core import Symbol, Tensor, Variable
from dualflow.graph.program.spec import SlotKind

ALIGNMENT = 64            # bytes; of every buffer
LARGEST_FIRST_MAX = 600   # buffers; with more, the quadratic search costs more than it saves


class Block:
    """A range of the arena, alive from time `start` to time `end`, both included."""

    __slots__ = "end", "offset", "size", "start"

    def __init__(self, size: int, start: int, end: int) -> None:
        self.size, self.start, self.end = size, start, end
        self.offset = 0


class Buffer:
    """Memory of one or more values, in the arena or elsewhere.

    Attributes
    ----------
    kind : SlotKind
    size : int
        Bytes.
    start, end : int
        Times of the first write and the last read.
    index : int
        Position of an argument or a result.
    data : Tensor or None
        The value of a constant.
    variable : Variable, Symbol or None
        The variable that owns the memory; in a body, its parameter.
    offset : int
        Offset in the arena.
    """

    __slots__ = "data", "end", "index", "kind", "offset", "size", "start", "variable"

    def __init__(self, kind: SlotKind, size: int, start: int = 0, end: int = 0, index: int = 0,
                 data: Tensor | None = None, variable: Variable | Symbol | None = None) -> None:
        self.kind, self.size, self.start, self.end = kind, size, start, end
        self.index, self.data, self.variable = index, data, variable
        self.offset = 0


def lower_bound(blocks: list[Block]) -> int:
    """Return the maximum of bytes alive at any time: no arena can be smaller."""
    change: dict[int, int] = {}
    for b in blocks:
        change[b.start] = change.get(b.start, 0) + b.size
        change[b.end + 1] = change.get(b.end + 1, 0) - b.size
    alive = most = 0
    for time in sorted(change):
        alive += change[time]
        most = max(most, alive)
    return most


def assign_offsets(blocks: list[Block]) -> int:
    """Set the offsets of blocks; return the bytes of the arena. Rounds sizes up to ALIGNMENT."""
    for b in blocks:
        b.size = -(-b.size // ALIGNMENT) * ALIGNMENT
    best = by_birth(blocks)
    if best == lower_bound(blocks) or len(blocks) > LARGEST_FIRST_MAX:
        return best
    offsets = [b.offset for b in blocks]
    other = largest_first(blocks)
    if other <= best:
        return other
    for b, offset in zip(blocks, offsets, strict=True):
        b.offset = offset
    return best


def largest_first(blocks: list[Block]) -> int:
    """Set offsets, largest block first, each in the lowest gap that is large enough."""
    placed: list[Block] = []        # by offset
    total = 0
    for b in sorted(blocks, key=lambda b: (-b.size, b.start)):
        at = 0
        for other in placed:
            if other.start > b.end or b.start > other.end:
                continue
            if other.offset >= at + b.size:
                break
            at = max(at, other.offset + other.size)
        b.offset = at
        bisect.insort(placed, b, key=lambda p: p.offset)
        total = max(total, at + b.size)
    return total


def by_birth(blocks: list[Block]) -> int:
    """Set offsets in the order of first use, each in the smallest gap that is large enough."""
    gaps: dict[int, int] = {}       # offset -> size
    ends: dict[int, int] = {}       # end of a gap -> its offset
    by_size: list[tuple[int, int]] = []
    alive: list[tuple[int, int, int]] = []
    top = 0

    def free(offset: int, size: int) -> None:
        if offset + size in gaps:
            size += remove(offset + size)
        if offset in ends:
            before = ends[offset]
            size += remove(before)
            offset = before
        gaps[offset] = size
        ends[offset + size] = offset
        bisect.insort(by_size, (size, offset))

    def remove(offset: int) -> int:
        size = gaps.pop(offset)
        del ends[offset + size]
        del by_size[bisect.bisect_left(by_size, (size, offset))]
        return size

    for b in sorted(blocks, key=lambda b: (b.start, -b.size)):
        while alive and alive[0][0] < b.start:
            _, offset, size = heapq.heappop(alive)
            free(offset, size)
        if not b.size:
            b.offset = 0
            continue
        at = bisect.bisect_left(by_size, (b.size, -1))
        if at < len(by_size):
            b.offset = by_size[at][1]
            left = remove(b.offset) - b.size
            if left:
                free(b.offset + b.size, left)
        elif top in ends:           # grow the gap at the top
            b.offset = ends[top]
            remove(b.offset)
            top = b.offset + b.size
        else:
            b.offset = top
            top += b.size
        heapq.heappush(alive, (b.end, b.offset, b.size))
    return top
