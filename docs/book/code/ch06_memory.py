"""The code of docs/book/ch06_memory.md, from which docs/ext/book.py writes this file."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from ch01_tensors import Op, Tensor
from ch02_tape import CONSTANT, PARAMETER, Graph
from ch05_passes import optimize

ALIGNMENT = 16              # elements: every offset is a multiple of 64 bytes


class Buffer:
    """Memory of the arena for one value, or for several that follow each other in place."""

    def __init__(self, size, start, end):
        self.size = -(-size // ALIGNMENT) * ALIGNMENT       # in elements, rounded up
        self.start, self.end = start, end
        self.offset = None

    def overlaps(self, other):
        """Return True if both are alive at some time."""
        return self.start <= other.end and other.start <= self.end


def last_reads(graph):
    """Return the time of the last reader of each value."""
    last = {}
    for time, operation in enumerate(graph.operations):
        last.update((y, time) for y in operation.outputs)
        last.update((x, time) for x in operation.inputs)
    return last | {y: len(graph.operations) for y in graph.outputs}


def may_be_in_place(operation, x):
    """Return True if an operation may write an output over the input x."""
    name, y = operation.op.name, operation.outputs[0]
    return name == "reshape" or (x.shape == y.shape and (
        name == "cluster" or operation.op.kind == "elementwise"))


def buffers_of(graph, in_place=True):
    """Return the buffer of each value that an operation computes."""
    last, found = last_reads(graph), {}
    for time, operation in enumerate(graph.operations):
        if operation.op.kind == "leaf":
            continue
        free = [found[x] for x in dict.fromkeys(operation.inputs) if in_place and x in found
                and may_be_in_place(operation, x) and found[x].end == time]
        for y in operation.outputs:
            if free:
                found[y] = free.pop(0)
                found[y].end = last[y]
            else:
                found[y] = Buffer(int(np.prod(y.shape)), time, last[y])
    return found


def lower_bound(buffers):
    """Return the largest number of elements that are alive at one time."""
    times = {buffer.start for buffer in buffers}
    return max((sum(b.size for b in buffers if b.start <= time <= b.end) for time in times),
               default=0)


def place(buffer, placed):
    """Set the lowest offset at which a buffer overlaps no other in time and memory."""
    buffer.offset = 0
    for other in sorted(placed, key=lambda b: b.offset):
        if not buffer.overlaps(other):
            continue
        if other.offset >= buffer.offset + buffer.size:
            break
        buffer.offset = max(buffer.offset, other.offset + other.size)


def assign_offsets(buffers, order):
    """Set the offsets of all buffers in some order; return the size of the arena."""
    placed = []
    for buffer in sorted(buffers, key=order):
        place(buffer, placed)
        placed.append(buffer)
    return max((b.offset + b.size for b in placed), default=0)


def by_start(buffer):
    return buffer.start, -buffer.size


def largest_first(buffer):
    return -buffer.size, buffer.start


def plan(graph, in_place=True):
    """Return the buffer of each value, with its offset, and the size of the arena."""
    found = buffers_of(graph, in_place)
    buffers = list(dict.fromkeys(found.values()))
    order = min([by_start, largest_first], key=lambda order: assign_offsets(buffers, order))
    return found, assign_offsets(buffers, order)


class Slot(NamedTuple):
    """The memory of a value."""

    kind: str               # "argument", "constant" or "arena"
    position: int           # the index of the argument or constant; the offset in the arena
    shape: tuple


class Instruction(NamedTuple):
    """A kernel with the slots of its operands."""

    op: Op
    inputs: list
    outputs: list
    attributes: dict


class Program(NamedTuple):
    """Instructions in order, and the memory that they need."""

    instructions: list
    arguments: list         # slots
    results: list           # slots
    constants: list         # arrays
    arena: int              # elements


def lower(graph):
    """Return the program of a graph."""
    found, size = plan(graph)
    slots, constants, instructions = {}, [], []
    for k, x in enumerate(graph.inputs):
        slots[x] = Slot("argument", k, x.shape)
    for operation in graph.operations:
        if operation.op is PARAMETER:
            continue
        if operation.op is CONSTANT:
            y, = operation.outputs
            slots[y] = Slot("constant", len(constants), y.shape)
            constants.append(operation.attributes["value"].data)
            continue
        for y in operation.outputs:
            slots[y] = Slot("arena", found[y].offset, y.shape)
        instructions.append(Instruction(operation.op, [slots[x] for x in operation.inputs],
                                        [slots[y] for y in operation.outputs],
                                        operation.attributes))
    return Program(instructions, [slots[x] for x in graph.inputs],
                   [slots[y] for y in graph.outputs], constants, size)


def run_program(program, arguments):
    """Run a program on arrays and return its results as tensors."""
    arena = np.full(program.arena, np.nan, np.float32)

    def memory(slot):
        if slot.kind == "argument":
            return arguments[slot.position]
        if slot.kind == "constant":
            return program.constants[slot.position]
        return arena[slot.position:slot.position + int(np.prod(slot.shape))].reshape(slot.shape)

    for instruction in program.instructions:
        results = instruction.op.kernel(*[memory(x) for x in instruction.inputs],
                                        **instruction.attributes)
        for y, result in zip(instruction.outputs, results if isinstance(results, list)
                             else [results], strict=True):
            memory(y)[...] = result
    return [Tensor(memory(slot)) for slot in program.results]


def planned(graph) -> Callable:
    """Return a function that runs a graph as an optimised program in planned memory."""
    program = lower(optimize(graph))
    return lambda *tensors: run_program(program, [x.data for x in tensors])


def program_text(program):
    """Return the printed form of a program."""
    def name(slot):
        at = slot.position
        return f"{slot.kind} {at}" if slot.kind != "arena" else f"arena at {at}"

    lines = [f"program, arena of {program.arena} elements:"]
    for k, instruction in enumerate(program.instructions):
        outputs = ", ".join(map(name, instruction.outputs))
        inputs = ", ".join(map(name, instruction.inputs))
        lines.append(f"  {k}: {outputs} = {instruction.op.name}({inputs})")
    return "\n".join([*lines, "  return " + ", ".join(map(name, program.results))])


if __name__ == "__main__":
    example = Graph()
    with example:
        x, w = example.parameter((4, 4)), example.parameter((4, 8))
        y = x @ w
        example.outputs = [x @ (y * y + y), y]
    print(program_text(lower(optimize(example))))
