"""Batching rules: how to apply an op to a batch of examples.

A rule takes the `Application` and a `BatchedValue` per operand, at least one of them batched, and
returns the batched outputs. It returns None if it does not support the operands; then, as for ops
without a rule, the examples run in a loop. A rule applies only public ops, so that it works in
eager mode, while tracing and under a tape. To return a shared value, it returns a `BatchedValue`.

Unlike gradient rules, batching rules are not in the files of the ops, so that they are only
imported by `vmap`.
"""

from collections.abc import Callable
from typing import Any

from dualflow._core import get_op
from dualflow.transforms.batched_value import Application, BatchedValue

Rule = Callable[..., Any]

RULES: dict[str, Rule] = {}


def batching(*ops: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the batching rule of some ops."""
    def register(rule: Rule) -> Rule:
        for op in ops:
            RULES[get_op(op).name] = rule
        return rule

    return register


def rule_of(application: Application) -> Rule | None:
    """Return the rule of an op, or None; elementwise ops and reductions share a rule each."""
    op = application.op
    return RULES.get(op.name) or KINDS.get(op.kind)


def elementwise(run: Application, *operands: BatchedValue) -> Any:
    """Apply an elementwise op with operands broadcast after the batch dimension."""
    rank = max([x.ndim for x in run.inputs])
    return run(*[run.with_rank(operand, x, rank) for operand,
                 x in zip(operands, run.inputs, strict=True)])


def reduction(run: Application, operand: BatchedValue) -> Any:
    """Apply a reduction with its axes shifted by one."""
    rank = run.inputs[0].ndim
    return run(operand.value, axes=tuple([a + 1 + (a < 0) * rank for a in run.attrs["axes"]]))


KINDS: dict[str, Rule] = {"elementwise": elementwise, "reduction": reduction}
