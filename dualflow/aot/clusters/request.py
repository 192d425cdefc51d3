"""Requests to the worker thread to compile the clusters of a program."""

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
STEPS_MAX = 256         # compiling longer clusters takes seconds
NAME = "CLUSTER"        # placeholder of the function's name, which depends on the text


class Compiler:
    """The compiler interface that `dualflow.graph.program.clusters` uses."""

    def start(self, spec: ProgramSpec, program: Program) -> Sequence[Job]:
        """Start to compile the clusters of a program and its bodies; return their jobs."""
        jobs = list(requests(spec, program))
        if jobs and compiler.command() is None:
            WORKER.fail(jobs, compiler.NONE)
        else:
            WORKER.add(jobs)
        return jobs

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all jobs are finished; return False if `timeout` s have passed before."""
        return WORKER.wait(timeout)


def compilable(spec: ProgramSpec) -> Iterator[tuple[int, InstructionSpec]]:
    """Yield the clusters of a program, without its bodies', that have several steps; a single step
    is a kernel of the library already."""
    for k, x in enumerate(spec.instructions):
        if len(tile_code(x)) > 1:
            yield k, x


def requests(spec: ProgramSpec, program: Program) -> Iterator[Job]:
    """Yield jobs for the clusters of a program, then for those of its bodies."""
    for k, x in compilable(spec):
        yield Job(x, functools.partial(written, spec, x), functools.partial(program.compile, k))
    bodies = [body for x in spec.instructions for body in x.bodies]
    for body, made in zip(bodies, program.bodies, strict=True):
        yield from requests(body, made)


def written(spec: ProgramSpec, x: InstructionSpec) -> Function:
    """Return the C function of an instruction's cluster. Raise Refused if it is not compiled."""
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
    """Return the iteration shape of an instruction's cluster, and its inputs. For the epilogue of a
    matrix product, the first input is the product."""
    inputs = [spec.slots[k] for k in x.inputs]
    if x.op is CLUSTER:
        assert x.attrs is not None
        return tuple(x.attrs.as_dict()["shape"]), inputs
    shape = spec.slots[x.outputs[0]].shape
    product = SlotSpec(inputs[0].kind, inputs[0].dtype, shape)
    return known(shape), [product, *inputs[2:]]


def kind_of(slot: SlotSpec, full: tuple[int, ...], row_length: int) -> Input:
    """Return how an input is broadcast to the iteration shape, whose rows are the trailing
    dimensions with `row_length` elements in total.

    An input as large as its space is DENSE or ROW, not ONE or COLUMN: an output may share its
    memory, so loops must not load it only once.
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
    """Return a shape without unknown dimensions."""
    return tuple([d for d in shape if d is not None])
