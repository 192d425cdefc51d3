"""The contents of an export in flat form: programs, each after its bodies, entries, and constants.
A C export writes it as tables, a program file as words. The classes mirror the structures of
csrc/model/model.h (`df_model_tables`) field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dualflow._core import Op, Tensor, get_op, ops
from dualflow.aot.contents import Contents
from dualflow.aot.entry import CallArgument, Entry, generator_of
from dualflow.dtypes import DType
from dualflow.graph.ir.tile_code import Step, disassemble
from dualflow.graph.ir.tile_text import CODE
from dualflow.graph.program.spec import (
    ArgumentSpec,
    InstructionSpec,
    ProgramSpec,
    ResultSpec,
    Shape,
    SlotKind,
    SlotSpec,
)
from dualflow.graph.trace.computed import Computed
from dualflow.graph.trace.parameters import Argument, CachedParameter, Feed

ALL_OPS = tuple(map(get_op, ops()))     # by index
ORIGINS = ("CALL", "VARIABLE", "WRITTEN", "KEY", "CACHED", "CONSTANT")    # df_model_origin

Word = int | float | Op
Attribute = Word | tuple[int | Op, ...]


class FlatSlot(NamedTuple):
    """`df_slot`; `constant` is an index into all constants."""

    kind: SlotKind
    dtype: DType
    shape: Shape
    offset: int
    number: int
    constant: int | None
    last_use: int


class FlatInstruction(NamedTuple):
    """`df_model_instruction`, with ops in place of their numbers, and bodies as program indices.
    `cluster` is 0 and `layout` empty unless it runs a compiled cluster."""

    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attrs: tuple[Attribute, ...]
    bodies: tuple[int, ...]
    workspace: int
    dynamic: bool
    poll: bool
    wave: int
    cost: float
    cluster: int = 0
    layout: tuple[int, ...] = ()


class FlatProgram(NamedTuple):
    """`df_model_program`; `returned` is None unless the program is a body."""

    n_args: int
    n_results: int
    slots: tuple[FlatSlot, ...]
    instructions: tuple[FlatInstruction, ...]
    arena_bytes: int
    returned: tuple[int, ...] | None


class FlatSource(NamedTuple):
    """`df_model_source`; `origin` is one of `ORIGINS`."""

    origin: str
    number: int = 0
    constant: int | None = None


class FlatReturn(NamedTuple):
    """`df_model_return`."""

    kind: SlotKind
    number: int
    bytes: int
    constant: int | None


class FlatEntry(NamedTuple):
    """`df_model_entry`."""

    name: str
    program: int
    n_in: int
    sources: tuple[FlatSource, ...]
    returns: tuple[FlatReturn, ...]
    cached: FlatEntry | None


class Flat:
    """The contents of an export in flat form.

    Parameters
    ----------
    contents : Contents
    clusters : dict of int to (int, tuple of int), optional
        By identity of an instruction that runs a compiled cluster: the index of the cluster's
        function, and its layout.

    Attributes
    ----------
    programs : list of FlatProgram
        Each program follows its bodies.
    entries : list of FlatEntry
    constants : list of Tensor
        Without duplicates.
    """

    def __init__(self, contents: Contents,
                 clusters: Mapping[int, tuple[int, tuple[int, ...]]] | None = None) -> None:
        self.contents = contents
        self._clusters = clusters or {}
        self.programs: list[FlatProgram] = []
        self.constants: list[Tensor] = []
        self._constants: dict[int, int] = {}            # indices, by identity
        self.entries: list[FlatEntry] = [self._entry(x) for x in contents.entries]

    def _constant(self, x: Tensor) -> int:
        if id(x) not in self._constants:
            self._constants[id(x)] = len(self.constants)
            self.constants.append(x)
        return self._constants[id(x)]

    # --- programs ---

    def _program(self, spec: ProgramSpec, is_body: bool = False) -> int:
        bodies = [tuple([self._program(body, True) for body in x.bodies])
                  for x in spec.instructions]
        n_results = len(spec.results) if is_body else sum(
            [x.kind is SlotKind.RESULT for x in spec.results])
        self.programs.append(FlatProgram(
            len(spec.arguments) + len(spec.variables), n_results,
            tuple([self._slot(x, spec) for x in spec.slots]),
            tuple(map(self._instruction, spec.instructions, bodies)), spec.arena_bytes,
            tuple([slot_of(spec, k, x) for k, x in enumerate(spec.results)]) if is_body else None))
        return len(self.programs) - 1

    def _instruction(self, x: InstructionSpec, bodies: tuple[int, ...]) -> FlatInstruction:
        cluster, layout = self._clusters.get(id(x), (0, ()))
        return flat_instruction(x, bodies)._replace(cluster=cluster, layout=layout)

    def _slot(self, x: SlotSpec, spec: ProgramSpec) -> FlatSlot:
        constant = self._constant(spec.constants[x.number]) if x.kind is SlotKind.CONSTANT else None
        return FlatSlot(x.kind, x.dtype, x.shape, x.offset, x.number, constant, x.last_use)

    # --- entries ---

    def _entry(self, entry: Entry) -> FlatEntry:
        positions = {x: i for i, x in enumerate(entry.arguments)}
        cached = None
        if entry.spec.cached is not None:
            cached = self._described(entry.spec.cached, f"{entry.name}, cached values", 0,
                                   entry.spec.cached.results, None, {})
        return self._described(entry.spec, entry.name, len(entry.arguments), entry.returns, cached,
                               positions)

    def _described(self, spec: ProgramSpec, name: str, n_in: int, returns: Sequence[ResultSpec],
                   cached: FlatEntry | None, positions: Mapping[CallArgument, int]) -> FlatEntry:
        sources = [self._source(x, positions) for x in spec.arguments]
        sources += [FlatSource("WRITTEN" if x.written else "VARIABLE",
                               self.contents.place(x.variable)) for x in spec.variables]
        return FlatEntry(name, self._program(spec), n_in, tuple(sources),
                         tuple([self._return(x, spec) for x in returns]), cached)

    def _source(self, argument: ArgumentSpec, positions: Mapping[CallArgument, int]) -> FlatSource:
        source = argument.source
        if isinstance(source, Argument):
            return FlatSource("CALL", positions[CallArgument(source.leaf, argument.dtype)])
        if isinstance(source, Computed) and source.formula.steps[0][0] == "argument":
            leaf = source.formula.steps[0][1]
            return FlatSource("CALL", positions[CallArgument(leaf, argument.dtype)])
        if isinstance(source, Feed):
            return FlatSource("KEY", self.contents.place(generator_of(source)))
        if isinstance(source, CachedParameter):
            return FlatSource("CACHED", source.place)
        return FlatSource("CONSTANT", constant=self._constant(source.make(())))

    def _return(self, result: ResultSpec, spec: ProgramSpec) -> FlatReturn:
        size = result.dtype.itemsize
        for d in result.shape:
            size *= d or 0
        constant = (self._constant(spec.constants[result.number])
                    if result.kind is SlotKind.CONSTANT else None)
        return FlatReturn(result.kind, result.number, size, constant)


def flat_instruction(x: InstructionSpec, bodies: tuple[int, ...]) -> FlatInstruction:
    """Return an instruction with the given program indices of its bodies."""
    attrs: list[Attribute] = []
    applied = applied_op(x)
    for k, (key, value) in enumerate({} if x.attrs is None else x.attrs.as_dict().items()):
        attrs.append(tile_words(value) if key == CODE else
                     applied if applied is not None and k == 0 else value)
    return FlatInstruction(x.op, x.inputs, x.outputs, tuple(attrs), bodies,
                           -1 if x.workspace is None else x.workspace, x.dynamic, x.poll, x.wave,
                           float(x.cost_ns))


def tile_words(numbers: Sequence[int]) -> tuple[int | Op, ...]:
    """Return tile code with ops in place of their numbers."""
    code = disassemble(numbers)
    words: list[int | Op] = [code.row_length, len(code.steps)]
    for step in code.steps:
        words += [step.op, step.space, len(step.operands), *step.operands, len(step.words),
                  *step.words]
    return (*words, len(code.outputs), *code.outputs)


def tile_code(x: InstructionSpec) -> Sequence[Step]:
    """Return the steps of an instruction's tile code, or () if it has none."""
    code = x.attrs.as_dict().get(CODE) if x.attrs is not None else None
    return disassemble(code).steps if code is not None else ()


def applied_op(x: InstructionSpec) -> Op | None:
    """Return the op that an instruction applies with attributes computed at run time, or None."""
    if not x.op.wraps_op or x.attrs is None:
        return None
    index = x.attrs.values[0]
    assert isinstance(index, int)
    return ALL_OPS[index]


def ops_of(spec: ProgramSpec) -> set[Op]:
    """Return all ops that a program uses, except in its bodies."""
    found = {x.op for x in spec.instructions}
    for x in spec.instructions:
        applied = applied_op(x)
        found |= {step.op for step in tile_code(x)} | ({applied} if applied else set())
    return found


def slot_of(spec: ProgramSpec, k: int, result: ResultSpec) -> int:
    """Return the slot that holds result `k` of a body, or -1."""
    if result.kind is SlotKind.DYNAMIC:
        return result.number
    number = k if result.kind is SlotKind.RESULT else result.number
    for j, slot in enumerate(spec.slots):
        if (slot.kind is result.kind and slot.number == number and slot.offset == 0
                and slot.shape == result.shape and slot.dtype is result.dtype):
            return j
    return -1
