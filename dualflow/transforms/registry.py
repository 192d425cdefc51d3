"""Batching rules: how to apply an op to a batch of examples.

A rule takes the `Application` and a `Lane` per operand, at least one of them batched, and returns
the batched outputs. It returns None if it does not support the operands; then, as for ops without a
rule, the examples run in a loop. A rule applies only public ops, so that it works in eager mode,
while tracing and under a tape. To return a shared value, it returns a `Lane`.

Unlike gradient rules, batching rules are not in the files of the ops, so that they are only
imported by `vmap`.
"""

from collections.abc import Callable
from typing import Any

from dualflow._core import get_op
from dualflow.transforms.lane import Application, Lane

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


def elementwise(run: Application, *lanes: Lane) -> Any:
    """Apply an elementwise op with operands broadcast after the batch dimension."""
    rank = max([x.ndim for x in run.inputs])
    return run(*[run.with_rank(lane, x, rank) for lane, x in zip(lanes, run.inputs, strict=True)])


def reduction(run: Application, lane: Lane) -> Any:
    """Apply a reduction with its axes shifted by one."""
    rank = run.inputs[0].ndim
    return run(lane.value, axes=tuple([a + 1 + (a < 0) * rank for a in run.attrs["axes"]]))


KINDS: dict[str, Rule] = {"elementwise": elementwise, "reduction": reduction}
