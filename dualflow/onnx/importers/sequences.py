"""Operators of sequences, which are lists, and of optional values, which may be None."""

from __future__ import annotations

import dualflow as df
from dualflow.onnx.importers.registry import Node, ints, number, operator, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@operator("SequenceConstruct")
def _(node: Node, *xs):
    return [list(xs)]


@operator("SequenceEmpty")
def _(node: Node):
    return [[]]


@operator("SequenceLength")
def _(node: Node, xs):
    return df.constant(len(xs), df.int64)


@operator("SequenceAt")
def _(node: Node, xs, place):
    return [xs[_place(node, xs, place, len(xs))]]


@operator("SequenceInsert")
def _(node: Node, xs, x, place=None):
    k = len(xs) if place is None else _place(node, xs, place, len(xs) + 1)
    return [[*xs[:k], x, *xs[k:]]]


@operator("SequenceErase")
def _(node: Node, xs, place=None):
    k = len(xs) - 1 if place is None else _place(node, xs, place, len(xs))
    return [[*xs[:k], *xs[k + 1:]]]


def _place(node: Node, xs: list[Any], place: Any, n: int) -> int:
    """Return a nonnegative index less than n; negative indices count from the end."""
    k = int(number(place))
    if not -len(xs) <= k < n:
        raise node.refuse(f"index {k} of a sequence of {len(xs)}")
    return k + len(xs) if k < 0 else k


@operator("SplitToSequence")
def _(node: Node, x, split=None):
    x, axis = tensor(x), node("axis", 0)
    size = x.shape[axis]
    if split is None:
        parts = df.split(x, [1] * size, axis)
        return [list(parts) if node("keepdims", 1) else [df.squeeze(p, [axis]) for p in parts]]
    sizes = ints(split)
    if tensor(split).ndim == 0:                     # equal sizes; the last may be smaller
        each, = sizes
        sizes = [min(each, size - k) for k in range(0, size, each)]
    return [list(df.split(x, sizes, axis))]


@operator("ConcatFromSequence")
def _(node: Node, xs):
    join = df.stack if node("new_axis", 0) else df.concat
    return join(list(xs), node("axis"))


@operator("SequenceMap")
def _(node: Node, xs, *more):
    """Apply the body to the elements; an input that is not a sequence is passed to each."""
    body, scope = node("body"), node.scope
    made = [body.run([x, *[y[k] if isinstance(y, list) else y for y in more]], scope)
            for k, x in enumerate(xs)]
    return [[ys[k] for ys in made] for k in range(len(body.outputs))]


# --- optional values --------------------------------------------------------------------------


@operator("Optional")
def _(node: Node, x=None):
    return [x]


@operator("OptionalHasElement")
def _(node: Node, x=None):
    return df.constant(x is not None)


@operator("OptionalGetElement")
def _(node: Node, x=None):
    if x is None:
        raise node.refuse("the optional value is empty")
    return [x]
