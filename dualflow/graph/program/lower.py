"""Lowering: from a memory plan to a `ProgramSpec` with numbered slots and instructions.

Called by `compile`. Slot, constant and result numbers must be those that csrc/exec/program.h
expects.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import Symbol, Tensor, own_flops
from dualflow.graph.ir import LOOP, Graph, is_dynamic, loop_parts
from dualflow.graph.program.arena import Buffer
from dualflow.graph.program.plan import Instruction, Plan, make_plan
from dualflow.graph.program.spec import (
    ArgumentSpec,
    InstructionSpec,
    ProgramSpec,
    ResultSpec,
    SlotKind,
    SlotSpec,
    VariableSpec,
)

POLL_COST = 1e6           # ns of work after which the program polls the caller for interrupts
FLOP_NS = 0.01            # time of an arithmetic operation of a recurrent layer of 1 to 5 rows
MANY_ITERATIONS = 1 << 40  # trip counts from here on count as unknown


def cost_of(instruction: Instruction) -> float:
    """Return the estimated time of an instruction in ns, without its bodies.

    An instruction of a wave is a job of the thread pool, which takes a job that lasts many times
    longer than estimated for a sign of a busy machine, and leaves its workers out for some time.
    """
    node = instruction.node
    values: list[Symbol] = [*instruction.inputs, *instruction.outputs]
    if instruction.dynamic:
        values = [x for x in values if not is_dynamic(x)]
    cost: float = 50 + node.op.cost * sum([x.size for x in values])
    if node.wave:
        flops = own_flops(node.op, instruction.inputs, instruction.outputs, node.attrs)
        cost = max(cost, FLOP_NS * flops)
    return cost


def cost_of_bodies(instruction: Instruction, bodies: Sequence[ProgramSpec]) -> float:
    """Return the estimated time of the bodies of an instruction in ns: of the longest branch, or of
    all iterations. For an unknown trip count return POLL_COST."""
    longest = max([sum([x.cost_ns for x in body.instructions]) for body in bodies], default=0.0)
    if instruction.node.op is not LOOP:
        return longest
    times = loop_parts(instruction.node).times
    return longest * times if 0 <= times < MANY_ITERATIONS else POLL_COST


class Lowerer:
    """Builds a specification; slots and constants are numbered on first use."""

    def __init__(self, plan: Plan, graph: Graph, is_body: bool) -> None:
        self.plan = plan
        self.is_body = is_body
        self.graph = graph
        self.slots: list[SlotSpec] = []
        self.constants: list[Tensor] = []
        self.slot_of: dict[Symbol, int] = {}
        self.constant_of: dict[Buffer, int] = {}
        self.last_use: dict[Buffer, int] = {}

    def run(self) -> ProgramSpec:
        plan, graph = self.plan, self.graph
        for k, instruction in enumerate(plan.instructions):
            for x in (*instruction.inputs, *instruction.outputs):
                self.last_use[plan.where[x][0]] = k
        for x in (*graph.outputs, *plan.results):
            self.last_use[plan.where[x][0]] = len(plan.instructions)
        instructions = self.instructions()
        results = [self.result(x) for x in plan.results]
        return ProgramSpec(
            graph.name, tuple(self.slots), instructions,
            tuple([ArgumentSpec(x.node.data, x.dtype, x.shape, x.node.name)
                   for x in graph.inputs]),
            tuple(map(VariableSpec, plan.variables, plan.written)), tuple(self.constants),
            tuple(results), plan.arena_bytes,
            None if graph.cached is None else lower(make_plan(graph.cached, True), graph.cached))

    def instructions(self) -> tuple[InstructionSpec, ...]:
        """Return the instructions. An instruction polls after much work since the last poll."""
        found, since_poll = [], 0.0
        for instruction in self.plan.instructions:
            node, space = instruction.node, instruction.workspace
            bodies = tuple([lower(body, body.graph, True) for body in instruction.bodies])
            cost = cost_of(instruction) + cost_of_bodies(instruction, bodies)
            since_poll += cost
            poll = since_poll > POLL_COST
            if poll:
                since_poll = 0.0
            found.append(InstructionSpec(
                node.op, tuple([self.slot(x) for x in instruction.inputs]),
                tuple([self.slot(x) for x in instruction.outputs]), node.attrs,
                None if space is None else space.offset, instruction.dynamic, poll,
                node.wave, cost, node.name, node.line, bodies))
        return tuple(found)

    def slot(self, x: Symbol) -> int:
        """Return the slot number of a value."""
        found = self.slot_of.get(x)
        if found is None:
            buffer, offset = self.plan.where[x]
            found = self.slot_of[x] = len(self.slots)
            if buffer.kind is SlotKind.ARENA:
                offset += buffer.offset
            self.slots.append(SlotSpec(buffer.kind, x.dtype, x.shape, self.number(buffer), offset,
                                       self.last_use.get(buffer, 0)))
        return found

    def number(self, buffer: Buffer) -> int:
        """Return the number of a buffer among the constants, arguments or results."""
        if buffer.data is None:
            return buffer.index
        if buffer not in self.constant_of:
            self.constant_of[buffer] = len(self.constants)
            self.constants.append(buffer.data)
        return self.constant_of[buffer]

    def result(self, x: Symbol) -> ResultSpec:
        """Return the specification of a result. A result of a body always has a slot, through which
        its instruction finds it."""
        x = self.plan.returned.get(x, x)
        buffer, _ = self.plan.where[x]
        slot = self.slot(x) if self.is_body or buffer.kind is SlotKind.DYNAMIC else -1
        number = slot if buffer.kind is SlotKind.DYNAMIC else self.number(buffer)
        return ResultSpec(buffer.kind, number, x.dtype, x.shape)


def lower(plan: Plan, graph: Graph, is_body: bool = False) -> ProgramSpec:
    """Return the specification of the program of a planned graph."""
    return Lowerer(plan, graph, is_body).run()
