"""Programs as C: constant tables of csrc/model/model.h, with ops by name."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from dualflow._core import Op, Tensor, memory_of
from dualflow.aot.flat import Attribute, Flat, FlatEntry, FlatProgram, Word
from dualflow.aot.names import text_literal
from dualflow.dtypes import ALL, DType

DTYPES = {dtype.index: dtype for dtype in ALL}
LOWEST = -2**63
BUILT = [("baseline", "DF_WITHOUT_BASELINE"), ("neon", "DF_HAVE_NEON"), ("avx2", "DF_HAVE_AVX2"),
         ("avx512", "DF_HAVE_AVX512")]
# Declares the functions of compiled clusters at the SIMD levels that are built.
CLUSTERS = "".join([
    *[f"#if{'n' * (level == 'baseline')}def {built}\n"
      f"extern const df_compiled_fn df_clusters_{level}[];\n#endif\n" for level, built in BUILT],
    "static const df_model_clusters clusters[] = {\n",
    *[f"#if{'n' * (level == 'baseline')}def {built}\n"
      f'    {{"{level}", df_clusters_{level}}},\n#endif\n' for level, built in BUILT],
    "    {NULL, NULL}};\n"])


def dtype_code(dtype: DType) -> str:
    """Return the enumerator of a dtype: ``DF_F32``."""
    return f"DF_{dtype.short_name}"


def short(dtype: DType) -> str:
    """Return the short name of a dtype: ``F32``."""
    return dtype.short_name


def integer(n: int) -> str:
    """Return a C literal of a 64-bit integer."""
    return "INT64_MIN" if n == LOWEST else str(int(n))


def number(x: float) -> str:
    """Return an exact C literal of a double.

    >>> number(0.1), number(float("-inf"))
    ('0x1.999999999999ap-4', '-INFINITY')
    """
    if math.isfinite(x):
        return x.hex()
    return "NAN" if math.isnan(x) else "INFINITY" if x > 0 else "-INFINITY"


def flag(x: bool) -> str:
    """Return ``true`` or ``false``."""
    return str(x).lower()


def array(kind: str, name: str, items: Iterable[str]) -> str:
    """Return a constant array; an array without items gets one dummy item."""
    inside = textwrap.fill(", ".join(items) or "0", 98, initial_indent="    ",
                           subsequent_indent="    ", break_long_words=False,
                           break_on_hyphens=False)
    return f"static const {kind} {name}[] = {{\n{inside}}};\n"


def rows(kind: str, name: str, items: Sequence[str]) -> str:
    """Return a constant array of structures, one per line."""
    inside = ",\n    ".join(items) or "{0}"
    return f"static const {kind} {name}[] = {{\n    {inside}}};\n"


def memory(name: str, data: Any) -> str:
    """Return bytes as an aligned array of little-endian 64-bit integers, which compilers parse
    fastest."""
    raw = bytes(data)
    raw += bytes(-len(raw) % 8)
    words = [f"0x{int.from_bytes(raw[k:k + 8], 'little'):x}" for k in range(0, len(raw), 8)]
    return array("_Alignas(64) uint64_t", name, words)


def word(x: Word) -> str:
    """Return an integer literal, or the enumerator of an op."""
    return f"OP_{x.name}" if isinstance(x, Op) else integer(int(x))


def constant_name(k: int | None) -> str:
    """Return the name of a constant's memory, or NULL."""
    return "NULL" if k is None else f"constant_{k}"


def tables(flat: Flat, variables: Sequence[tuple[str, Tensor]], level: str) -> str:
    """Return the text of all tables; the last one is named `tables`.

    Parameters
    ----------
    flat : Flat
    variables : sequence of (str, Tensor)
        Names, and values for their dtypes and shapes.
    level : str
        The SIMD level for which the programs were planned.
    """
    text = [memory(constant_name(k), memory_of(x)) for k, x in enumerate(flat.constants)]
    for k, program in enumerate(flat.programs):
        text += _program(program, f"program_{k}")
    described = []
    for k, (name, x) in enumerate(variables):
        text.append(array("int64_t", f"shape_{k}", map(str, x.shape)))
        described.append(f"{{{text_literal(name)}, {dtype_code(x.dtype)}, {x.ndim}, shape_{k}}}")
    text.append(rows("df_model_variable", "variables", described))
    clusters = "NULL"
    if any([x.cluster for program in flat.programs for x in program.instructions]):
        clusters = "clusters"
        text.append(CLUSTERS)
    entries = []
    for k, entry in enumerate(flat.entries):
        cached = "NULL"
        if entry.cached is not None:
            cached = f"&entry_{k}_cached"
            made = _entry(entry.cached, f"entry_{k}_cached", "NULL", text)
            text.append(f"static const df_model_entry {cached[1:]} = {made};\n")
        entries.append(_entry(entry, f"entry_{k}", cached, text))
    text += [rows("df_model_entry", "entries", entries),
             f"static const df_model_tables tables = {{{len(variables)}, {len(entries)}, "
             f"variables, entries, {text_literal(level)}, {clusters}}};\n"]
    return "".join(text)


