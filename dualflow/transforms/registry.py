"""Batching rules: how an op is applied to all lanes at once.

A rule takes the `Application` and a `Lane` for each operand, of which at least one is stacked, and
returns the outputs, stacked; or None where it knows no better way for these operands than one lane
after the other, which is what happens to every op without a rule. A rule applies public ops only,
so it works eagerly, while tracing and under a tape. A lane that it wants to say is shared it
returns as a `Lane`.

They are apart from the ops, other than gradient rules, because nothing but `vmap` needs them, and
so nothing else loads them.
"""

from collections.abc import Callable
from typing import Any

from dualflow._core import get_op
from dualflow.transforms.lane import Application, Lane

Rule = Callable[..., Any]

RULES: dict[str, Rule] = {}


def batching(*ops: str) -> Callable[[Rule], Rule]:
    """Declares the decorated function to be the batching rule of some ops."""
    def register(rule: Rule) -> Rule:
        for op in ops:
            RULES[get_op(op).name] = rule
        return rule

    return register


def rule_of(application: Application) -> Rule | None:
    """The rule of an op, if it has one; elementwise ops and reductions share theirs."""
    op = application.op
    return RULES.get(op.name) or KINDS.get(op.kind)


def elementwise(run: Application, *lanes: Lane) -> Any:
    """Operands broadcast behind the lanes."""
    rank = max([x.ndim for x in run.inputs])
    return run(*[run.with_rank(lane, x, rank) for lane, x in zip(lanes, run.inputs, strict=True)])


def reduction(run: Application, lane: Lane) -> Any:
    """Axes move on by one."""
    rank = run.inputs[0].ndim
    return run(lane.value, axes=tuple([a + 1 + (a < 0) * rank for a in run.attrs["axes"]]))


KINDS: dict[str, Rule] = {"elementwise": elementwise, "reduction": reduction}
