"""The model's own C: model.h, what a program includes, and model.c, tables and a function for each
entry."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dualflow._core import get_op, isa, ops
from dualflow.aot.contents import Contents
from dualflow.aot.entry import Entry, Value, generator_of
from dualflow.aot.tables import Tables, dtype_code, rows
from dualflow.dtypes import DType
from dualflow.graph.ir import type_text
from dualflow.graph.program.spec import ArgumentSpec, ProgramSpec, ResultSpec, SlotKind
from dualflow.graph.trace.parameters import Argument, Feed, Kept

C_TYPES = {"bool": "bool", "float32": "float", "float64": "double", "float16": "uint16_t",
           "bfloat16": "uint16_t"}
GLUE = "\0"               # a space at which no line ends

HEADER = """\
/* {title}
 *
 * Tensors are dense, row by row, in memory that is aligned as C wants it for their type; inputs and
 * outputs do not overlap. float16 and bfloat16 are their bits. What returns an int returns 0 or,
 * where it failed, something else, and model_error says why. A model is used by one thread at a
 * time. */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct model model;

/* A model whose variables have no values yet; NULL: no memory. */
model *model_new(void);
void model_free(model *m);
/* Of the last call that failed. */
const char *model_error(const model *m);

/* All variables from, or to, a file in the safetensors format. A load that fails changes nothing;
 * a file appears as a whole. */
int model_load(model *m, const char *path);
int model_save(model *m, const char *path);
/* One variable from, or to, memory of as many bytes as it has:
{variables} */
int model_set(model *m, const char *name, const void *value, size_t bytes);
int model_get(model *m, const char *name, void *value, size_t bytes);
{entries}
#ifdef __cplusplus
}}
#endif

#endif
"""

SOURCE = """\
/* Tables of programs, which the runtime runs, and the functions of model.h. */
#include "model.h"

#include "model/model.h"

#include <math.h>

enum {{
#define OP(name) OP_##name,
#include "op/ops.def"
#undef OP
    N_OPS
}};

{tables}
/* A model is the runtime's; only pointers to it exist here. */
model *model_new(void) {{ return (model *)df_model_new(&tables); }}
void model_free(model *m) {{ df_model_free((df_model *)m); }}
const char *model_error(const model *m) {{ return df_model_error((const df_model *)m); }}
int model_load(model *m, const char *path) {{ return df_model_load((df_model *)m, path); }}
int model_save(model *m, const char *path) {{ return df_model_save((df_model *)m, path); }}

int model_set(model *m, const char *name, const void *value, size_t bytes)
{{
    return df_model_set((df_model *)m, name, value, bytes);
}}

