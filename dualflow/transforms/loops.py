"""Batching of loops in `vmap`: one loop over the iterations of all examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._core import Symbol, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import UnimplementedError
from dualflow.graph.ir import LOOP, NO_LIMIT, Graph, Node, loop_parts, walk
from dualflow.graph.ir.control_flow import LoopParts
from dualflow.ops.array.shape import reshape, transpose
from dualflow.ops.control_flow.scan import scan
from dualflow.ops.control_flow.while_loop import while_loop
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.reduction.reduce import reduce_any
from dualflow.transforms.batched_value import BatchedValue

if TYPE_CHECKING:
    from dualflow.transforms.batch_interpreter import BatchInterpreter

BatchedValues = list[BatchedValue]


def loop(interpreter: BatchInterpreter, node: Node, operands: BatchedValues) -> BatchedValues:
    """Batch a loop node."""
    parts = loop_parts(node)
    rows = parts.sliced.stop > parts.sliced.start or parts.stacked.stop > parts.stacked.start
    times = times_of(interpreter, parts, operands)
    if parts.packed or (rows and (parts.tested or times.batched)):
        raise UnimplementedError(
            f"{interpreter.caller}: the gradient of a loop whose trip count depends on data, for "
            "each "
            f"example (at {node.line}); take the gradient of the mapped function instead, or "
            "write scan, whose trip count is known")
    go = masked if parts.tested or times.batched else rounds
    return go(interpreter, node, parts, operands)


def uneven(nodes: Iterable[Node], mapped: Iterable[Symbol]) -> bool:
    """Return True if nodes include, at any depth, a loop that stores or reads rows per iteration
    and whose trip count depends on data: the examples would have different numbers of rows."""
    differs = set(mapped)
    for node in nodes:
        batched = not differs.isdisjoint(node.inputs)
        if batched:
            differs.update(node.outputs)
        if any([is_uneven(x, batched) for x in walk([node]) if x.op is LOOP]):
            return True
    return False


def is_uneven(node: Node, batched: bool) -> bool:
    """Implement `uneven` for one loop; a loop with only a limit may have the same for all."""
    parts = loop_parts(node)
    limited = batched and parts.carried.start > parts.tested
    rows = parts.sliced.stop > parts.sliced.start or parts.stacked.stop > parts.stacked.start
    return bool(parts.packed) or (rows and (parts.tested or limited))


def times_of(interpreter: BatchInterpreter, parts: LoopParts,
             operands: BatchedValues) -> BatchedValue:
    """Return the maximal trip count."""
    limited = parts.carried.start - parts.tested
    return operands[0] if limited else BatchedValue(interpreter.number(parts.times), False)


def rounds(interpreter: BatchInterpreter, node: Node, parts: LoopParts,
           operands: BatchedValues) -> BatchedValues:
    """Batch a loop with the same trip count for all examples."""
    body = node.bodies[0]
    flags = carried_flags(body, parts, [x.batched for x in operands], False)
    start = [interpreter.batched(x) if f else as_tensor(x.value)
             for x, f in zip(operands[parts.carried], flags, strict=True)]
    slices = operands[parts.sliced]
    rows = differing(body,
                     with_carried(parts, [x.batched for x in operands], flags))[parts.n_carried:]

    def step(carried: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
        given = [*operands[:parts.carried.start],
                 *[BatchedValue(x, f) for x, f in zip(carried, flags, strict=True)],
                 *[BatchedValue(x, s.batched) for x, s in zip(row, slices, strict=True)],
                 *operands[parts.captured]]
        made = interpreter.run(body, given)
        after = made[:parts.n_carried]
        return ([interpreter.batched(y) if f else y.value for y,
                 f in zip(after, flags, strict=True)],
                [interpreter.batched(y) if f else y.value
                 for y, f in zip(made[parts.n_carried:], rows, strict=True)])

    last, made = scan(step, start, [swapped(x.value) if x.batched else x.value for x in slices],
                      times_of(interpreter, parts, operands).value, parts.reverse,
                      recompute=parts.recompute)
    return [*[BatchedValue(y, f) for y, f in zip(last, flags, strict=True)],
            *[BatchedValue(swapped(y) if f else y, f) for y, f in zip(made, rows, strict=True)]]


def masked(interpreter: BatchInterpreter, node: Node, parts: LoopParts,
           operands: BatchedValues) -> BatchedValues:
    """Batch a loop whose trip count differs: it runs until the last example has finished."""
    body, n = node.bodies[0], interpreter.n
    times = times_of(interpreter, parts, operands)
    batched = [x.batched for x in operands]
    each = times.batched or decided_apart(body, parts, batched)
    flags = carried_flags(body, parts, batched, each)
    start = [interpreter.batched(x) if f else as_tensor(x.value)
             for x, f in zip(operands[parts.carried], flags, strict=True)]
    first = (operands[parts.carried.start - 1] if parts.tested
             else BatchedValue(as_tensor(True), False))
    keep_going = interpreter.batched(first) if each else as_tensor(first.value)
    count = (interpreter.batched(BatchedValue(as_tensor(0, int64), False)) if each
             else as_tensor(0, int64))
    limit = cast(as_tensor(times.value), int64) if times.batched else None
    if limit is not None:
        keep_going = keep_going & (count < limit)

    def wanted(keep_going: Any, *_: Any) -> Any:
        return reduce_any(keep_going)

    def step(keep_going: Any, count: Any, *carried: Any) -> list[Any]:
        given = [*operands[:parts.carried.start],
                 *[BatchedValue(x, f) for x, f in zip(carried, flags, strict=True)],
                 *operands[parts.captured]]
        made = interpreter.run(body, given)
        count = count + cast(keep_going, int64)
        after = [interpreter.batched(y) if f else y.value
                 for y, f in zip(made[parts.first:parts.first + parts.n_carried], flags,
                                 strict=True)]
        more = keep_going
        if parts.tested:
            more = keep_going & interpreter.batched(made[0]) if each else made[0].value
        if limit is not None:
            more = more & (count < limit)
        if each:
            after = [where(reshape(keep_going, (n, *[1] * (y.ndim - 1))), y, x)
                     for x, y in zip(carried, after, strict=True)]
        return [more, count, *after]

    endless = times.batched or (type(times.value) is int and times.value == NO_LIMIT)
    most = None if endless else times.value
    _, count, *last = while_loop(wanted, step, [keep_going, count, *start], maximum_iterations=most,
                                 recompute=parts.recompute)
    done = [BatchedValue(y, f) for y, f in zip(last, flags, strict=True)]
    return [*done, BatchedValue(count, each)] if parts.tested else done


def swapped(x: Any) -> Any:
    """Swap the dimensions of iterations and examples."""
    return transpose(x, [1, 0, *range(2, x.ndim)])


def carried_flags(body: Graph, parts: LoopParts, batched: Sequence[bool], each: bool) -> list[bool]:
    """Return a flag for each carry: True if it is batched after some iteration."""
    places = range(parts.carried.start, parts.carried.stop)
    flags = [each or batched[k] for k in places]
    while True:
        made = differing(body, with_carried(parts, batched, flags))
        after = made[parts.first:parts.first + parts.n_carried]
        found = [f or y for f, y in zip(flags, after, strict=True)]
        if found == flags:
            return flags
        flags = found


def decided_apart(body: Graph, parts: LoopParts, batched: Sequence[bool]) -> bool:
    """Return True if the trip count may differ between examples."""
    flags = carried_flags(body, parts, batched, False)
    return batched[parts.carried.start - 1] or differing(
        body, with_carried(parts, batched, flags))[0]


def with_carried(parts: LoopParts, batched: Sequence[bool], flags: Sequence[bool]) -> list[bool]:
    return [*batched[:parts.carried.start], *flags, *batched[parts.carried.stop:]]


def differing(body: Graph, batched: Sequence[bool]) -> list[bool]:
    """Return a flag for each output of a body: True if it is batched, given flags for inputs."""
    found: set[Symbol] = {x for x, s in zip(body.inputs, batched, strict=True) if s}
    for node in body.nodes:
        if any([x in found for x in node.inputs]):
            found.update(node.outputs)
    return [y in found for y in body.outputs]
