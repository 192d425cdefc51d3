"""From a plan to a program: slots and instructions as csrc/exec/program.h wants them."""

from __future__ import annotations

from typing import Any

from dualflow._core import Program, Symbol
from dualflow.graph.ir import Graph, is_dynamic
from dualflow.graph.program.plan import Buffer, Plan, Step

# df_slot_kind
ARENA, CONSTANT, ARGUMENT, RESULT, DYNAMIC = range(5)
KIND = {"arena": ARENA, "constant": CONSTANT, "argument": ARGUMENT, "result": RESULT,
        "dynamic": DYNAMIC}

POLL_COST = 1e6           # ns of work after which the program asks whether to go on


def step_cost(step: Step) -> float:
    """Estimated time of a step in ns."""
    elements = sum(x.size for x in (*step.inputs, *step.outputs) if not is_dynamic(x))
    return 50 + step.node.op.cost * elements


class Lowerer:
    """Numbers slots as it meets values."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.slots: list[tuple[Any, ...]] = []
        self.slot_of: dict[Symbol, int] = {}
        self.last_step: dict[Buffer, int] = {}

    def slot(self, x: Symbol) -> int:
        """The number of the slot of a value."""
        found = self.slot_of.get(x)
        if found is None:
            buffer, offset = self.plan.where[x]
            found = self.slot_of[x] = len(self.slots)
            shape = tuple(-1 if d is None else d for d in x.shape)
            if buffer.kind == "arena":
                offset += buffer.offset
            self.slots.append((KIND[buffer.kind], x.dtype.index, shape, offset, buffer.index,
                               buffer.data, self.last_step.get(buffer, 0)))
        return found

    def run(self, graph: Graph, on_error: Any) -> Program:
        plan = self.plan
        for i, step in enumerate(plan.steps):
            for x in (*step.inputs, *step.outputs):
                self.last_step[plan.where[x][0]] = i
        for x in graph.outputs:
            self.last_step[plan.where[x][0]] = len(plan.steps)
        instructions, since_poll = [], 0.0
        for step in plan.steps:
            cost = step_cost(step)
            since_poll += cost
            poll = since_poll > POLL_COST
            if poll:
                since_poll = 0.0
            workspace = -1 if step.workspace is None else step.workspace.offset
            instructions.append((step.node.op, tuple([self.slot(x) for x in step.inputs]),
                                 tuple([self.slot(x) for x in step.outputs]), step.node.attrs,
                                 workspace, step.dynamic, poll, step.wave, cost))
        results = [self.result(x) for x in dict.fromkeys(graph.outputs)]
        return Program(self.slots, instructions, len(graph.inputs) + len(plan.variables),
                       sum(kind == RESULT for kind, *_ in results), plan.arena_bytes, results,
                       on_error)

    def result(self, x: Symbol) -> tuple[int, int, int, tuple[int | None, ...]]:
        """How a run returns an output of the graph."""
        x = self.plan.returned.get(x, x)
        buffer, _ = self.plan.where[x]
        by_slot = buffer.kind in ("dynamic", "constant")
        return (KIND[buffer.kind], self.slot(x) if by_slot else buffer.index, x.dtype.index,
                x.shape)


def lower(plan: Plan, graph: Graph, on_error: Any) -> Program:
    """The program of a planned graph; `on_error(step, exception)` gives what a failure raises."""
    return Lowerer(plan).run(graph, on_error)
