"""Generates check.c, which repeats the recorded calls of a model and compares the results."""

from __future__ import annotations

import numpy as np

from dualflow._core import Tensor, memory_of
from dualflow.aot.check_vectors import MAX_DRAWN, Call, Recorded
from dualflow.aot.contents import Contents
from dualflow.aot.model import c_type
from dualflow.aot.names import text_literal
from dualflow.aot.tables import memory
from dualflow.dtypes import DType, as_dtype

FACTOR = 1099511628211    # of the hash; odd, so that each byte changes the result
KEPT_BYTES = 4096         # stored per result; the rest is compared by a hash

PROGRAM = """\
/* Repeats the recorded runs of a model, with the weights next to this program, and compares all
 * results and the final values of the variables. */
#include "{prefix}.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SAME_LEVEL
#define SAME_LEVEL 1 /* 0: built for another SIMD level than the recorded runs */
#endif
#define CLOSE 1e-3 /* tolerance if SAME_LEVEL is 0 */

typedef enum {{ INTEGERS, FLOATS_2, FLOATS_B, FLOATS_4, FLOATS_8 }} kind;

static double largest; /* largest relative difference found */
static long n_different, n_values;

static double number(kind k, const unsigned char *at)
{{
    uint16_t half = 0;
    uint32_t bits;
    float f;
    double d;
    memcpy(&half, at, k == FLOATS_2 || k == FLOATS_B ? 2 : 0);
    if (k == FLOATS_8) {{
        memcpy(&d, at, sizeof d);
        return d;
    }}
    if (k == FLOATS_2) {{
        const int exponent = half >> 10 & 31;
        const double digits = half & 1023;
        d = exponent == 31 ? (digits > 0 ? NAN : INFINITY)
                           : exponent ? ldexp(digits + 1024, exponent - 25) : ldexp(digits, -24);
        return half >> 15 ? -d : d;
    }}
    if (k == FLOATS_B) bits = (uint32_t)half << 16;
    else memcpy(&bits, at, sizeof bits);
    memcpy(&f, &bits, sizeof f);
    return f;
}}

static size_t bytes_of(kind k)
{{
    return k == INTEGERS ? 1 : k == FLOATS_8 ? 8 : k == FLOATS_4 ? 4 : 2;
}}

/* Hash of the values, a polynomial of their bytes; all NaNs have the same hash. */
static uint64_t hash(kind k, const unsigned char *data, size_t n)
{{
    const size_t bytes = bytes_of(k);
    uint64_t h = 1;
    for (size_t i = 0; i < n; i += bytes) {{
        const int is_nan = k != INTEGERS && isnan(number(k, data + i));
        for (size_t b = 0; b < bytes; b++) h = h * {factor}u + (is_nan ? 255 : data[i + b]);
    }}
    return h;
}}

/* Compares n bytes with the recorded ones: n_want leading bytes, and a hash of all bytes. */
static void compare(const char *what, kind k, const void *got, size_t n, const void *want,
                    size_t n_want, uint64_t wanted)
{{
    const unsigned char *a = got, *b = want;
    const size_t bytes = bytes_of(k);
    double worst = 0;
    n_values++;
    if (hash(k, a, n) == wanted) return;
    for (size_t i = 0; i < n_want; i += bytes) {{
        double x = a[i], y = b[i], d;
        if (k != INTEGERS) x = number(k, a + i), y = number(k, b + i);
        if (x == y || (isnan(x) && isnan(y))) continue;
        d = fabs(x - y) / (k == INTEGERS || fabs(y) < 1 ? 1 : fabs(y));
        if (!(d <= worst)) worst = isnan(d) ? INFINITY : d;
    }}
    n_different++;
    if (worst > largest) largest = worst;
    printf("%s: not the recorded bits; largest relative difference %g\\n", what, worst);
}}

static void must({prefix} *m, int status, const char *what)
{{
    if (!status) return;
    printf("%s failed: %s\\n", what, {prefix}_error(m));
    exit(1);
}}

/* Returns n bytes filled by repeating the given ones. */
static void *filled(size_t n, const void *some, size_t n_some)
{{
    unsigned char *data = malloc(n ? n : 1);
    if (!data) {{
        printf("no memory\\n");
        exit(1);
    }}
    for (size_t at = 0; n_some && at < n; at += n_some)
        memcpy(data + at, some, n - at < n_some ? n - at : n_some);
    return data;
}}

{data}
/* Loads the weights from the program's folder, or else from the current one. */
static void load({prefix} *m, const char *program)
{{
    static const char name[] = "weights.safetensors";
    const char *slash = strrchr(program, '/');
    const size_t n = slash ? (size_t)(slash - program) + 1 : 0;
    char *path = filled(n + sizeof name, "", 1);
    memcpy(path, program, n);
    memcpy(path + n, name, sizeof name);
    if ({prefix}_load(m, path)) must(m, {prefix}_load(m, name), name);
    free(path);
}}

int main(int argc, char **argv)
{{
    {prefix} *m = {prefix}_new();
    (void)argc;
    load(m, argv[0]);
{calls}
    {prefix}_free(m);
    if (!n_different) printf("bit-equal: {summary}\\n");
    else if (!SAME_LEVEL && largest <= CLOSE)
        printf("close: %ld of %ld results differ, by at most %g; the recorded runs are of another "
               "SIMD level\\n", n_different, n_values, largest);
    else printf("different: %ld of %ld results, by at most %g\\n", n_different, n_values, largest);
    return n_different && (SAME_LEVEL || largest > CLOSE);
}}
"""

