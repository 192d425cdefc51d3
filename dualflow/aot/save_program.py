"""`dualflow.save_program`: one function as a file that runs without Python. docs/program_files.md
specifies the format; csrc/file reads it."""

from __future__ import annotations

import os
import struct
from typing import BinaryIO

from dualflow._core import Op, Tensor, current_graph, isa, memory_of
from dualflow.aot.contents import Contents
from dualflow.aot.entry import Value, make_entry
from dualflow.aot.flat import (
    ORIGINS,
    Attribute,
    Flat,
    FlatEntry,
    FlatInstruction,
    FlatProgram,
    FlatReturn,
    FlatSlot,
    FlatSource,
)
from dualflow.aot.structures import structure_of
from dualflow.aot.weights import weights
from dualflow.dtypes import DType
from dualflow.errors import InvalidArgumentError
from dualflow.graph.calls.concrete import ConcreteFunction
from dualflow.graph.program.spec import Shape
from dualflow.io.files import write_atomically

__all__ = ["save_program"]

MAGIC, ORDER, VERSION = b"dualflow", 0x01020304, 1
HEADER = struct.Struct("<8sIIQQ10Q")
ALIGNMENT = 64


def save_program(function: ConcreteFunction, file: str | os.PathLike[str]) -> None:
    """Write a function, including its weights, as one file that Python and C can load.

    Parameters
    ----------
    function : ConcreteFunction
        A trace from `get_concrete_function`. Its arguments are tensors of fixed shapes, and Python
        values that are constants of the trace.
    file : str or path
        An existing file is replaced once the new one is complete.

    Raises
    ------
    UnimplementedError
        If the function calls Python when it runs, if the size of a result depends on data, or if
        arguments or results contain containers other than lists, tuples and dicts.
    InvalidArgumentError
        If it is not a concrete function, or an argument is not a tensor of fixed shape.
    OSError
        If the file cannot be written; an existing file is unchanged.

    Notes
    -----
    A result is a tensor, a number, a string, None or a variable. For a variable, the loaded program
    returns its own variable.

    Ops are stored by name and version, so that later dualflow releases with these versions can read
    the file. It holds a program with fixed sizes and a memory plan, not a graph: for a function
    that is to be traced, differentiated or called with other sizes, use `save`.

    Examples
    --------
    >>> import dualflow as df, os, tempfile
    >>> w = df.Variable([1.0, 2.0], name="w")
    >>> @df.function
    ... def scale(x):
    ...     return {"scaled": w * x}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "scale.df")
    ...     df.save_program(scale.get_concrete_function(df.constant([3.0, 4.0])), file)
    ...     f = df.load_program(file)
    >>> f(df.constant([5.0, 6.0]))["scaled"].tolist(), f.variables[0].name
    ([5.0, 12.0], 'w')
    """
    if current_graph() is not None:
        raise InvalidArgumentError("save_program: a traced function cannot save; save between its "
                                   "calls")
    data = program_bytes(function)

    def write(to: BinaryIO) -> None:
        for part in data:
            to.write(part)

    write_atomically(os.fspath(file), write)


def program_bytes(function: ConcreteFunction) -> list[bytes]:
    """Return the parts of the file."""
    name = getattr(function, "name", "f")
    entry = make_entry("program", function, f"save_program: {name}")
    contents = Contents([entry])
    flat = Flat(contents)
    constants, places = laid_out(flat.constants)
    words = Words(contents, flat, function.name, places)
    sections = [b"".join([text.encode() + b"\0" for text in words.strings]),
                struct.pack(f"<{len(words.words)}q", *words.words), constants,
                structure_of(function, contents),
                weights({x.name: x.value for x in contents.variables})]
    return with_header(sections)


def with_header(sections: list[bytes]) -> list[bytes]:
    """Return the parts of a file with the given sections, each aligned."""
    parts, at, table = [b""], HEADER.size, []
    for data in sections:
        padding = -at % ALIGNMENT
        parts += [bytes(padding), data]
        table += [at + padding, len(data)]
        at += padding + len(data)
    parts[0] = HEADER.pack(MAGIC, ORDER, VERSION, at, 0, *table)
    return parts


def laid_out(constants: list[Tensor]) -> tuple[bytes, list[int]]:
    """Return the bytes of all constants, each aligned, and the offset of each."""
    parts, places, at = [], [], 0
    for x in constants:
        data = bytes(memory_of(x))
        padding = -len(data) % ALIGNMENT
        parts += [data, bytes(padding)]
        places.append(at)
        at += len(data) + padding
    return b"".join(parts), places


