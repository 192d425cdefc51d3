"""What nodes that own graphs give their bodies, and what they make of what those return.

    call   one body, run once
    cond   input 0 says which body is run: a bool one of two, a number one of many
    loop   one body, run again and again: [times] [go on] carried, sliced and captured inputs; it
           returns [go on], carried and stacked values; outputs are what is carried in the end,
           [the number of rounds], and what is stacked
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dualflow._core import Attrs, Dim, get_op, make_attrs
from dualflow.dtypes import DType, int64, uint8
from dualflow.graph.ir.node import CALL, Node

COND, LOOP = get_op("cond"), get_op("loop")
ENDLESS = (1 << 63) - 1             # rounds: as many as there are
Shape = tuple[int | None, ...]
Typed = tuple[DType, Shape]
PACKED: Typed = uint8, (None,)      # rows of different shapes, one after another


class LoopParts(NamedTuple):
    """Where things are among the inputs of a loop, the outputs of its body and its own.

    Attributes
    ----------
    times : int or Dim
        How many rounds at most; -1: input 0 says so.
    tested : bool
        Whether the body says after each round whether there is another, and an input whether there
        is a first one.
    reverse : bool
    carried, sliced, captured : slice
        Of the inputs.
    first : int
        The output of the body that is carried first.
    n_carried : int
    stacked : slice
        Of the outputs of the loop, and of the body.
    packed : int
        Bit k: the rows of stacked output k may differ in shape, and are packed into bytes.
    recompute : bool
        Whether its gradient computes anew what it reads of the rounds.
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
    """The attributes of a loop; see `LoopParts`. That of `packed` is a list of places, of which
    there may be more than an integer has bits."""
    places = [k for k in range(packed.bit_length()) if packed >> k & 1]
    attrs = make_attrs(LOOP, times=times, n_carried=n_carried, n_sliced=n_sliced, tested=tested,
                       reverse=reverse, packed=places, recompute=recompute)
    assert attrs is not None
    return attrs


def loop_parts(node: Node) -> LoopParts:
    """The parts of a loop."""
    assert node.attrs is not None
    values: tuple[Any, ...] = node.attrs.values
    times, n_carried, n_sliced, tested, reverse, packed, recompute = values
    limited = not isinstance(times, Dim) and times < 0      # asking a Dim would make a guard
    start = limited + tested
    carried = slice(start, start + n_carried)
    sliced = slice(carried.stop, carried.stop + n_sliced)
    n_made = len(node.bodies[0].outputs) - node.writes.bit_count()
    return LoopParts(times, tested, reverse, carried, sliced, slice(sliced.stop, len(node.inputs)),
                     int(tested), n_carried, slice(n_carried + tested, n_made),
                     sum([1 << k for k in packed]), recompute)


def is_invariant(node: Node, place: int) -> bool:
    """Whether the parameter for an input has its value in each execution of a body: a loop neither
    carries nor slices nor writes it."""
    return node.op is not LOOP or (
        place >= loop_parts(node).captured.start and not node.writes >> place & 1)


def given(node: Node) -> list[Typed]:
    """What the bodies of a node get for its inputs."""
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
    """What the outputs of a node that owns bodies are like."""
    bodies = [[(y.dtype, y.known_shape) for y in body.outputs] for body in node.bodies]
    if node.op is CALL:
        return bodies[0]
    if node.op is COND:
        return [_all_merged(types) for types in zip(*bodies, strict=True)]
    parts = loop_parts(node)
    own = bodies[0]
    rows = None if parts.tested or not 0 <= parts.times < ENDLESS else parts.times
    written = own[len(own) - node.writes.bit_count():] if node.writes else []
    return [*given(node)[parts.carried], *[(int64, ())] * parts.tested,
            *[PACKED if parts.packed >> k & 1 else (dtype, (rows, *shape))
              for k, (dtype, shape) in enumerate(own[parts.stacked])], *written]


def merged(a: Typed, b: Typed) -> Typed:
    """What two values have in common: sizes that differ are unknown."""
    return a[0], tuple([n if n == m else None for n, m in zip(a[1], b[1], strict=True)])


def _all_merged(types: Sequence[Typed]) -> Typed:
    found = types[0]
    for other in types[1:]:
        found = merged(found, other)
    return found
