"""What a program is, as a value: the one thing that running, saving and exporting it read.

Made of tuples, numbers, dtypes and handles of ops. The only parts that cannot be written down as
they are: the tensors of constants, the variables, and Python functions that a run calls (those of a
`Feed`, and those that `host_call` and `host_compute` refer to by number). Offsets are bytes. Knows
no graph.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from dualflow._core import Attrs, Op, Tensor, Variable
from dualflow.cached import cached_property
from dualflow.dtypes import DType
from dualflow.graph.ir import Line, attrs_text, type_text
from dualflow.graph.passes.values import same_tensor
from dualflow.graph.trace.parameters import Argument, Feed, Kept
from dualflow.graph.trace.specialize import Computed

Shape = tuple[int | None, ...]
Source = Argument | Computed | Feed | Kept
SHOWN = 4                 # elements of a constant in print


class SlotKind(IntEnum):
    """Whose memory a tensor lies in: df_slot_kind of csrc/exec/program.h."""

    ARENA = 0
    CONSTANT = 1
    ARG = 2
    RESULT = 3
    DYNAMIC = 4


class SlotSpec(NamedTuple):
    """A tensor that instructions read or make.

    Attributes
    ----------
    kind : SlotKind
    dtype : DType
    shape : tuple of int or None
        None: known only at run time, for a dynamic slot or an argument.
    number : int
        Which constant, argument or result it lies in.
    offset : int
        Bytes into the arena, the argument or the result.
    last_use : int
        Of a dynamic slot: the instruction after which it is freed; if that is the number of
        instructions, it is returned.
    """

    kind: SlotKind
    dtype: DType
    shape: Shape
    number: int = 0
    offset: int = 0
    last_use: int = 0

    def __str__(self) -> str:
        if self.kind is SlotKind.DYNAMIC:
            return f"{type_text(self)} allocated when it runs, until {self.last_use}"
        where = place_text(self.kind, self.number)
        at = f" at {self.offset}" if self.offset or self.kind is SlotKind.ARENA else ""
        return f"{type_text(self)} in {where}{at}"


class InstructionSpec(NamedTuple):
    """One call of a kernel.

    Attributes
    ----------
    op : Op
    inputs, outputs : tuple of int
        Slots. Inputs that it writes (`op.writes`) are not among the outputs.
    attrs : Attrs or None
    workspace : int or None
        Scratch memory of the op: bytes into the arena.
    dynamic : bool
        Whether its outputs are inferred and allocated when it runs.
    poll : bool
        Whether the caller is asked, before it runs, whether to continue.
    wave : int
        The instructions of a wave are consecutive and may run side by side; 0: alone.
    cost_ns : float
        Estimated time.
    name : str
    line : Line or None
        Of the user's code.
    bodies : tuple of ProgramSpec
        That the instruction runs as often as its op wants to: an argument for each of its inputs,
        a result for each output.
    """

    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attrs: Attrs | None = None
    workspace: int | None = None
    dynamic: bool = False
    poll: bool = False
    wave: int = 0
    cost_ns: float = 0.0
    name: str = ""
    line: Line | None = None
    bodies: tuple[ProgramSpec, ...] = ()

    def __str__(self) -> str:
        made, reads = [", ".join([f"%{k}" for k in slots]) for slots in (self.outputs, self.inputs)]
        attrs = attrs_text(self.op, self.attrs, len(self.inputs))
        inside = ", ".join([part for part in (reads, attrs) if part])
        text = f"{made + ' = ' if made else ''}{self.op.name}({inside})"
        if self.workspace is not None:
            text += f" with workspace at {self.workspace}"
        if self.wave:
            text += f" in wave {self.wave}"
        return f"{text}    # {self.line}" if self.line else text


class ArgumentSpec(NamedTuple):
    """A tensor that each run is given.

    Attributes
    ----------
    source : Argument, Computed, Feed or Kept
        A leaf of the call's arguments, a number computed from them, what a Python function returns,
        or a result of the program that computes what is kept.
    dtype : DType
    shape : tuple of int or None
    name : str
    """

    source: Source
    dtype: DType
    shape: Shape
    name: str = ""


@dataclass(frozen=True, eq=False)
class VariableSpec:
    """A variable that the program reads or writes; compared by the variable's identity."""

    variable: Variable
    written: bool

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, VariableSpec) and self.variable is other.variable
                and self.written == other.written)