class Words:
    """Programs and their entry as 64-bit integers.

    Attributes
    ----------
    words : list of int
    strings : list of str
        The strings to which words refer by index.
    """

    def __init__(self, contents: Contents, flat: Flat, name: str, places: list[int]) -> None:
        self.places = places
        self.constants = flat.constants
        self._strings: dict[str, int] = {}
        self._ops: dict[Op, int] = {}
        entry, = contents.entries
        after: list[int] = [len(contents.variables)]
        for x in contents.variables:
            after += self._described(x.name, x.value.dtype, x.value.shape)
        after.append(len(flat.programs))
        for program in flat.programs:
            after += self._program(program)
        after += self._entry(flat.entries[0], name, entry.inputs, entry.outputs)
        self.words: list[int] = [self._string(isa()), len(self._ops)]
        for op in self._ops:
            self.words += [self._string(op.name), op.version]
        self.words += after
        self.strings: list[str] = list(self._strings)

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text.replace("\0", ""), len(self._strings))

    def _described(self, name: str, dtype: DType, shape: Shape) -> list[int]:
        return [self._string(name), dtype.index, *dims(shape)]

    def _constant(self, k: int | None) -> list[int]:
        return [] if k is None else [self.places[k]]

    # --- programs ---

    def _program(self, x: FlatProgram) -> list[int]:
        words = [x.n_args, x.n_results, int(x.returned is not None), x.arena_bytes, len(x.slots)]
        for slot in x.slots:
            words += self._slot(slot)
        words.append(len(x.instructions))
        for instruction in x.instructions:
            words += self._instruction(instruction)
        return [*words, *(x.returned or ())]

    def _slot(self, x: FlatSlot) -> list[int]:
        where = [x.offset] if x.constant is None else self._constant(x.constant)
        return [x.kind, x.dtype.index, *dims(x.shape), x.number, x.last_use, *where]

    def _instruction(self, x: FlatInstruction) -> list[int]:
        words = [self._op(x.op), len(x.inputs), len(x.outputs), *x.inputs, *x.outputs, len(x.attrs)]
        for value in x.attrs:
            words += self._attribute(value)
        return [*words, len(x.bodies), *x.bodies, x.workspace, int(x.dynamic), int(x.poll), x.wave,
                bits(x.cost)]

    def _attribute(self, value: Attribute) -> list[int]:
        if isinstance(value, tuple):
            return [len(value), *[self._op(x) if isinstance(x, Op) else x for x in value]]
        if isinstance(value, Op):
            return [self._op(value)]
        return [bits(value) if isinstance(value, float) else value]

    def _op(self, op: Op) -> int:
        return self._ops.setdefault(op, len(self._ops))

    # --- the entry ---

    def _entry(self, x: FlatEntry, name: str, inputs: tuple[Value, ...],
               outputs: tuple[Value, ...]) -> list[int]:
        words = [self._string(name), x.program, len(inputs)]
        for value in inputs:
            words += self._described(value.path, value.dtype, value.shape)
        for source in x.sources:
            words += self._source(source)
        words.append(len(outputs))
        for value in outputs:
            words += self._described(value.path, value.dtype, value.shape)
        for returned in x.returns:
            words += self._return(returned)
        if x.cached is None:
            return [*words, 0]
        words += [1, x.cached.program]
        for source in x.cached.sources:
            words += self._source(source)
        words.append(len(x.cached.returns))
        for returned in x.cached.returns:
            words += self._return(returned)
        return words

    def _source(self, x: FlatSource) -> list[int]:
        size = [] if x.constant is None else [len(memory_of(self.constants[x.constant]))]
        return [ORIGINS.index(x.origin), x.number, *size, *self._constant(x.constant)]

    def _return(self, x: FlatReturn) -> list[int]:
        return [x.kind, x.number, x.bytes, *self._constant(x.constant)]


def dims(shape: Shape) -> list[int]:
    """Return rank and dimensions; -1 for an unknown dimension."""
    return [len(shape), *[-1 if d is None else d for d in shape]]


def bits(x: float) -> int:
    """Return the bits of a double as an integer."""
    found: int = struct.unpack("<q", struct.pack("<d", x))[0]
    return found

