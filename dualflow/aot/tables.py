"""Programs as C: constant tables of csrc/model/model.h, in which ops have names."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from dualflow._core import Op, Tensor, memory_of
from dualflow.aot.runtime import multiplies
from dualflow.dtypes import DType, as_dtype
from dualflow.graph.ir.tile_code import Step, disassemble
from dualflow.graph.ir.tile_text import CODE
from dualflow.graph.program.spec import InstructionSpec, ProgramSpec, ResultSpec, SlotKind

C_DTYPES = {"bool": "DF_BOOL", "uint8": "DF_U8", "uint16": "DF_U16", "uint32": "DF_U32",
            "uint64": "DF_U64", "int8": "DF_I8", "int16": "DF_I16", "int32": "DF_I32",
            "int64": "DF_I64", "float16": "DF_F16", "bfloat16": "DF_BF16", "float32": "DF_F32",
            "float64": "DF_F64"}
DTYPES = {as_dtype(name).index: as_dtype(name) for name in C_DTYPES}
BY_INDEX = "index"        # the attribute by which an op names another
LOWEST = -2**63


def dtype_code(dtype: DType) -> str:
    """``DF_F32``"""
    return C_DTYPES[dtype.name]


def short(dtype: DType) -> str:
    """``F32``"""
    return dtype_code(dtype).removeprefix("DF_")


def integer(n: int) -> str:
    """An integer of 64 bits as C reads it."""
    return "INT64_MIN" if n == LOWEST else str(n)


def number(x: float) -> str:
    """A double with all its bits.

    >>> number(0.1), number(float("-inf"))
    ('0x1.999999999999ap-4', '-INFINITY')
    """
    if math.isfinite(x):
        return x.hex()
    return "NAN" if math.isnan(x) else "INFINITY" if x > 0 else "-INFINITY"


def array(kind: str, name: str, items: Iterable[str]) -> str:
    """A constant array of at least one item; those there are begin where it does."""
    inside = textwrap.fill(", ".join(items) or "0", 98, initial_indent="    ",
                           subsequent_indent="    ", break_long_words=False,
                           break_on_hyphens=False)
    return f"static const {kind} {name}[] = {{\n{inside}}};\n"


def memory(name: str, data: Any) -> str:
    """Bytes as an aligned array of 64-bit numbers, which compilers read fastest; the lowest byte
    of each first."""
    raw = bytes(data)
    raw += bytes(-len(raw) % 8)
    words = [f"0x{int.from_bytes(raw[k:k + 8], 'little'):x}" for k in range(0, len(raw), 8)]
    return array("_Alignas(64) uint64_t", name, words)


def op_name(op: Op) -> str:
    """The enumerator of an op."""
    return f"OP_{op.name}"


def tile_words(numbers: Sequence[int]) -> list[str]:
    """Tile code with the names of ops in the place of their numbers."""
    code = disassemble(numbers)
    words = [integer(code.row_length), str(len(code.steps))]
    for step in code.steps:
        words += [op_name(step.op), str(step.space), str(len(step.operands)),
                  *map(str, step.operands), str(len(step.words)), *map(integer, step.words)]
    return [*words, str(len(code.outputs)), *map(str, code.outputs)]


def tile_code(x: InstructionSpec) -> Sequence[Step]:
    """The steps of the tile code of an instruction, if it has some."""
    code = x.attrs.as_dict().get(CODE) if x.attrs is not None else None
    return disassemble(code).steps if code is not None else ()


def applied_op(instruction: InstructionSpec, all_ops: Sequence[Op]) -> Op | None:
    """The op that an instruction applies with attributes computed in a run, or None."""
    op = instruction.op
    if BY_INDEX not in op.attrs or "encoded" not in op.attrs or instruction.attrs is None:
        return None
    return all_ops[instruction.attrs.as_dict()[BY_INDEX]]


class Tables:
    """The text of tables, in the order in which they are made.

    Parameters
    ----------
    all_ops : sequence of Op
        By number.

    Attributes
    ----------
    text : list of str
    ops, dtypes, of_products : set of str
        Those that were met: names of ops, dtypes (``"F32"``), and those of which matrices are
        multiplied.
    """

    def __init__(self, all_ops: Sequence[Op]) -> None:
        self.all_ops = all_ops
        self.text: list[str] = []
        self.ops: set[str] = set()
        self.dtypes: set[str] = set()
        self.of_products: set[str] = set()
        self._constants: dict[int, tuple[Tensor, str]] = {}     # by identity

    def constant(self, x: Tensor) -> str:
        """The name of the memory of a constant."""
        known = self._constants.get(id(x))
        if known is None:
            known = self._constants[id(x)] = x, f"constant_{len(self._constants)}"
            self.text.append(memory(known[1], memory_of(x)))
        return known[1]

    def add_ops(self, ops: Iterable[Op]) -> None:
        self.ops |= {op.name for op in ops}

    def program(self, spec: ProgramSpec, name: str, is_body: bool = False) -> str:
        """Writes a program, its bodies first; returns its name."""
        bodies = [[self.program(body, f"{name}_{k}_{b}", True)
                   for b, body in enumerate(x.bodies)] for k, x in enumerate(spec.instructions)]
        for k, names in enumerate(bodies):
            if names:
                self.text.append(array("df_model_program *const", f"{name}_bodies_{k}",
                                       [f"&{x}" for x in names]))
        self._slots(spec, name)
        self._instructions(spec, name, bodies)
        returned = "NULL"
        if is_body:
            returned = f"{name}_returned"
            self.text.append(array("int", returned, [str(slot_of(spec, k, x))
                                                     for k, x in enumerate(spec.results)]))
        n_results = len(spec.results) if is_body else sum(
            [x.kind is SlotKind.RESULT for x in spec.results])
        self.text.append(
            f"static const df_model_program {name} = {{\n    {len(spec.slots)}, "
            f"{len(spec.instructions)}, {len(spec.arguments) + len(spec.variables)}, {n_results}, "
            f"{name}_slots, {name}_code, {spec.arena_bytes}, {returned}}};\n")
        return name

    def _slots(self, spec: ProgramSpec, name: str) -> None:
        dims: list[str] = []
        slots = []
        for x in spec.slots:
            data = "NULL"
            if x.kind is SlotKind.CONSTANT:
                data = self.constant(spec.constants[x.number])
            slots.append(f"{{DF_SLOT_{x.kind.name}, {dtype_code(x.dtype)}, {len(x.shape)}, "
                         f"{name}_dims + {len(dims)}, {x.offset}, {x.number}, {data}, "
                         f"{x.last_use}}}")
            dims += ["-1" if d is None else str(d) for d in x.shape]
        self.text.append(array("int64_t", f"{name}_dims", dims))
        self.text.append(rows("df_slot", f"{name}_slots", slots))

    def _instructions(self, spec: ProgramSpec, name: str, bodies: list[list[str]]) -> None:
        operands: list[str] = []
        attrs: list[str] = []
        lists: list[str] = []
        code = []
        for k, x in enumerate(spec.instructions):
            self._note(spec, x)
            inside = f"{name}_bodies_{k}" if bodies[k] else "NULL"
            space = -1 if x.workspace is None else x.workspace
            given = self._attrs(x, name, lists)
            code.append(f"{{{op_name(x.op)}, {len(x.inputs)}, {len(x.outputs)}, {len(given)}, "
                        f"{len(bodies[k])}, {name}_operands + {len(operands)}, "
                        f"{name}_attrs + {len(attrs)}, {inside}, {space}, "
                        f"{str(x.dynamic).lower()}, {x.wave}, {number(float(x.cost_ns))}}}")
            operands += map(str, [*x.inputs, *x.outputs])
            attrs += given
        self.text.append(array("int", f"{name}_operands", operands))
        if lists:
            self.text.append(array("int64_t", f"{name}_lists", lists))
        self.text.append(rows("df_attr", f"{name}_attrs", attrs or ["{.i = 0}"]))
        self.text.append(rows("df_model_instruction", f"{name}_code", code))

    def _note(self, spec: ProgramSpec, x: InstructionSpec) -> None:
        """Notes what an instruction wants of the runtime."""
        applied = applied_op(x, self.all_ops)
        # An op that writes variables has kernels of their dtype; the rest are coefficients.
        inputs = [k for i, k in enumerate(x.inputs) if not x.op.writes or x.op.writes >> i & 1]
        self.dtypes |= {short(spec.slots[k].dtype) for k in (*inputs, *x.outputs)}
        for op in [x.op] if applied is None else [x.op, applied]:
            self.add_ops([op])
            if multiplies(op.name):
                self.of_products |= {short(spec.slots[k].dtype) for k in x.inputs}
        for step in tile_code(x):
            self.add_ops([step.op])
            self.dtypes |= {short(DTYPES[word]) for word, kind in zip(
                step.words, step.op.attr_types, strict=False) if kind == "dtype"}

    def _attrs(self, x: InstructionSpec, name: str, lists: list[str]) -> list[str]:
        if x.attrs is None:
            return []
        applied = applied_op(x, self.all_ops)
        found = []
        for (key, value), kind in zip(x.attrs.as_dict().items(), x.op.attr_types, strict=True):
            if kind == "ints":
                items = tile_words(value) if key == CODE else list(map(integer, value))
                where = f"{name}_lists + {len(lists)}" if items else "NULL"
                found.append(f"{{.list = {{{where}, {len(items)}}}}}")
                lists += items
            elif kind == "float":
                found.append(f"{{.f = {number(value)}}}")
            elif applied is not None and key == BY_INDEX:
                found.append(f"{{.i = {op_name(applied)}}}")
            else:
                found.append(f"{{.i = {integer(value)}}}")
        return found


def rows(kind: str, name: str, items: Sequence[str]) -> str:
    """A constant array of structures, a line each."""
    inside = ",\n    ".join(items) or "{0}"
    return f"static const {kind} {name}[] = {{\n    {inside}}};\n"


def slot_of(spec: ProgramSpec, k: int, result: ResultSpec) -> int:
    """The slot that is result `k` of a body."""
    if result.kind is SlotKind.DYNAMIC:
        return result.number
    number = k if result.kind is SlotKind.RESULT else result.number
    for j, slot in enumerate(spec.slots):
        if (slot.kind is result.kind and slot.number == number and slot.offset == 0
                and slot.shape == result.shape and slot.dtype is result.dtype):
            return j
    return -1
