"""The clusters of a program, handed to the worker."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from math import prod

from dualflow._core import Program, get_op
from dualflow.aot.clusters import compiler
from dualflow.aot.clusters.phases import Input, Kind, Plan
from dualflow.aot.clusters.source import function
from dualflow.aot.clusters.worker import WORKER, Function, Job, Refused, name_of
from dualflow.aot.flat import tile_code
from dualflow.graph.ir.tile_code import disassemble
from dualflow.graph.ir.tile_text import CODE
from dualflow.graph.program.spec import InstructionSpec, ProgramSpec, SlotSpec

CLUSTER = get_op("cluster")
STEPS_MAX = 256         # beyond it compilers take seconds
NAME = "CLUSTER"        # of a function whose text is still to get its name


class Compiler:
    """What `dualflow.graph.program.clusters` asks."""

    def start(self, spec: ProgramSpec, program: Program) -> Sequence[Job]:
        """The clusters of a program and its bodies, which are compiled from now on."""
        jobs = list(requests(spec, program))
        if jobs and compiler.command() is None:
            WORKER.fail(jobs, compiler.NONE)
        else:
            WORKER.add(jobs)
        return jobs

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until all that was started is done; False: not within `timeout` s."""
        return WORKER.wait(timeout)


def compilable(spec: ProgramSpec) -> Iterator[tuple[int, InstructionSpec]]:
    """The clusters of a program, without its bodies'; a single step is a loop of the library's
    already."""
    for k, x in enumerate(spec.instructions):
        if len(tile_code(x)) > 1:
            yield k, x


def requests(spec: ProgramSpec, program: Program) -> Iterator[Job]:
    """The clusters of a program, then those of its bodies."""
    for k, x in compilable(spec):
        yield Job(x, functools.partial(written, spec, x), functools.partial(program.compile, k))
    bodies = [body for x in spec.instructions for body in x.bodies]
    for body, made in zip(bodies, program.bodies, strict=True):
        yield from requests(body, made)


def written(spec: ProgramSpec, x: InstructionSpec) -> Function:
    """The function of the cluster of an instruction."""
    if x.dynamic:
        raise Refused("its sizes depend on data")
    assert x.attrs is not None
    code = disassemble(x.attrs.as_dict()[CODE])
    if len(code.steps) > STEPS_MAX:
        raise Refused(f"it has more than {STEPS_MAX} steps")
    full, inputs = operands(spec, x)
    plan = Plan(code, [kind_of(slot, full, code.row_length) for slot in inputs])
    if all([phase.calls for phase in plan.phases]):
        raise Refused("it has no formula of vectors")
    text = function(plan, NAME)
    key = compiler.digest([text])
    return Function(key, text.replace(NAME, name_of(key)), plan.layout)


def operands(spec: ProgramSpec, x: InstructionSpec) -> tuple[tuple[int, ...], list[SlotSpec]]:
    """The iteration shape of the cluster of an instruction, and its inputs: of what runs one
    behind a product, the product first."""
    inputs = [spec.slots[k] for k in x.inputs]
    if x.op is CLUSTER:
        assert x.attrs is not None
        return tuple(x.attrs.as_dict()["shape"]), inputs
    shape = spec.slots[x.outputs[0]].shape
    product = SlotSpec(inputs[0].kind, inputs[0].dtype, shape)
    return known(shape), [product, *inputs[2:]]


def kind_of(slot: SlotSpec, full: tuple[int, ...], row_length: int) -> Input:
    """How an input meets the iteration shape: rows are its trailing dimensions of so many
    elements.

    An input that is as large as the space in which it is read is DENSE, or ROW, and no ONE or
    COLUMN: an output may lie in its memory, so it must not be taken for fixed.
    """
    shape, first, length = known(slot.shape), len(full), 1
    while length != row_length and first > 0:
        first -= 1
        length *= full[first]
    shape = (1,) * (len(full) - len(shape)) + shape
    kind = Kind.FULL
    if shape == full:
        kind = Kind.DENSE
    elif row_length > 1 and shape[:first] == full[:first] and prod(shape[first:]) == 1:
        kind = Kind.ROW
    elif prod(shape) == 1:
        kind = Kind.ONE
    elif row_length > 1 and prod(shape[first:]) == 1:
        kind = Kind.ROW
    elif row_length > 1 and prod(shape[:first]) == 1 and shape[first:] == full[first:]:
        kind = Kind.COLUMN
    return Input(slot.dtype, kind)


def known(shape: tuple[int | None, ...]) -> tuple[int, ...]:
    """A shape without unknown dimensions."""
    return tuple([d for d in shape if d is not None])