def _program(p: FlatProgram, name: str) -> list[str]:
    returned = "NULL"
    text = []
    if p.returned is not None:
        returned = f"{name}_returned"
        text.append(array("int", returned, map(str, p.returned)))
    return [*_slots(p, name), *_instructions(p, name), *text,
            f"static const df_model_program {name} = {{\n    {len(p.slots)}, "
            f"{len(p.instructions)}, {p.n_args}, {p.n_results}, {name}_slots, {name}_code, "
            f"{p.arena_bytes}, {returned}}};\n"]


def _slots(p: FlatProgram, name: str) -> list[str]:
    dims: list[str] = []
    slots = []
    for x in p.slots:
        slots.append(f"{{DF_SLOT_{x.kind.name}, {dtype_code(x.dtype)}, {len(x.shape)}, "
                     f"{name}_dims + {len(dims)}, {x.offset}, {x.number}, "
                     f"{constant_name(x.constant)}, {x.last_use}}}")
        dims += ["-1" if d is None else str(d) for d in x.shape]
    return [array("int64_t", f"{name}_dims", dims), rows("df_slot", f"{name}_slots", slots)]


def _instructions(p: FlatProgram, name: str) -> list[str]:
    operands: list[str] = []
    attrs: list[str] = []
    lists: list[str] = []
    text, code = [], []
    for k, x in enumerate(p.instructions):
        inside = "NULL"
        if x.bodies:
            inside = f"{name}_bodies_{k}"
            text.append(array("df_model_program *const", inside,
                              [f"&program_{body}" for body in x.bodies]))
        layout = "NULL"
        if x.cluster:
            layout = f"{name}_layout_{k}"
            text.append(array("int64_t", layout, map(str, x.layout)))
        code.append(f"{{{word(x.op)}, {len(x.inputs)}, {len(x.outputs)}, {len(x.attrs)}, "
                    f"{len(x.bodies)}, {name}_operands + {len(operands)}, "
                    f"{name}_attrs + {len(attrs)}, {inside}, {x.workspace}, {flag(x.dynamic)}, "
                    f"{flag(x.poll)}, {x.wave}, {number(x.cost)}, "
                    f"{x.cluster}, {len(x.layout)}, {layout}}}")
        operands += map(str, [*x.inputs, *x.outputs])
        attrs += [_attribute(value, f"{name}_lists", lists) for value in x.attrs]
    text.append(array("int", f"{name}_operands", operands))
    if lists:
        text.append(array("int64_t", f"{name}_lists", lists))
    return [*text, rows("df_attr", f"{name}_attrs", attrs or ["{.i = 0}"]),
            rows("df_model_instruction", f"{name}_code", code)]


def _attribute(value: Attribute, name: str, lists: list[str]) -> str:
    if isinstance(value, tuple):
        where = f"{name} + {len(lists)}" if value else "NULL"
        lists += map(word, value)
        return f"{{.list = {{{where}, {len(value)}}}}}"
    return f"{{.f = {number(value)}}}" if isinstance(value, float) else f"{{.i = {word(value)}}}"


def _entry(entry: FlatEntry, name: str, cached: str, text: list[str]) -> str:
    """Return the initialiser of an entry; append the tables that it references to `text`."""
    sources = [f"{{DF_FROM_{x.origin}, {x.number}, {constant_name(x.constant)}, 0}}"
               for x in entry.sources]
    returns = [f"{{DF_SLOT_{x.kind.name}, {x.number}, {x.bytes}, {constant_name(x.constant)}}}"
               for x in entry.returns]
    text += [rows("df_model_source", f"{name}_sources", sources or ["{DF_FROM_CALL, 0, NULL, 0}"]),
             rows("df_model_return", f"{name}_returns",
                  returns or ["{DF_SLOT_RESULT, 0, 0, NULL}"])]
    return (f"{{{text_literal(entry.name)}, &program_{entry.program}, {entry.n_in}, "
            f"{len(entry.returns)}, {name}_sources, {name}_returns, {cached}}}")
