"""The generated C of a model: model.h, the header for users, and model.c, with tables and a
function for each entry. Names of files and functions have the prefix `model` or another one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dualflow._core import isa
from dualflow.aot.clusters.exported import Clusters
from dualflow.aot.contents import Contents
from dualflow.aot.entry import Entry, Value
from dualflow.aot.flat import Flat
from dualflow.aot.tables import tables
from dualflow.dtypes import ALL, DType
from dualflow.graph.ir import type_text

C_TYPES = {"bool": "bool", "float32": "float", "float64": "double",
           "complex64": "float", "complex128": "double",    # pairs
           **{d.name: "uint16_t" for d in ALL if d.is_reduced_float}}
MODEL = "model"           # the first argument of entries; a name that no other argument has
GLUE = "\0"               # a space at which lines do not break

HEADER = """\
/* {title}
 *
 * Tensors are dense, in row-major order, in memory with C's alignment for their type; inputs and
 * outputs must not overlap. 16-bit floats are passed as their bits, and complex numbers as two
 * numbers, the real part first. Functions that return an int return 0 on success; on failure,
 * {prefix}_error describes the error. A model may be used by one thread at a time. */
#ifndef {guard}_H
#define {guard}_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {prefix} {prefix};

/* Returns a model whose variables have no values yet, or NULL if out of memory. */
{prefix} *{prefix}_new(void);
void {prefix}_free({prefix} *m);
/* Returns the message of the last call that failed. */
const char *{prefix}_error(const {prefix} *m);

/* Reads or writes all variables in a file in the safetensors format. If a load fails, no variable
 * changes; a file is written atomically. */
int {prefix}_load({prefix} *m, const char *path);
int {prefix}_save({prefix} *m, const char *path);
/* Copies one variable from or to memory of exactly its size. The variables are:
{variables} */
int {prefix}_set({prefix} *m, const char *name, const void *value, size_t bytes);
int {prefix}_get({prefix} *m, const char *name, void *value, size_t bytes);

/* Stops one run before its next instruction or loop iteration: the current run or, if there is
 * none, the next one. That run fails with an error that begins with "stopped"; variables it has
 * written keep their new values. May be called from other threads and signal handlers. */
void {prefix}_stop({prefix} *m);
{entries}
#ifdef __cplusplus
}}
#endif

#endif
"""

SOURCE = """\
/* Tables of the programs, which the runtime executes, and the functions of {prefix}.h. */
#include "{prefix}.h"

#include "runtime.h"

#include <math.h>

{ops}

{tables}
/* The runtime defines the model; this file handles only pointers to it. */
{prefix} *{prefix}_new(void) {{ return ({prefix} *)df_model_new(&tables); }}
void {prefix}_free({prefix} *m) {{ df_model_free((df_model *)m); }}
const char *{prefix}_error(const {prefix} *m) {{ return df_model_error((const df_model *)m); }}
int {prefix}_load({prefix} *m, const char *path) {{ return df_model_load((df_model *)m, path); }}
int {prefix}_save({prefix} *m, const char *path) {{ return df_model_save((df_model *)m, path); }}
void {prefix}_stop({prefix} *m) {{ df_model_stop((df_model *)m); }}

int {prefix}_set({prefix} *m, const char *name, const void *value, size_t bytes)
{{
    return df_model_set((df_model *)m, name, value, bytes);
}}

int {prefix}_get({prefix} *m, const char *name, void *value, size_t bytes)
{{
    return df_model_get((df_model *)m, name, value, bytes);
}}
{entries}"""


def c_type(dtype: DType) -> str:
    """Return the C type of a dtype: ``float``, ``int32_t``; of complex numbers, that of a part."""
    return C_TYPES.get(dtype.name, f"{dtype.name}_t")


def in_comment(text: str) -> str:
    """Return a text that cannot end a C comment."""
    return text.replace("*/", "*_/")


def prototype(entry: Entry, prefix: str) -> str:
    """Return the prototype of the function of an entry, without the semicolon."""
    given = [f"{c_type(x.dtype)} {x.name}" if x.number else f"const {c_type(x.dtype)} *{x.name}"
             for x in entry.inputs]
    made = [f"{c_type(x.dtype)} *{x.name}" for x in entry.outputs]
    head = f"int {prefix}_{entry.name}("
    words = ", ".join([x.replace(" ", GLUE) for x in (f"{prefix} *{MODEL}", *given, *made)])
    return textwrap.fill(f"{words})", 98, initial_indent=head,
                         subsequent_indent=" " * min(len(head), 40), break_long_words=False,
                         break_on_hyphens=False).replace(GLUE, " ")


def _listed(values: Sequence[Value], what: str) -> list[str]:
    return [f" * {what} {x.name}: {type_text(x)}" + (f", {x.path}" if x.path != x.name else "")
            for x in values]


def header(contents: Contents, title: str, prefix: str) -> str:
    """Return the text of model.h."""
    variables = [f" * {x.name}: {type_text(x.value)}" for x in contents.variables]
    entries = []
    for entry in contents.entries:
        about = "\n".join([entry.spec.name, *_listed(entry.inputs, "input"),
                           *_listed(entry.outputs, "output"),
                           *[f" * as it was traced: {place} is {value}"
                             for place, value in entry.state]])
        entries.append(f"\n/* {in_comment(about)} */\n{prototype(entry, prefix)};\n")
    return HEADER.format(title=in_comment(title), prefix=prefix, guard=prefix.upper(),
                         entries="".join(entries),
                         variables=in_comment("\n".join(variables) or " * there are none"))


def source(contents: Contents, ops: Sequence[str], prefix: str, clusters: Clusters) -> str:
    """Return the text of model.c. `ops` are in the order of their numbers."""
    numbers = textwrap.fill(", ".join([*[f"OP_{name}" for name in ops], "N_OPS"]), 98)
    made = tables(Flat(contents, clusters.of), [(x.name, x.value) for x in contents.variables],
                  isa())
    return SOURCE.format(tables=made, prefix=prefix, ops=f"enum {{{numbers}}};", entries="".join(
        [_function(k, x, prefix) for k, x in enumerate(contents.entries)]))


def _function(k: int, entry: Entry, prefix: str) -> str:
    inputs = dict(zip(entry.leaves, entry.inputs, strict=True))
    numbers: list[str] = []
    words: list[str] = []
    for leaf, dtype in entry.arguments:
        x, number = inputs[leaf], f"number_{len(words)}_"
        if x.number:
            numbers.append(f"    const {c_type(dtype)} {number} = ({c_type(dtype)}){x.name};\n")
        words.append(f"&{number}" if x.number else x.name)
    numbers += [f"    (void){x.name};\n" for k, x in inputs.items()
                if k not in [leaf for leaf, _ in entry.arguments]]
    given = ", ".join(words) or "NULL"
    made = ", ".join([x.name for x in entry.outputs]) or "NULL"
    return (f"\n{prototype(entry, prefix)}\n{{\n"
            f"{''.join(numbers)}"
            f"    const void *const inputs_[] = {{{given}}};\n"
            f"    void *const outputs_[] = {{{made}}};\n"
            f"    return df_model_run((df_model *){MODEL}, {k}, inputs_, outputs_);\n}}\n")
