"""Maps the steps of a cluster to vector formulas of csrc by parsing its sources: op records name
tile functions, and the macros that define tile functions name the formulas."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from dualflow._core import Op
from dualflow.aot.runtime import read, sources
from dualflow.dtypes import ALL, DType

HEADERS = "ops/strip.h", "ops/elementwise/cast_formulas.h"  # included first by generated code
ROW_CHUNK = 16384               # elements: the library reduces longer rows in chunks
EXPENSIVE = 2.0                 # ns per element: inlining such long formulas gains nothing

# Suffixes of names in C by dtype: of vector functions, and of casts.
CAST_TAGS = {d.name: "boolean" if d.is_bool else d.short_name.lower() for d in ALL}
TAGS = {d.name: "u8" if d.is_bool else "u16" if d.is_reduced_float else d.short_name.lower()
        for d in ALL}
TESTS = frozenset({"TEST", "COMPARE"})          # forms that return masks
HALVES = frozenset([d.name for d in ALL if d.is_reduced_float])

_FLOATS = tuple([d.name for d in ALL if d.is_floating])
_INTS = tuple([d.name for d in ALL if d.is_integer])
_GROUPS = {"FLOATS": _FLOATS, "INTS": _INTS, "NUMBERS": _FLOATS + _INTS, "BOOLS": ("bool",)}
_RECORD = re.compile(r"^DF_OP\((\w+)\) = \{(.*?)\};", re.M | re.S)
_TABLE = re.compile(r"\b(FLOATS|INTS|NUMBERS|BOOLS)\((\w+)\)")
_ENTRY = re.compile(r"\b(?:DF_OF\((B?F\d+), |\[DF_(F32)\] = )(\w+)_tile_\w+")
_FORM = re.compile(r"^TILE_(UNARY|BINARY|TERNARY|QUATERNARY|UNARY_WITH|BINARY_WITH|UNARY_EITHER|"
                   r"BINARY_EITHER|CHOICE|TEST|COMPARE)\(([\w, ]+)\)", re.M)
_FAMILY = re.compile(r'^#define TEMPLATE "(ops/\w+/\w+_formulas\.h)"\n(?:#include "[^"]+"\n)+'
                     r"#undef TEMPLATE\n|^#define DTYPE \w+\n#include "
                     r"\"(ops/\w+/\w+_formulas\.h)\"\n"
                     r"#undef DTYPE\n", re.M)
_REDUCING = re.compile(r"^DF_OP\((\w+)\) = \{REDUCTION_OP\((\w+)\)", re.M)
_REDUCTION = re.compile(r"^static const reduction (\w+) = \{\.first = \{(?:FOLDED_FLOATS|REDUCERS|"
                        r"SIGNLESS_REDUCERS)\((\w+)\)\}(.*?)\};", re.M | re.S)
_REDUCER = re.compile(r"^REDUCER\((\w+), (\w+|FN\(\w+\)\(\)), (\w+), (\w+)\)", re.M)
_FINISH = re.compile(r"\bFINISH\((\w+)\)")
_ENTRY_DTYPES = {d.short_name: d.name for d in ALL if d.is_floating}


class Formula(NamedTuple):
    """A formula on vectors.

    Attributes
    ----------
    name : str
        The name in C, without the suffix of the dtype.
    tag : str
        The suffix of the dtype.
    form : str
        Its operands and result, as the name of the macro that defines tile functions.
    wide : bool
        Whether 16-bit floats are widened to float32 for it.
    """

    name: str
    tag: str
    form: str
    wide: bool


class Reduction(NamedTuple):
    """The reduction of rows of floats by an op.

    Attributes
    ----------
    tag : str
        The suffix of the dtype in which it is computed.
    wide : bool
        Whether 16-bit floats are widened for it.
    identity, map, combine : str
        The functions in C, without the suffix.
    finish : str
        The function applied to the result of a row at the end, or "".
    """

    tag: str
    wide: bool
    identity: str
    map: str
    combine: str
    finish: str


@cache
def families() -> tuple[str, ...]:
    """Return the lines that include the formulas of each family that has vector formulas."""
    return tuple([found[0] for path in sources("ops") for found in _FAMILY.finditer(read(path))
                  if _FORM.search(header := read(found[1] or found[2]))
                  or _REDUCER.search(header)])


@cache
def forms() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return, by name of a tile function, its form and its formulas."""
    headers = {name: None for text in families() for name in re.findall(r'"(ops/\w+/\w+_\w+\.h)"',
                                                                        text)
               if name.endswith("_formulas.h")}
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for header in headers:
        for form, inside in _FORM.findall(read(header)):
            name, *others = inside.split(", ")
            found[name] = form, tuple(others) or (name,)
    return found


@cache
def tiles() -> dict[tuple[str, str], str]:
    """Return, by op and dtype of its key operand, the name of its tile function without suffix."""
    found: dict[tuple[str, str], str] = {}
    for path in sources("ops"):
        for op, inside in _RECORD.findall(read(path)):
            for group, name in _TABLE.findall(inside):
                found.update({(op, dtype): name for dtype in _GROUPS[group]})
            for other, f32, name in _ENTRY.findall(inside):
                found[op, _ENTRY_DTYPES[other or f32]] = name
    return found


def formula_of(op: Op, key: DType, words: tuple[int, ...]) -> Formula | None:
    """Return the formula of an elementwise op for the dtype of its key operand, or None if the
    library's tile function is to be called."""
    name = tiles().get((op.name, key.name))
    if name is None or name not in forms():
        return None
    form, names = forms()[name]
    if op.cost >= EXPENSIVE and form not in TESTS:
        return None
    if form.endswith("EITHER"):
        names = (names[0] if words[0] else names[1],)
        form = form.removesuffix("_EITHER")
    half = key.name in HALVES
    if form == "CHOICE" and half:
        return Formula(names[0], "i16", form, False)
    return Formula(names[0], "f32" if half else TAGS[key.name], form, half)


@cache
def reductions() -> dict[str, tuple[str, str, str, str]]:
    """Return, by op, the identity, map, combination and finish of its reduction of floats."""
    text = read("ops/reduction/reduce.c")
    found = _REDUCER.findall(read("ops/reduction/reduce_formulas.h"))
    reducers = {name: rest for name, *rest in found}
    made = {}
    for name, reducer, rest in _REDUCTION.findall(text):
        finish = _FINISH.search(rest)
        identity, mapped, combine = reducers[reducer]
        made[name] = identity, mapped, combine, f"{finish[1]}_finish" if finish else ""
    return {op: made[name] for op, name in _REDUCING.findall(text) if name in made}


def reduction_of(op: Op, dtype: DType, row_length: int) -> Reduction | None:
    """Return an op's reduction of rows, or None if the library's function is to be called."""
    if op.name not in reductions() or dtype.name not in _FLOATS or row_length > ROW_CHUNK:
        return None
    wide = dtype.name in HALVES
    tag = "f32" if wide else TAGS[dtype.name]
    identity, *functions = reductions()[op.name]
    identity = re.sub(r"FN\((\w+)\)", rf"\1_{tag}", identity)
    return Reduction(tag, wide, identity, *functions)
