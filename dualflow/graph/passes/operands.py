"""Operands through views: the source of a value, and the dimensions along which it varies.

The fusion passes use it. A *bare* shape is a shape without its dimensions of 1. A view that keeps
the order of elements and the bare shape only renames them; `broadcast_to` only repeats them. Both
only change the layout of the source in the reader's iteration space, so no copy is needed.
"""

from __future__ import annotations

from dualflow._core import Symbol, view_offset
from dualflow._util.named_tuple import NamedTuple
from dualflow.graph.ir import Node
from dualflow.graph.passes.values import BROADCAST, is_known

Shape = tuple[int, ...]


class Operand(NamedTuple):
    """A value as a reader sees it. `present` has an entry for each dimension of the bare shape
    seen: True if the source has the dimension, False if the source is repeated along it."""

    source: Symbol
    present: tuple[bool, ...]


def squeezed_shape(shape: Shape) -> Shape:
    """Return a shape without its dimensions of 1."""
    return tuple([d for d in shape if d != 1]) if 1 in shape else shape


def shape_of(x: Symbol) -> Shape:
    """Return the shape of a value without unknown sizes."""
    return x.known_shape        # type: ignore[return-value]  # without None


def broadcast_present(present: tuple[bool, ...], shape: Shape, to: Shape) -> tuple[bool, ...]:
    """Return `present` of a value seen with `shape` after a broadcast to the shape `to`."""
    if shape == to:
        return present
    found = []
    own = iter(present)
    pad = len(to) - len(shape)
    for i, d in enumerate(to):
        has = i >= pad and shape[i - pad] != 1 and next(own)
        if d != 1:
            found.append(has)
    return tuple(found)


def layout(present: tuple[bool, ...], shape: Shape) -> Shape:
    """Return the shape, without leading 1s, of a source with `present` in a space of shape `shape`.
    `present` may be shorter: a row lacks the last dimensions."""
    own = iter(present)
    found = [d if d != 1 and next(own, False) else 1 for d in shape]
    return without_leading_ones(tuple(found))


def without_leading_ones(shape: Shape) -> Shape:
    """Return `(4, 1)` for `(1, 1, 4, 1)`."""
    k = 0
    while k < len(shape) and shape[k] == 1:
        k += 1
    return shape[k:]


class Views:
    """The values known to be views, with their sources."""

    def __init__(self) -> None:
        self.seen: dict[Symbol, Operand] = {}

    def note(self, node: Node) -> Operand | None:
        """Register the output of a node as a view and return its source, or None if it is not a
        view."""
        if node.op.kind != "view" or len(node.outputs) != 1 or len(node.inputs) != 1:
            return None
        x, y = node.inputs[0], node.outputs[0]
        if not (is_known(x) and is_known(y)) or x.dtype != y.dtype:
            return None
        source, present = self.operand(x)
        if squeezed_shape(shape_of(x)) == squeezed_shape(shape_of(y)):
            if view_offset(node.op, node.inputs, node.outputs, node.attrs) != 0:
                return None
        elif node.op is BROADCAST:
            present = broadcast_present(present, shape_of(x), shape_of(y))
        else:
            return None
        found = self.seen[y] = Operand(source, present)
        return found

    def operand(self, x: Symbol) -> Operand:
        """Return the source of a value, as seen in the shape of the value."""
        return self.seen.get(x) or Operand(x, (True,) * len(squeezed_shape(shape_of(x))))
