"""Batching of calls, branches and loops in `vmap`.

A branch with a shared condition is taken for all examples; with a batched condition all branches
run and the results are selected. A loop runs until all examples have finished; the carries of
finished examples are not updated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._core import MaskedGradient, Op, Symbol, as_tensor, current_graph, record_function
from dualflow.autodiff.masked_gradient import add_masked, flag_of, zeroed
from dualflow.graph.ir import CALL, COND, LOOP, Graph, Node, Rule
from dualflow.graph.trace.record_call import record_call_here
from dualflow.ops.array.shape import reshape
from dualflow.ops.control_flow.cond import cond, switch_case
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.reduction.reduce import reduce_any, reduce_sum
from dualflow.transforms.batched_value import BatchedValue
from dualflow.transforms.loops import differing, loop

if TYPE_CHECKING:
    from dualflow.transforms.batch_interpreter import BatchInterpreter

BatchedValues = list[BatchedValue]


def call(interpreter: BatchInterpreter, node: Node, operands: BatchedValues) -> BatchedValues:
    """Batch a call by running its body in place."""
    graph = current_graph()
    mark = None if graph is None else graph.mark
    made = interpreter.run(node.bodies[0], operands)
    if isinstance(node.data, Rule) and not interpreter.passes:
        made = with_rule(interpreter, node.data, node, made, mark)
    return made


def with_rule(interpreter: BatchInterpreter, rule: Rule, node: Node, made: BatchedValues,
              mark: int | None) -> BatchedValues:
    """Record the gradient rule of a function that has one, batched in turn."""
    given, gradient = [interpreter.operand(x) for x in rule.inputs], rule.op.rule
    assert gradient is not None
    own, rest = made[:rule.n_outputs], made[rule.n_outputs:]
    differs = any([y.batched for y in own])     # batched together: decides if gradients are summed
    values = [interpreter.batched(y) if differs else as_tensor(y.value) for y in own]
    snapshot = interpreter.snapshot()
    sources = [*given, *[BatchedValue(y, differs) for y in values]] if rule.sums else given

    def mapped(g: Sequence[Any], of_example: Callable[[list[Any]], Sequence[Any]]) -> list[Any]:
        """Return the gradients of the batch by mapping `of_example`, which is for one example."""
        def example(*rows: Any) -> Any:
            left = iter(rows)
            found = of_example([None if x is None
                                else MaskedGradient(next(left), next(left), x.clean)
                                if isinstance(x, MaskedGradient) else next(left) for x in g])
            return [(zeroed(x), x.flag) if isinstance(x, MaskedGradient) else x for x in found]

        parts = [[BatchedValue(x.value, differs), BatchedValue(flag_of(x), False)]
                 if isinstance(x, MaskedGradient)
                 else [BatchedValue(x, differs)] for x in g if x is not None]
        result, found = snapshot.again().map(example, [x for part in parts for x in part])
        left = iter(found)
        sums = []
        for x, to in zip(result, sources, strict=True):
            total = None if x is None else summed(interpreter, next(left), to, differs)
            sums.append(if_any(total, next(left).value) if isinstance(x, tuple) else total)
        return sums

    def back(g: tuple[Any, ...], y: Any, *_: Any) -> list[Any]:
        return mapped(g, lambda g: gradient(g, node.outputs[:rule.n_outputs], *rule.inputs))

    def call_back(gs: list[Any], sums: list[Any], wanted: list[bool]) -> list[Any]:
        found = mapped(gs, lambda gs: gradient(gs, [None] * len(sums), wanted))
        before = [*sums, *[None] * (len(found) - len(sums))]
        return [g if s is None else s if g is None else add_masked([s, g])
                for s, g in zip(before, found, strict=True)]

    inputs = [as_tensor(x.value) for x in given]
    outs = (record_call_here(rule.op.name, call_back, inputs, values, mark) if rule.sums
            else record_function(rule.op.name, back, inputs, values, mark))
    return [*[BatchedValue(y, differs) for y in outs], *rest]


def if_any(g: Any, flags: Any) -> Any:
    """Return a cotangent that exists if one of the flags, per example or row, is true."""
    flag = reduce_any(flags)
    if type(flag) is Symbol:
        return MaskedGradient(g, flag)
    return g if flag.item() else None


def summed(interpreter: BatchInterpreter, g: BatchedValue, to: BatchedValue, differs: bool) -> Any:
    """Return the gradient of a value, summed over the examples if they share the value."""
    if not differs:
        return g.value
    x = interpreter.batched(g)
    return x if to.batched else reduce_sum(x, 0)


def choose(interpreter: BatchInterpreter, node: Node, operands: BatchedValues) -> BatchedValues:
    """Batch a cond node: one branch for all examples, or all branches and a selection."""
    index = operands[0]
    if not index.batched:
        return branch(interpreter, node, index.value, operands)
    every = [[interpreter.batched(y) for y in interpreter.run(body, operands)]
             for body in node.bodies]
    found = every[0]
    for k, other in enumerate(every[1:], 1):
        taken = index.value if len(every) == 2 and index.value.dtype.name == "bool" else (
            at_least(index.value, k, k == len(every) - 1))
        found = [where(beside(taken, y), y, x) for x, y in zip(found, other, strict=True)]
    return [BatchedValue(y, True) for y in found]


def at_least(index: Any, k: int, last: bool) -> Any:
    """Return a flag per example for branch k; the last branch includes invalid indices."""
    return (index >= k) | (index < 0) if last else equal(index, k)


def beside(flags: Any, x: Any) -> Any:
    """Reshape a flag per example to broadcast with a value."""
    return reshape(flags, (flags.shape[0], *[1] * (x.ndim - 1)))


def branch(interpreter: BatchInterpreter, node: Node, index: Any,
           operands: BatchedValues) -> BatchedValues:
    """Run the branch that all examples take."""
    batched = [x.batched for x in operands]
    flags = [any(f) for f in zip(*[differing(body, batched) for body in node.bodies], strict=True)]

    def of(body: Graph) -> Callable[[], list[Any]]:
        return lambda: [interpreter.batched(y) if f else y.value
                        for y, f in zip(interpreter.run(body, operands), flags, strict=True)]

    first, *others = [of(body) for body in node.bodies]
    if as_tensor(index).dtype.name == "bool":
        made = cond(index, others[0], first)
    else:
        made = switch_case(index, [first, *others])
    return [BatchedValue(y, f) for y, f in zip(made, flags, strict=True)]


OWNERS: dict[Op, Callable[[Any, Node, BatchedValues], Sequence[BatchedValue]]] = {
    CALL: call, COND: choose, LOOP: loop}
