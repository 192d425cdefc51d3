"""From a plan to a program: slots and instructions as csrc/exec/program.h wants them."""

from __future__ import annotations

from typing import Any

from dualflow._core import Program, Symbol
from dualflow.graph.ir import Graph, is_dynamic
from dualflow.graph.program.plan import Buffer, Instruction, Plan

# df_slot_kind
ARENA, CONSTANT, ARGUMENT, RESULT, DYNAMIC = range(5)
KIND = {"arena": ARENA, "constant": CONSTANT, "argument": ARGUMENT, "result": RESULT,
        "dynamic": DYNAMIC}

POLL_COST = 1e6           # ns of work after which the program asks whether to go on


def cost_of(instruction: Instruction) -> float:
    """Estimated time of an instruction in ns."""
    elements = sum(x.size for x in (*instruction.inputs, *instruction.outputs)
                   if not is_dynamic(x))
    return 50 + instruction.node.op.cost * elements


class Lowerer:
    """Numbers slots as it meets values."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.slots: list[tuple[Any, ...]] = []
        self.slot_of: dict[Symbol, int] = {}
        self.last_use: dict[Buffer, int] = {}

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
                               buffer.data, self.last_use.get(buffer, 0)))
        return found

    def run(self, graph: Graph, on_error: Any) -> Program:
        plan = self.plan
        for i, instruction in enumerate(plan.instructions):
            for x in (*instruction.inputs, *instruction.outputs):
                self.last_use[plan.where[x][0]] = i
        for x in graph.outputs:
            self.last_use[plan.where[x][0]] = len(plan.instructions)
        instructions, since_poll = [], 0.0
        for instruction in plan.instructions:
            node, space, cost = instruction.node, instruction.workspace, cost_of(instruction)
            since_poll += cost
            poll = since_poll > POLL_COST
            if poll:
                since_poll = 0.0
            instructions.append((node.op, tuple([self.slot(x) for x in instruction.inputs]),
                                 tuple([self.slot(x) for x in instruction.outputs]), node.attrs,
                                 -1 if space is None else space.offset, instruction.dynamic, poll,
                                 node.wave, cost))
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
    """The program of a planned graph; `on_error(k, exception)` gives what a failure of
    instruction k raises."""
    return Lowerer(plan).run(graph, on_error)