int model_get(model *m, const char *name, void *value, size_t bytes)
{{
    return df_model_get((df_model *)m, name, value, bytes);
}}
{entries}"""


def c_type(dtype: DType) -> str:
    """``float``, ``int32_t``"""
    return C_TYPES.get(dtype.name, f"{dtype.name}_t")


def text_literal(text: str) -> str:
    """A text as C reads it.

    >>> text_literal('a"é')
    '"a\\\\"\\\\303\\\\251"'
    """
    return '"' + "".join([chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}"
                          for b in text.encode()]).replace('\\042', '\\"') + '"'


def in_comment(text: str) -> str:
    """A text that does not end a comment."""
    return text.replace("*/", "*_/")


def prototype(entry: Entry) -> str:
    """The head of the function of an entry."""
    given = [f"const {c_type(x.dtype)} *{x.name}" for x in entry.inputs]
    made = [f"{c_type(x.dtype)} *{x.name}" for x in entry.outputs]
    head = f"int model_{entry.name}("
    words = ", ".join([x.replace(" ", GLUE) for x in ("model *model", *given, *made)])
    return textwrap.fill(f"{words})", 98, initial_indent=head,
                         subsequent_indent=" " * min(len(head), 40), break_long_words=False,
                         break_on_hyphens=False).replace(GLUE, " ")


def _listed(values: Sequence[Value], what: str) -> list[str]:
    return [f" * {what} {x.name}: {type_text(x)}" + (f", {x.path}" if x.path != x.name else "")
            for x in values]


def header(contents: Contents, title: str) -> str:
    """The text of model.h."""
    variables = [f" * {x.name}: {type_text(x.value)}" for x in contents.variables]
    entries = []
    for entry in contents.entries:
        about = "\n".join([entry.spec.name, *_listed(entry.inputs, "input"),
                           *_listed(entry.outputs, "output")])
        entries.append(f"\n/* {in_comment(about)} */\n{prototype(entry)};\n")
    return HEADER.format(title=in_comment(title), entries="".join(entries),
                         variables=in_comment("\n".join(variables) or " * there are none"))


class Source:
    """Writes model.c.

    Attributes
    ----------
    text : str
    tables : Tables
        Which know what it uses.
    """

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.tables: Tables = Tables([get_op(name) for name in ops()])
        self._variables()
        entries = [self._entry(k, x) for k, x in enumerate(contents.entries)]
        self.tables.text.append(rows("df_model_entry", "entries", entries))
        self.tables.text.append(
            f"static const df_model_tables tables = {{{len(contents.variables)}, {len(entries)}, "
            f"variables, entries, {text_literal(isa())}}};\n")
        functions = "".join([self._function(k, x) for k, x in enumerate(contents.entries)])
        self.text: str = SOURCE.format(tables="".join(self.tables.text), entries=functions)

    def _variables(self) -> None:
        items = []
        for k, x in enumerate(self.contents.variables):
            shape = ", ".join(map(str, x.value.shape)) or "0"
            self.tables.text.append(f"static const int64_t shape_{k}[] = {{{shape}}};\n")
            items.append(f"{{{text_literal(x.name)}, {dtype_code(x.value.dtype)}, "
                         f"{x.value.ndim}, shape_{k}}}")
        self.tables.text.append(rows("df_model_variable", "variables", items or [
            "{NULL, DF_BOOL, 0, NULL}"]))

    def _entry(self, k: int, entry: Entry) -> str:
        spec, name = entry.spec, f"program_{k}"
        kept = "NULL"
        self.tables.program(spec, name)
        if spec.kept is not None:
            kept = f"&{name}_keeps"
            self.tables.program(spec.kept, f"{name}_kept")
            made = self._described(spec.kept, f"{name}_kept", f"{entry.name}, what it keeps", 0,
                                   spec.kept.results, "NULL", {})
            self.tables.text.append(f"static const df_model_entry {name}_keeps = {made};\n")
        places = {leaf: i for i, leaf in enumerate(entry.leaves)}
        return self._described(spec, name, entry.name, len(entry.inputs), entry.returns, kept,
                               places)

    def _described(self, spec: ProgramSpec, name: str, title: str, n_in: int,
                   returns: Sequence[ResultSpec], kept: str, places: dict[int, int]) -> str:
        """The initialiser of an entry."""
        sources = [self._source(x, f"{name}_number_{i}", places)
                   for i, x in enumerate(spec.arguments)]
        sources += [f"{{DF_FROM_{'WRITTEN' if x.written else 'VARIABLE'}, "
                    f"{self.contents.place(x.variable)}, NULL}}" for x in spec.variables]
        returned = [self._return(spec, x) for x in returns]
        self.tables.text.append(rows("df_model_source", f"{name}_sources", sources or [
            "{DF_FROM_CALL, 0, NULL}"]))
        self.tables.text.append(rows("df_model_return", f"{name}_returns", returned or [
            "{DF_SLOT_RESULT, 0, 0, NULL}"]))
        return (f"{{{text_literal(title)}, &{name}, {n_in}, {len(returns)}, {name}_sources, "
                f"{name}_returns, {kept}}}")

    def _source(self, argument: ArgumentSpec, name: str, places: dict[int, int]) -> str:
        source = argument.source
        if isinstance(source, Argument):
            return f"{{DF_FROM_CALL, {places[source.leaf]}, NULL}}"
        if isinstance(source, Feed):
            return f"{{DF_FROM_KEY, {self.contents.place(generator_of(source))}, NULL}}"
        if isinstance(source, Kept):
            return f"{{DF_FROM_KEPT, {source.place}, NULL}}"
        return f"{{DF_FROM_CONSTANT, 0, {self.tables.constant(source.make(()))}}}"

    def _return(self, spec: ProgramSpec, result: ResultSpec) -> str:
        size = result.dtype.itemsize
        for d in result.shape:
            size *= d or 0
        data = "NULL"
        if result.kind is SlotKind.CONSTANT:
            data = self.tables.constant(spec.constants[result.number])
        return f"{{DF_SLOT_{result.kind.name}, {result.number}, {size}, {data}}}"

    def _function(self, k: int, entry: Entry) -> str:
        given = ", ".join([x.name for x in entry.inputs]) or "NULL"
        made = ", ".join([x.name for x in entry.outputs]) or "NULL"
        return (f"\n{prototype(entry)}\n{{\n"
                f"    const void *const inputs_[] = {{{given}}};\n"
                f"    void *const outputs_[] = {{{made}}};\n"
                f"    return df_model_run((df_model *)model, {k}, inputs_, outputs_);\n}}\n")