KINDS = {"float16": "FLOATS_2", "bfloat16": "FLOATS_B", "float32": "FLOATS_4",
         "float64": "FLOATS_8", "complex64": "FLOATS_4", "complex128": "FLOATS_8"}


def kind_of(dtype: DType) -> str:
    """Return the enumerator by which check.c reads values of a dtype, or their parts."""
    return KINDS.get(dtype.name, "INTEGERS")


def is_nan(number: bytes, dtype: str) -> bool:
    """Return True if the bytes of a float are a NaN.

    >>> is_nan(bytes([0, 0, 192, 127]), "float32"), is_nan(bytes([0, 0, 128, 127]), "float32")
    (True, False)
    """
    digits = as_dtype(dtype).digits - 1
    bits = int.from_bytes(number, "little") & ((1 << (8 * len(number) - 1)) - 1)
    exponent = ((1 << (8 * len(number) - 1)) - 1) >> digits << digits
    return bits > exponent


def hash_of(data: bytes) -> int:
    """Return the hash of check.c: 1 and the bytes as digits of a number modulo 2 ** 64.

    >>> hash_of(b"") == 1, hash_of(b"a") == FACTOR + 97
    (True, True)
    """
    block, h = 1 << 16, 1
    powers = np.full(min(block, len(data)), FACTOR, np.uint64)
    powers = np.append(np.multiply.accumulate(powers)[::-1], np.uint64(1))
    for at in range(0, len(data), block):
        digits = np.frombuffer(data, np.uint8, min(block, len(data) - at), at)
        sums = int((digits * powers[-len(digits):]).sum(dtype=np.uint64))
        h = (h * int(powers[-len(digits) - 1]) + sums) & 0xffffffffffffffff
    return h


def one_nan(x: Tensor) -> bytes:
    """Return the bytes of a tensor with all NaNs replaced by one pattern."""
    data = bytes(memory_of(x))
    if not x.dtype.is_inexact or bool((x == x).numpy().all()):
        return data
    part = x.dtype.real_dtype
    n = part.itemsize
    return b"".join([b"\xff" * n if is_nan(data[k:k + n], part.name) else data[k:k + n]
                     for k in range(0, len(data), n)])


class Check:
    """Writes check.c."""

    def __init__(self, contents: Contents, recorded: Recorded, prefix: str) -> None:
        self.contents = contents
        self.prefix = prefix
        self.data: list[str] = []
        self.lines: list[str] = []
        self.known: dict[bytes, str] = {}
        for k, call in enumerate(recorded.calls):
            self._call(k, call)
        for shared, x in zip(contents.variables, recorded.variables, strict=True):
            name, n = text_literal(shared.name), len(memory_of(x))
            self._block([f"void *got = filled({n}, \"\", 0);",
                         f"must(m, {prefix}_get(m, {name}, got, {n}), {name});",
                         self._compare(name, x, "got", n), "free(got);"])
        what = [f"{len(recorded.calls)} calls of "
                + ", ".join([x.name for x in contents.entries])]
        if contents.variables:
            what.append(f"{len(contents.variables)} variables after them")
        self.text: str = PROGRAM.format(
            prefix=prefix, factor=FACTOR, data="\n".join(self.data), calls="\n".join(self.lines),
            summary=", ".join(what))

    def _stored(self, data: bytes) -> str:
        """Return the name of recorded bytes; define them if they are new."""
        if data not in self.known:
            self.known[data] = f"recorded_{len(self.known)}"
            self.data.append(memory(self.known[data], data))
        return self.known[data]

    def _block(self, lines: list[str]) -> None:
        self.lines += ["    {", *[f"        {line}" for line in lines], "    }"]

    def _compare(self, what: str, x: Tensor, got: str, n: int) -> str:
        stored = bytes(memory_of(x))[:KEPT_BYTES]
        return (f"compare({what}, {kind_of(x.dtype)}, {got}, {n}, {self._stored(stored)}, "
                f"{len(stored)}, UINT64_C({hash_of(one_nan(x))}));")

    def _call(self, k: int, call: Call) -> None:
        entry = self.contents.entries[call.entry]
        lines, after, names = [], [], []
        for i, x in enumerate(call.inputs):
            data = bytes(memory_of(x))
            period = MAX_DRAWN * x.dtype.itemsize
            some = data[:period] if data == (data[:period] * (len(data) // period + 1))[
                :len(data)] else data
            lines.append(f"{c_type(x.dtype)} *in_{i} = filled({len(data)}, {self._stored(some)}, "
                         f"{len(some)});")
            names.append(f"*in_{i}" if entry.inputs[i].number else f"in_{i}")
        for i, (value, x) in enumerate(zip(entry.outputs, call.outputs, strict=True)):
            n = len(memory_of(x))
            lines.append(f"{c_type(x.dtype)} *out_{i} = filled({n}, \"\", 0);")
            names.append(f"out_{i}")
            what = text_literal(f"call {k}, {entry.name}, {value.name}")
            after.append(self._compare(what, x, f"out_{i}", n))
        what = text_literal(f"call {k}, {entry.name}")
        run = f"must(m, {self.prefix}_{entry.name}({', '.join(['m', *names])}), {what});"
        self._block([*lines, run, *after, *[f"free({name.lstrip('*')});" for name in names]])
