"""Runs of consecutive elements that are stacked only if they fill a batch.

`Cursor.many` returns `Pieces`, and `BatchCursor` drops or stacks them. Elements of an incomplete
batch that is dropped are never stacked: their shapes may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualflow.data.structure import as_rows, flatten, join, map_leaves, rows, stack


class Loose:
    """Consecutive elements that are not stacked."""

    __slots__ = ("elements",)

    def __init__(self, elements: Sequence[Any]) -> None:
        self.elements = elements


class Pieces:
    """Consecutive elements of an incomplete batch, which may be dropped and is not stacked.

    Parameters
    ----------
    pieces : list of (Loose, or stacked elements)
    """

    __slots__ = ("pieces",)

    def __init__(self, pieces: list[Any]) -> None:
        self.pieces = pieces

    @classmethod
    def of(cls, part: Any) -> list[Any]:
        """Return the pieces of a result of `Cursor.many`."""
        return part.pieces if type(part) is cls else [] if part is None else [part]


def gathered(pieces: list[Any], count: int, least: int) -> Any:
    """Stack elements. Return Pieces if there are fewer than `least`, None if there are none."""
    if count < least:
        return Pieces(pieces) if count else None
    blocks = [stack(x.elements, "batch") if type(x) is Loose else x for x in pieces]
    return join(blocks) if count else None


def first_rows(pieces: list[Any], n: int) -> list[Any]:
    """Return the first `n` elements of pieces, as pieces."""
    found = []
    for x in pieces:
        size = len(x.elements) if type(x) is Loose else length(x)
        if size > n:
            x = Loose(x.elements[:n]) if type(x) is Loose else rows(x, 0, n)
        if n:
            found.append(x)
        n -= min(n, size)
    return found


def single(pieces: list[Any]) -> list[Any]:
    """Return the elements of pieces as a list."""
    found: list[Any] = []
    for x in pieces:
        found += x.elements if type(x) is Loose else split(x)
    return found


def split(block: Any) -> list[Any]:
    """Return the elements of stacked elements."""
    sliced = map_leaves(as_rows, block)
    return [row(sliced, i) for i in range(length(block))]


def row(block: Any, i: int) -> Any:
    """Return element `i` of stacked elements."""
    return map_leaves(lambda leaf: as_rows(leaf)[i], block)


def length(block: Any) -> int:
    """Return the number of stacked elements."""
    return len(as_rows(flatten(block)[0]))
