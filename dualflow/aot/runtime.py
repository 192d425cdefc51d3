"""The part of csrc that programs of certain ops need, as sources of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dualflow.errors import NotFoundError

ALWAYS = ("base", "op", "exec", "model")        # rooms taken whole
ROOMS = ("fuse", "gemm", "conv", "attention", "recurrent")      # whole, if they are needed
KERNELS = ("ops", "gemm", "conv", "attention", "recurrent")     # compiled once per SIMD level
OPS = "op/ops.def"
INCLUDE = re.compile(r'^\s*#\s*(?:include|define TEMPLATE)\s+"([^"]+)"', re.M)


class Runtime(NamedTuple):
    """
    Attributes
    ----------
    files : dict of str to str
        Texts by path.
    common, kernels : list of str
        The sources that are compiled once, and once per SIMD level.
    """

    files: dict[str, str]
    common: list[str]
    kernels: list[str]


@cache
def root() -> Path:
    """Where csrc is: in the package, or, in a checkout, beside it."""
    package = Path(__file__).resolve().parent.parent
    for place in (package / "csrc", package.parent / "csrc"):
        if (place / OPS).exists():
            return place
    raise NotFoundError("export: the C sources of dualflow are not installed with it")


@cache
def read(path: str) -> str:
    """The text of a source."""
    return (root() / path).read_text()


@cache
def sources(room: str) -> tuple[str, ...]:
    """The C files of a room."""
    return tuple(sorted([f"{room}/{path.name}" for path in (root() / room).glob("*.c")]))


@cache
def file_of_ops() -> dict[str, str]:
    """The file of each op, as op/ops.def says."""
    found, file = {}, ""
    for line in read(OPS).splitlines():
        heading = re.fullmatch(r"/\* (\w+\.c) \*/", line)
        entry = re.fullmatch(r"OP\((\w+)\)", line)
        if heading:
            file = f"ops/{heading[1]}"
        elif entry:
            found[entry[1]] = file
    return found


def reduced_ops(names: Set[str]) -> str:
    """op/ops.def with only some ops, in their order."""
    lines = [f"OP({name})" for name in file_of_ops() if name in names]
    return "/* The ops of this model. */\n" + "\n".join(lines) + "\n"


def runtime(names: Set[str]) -> Runtime:
    """The sources for ops of these names."""
    wanted = [path for room in ALWAYS for path in sources(room)]
    wanted += [file_of_ops()[name] for name in names]
    files: dict[str, str] = {OPS: reduced_ops(names)}
    while wanted:
        path = wanted.pop()
        if path in files:
            continue
        files[path] = read(path)
        wanted += _needed_by(path, files[path])
    compiled = sorted([path for path in files if path.endswith(".c")])
    kernels = [path for path in compiled if is_kernel(path)]
    return Runtime(files, [path for path in compiled if path not in kernels], kernels)


def is_kernel(path: str) -> bool:
    """Whether a source is compiled once per SIMD level."""
    return path.split("/")[0] in KERNELS or path in ("op/table.c", "fuse/run.c")


def _needed_by(path: str, text: str) -> Iterator[str]:
    """The files that a file wants: those it includes and, where these declare what is elsewhere,
    where that is."""
    for name in INCLUDE.findall(text):
        if not (root() / name).exists():
            continue
        yield name
        room, file = name.split("/", 1)
        if room in ROOMS:
            yield from sources(room)
        elif f"{room}/{Path(file).stem}.c" in sources(room):
            yield f"{room}/{Path(file).stem}.c"
    if path.startswith("ops/"):
        for op in re.findall(r"\bdf_op_(\w+)", text):
            if op in file_of_ops():
                yield file_of_ops()[op]
