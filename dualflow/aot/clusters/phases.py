"""Schedules the steps of a cluster as phases, loops over a tile and calls between them, and assigns
values to slots (csrc/fuse/cluster.h, `layout`). `source.py` writes the phases as C."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from dualflow._core import get_op, result_dtype
from dualflow.aot.clusters.formulas import (
    REDUCED_FLOATS,
    Formula,
    Reduction,
    formula_of,
    reduction_of,
)
from dualflow.aot.tables import DTYPES
from dualflow.dtypes import DType, as_dtype
from dualflow.graph.ir.tile_code import FOLD, FULL, ROW, Code, Step

CAST = get_op("cast")
BOOL = as_dtype("bool")
CHEAP = 0.2             # ns per element, the minimal cost of an op
SHORT_ROW = 64          # elements: the values of shorter rows are repeated before they are read,
#                         and the library reduces shorter rows, many at once
WIDE = 4                # bytes: 16-bit floats are computed in float32


class Kind(Enum):
    """How an input is broadcast to the iteration shape."""

    DENSE = "dense"     # has the iteration shape; read in place
    FULL = "full"       # any other broadcast: the executor copies it to a tile
    ROW = "row"         # one element for each row
    COLUMN = "column"   # a single row, repeated for all rows
    ONE = "one"         # a single element


class Input(NamedTuple):
    dtype: DType
    kind: Kind


class Load(NamedTuple):
    """An input as it is read in a space; `fixed`: the address does not depend on the tile, as for
    a single element or a single row."""

    input: int
    space: int
    fixed: bool


# The result of a step, or ("repeated", v): a value of rows that a call has repeated along the rows.
Result = int | tuple[str, int]
Read = Load | Result


class Phase:
    """A loop over the elements (FULL) or the rows (ROW) of a tile, or a call.

    Attributes
    ----------
    space : int
    steps : list of int
        The steps of a loop, or the single step of a call.
    width : int
        Bytes of the widest value in a loop.
    reduced : int or None
        Bytes of the values that a loop reduces: none is wider, so that they determine the strips.
    calls : bool
    repeats : int or None
        The value of rows that a call repeats along the rows.
    """

    def __init__(self, space: int, calls: bool = False, repeats: int | None = None) -> None:
        self.space = space
        self.calls = calls
        self.repeats = repeats
        self.steps: list[int] = []
        self.width = 0
        self.reduced: int | None = None

    def takes(self, width: int, reduces: bool) -> bool:
        """Return True if a loop may hold a step whose widest value has `width` bytes."""
        if reduces:
            return self.width <= width and self.reduced in (None, width)
        return self.reduced is None or width <= self.reduced

    def add(self, k: int, width: int, reduces: bool) -> None:
        self.steps.append(k)
        self.width = max(self.width, width)
        if reduces:
            self.reduced = width


class Plan:
    """
    Parameters
    ----------
    code : Code
    inputs : sequence of Input

    Attributes
    ----------
    phases : list of Phase
    formulas : list of Formula, Reduction or None
        By step; None if the step is a cast or a call.
    dtypes : list of DType
        By value.
    loads : dict of Load to int
        The slot of each load.
    """

    def __init__(self, code: Code, inputs: Sequence[Input]) -> None:
        self.code = code
        self.inputs = inputs
        self.n_in = len(inputs)
        self.short: bool = code.row_length < SHORT_ROW
        self.dtypes: list[DType] = [x.dtype for x in inputs]
        self.formulas: list[Formula | Reduction | None] = []
        self.phases: list[Phase] = []
        self.phase_of: dict[int, int] = {}              # by value
        self.expanded: dict[int, int] = {}              # phase that repeats a value of rows
        self.loads: dict[Load, int] = {}
        self.last: dict[Read, int] = {}     # last phase that reads it
        for k, step in enumerate(code.steps):
            self._take(k, step)
        self._place()

    # --- phases ---

    def _take(self, k: int, step: Step) -> None:
        reduces = step.op.kind == "reduction"
        key = self.dtypes[step.operands[0 if reduces else step.op.key]]
        formula: Formula | Reduction | None = None
        if not reduces:
            formula = formula_of(step.op, key, step.words)
        elif step.space == ROW and not self.short:
            formula = reduction_of(step.op, key, self.code.row_length)
        tests = isinstance(formula, Formula) and formula.form == "mask"
        casts = step.op is CAST
        made = (DTYPES[step.words[0]] if casts else BOOL if tests else
                key if reduces or formula is not None else result_dtype(step.op, key))
        casts = casts and not (key.is_complex or made.is_complex)
        self.dtypes.append(made)
        self.formulas.append(formula)
        if step.space != FOLD:
            looping = formula is not None or casts
            space = FULL if reduces else step.space
            at = self._phase(k, space, looping)
            for v in step.operands:
                self._read(v, at, looping)
            self.phases[at].add(k, self._width(k), reduces and looping)
            self.phase_of[self.n_in + k] = at

    def _width(self, k: int) -> int:
        """Return the bytes of a step's widest operand or result, as computed."""
        values = [self.dtypes[v] for v in (*self.code.steps[k].operands, self.n_in + k)]
        return max([WIDE if x.name in REDUCED_FLOATS else x.itemsize for x in values])

    def _phase(self, k: int, space: int, looping: bool) -> int:
        """Return the first phase that may hold a step; append one if there is none."""
        step, width, earliest = self.code.steps[k], self._width(k), 0
        reduces = isinstance(self.formulas[k], Reduction)
        for v in step.operands:
            if self._expands(v, space, looping):
                earliest = max(earliest, self._expand(v) + 1)
            elif v >= self.n_in:
                at = self.phase_of[v]
                same = (looping and not self.phases[at].calls and self.phases[at].space == space
                        and not isinstance(self.formulas[v - self.n_in], Reduction))
                earliest = max(earliest, at if same else at + 1)
        if looping:
            for at in range(earliest, len(self.phases)):
                phase = self.phases[at]
                if not phase.calls and phase.space == space and phase.takes(width, reduces):
                    return at
        self.phases.append(Phase(space, calls=not looping))
        return len(self.phases) - 1

    def _is_row(self, v: int) -> bool:
        """Return True if a step's result has one element for each row."""
        return v >= self.n_in and self.code.steps[v - self.n_in].space == ROW

    def _expands(self, v: int, space: int, looping: bool) -> bool:
        return space == FULL and self._is_row(v) and (self.short or not looping)

    def _expand(self, v: int) -> int:
        """Return the phase that repeats a value of rows along the rows."""
        if v not in self.expanded:
            self.phases.append(Phase(ROW, calls=True, repeats=v))
            self.expanded[v] = len(self.phases) - 1
            self.last[v] = max(self.last.get(v, 0), self.expanded[v])
        return self.expanded[v]

    def _read(self, v: int, at: int, looping: bool) -> None:
        """Record that a phase reads a value. A value that is as cheap to compute as to load is
        recomputed instead."""
        phase = self.phases[at]
        k = v - self.n_in
        if looping and k in phase.steps:
            return
        if looping and phase.space == FULL and v >= self.n_in and self._is_cheap(k) \
                and phase.takes(self._width(k), False):
            for x in self.code.steps[k].operands:
                self._read(x, at, True)
            phase.add(k, self._width(k), False)
            return
        read = self.source(v, phase.space, looping)
        self.last[read] = max(self.last.get(read, 0), at)

    def _is_cheap(self, k: int) -> bool:
        """Return True if a result in FULL space is a cheap op of only inputs and row values."""
        step = self.code.steps[k]
        return (step.space == FULL and self.formulas[k] is not None and step.op.cost <= CHEAP
                and all([v < self.n_in or (self._is_row(v) and not self.short)
                         for v in step.operands]))

    def source(self, v: int, space: int, looping: bool) -> Read:
        """Return what a phase reads for a value: a load, a step's result, or its repetition."""
        if v < self.n_in:
            kind = self.inputs[v].kind
            if looping and kind is Kind.ROW and space == FULL and not self.short:
                return Load(v, ROW, False)
            column = kind is Kind.COLUMN and space == FULL and not self.short
            return Load(v, space, looping and (kind is Kind.ONE or column))
        return ("repeated", v) if self._expands(v, space, looping) else v

    # --- slots ---

    def _place(self) -> None:
        """Assign slots to loads, outputs and registers."""
        end = len(self.phases)
        folded = [step.operands[0] for step in self.code.steps if step.space == FOLD]
        for v in folded:
            read = self.source(v, FULL, False)
            self.last[read] = end
        for read in self.last:
            if isinstance(read, Load):
                self.loads[read] = len(self.loads)
        self.output_of: dict[int, int] = {}
        for k, v in enumerate(self.code.outputs):
            self.output_of.setdefault(v, k)
        self.registers: list[tuple[int, int]] = []      # space, bytes
        self._free: list[tuple[int, int]] = []          # register, last phase in which it is used
        self.slots: dict[Result, int] = {}
        first = len(self.loads) + len(self.code.outputs)
        latest = max([self.last[x] for x in self.loads if not x.fixed], default=-1)
        outputs = [(0, -1)] * len(self.code.outputs)
        made: list[tuple[int, Result]] = [(at, v) for v, at in self.phase_of.items()]
        made += [(at, ("repeated", v)) for v, at in self.expanded.items()]
        for at, x in sorted(made, key=lambda item: item[0]):
            value = x if isinstance(x, int) else x[1]
            space = self.code.steps[value - self.n_in].space if isinstance(x, int) else FULL
            shape = space, self.dtypes[value].itemsize
            last = self.last.get(x, -1)
            if isinstance(x, int) and x in self.output_of:
                keep = self._register(shape, at, end) if latest > at else -1
                self.slots[x] = len(self.loads) + self.output_of[x]
                outputs[self.output_of[x]] = at, keep
            elif last > at or self.phases[at].calls:
                self.slots[x] = first + self._register(shape, at, max(last, at), value in folded)
        self.outputs = outputs
        self.folds: list[int] = [self.slot(v, FULL, False) for v in folded]
        self.calls: list[int] = [k for phase in self.phases if phase.calls for k in phase.steps]

    def _register(self, shape: tuple[int, int], at: int, last: int, alone: bool = False) -> int:
        """Return a register that is free from phase `at` to `last`; `alone`: it is not reused."""
        for k, (number, until) in enumerate(self._free):
            if not alone and until < at and self.registers[number] == shape:
                self._free[k] = number, last
                return number
        self.registers.append(shape)
        if not alone:
            self._free.append((len(self.registers) - 1, last))
        return len(self.registers) - 1

    def slot(self, v: int, space: int, looping: bool) -> int:
        """Return the slot from which a phase reads a value."""
        read = self.source(v, space, looping)
        return self.loads[read] if isinstance(read, Load) else self.slots[read]

    @property
    def layout(self) -> list[int]:
        """The layout of the slots, in the executor's format."""
        loads = [n for x in self.loads for n in (x.input, x.space, int(x.fixed), self.last[x])]
        return [len(self.loads), *loads,
                len(self.registers), *[n for x in self.registers for n in x],
                len(self.outputs), *[n for x in self.outputs for n in x],
                len(self.folds), *self.folds, len(self.calls), *self.calls]
