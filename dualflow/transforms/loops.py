"""Batching of loops in `vmap`: one loop over the iterations of all examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._core import Symbol, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import UnimplementedError
from dualflow.graph.ir import ENDLESS, LOOP, Graph, Node, loop_parts, walk
from dualflow.graph.ir.owners import LoopParts
from dualflow.ops.array import reshape, transpose
from dualflow.ops.cast import cast
from dualflow.ops.compare import where
from dualflow.ops.reduce import reduce_any
from dualflow.ops.scan import scan
from dualflow.ops.while_loop import while_loop
from dualflow.transforms.lane import Lane

if TYPE_CHECKING:
    from dualflow.transforms.replay import Replay

Lanes = list[Lane]


def loop(replay: Replay, node: Node, lanes: Lanes) -> Lanes:
    """Batch a loop node."""
    parts = loop_parts(node)
    rows = parts.sliced.stop > parts.sliced.start or parts.stacked.stop > parts.stacked.start
    times = times_of(replay, parts, lanes)
    if parts.packed or (rows and (parts.tested or times.stacked)):
        raise UnimplementedError(
            f"{replay.who}: the gradient of a loop whose trip count depends on data, for each "
            f"example (at {node.line}); take the gradient of the mapped function instead, or "
            "write scan, whose trip count is known")
    go = masked if parts.tested or times.stacked else rounds
    return go(replay, node, parts, lanes)


def uneven(nodes: Iterable[Node], mapped: Iterable[Symbol]) -> bool:
    """Return True if nodes include, at any depth, a loop that stores or reads rows per iteration
    and whose trip count depends on data: the examples would have different numbers of rows."""
    differs = set(mapped)
    for node in nodes:
        stacked = not differs.isdisjoint(node.inputs)
        if stacked:
            differs.update(node.outputs)
        if any([kept_of_rounds(x, stacked) for x in walk([node]) if x.op is LOOP]):
            return True
    return False


def kept_of_rounds(node: Node, stacked: bool) -> bool:
    """Implement `uneven` for one loop; a loop with only a limit may have the same for all."""
    parts = loop_parts(node)
    limited = stacked and parts.carried.start > parts.tested
    rows = parts.sliced.stop > parts.sliced.start or parts.stacked.stop > parts.stacked.start
    return bool(parts.packed) or (rows and (parts.tested or limited))


def times_of(replay: Replay, parts: LoopParts, lanes: Lanes) -> Lane:
    """Return the maximal trip count."""
    limited = parts.carried.start - parts.tested
    return lanes[0] if limited else Lane(replay.number(parts.times), False)


def rounds(replay: Replay, node: Node, parts: LoopParts, lanes: Lanes) -> Lanes:
    """Batch a loop with the same trip count for all examples."""
    body = node.bodies[0]
    flags = carried_flags(body, parts, [x.stacked for x in lanes], False)
    start = [replay.stacked(x) if f else as_tensor(x.value)
             for x, f in zip(lanes[parts.carried], flags, strict=True)]
    slices = lanes[parts.sliced]
    rows = differing(body, with_carried(parts, [x.stacked for x in lanes], flags))[parts.n_carried:]

    def step(carried: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
        given = [*lanes[:parts.carried.start],
                 *[Lane(x, f) for x, f in zip(carried, flags, strict=True)],
                 *[Lane(x, s.stacked) for x, s in zip(row, slices, strict=True)],
                 *lanes[parts.captured]]
        made = replay.run(body, given)
        after = made[:parts.n_carried]
        return ([replay.stacked(y) if f else y.value for y, f in zip(after, flags, strict=True)],
                [replay.stacked(y) if f else y.value
                 for y, f in zip(made[parts.n_carried:], rows, strict=True)])

    last, made = scan(step, start, [swapped(x.value) if x.stacked else x.value for x in slices],
                      times_of(replay, parts, lanes).value, parts.reverse,
                      recompute=parts.recompute)
    return [*[Lane(y, f) for y, f in zip(last, flags, strict=True)],
            *[Lane(swapped(y) if f else y, f) for y, f in zip(made, rows, strict=True)]]


def masked(replay: Replay, node: Node, parts: LoopParts, lanes: Lanes) -> Lanes:
    """Batch a loop whose trip count differs: it runs until the last example has finished."""
    body, n = node.bodies[0], replay.n
    times = times_of(replay, parts, lanes)
    stacked = [x.stacked for x in lanes]
    each = times.stacked or decided_apart(body, parts, stacked)
    flags = carried_flags(body, parts, stacked, each)
    start = [replay.stacked(x) if f else as_tensor(x.value)
             for x, f in zip(lanes[parts.carried], flags, strict=True)]
    first = lanes[parts.carried.start - 1] if parts.tested else Lane(as_tensor(True), False)
    go_on = replay.stacked(first) if each else as_tensor(first.value)
    count = replay.stacked(Lane(as_tensor(0, int64), False)) if each else as_tensor(0, int64)
    limit = cast(as_tensor(times.value), int64) if times.stacked else None
    if limit is not None:
        go_on = go_on & (count < limit)

    def wanted(go_on: Any, *_: Any) -> Any:
        return reduce_any(go_on)

    def step(go_on: Any, count: Any, *carried: Any) -> list[Any]:
        given = [*lanes[:parts.carried.start],
                 *[Lane(x, f) for x, f in zip(carried, flags, strict=True)],
                 *lanes[parts.captured]]
        made = replay.run(body, given)
        count = count + cast(go_on, int64)
        after = [replay.stacked(y) if f else y.value
                 for y, f in zip(made[parts.first:parts.first + parts.n_carried], flags,
                                 strict=True)]
        more = go_on
        if parts.tested:
            more = go_on & replay.stacked(made[0]) if each else made[0].value
        if limit is not None:
            more = more & (count < limit)
        if each:
            after = [where(reshape(go_on, (n, *[1] * (y.ndim - 1))), y, x)
                     for x, y in zip(carried, after, strict=True)]
        return [more, count, *after]

    endless = times.stacked or (type(times.value) is int and times.value == ENDLESS)
    most = None if endless else times.value
    _, count, *last = while_loop(wanted, step, [go_on, count, *start], maximum_iterations=most,
                                 recompute=parts.recompute)
    done = [Lane(y, f) for y, f in zip(last, flags, strict=True)]
    return [*done, Lane(count, each)] if parts.tested else done


def swapped(x: Any) -> Any:
    """Swap the dimensions of iterations and examples."""
    return transpose(x, [1, 0, *range(2, x.ndim)])


def carried_flags(body: Graph, parts: LoopParts, stacked: Sequence[bool], each: bool) -> list[bool]:
    """Return a flag for each carry: True if it is batched after some iteration."""
    places = range(parts.carried.start, parts.carried.stop)
    flags = [each or stacked[k] for k in places]
    while True:
        made = differing(body, with_carried(parts, stacked, flags))
        after = made[parts.first:parts.first + parts.n_carried]
        found = [f or y for f, y in zip(flags, after, strict=True)]
        if found == flags:
            return flags
        flags = found


def decided_apart(body: Graph, parts: LoopParts, stacked: Sequence[bool]) -> bool:
    """Return True if the trip count may differ between examples."""
    flags = carried_flags(body, parts, stacked, False)
    return stacked[parts.carried.start - 1] or differing(
        body, with_carried(parts, stacked, flags))[0]


def with_carried(parts: LoopParts, stacked: Sequence[bool], flags: Sequence[bool]) -> list[bool]:
    return [*stacked[:parts.carried.start], *flags, *stacked[parts.carried.stop:]]


def differing(body: Graph, stacked: Sequence[bool]) -> list[bool]:
    """Return a flag for each output of a body: True if it is batched, given flags for inputs."""
    found: set[Symbol] = {x for x, s in zip(body.inputs, stacked, strict=True) if s}
    for node in body.nodes:
        if any([x in found for x in node.inputs]):
            found.update(node.outputs)
    return [y in found for y in body.outputs]
