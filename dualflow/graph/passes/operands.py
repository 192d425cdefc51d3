"""What a node reads through views: the value itself, and along which dimensions it varies.

Shapes without their dimensions of 1 are *bare* shapes. A view that keeps the order of elements and
the bare shape only renames; `broadcast_to` only repeats. Either only affects how the source is laid
out in the reader's space, so no copy is needed.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from dualflow._core import Symbol, get_op, view_offset
from dualflow.graph.ir import Node

BROADCAST_TO = get_op("broadcast_to")

Shape = tuple[int, ...]


class Operand(NamedTuple):
    """A value as a reader sees it: `along` says for each dimension of the bare shape seen whether
    the source has it; along the others it is repeated."""

    source: Symbol
    along: tuple[bool, ...]


def bare(shape: Shape) -> Shape:
    """The shape without dimensions of 1."""
    return tuple([d for d in shape if d != 1]) if 1 in shape else shape


def shape_of(x: Symbol) -> Shape:
    """The shape of a value whose dimensions are known."""
    return cast(Shape, x.known_shape)


def is_known(x: Symbol) -> bool:
    """Whether no dimension depends on data."""
    return None not in x.known_shape


def broadcast_along(along: tuple[bool, ...], shape: Shape, to: Shape) -> tuple[bool, ...]:
    """`along` of a value seen with `shape`, after that is broadcast to shape `to`."""
    if shape == to:
        return along
    found = []
    own = iter(along)
    pad = len(to) - len(shape)
    for i, d in enumerate(to):
        has = i >= pad and shape[i - pad] != 1 and next(own)
        if d != 1:
            found.append(has)
    return tuple(found)


def layout(along: tuple[bool, ...], shape: Shape) -> Shape:
    """The shape, without leading 1s, of a source seen like this in a space of this shape. `along`
    may be shorter: a row lacks the last dimensions."""
    own = iter(along)
    found = [d if d != 1 and next(own, False) else 1 for d in shape]
    return without_leading_ones(tuple(found))


def without_leading_ones(shape: Shape) -> Shape:
    """`(1, 1, 4, 1)` -> `(4, 1)`"""
    k = 0
    while k < len(shape) and shape[k] == 1:
        k += 1
    return shape[k:]


class Views:
    """The values that have been noted as views of others."""

    def __init__(self) -> None:
        self.seen: dict[Symbol, Operand] = {}

    def note(self, node: Node) -> Operand | None:
        """Notes and returns what the output of a node is a view of; None if it is not a view."""
        if node.op.kind != "view" or len(node.outputs) != 1 or len(node.inputs) != 1:
            return None
        x, y = node.inputs[0], node.outputs[0]
        if not (is_known(x) and is_known(y)) or x.dtype != y.dtype:
            return None
        source, along = self.operand(x)
        if bare(shape_of(x)) == bare(shape_of(y)):
            if view_offset(node.op, node.inputs, node.outputs, node.attrs) != 0:
                return None
        elif node.op is BROADCAST_TO:
            along = broadcast_along(along, shape_of(x), shape_of(y))
        else:
            return None
        found = self.seen[y] = Operand(source, along)
        return found

    def operand(self, x: Symbol) -> Operand:
        """The source of a value as seen in the value's own shape."""
        return self.seen.get(x) or Operand(x, (True,) * len(bare(shape_of(x))))
