"""`ProgramSpec`: a program as a value, the only input of running, saving and exporting it.

It consists of tuples, numbers, dtypes and op handles. The parts that cannot be serialised directly
are the tensors of constants, the variables, and the Python functions that a run calls (from a
`Feed`, or by the numbers in `host_call` and `host_compute`). Offsets are in bytes. A specification
must not refer to a graph.
"""

from __future__ import annotations

from dualflow._core import Attrs, Op, Tensor, Variable
from dualflow._util.cached import cached_property
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import DType
from dualflow.graph import ir
from dualflow.graph.ir import Line
from dualflow.graph.passes.values import same_tensor
from dualflow.graph.trace.computed import Computed
from dualflow.graph.trace.parameters import Argument, CachedParameter, Feed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

Shape = tuple[int | None, ...]
Source: TypeAlias = Argument | Computed | Feed | CachedParameter
SHOWN = 4                 # largest constant that is printed, in elements


class SlotKind(int):
    """The owner of the memory of a tensor: df_slot_kind of csrc/exec/program.h.

    `SLOT_KINDS` has the instances, in the order of C. Not an `enum`, whose import takes longer than
    the compilation of a small program."""

    ARENA: SlotKind
    CONSTANT: SlotKind
    ARG: SlotKind
    RESULT: SlotKind
    DYNAMIC: SlotKind

    @property
    def name(self) -> str:
        return tuple(SlotKind.__annotations__)[self]

    def __repr__(self) -> str:
        return f"SlotKind.{self.name}"


SLOT_KINDS = tuple(map(SlotKind, range(len(SlotKind.__annotations__))))
for _kind in SLOT_KINDS:
    setattr(SlotKind, _kind.name, _kind)


class SlotSpec(NamedTuple):
    """A tensor that instructions read or write.

    Attributes
    ----------
    kind : SlotKind
    dtype : DType
    shape : tuple of int or None
        None: known only at run time, for a dynamic slot or an argument.
    number : int
        Number of the constant, argument or result that holds the tensor.
    offset : int
        Offset in the arena, the argument or the result.
    last_use : int
        Of a dynamic slot: the instruction after which it is freed. A slot with the number of
        instructions is returned.
    """

    kind: SlotKind
    dtype: DType
    shape: Shape
    number: int = 0
    offset: int = 0
    last_use: int = 0

    def __str__(self) -> str:
        if self.kind is SlotKind.DYNAMIC:
            return f"{ir.type_text(self)} allocated when it runs, until {self.last_use}"
        where = place_text(self.kind, self.number)
        at = f" at {self.offset}" if self.offset or self.kind is SlotKind.ARENA else ""
        return f"{ir.type_text(self)} in {where}{at}"


class InstructionSpec(NamedTuple):
    """One call of a kernel.

    Attributes
    ----------
    op : Op
    inputs, outputs : tuple of int
        Slots. Written inputs (`op.writes`) have no outputs.
    attrs : Attrs or None
    workspace : int or None
        Offset of the scratch memory of the op in the arena.
    dynamic : bool
        Whether outputs are inferred and allocated when the instruction runs.
    poll : bool
        Whether the program polls the caller for interrupts before the instruction.
    wave : int
        The instructions of a wave are consecutive and may run in parallel; 0: none.
    cost_ns : float
        Estimated time.
    name : str
    line : Line or None
        The user's line.
    bodies : tuple of ProgramSpec
        Programs that the instruction runs, with an argument for each of its inputs and a result for
        each of its outputs.
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
        attrs = ir.attrs_text(self.op, self.attrs, len(self.inputs))
        inside = ", ".join([part for part in (reads, attrs) if part])
        text = f"{made + ' = ' if made else ''}{self.op.name}({inside})"
        if self.workspace is not None:
            text += f" with workspace at {self.workspace}"
        if self.wave:
            text += f" in wave {self.wave}"
        return f"{text}    # {self.line}" if self.line else text


class ArgumentSpec(NamedTuple):
    """An argument tensor of a run.

    Attributes
    ----------
    source : Argument, Computed, Feed or CachedParameter
        A leaf of the call's arguments, a number computed from them, the result of a Python
        function, or a cached value: a result of the program `cached`.
    dtype : DType
    shape : tuple of int or None
    name : str
    """

    source: Source
    dtype: DType
    shape: Shape
    name: str = ""


class VariableSpec:
    """A variable that the program reads or writes; variables compare by identity."""

    def __init__(self, variable: Variable, written: bool) -> None:
        self.variable, self.written = variable, written

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, VariableSpec) and self.variable is other.variable
                and self.written == other.written)


class ResultSpec(NamedTuple):
    """A result tensor of a run.

    Attributes
    ----------
    kind : SlotKind
        RESULT: new memory; ARG: an argument, not copied; CONSTANT; DYNAMIC: a slot.
    number : int
        Number of the result, argument, constant or slot.
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
        return f"{where} {ir.type_text(self)}"