class ResultSpec(NamedTuple):
    """A tensor that each run returns.

    Attributes
    ----------
    kind : SlotKind
        RESULT: fresh memory; ARG: an argument as it came; CONSTANT; DYNAMIC: a slot that is kept.
    number : int
        Which result, argument or constant, or, if dynamic, which slot.
    dtype : DType
    shape : tuple of int or None
    """

    kind: SlotKind
    number: int
    dtype: DType
    shape: Shape

    def __str__(self) -> str:
        where = f"%{self.number}" if self.kind is SlotKind.DYNAMIC else place_text(
            self.kind, self.number)
        return f"{where} {type_text(self)}"


@dataclass(frozen=True, eq=False)
class ProgramSpec:
    """A program. Two are equal if they do the same with the same variables.

    Attributes
    ----------
    name : str
        Of the function.
    slots : tuple of SlotSpec
    instructions : tuple of InstructionSpec
        In the order in which they run.
    arguments : tuple of ArgumentSpec
    variables : tuple of VariableSpec
        They come after the other arguments of a run.
    constants : tuple of Tensor
    results : tuple of ResultSpec
    arena_bytes : int
    kept : ProgramSpec or None
        Computes what is kept between runs. It has no arguments but variables, which are all among
        those that this one does not write.
    """

    name: str
    slots: tuple[SlotSpec, ...]
    instructions: tuple[InstructionSpec, ...]
    arguments: tuple[ArgumentSpec, ...]
    variables: tuple[VariableSpec, ...]
    constants: tuple[Tensor, ...]
    results: tuple[ResultSpec, ...]
    arena_bytes: int
    kept: ProgramSpec | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProgramSpec):
            return NotImplemented
        return (_without_constants(self) == _without_constants(other)
                and len(self.constants) == len(other.constants)
                and all(map(same_tensor, self.constants, other.constants)))

    @cached_property
    def all_instructions(self) -> tuple[InstructionSpec, ...]:
        """Its own, then those of the bodies of each, as csrc/exec/program.h counts them."""
        bodies = [body for x in self.instructions for body in x.bodies]
        return (*self.instructions, *[x for body in bodies for x in body.all_instructions])

    @cached_property
    def all_places(self) -> tuple[str, ...]:
        """What each of `all_instructions` is in: this program, or a body of it."""
        bodies = [body for x in self.instructions for body in x.bodies]
        return (*[self.name] * len(self.instructions),
                *[f"{place} of {self.name}" for body in bodies for place in body.all_places])

    def text(self, lines: bool = True) -> str:
        """The program as people read it, a line for each part; `lines`: with the user's lines."""
        given = [f"argument {k}: {x.name}, {type_text(x)}, {_source_text(x.source)}"
                 for k, x in enumerate(self.arguments)]
        given += [f"argument {k}: variable {x.variable.name}, {type_text(x.variable)}"
                  + ", written" * x.written
                  for k, x in enumerate(self.variables, len(self.arguments))]
        given += [f"constant {k}: {x.tolist() if x.size <= SHOWN else '...'}, {type_text(x)}"
                  for k, x in enumerate(self.constants)]
        slots = [f"%{k}: {slot}" for k, slot in enumerate(self.slots)]
        run = []
        for k, x in enumerate(self.instructions):
            run.append(f"{k}: {x if lines else x._replace(line=None)}")
            run += [textwrap.indent(body.text(lines), "    ") for body in x.bodies]
        returned = "return " + ", ".join(map(str, self.results))
        text = "\n  ".join([f"program {self.name}, arena of {self.arena_bytes} bytes:", *given,
                            *slots, *run, returned.rstrip()])
        return text if self.kept is None else f"{text}\n{self.kept.text(lines)}"

    def __str__(self) -> str:
        return self.text()


def _without_constants(spec: ProgramSpec) -> tuple[object, ...]:
    return (spec.name, spec.slots, spec.instructions, spec.arguments, spec.variables, spec.results,
            spec.arena_bytes, spec.kept)


def _source_text(source: Source) -> str:
    return f"leaf {source.leaf}" if isinstance(source, Argument) else repr(source)


def place_text(kind: SlotKind, number: int) -> str:
    """`argument 0`, `result 1`, `arena`"""
    if kind is SlotKind.ARENA or kind is SlotKind.DYNAMIC:
        return kind.name.lower()
    return f"{'argument' if kind is SlotKind.ARG else kind.name.lower()} {number}"
