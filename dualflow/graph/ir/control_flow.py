"""Operand groups and types of the nodes that own bodies. Inputs and outputs in [ ] are optional.

    call   one body, executed once
    cond   input 0 selects the body to execute: a bool one of two, an integer one of many
    loop   inputs [trip limit] [condition] carried, sliced, captured; the body returns
           [condition], carried, stacked; outputs are the last carried values, [trip count], stacked

`graph.py` and `check.py` infer and check types here; traces, passes and exporters split loops with
`loop_parts`. The order of the groups is the one that csrc/ops/control_flow/loop.c reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import Attrs, Dim, get_op, make_attrs
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import DType, int64, uint8
from dualflow.graph.ir.node import CALL, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COND, LOOP = get_op("cond"), get_op("loop")
NO_LIMIT = (1 << 63) - 1            # a trip count without limit
Shape = tuple[int | None, ...]
Typed = tuple[DType, Shape]
PACKED: Typed = uint8, (None,)      # rows of different shapes as bytes (csrc/base/row_list.h)


class LoopParts(NamedTuple):
    """The operand groups of a loop.

    Attributes
    ----------
    times : int or Dim
        Maximal trip count; -1: input 0 holds it.
    tested : bool
        Whether the loop has a condition: an input for the first iteration, and output 0 of the body
        for each later one.
    reverse : bool
        Whether iterations visit the rows from the last to the first.
    carried, sliced, captured : slice
        Of the inputs.
    first : int
        Index of the first carried output of the body.
    n_carried : int
    stacked : slice
        Of the outputs of the loop, and of the body.
    packed : int
        Bit k: the rows of stacked output k may differ in shape and are packed into bytes.
    recompute : bool
        Whether the gradient recomputes residuals instead of stacking them.
    """

    times: Any
    tested: bool
    reverse: bool
    carried: slice
    sliced: slice
    captured: slice
    first: int
    n_carried: int
    stacked: slice
    packed: int
    recompute: bool


def loop_attrs(times: Any, n_carried: int, n_sliced: int, tested: bool, reverse: bool,
               packed: int = 0, recompute: bool = False) -> Attrs:
    """Return the attributes of a loop (see `LoopParts`). The attribute `packed` is a list of output
    indices, since there may be more outputs than an attribute integer has bits."""
    places = [k for k in range(packed.bit_length()) if packed >> k & 1]
    attrs = make_attrs(LOOP, times=times, n_carried=n_carried, n_sliced=n_sliced, tested=tested,
                       reverse=reverse, packed=places, recompute=recompute)
    assert attrs is not None
    return attrs


def loop_parts(node: Node) -> LoopParts:
    """Return the operand groups of a loop."""
    assert node.attrs is not None
    values: tuple[Any, ...] = node.attrs.values
    times, n_carried, n_sliced, tested, reverse, packed, recompute = values
    limited = not isinstance(times, Dim) and times < 0      # a Dim that is compared adds a guard
    start = limited + tested
    carried = slice(start, start + n_carried)
    sliced = slice(carried.stop, carried.stop + n_sliced)
    n_made = len(node.bodies[0].outputs) - node.writes.bit_count()
    return LoopParts(times, tested, reverse, carried, sliced, slice(sliced.stop, len(node.inputs)),
                     int(tested), n_carried, slice(n_carried + tested, n_made),
                     sum([1 << k for k in packed]), recompute)


def is_invariant(node: Node, place: int) -> bool:
    """Return True if input `place` has the same value in each execution of a body: the node is not
    a loop, or the loop captures the input and does not write it."""
    return node.op is not LOOP or (
        place >= loop_parts(node).captured.start and not node.writes >> place & 1)


def given(node: Node) -> list[Typed]:
    """Return the types of the parameters that the bodies of a node must have."""
    found = [(x.dtype, x.known_shape) for x in node.inputs]
    if node.op is not LOOP:
        return found
    parts = loop_parts(node)
    for k in range(parts.sliced.start, parts.sliced.stop):
        x = node.bodies[0].inputs[k]
        rows_differ = found[k] == PACKED and None in x.known_shape
        found[k] = (x.dtype, x.known_shape) if rows_differ else (found[k][0], found[k][1][1:])
    carried = [(y.dtype, y.known_shape)
               for y in node.bodies[0].outputs[parts.first:parts.first + parts.n_carried]]
    for k, made in zip(range(parts.carried.start, parts.carried.stop), carried, strict=True):
        found[k] = merged(found[k], made)
    return found


def made(node: Node) -> list[Typed]:
    """Return the types of the outputs of a node that owns bodies."""
    bodies = [[(y.dtype, y.known_shape) for y in body.outputs] for body in node.bodies]
    if node.op is CALL:
        return bodies[0]
    if node.op is COND:
        return [_all_merged(types) for types in zip(*bodies, strict=True)]
    parts = loop_parts(node)
    own = bodies[0]
    rows = None if parts.tested or not 0 <= parts.times < NO_LIMIT else parts.times
    written = own[len(own) - node.writes.bit_count():] if node.writes else []
    return [*given(node)[parts.carried], *[(int64, ())] * parts.tested,
            *[PACKED if parts.packed >> k & 1 else (dtype, (rows, *shape))
              for k, (dtype, shape) in enumerate(own[parts.stacked])], *written]


def merged(a: Typed, b: Typed) -> Typed:
    """Return the type that covers two values: sizes that differ are unknown."""
    return a[0], tuple([n if n == m else None for n, m in zip(a[1], b[1], strict=True)])


def _all_merged(types: Sequence[Typed]) -> Typed:
    found = types[0]
    for other in types[1:]:
        found = merged(found, other)
    return found