class ProgramSpec:
    """A program. Specifications are equal if all parts are, variables by identity.

    Attributes
    ----------
    name : str
        Name of the function.
    slots : tuple of SlotSpec
    instructions : tuple of InstructionSpec
        In execution order.
    arguments : tuple of ArgumentSpec
    variables : tuple of VariableSpec
        Arguments of a run that follow the others.
    constants : tuple of Tensor
    results : tuple of ResultSpec
    arena_bytes : int
    cached : ProgramSpec or None
        The program of the values that are cached between runs. Its arguments are variables that
        this program does not write.
    """

    def __init__(self, name: str, slots: tuple[SlotSpec, ...],
                 instructions: tuple[InstructionSpec, ...], arguments: tuple[ArgumentSpec, ...],
                 variables: tuple[VariableSpec, ...], constants: tuple[Tensor, ...],
                 results: tuple[ResultSpec, ...], arena_bytes: int,
                 cached: ProgramSpec | None = None) -> None:
        self.name, self.slots, self.instructions = name, slots, instructions
        self.arguments, self.variables, self.constants = arguments, variables, constants
        self.results, self.arena_bytes, self.cached = results, arena_bytes, cached

    def with_constants(self, constants: tuple[Tensor, ...]) -> ProgramSpec:
        """Return this program with other constants."""
        return ProgramSpec(self.name, self.slots, self.instructions, self.arguments,
                           self.variables, constants, self.results, self.arena_bytes, self.cached)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProgramSpec):
            return NotImplemented
        return (_without_constants(self) == _without_constants(other)
                and len(self.constants) == len(other.constants)
                and all(map(same_tensor, self.constants, other.constants)))

    @cached_property
    def all_instructions(self) -> tuple[InstructionSpec, ...]:
        """All instructions, then those of bodies, in the numbering of csrc/exec/program.h."""
        bodies = [body for x in self.instructions for body in x.bodies]
        return (*self.instructions, *[x for body in bodies for x in body.all_instructions])

    @cached_property
    def all_places(self) -> tuple[str, ...]:
        """For each of `all_instructions`, the name of the program or body that contains it."""
        bodies = [body for x in self.instructions for body in x.bodies]
        return (*[self.name] * len(self.instructions),
                *[f"{place} of {self.name}" for body in bodies for place in body.all_places])

    def text(self, lines: bool = True) -> str:
        """Return the program as text, a line for each part; `lines`: with the user's lines."""
        given = [f"argument {k}: {x.name}, {ir.type_text(x)}, {_source_text(x.source)}"
                 for k, x in enumerate(self.arguments)]
        given += [f"argument {k}: variable {x.variable.name}, {ir.type_text(x.variable)}"
                  + ", written" * x.written
                  for k, x in enumerate(self.variables, len(self.arguments))]
        given += [f"constant {k}: {x.tolist() if x.size <= SHOWN else '...'}, {ir.type_text(x)}"
                  for k, x in enumerate(self.constants)]
        slots = [f"%{k}: {slot}" for k, slot in enumerate(self.slots)]
        run = []
        for k, x in enumerate(self.instructions):
            run.append(f"{k}: {x if lines else x._replace(line=None)}")
            run += ["    " + body.text(lines).replace("\n", "\n    ") for body in x.bodies]
        returned = "return " + ", ".join(map(str, self.results))
        text = "\n  ".join([f"program {self.name}, arena of {self.arena_bytes} bytes:", *given,
                            *slots, *run, returned.rstrip()])
        return text if self.cached is None else f"{text}\n{self.cached.text(lines)}"

    def __str__(self) -> str:
        return self.text()


def _without_constants(spec: ProgramSpec) -> tuple[object, ...]:
    return (spec.name, spec.slots, spec.instructions, spec.arguments, spec.variables, spec.results,
            spec.arena_bytes, spec.cached)


def _source_text(source: Source) -> str:
    return f"leaf {source.leaf}" if isinstance(source, Argument) else repr(source)


def place_text(kind: SlotKind, number: int) -> str:
    """Return the text of a location, such as `argument 0`, `result 1`, `arena`."""
    if kind is SlotKind.ARENA or kind is SlotKind.DYNAMIC:
        return kind.name.lower()
    return f"{'argument' if kind is SlotKind.ARG else kind.name.lower()} {number}"
