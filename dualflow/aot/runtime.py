"""The subset of csrc that programs with given ops require."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import cache
from typing import NamedTuple

from dualflow.aot.csrc import read, sources, texts

ALWAYS = ("base", "op", "exec", "model")        # folders that are always included
KERNELS = ("ops", "gemm", "conv", "attention", "recurrent", "factor")  # compiled per SIMD level
PACKAGES = ("fourier", "fuse", "special", *KERNELS[1:])    # included as a whole if required
# The tables of real ops refer to them if there are complex dtypes.
COMPLEX = ["ops/elementwise/complex.c", "ops/elementwise/complex_math.c"]
OPS, BUILT = "op/ops.def", "base/kernel_config.h"
QUIET = '#pragma GCC diagnostic ignored "-Wunused-function"'
INCLUDE = re.compile(r'^\s*#\s*(?:include|define TEMPLATE)\s+"([^"]+)"', re.M)

SYMBOL = re.compile(r"DF_SYM\((df_\w+)\)")
DEFINED = re.compile(r"^\w[^;{}()=]*DF_SYM\((df_\w+)\)\([^;{]*\)\s*\{", re.M)


class Runtime(NamedTuple):
    """
    Attributes
    ----------
    ops : list of str
        In the order of their numbers in C.
    changed : dict of str to str
        By path, the texts of files that differ from csrc's.
    common, kernels : list of str
        The sources compiled once, and the sources compiled once per SIMD level.
    """

    ops: list[str]
    changed: dict[str, str]
    common: list[str]
    kernels: list[str]


@cache
def owners() -> dict[str, str]:
    """Return, by name, the file of each function of `ops` that other files call."""
    return {name: path for path in sources("ops") for name in DEFINED.findall(read(path))}


@cache
def file_of_ops() -> dict[str, str]:
    """Return the file of each op, according to op/ops.def."""
    found, file = {}, ""
    for line in read(OPS).splitlines():
        heading = re.fullmatch(r"/\* (\w+/\w+\.c) \*/", line)
        entry = re.fullmatch(r"OP\((\w+)\)", line)
        if heading:
            file = f"ops/{heading[1]}"
        elif entry:
            found[entry[1]] = file
    return found


def reduced_kernels(names: Set[str], dtypes: Set[str], of_products: Set[str]) -> str:
    """Return base/kernel_config.h for the given ops and dtypes, such as ``{"F32", "I64"}``. Bool
    kernels are always included, as results inside clusters may be bools."""
    built = dtypes | {"ROWS" for name in names if name.endswith("_rows")}
    built |= {"F64"} if "C128" in dtypes else set()         # of the parts

    def chosen(found: re.Match[str]) -> str:
        always = {"BUILT": {"F32", "BOOL"}, "PRODUCT": {"F32"}}[found[1]]
        wanted = built if found[1] == "BUILT" else of_products
        return f"DF_{found[1]}_{found[2]} {int(found[2] in wanted | always)}"

    text = re.sub(r"DF_(BUILT|PRODUCT)_(\w+) 1", chosen, read(BUILT))
    # Kernels that no table references any more are static functions that compilers discard.
    return text.replace("#define DF_KERNEL_CONFIG_H\n", f"#define DF_KERNEL_CONFIG_H\n{QUIET}\n", 1)


@cache
def multiplies(name: str) -> bool:
    """Return True if an op computes matrix products."""
    return any([path.startswith("gemm/") for path in closure([file_of_ops()[name]])])


def runtime(names: Set[str], dtypes: Set[str], of_products: Set[str],
            folders: Sequence[str] = ()) -> Runtime:
    """Return the sources for the given ops, with kernels of the given dtypes, and extra folders."""
    wanted = [path for folder in (*ALWAYS, *folders) for path in sources(folder)]
    wanted += COMPLEX if dtypes & {"C64", "C128"} else []
    ops = [name for name in file_of_ops() if name in names]
    compiled = [path for path in closure(wanted + [file_of_ops()[name] for name in ops])
                if path.endswith(".c")]
    changed = {OPS: "".join([f"OP({name})\n" for name in ops]),
               BUILT: reduced_kernels(names, dtypes, of_products)}
    return Runtime(ops, changed, [path for path in compiled if not is_kernel(path)],
                   [path for path in compiled if is_kernel(path)])


def closure(wanted: list[str]) -> list[str]:
    """Return the given files and all files that they require."""
    found: dict[str, None] = {}
    wanted = wanted.copy()
    while wanted:
        path = wanted.pop()
        if path not in found:
            found[path] = None
            wanted += _needed_by(path, read(path))
    return sorted(found)


def is_kernel(path: str) -> bool:
    """Return True if a source is compiled once per SIMD level."""
    return path.split("/")[0] in KERNELS or path in ("op/table.c", "fuse/run.c")


def _needed_by(path: str, text: str) -> Iterator[str]:
    """Yield the files that a file requires: the headers it includes and, for headers that declare
    functions of other files, those files."""
    for name in INCLUDE.findall(text):
        if name not in texts():
            continue
        yield name
        folder = name.split("/")[0]
        if folder in PACKAGES:
            yield from sources(folder)
        elif folder == "ops":
            yield from [owners()[x] for x in SYMBOL.findall(read(name)) if x in owners()]
    if path.startswith("ops/"):
        for op in re.findall(r"(?:\bdf_op_|\bextern DF_OP\()(\w+)", text):
            if op in file_of_ops():
                yield file_of_ops()[op]
