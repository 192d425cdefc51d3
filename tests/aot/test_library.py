"""Program files loaded by C: the bits of Python, and error messages."""

import os
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest

import dualflow as df
from dualflow import _core
from tests.aot.models import control, mlp
from tests.aot.test_build import make, needs_make

HERE = Path(__file__).parent
CC = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
WAYS = {"plain": ["OPT=-O0"],
        "sanitized": ["OPT=-O1", "CFLAGS=-fsanitize=address,undefined "
                                 "-fno-sanitize-recover=all"]}


def run(*command):
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False,
                          timeout=600)


def lines(f, variable):
    """Return the expected output of load.c, computed by Python."""
    found = []
    for turn in range(3):
        made = f(*[df.cast(df.fill(shape, turn), dtype) for _, dtype, shape
                   in f._structure.inputs])
        leaves = df.nest.flatten(made)
        found += [f"{name} {bytes(_core.memory_of(x)).hex()}" for (name, _, _), x in
                  zip(f._outputs, leaves, strict=True)]
    values = {v.name: v.value() for v in f.variables}
    return [*found, f"{variable} {bytes(_core.memory_of(values[variable])).hex()}"]


def saved(folder):
    """Return functions, a variable of each, and their files."""
    step, _, x, y = mlp(rate=0.5)
    program, z, n = control()
    functions = {"step": (step.get_concrete_function(x, y), "hidden/kernel"),
                 "control": (program.get_concrete_function(z, n), "state")}
    files = {folder / f"{name}.df": variable for name, (_, variable) in functions.items()}
    for file, (function, _) in zip(files, functions.values(), strict=True):
        df.save_program(function, file)
    return files


def link(source, library, header, program, *flags):
    """Link a program of this folder with a library."""
    built = run(*CC, *flags, "-Wall", "-Wextra", "-Werror", "-I", str(header),
                str(HERE / source), str(library), "-o", str(program), "-lm", "-pthread")
    assert built.returncode == 0, built.stderr


@df.function
def counts(n):
    """Count to n, in more than one instruction."""
    k, total = df.constant(0, df.int64), df.zeros([3])
    while k < n:
        k += 1
        total += df.sin(df.cast(k, df.float32))
    return k, df.reduce_sum(total)


def compare(files, library, header, program, *flags):
    """Link load.c with a library and compare its output with Python's."""
    link("load.c", library, header, program, *flags)
    for file, variable in files.items():
        f = df.load_program(file)
        size = next(v.size * v.dtype.itemsize for v in f.variables if v.name == variable)
        ran = run(str(program), str(file), variable, str(size))
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert ran.stdout.splitlines() == lines(f, variable)


@needs_make
@pytest.mark.parametrize("way", ["plain", pytest.param("sanitized", marks=pytest.mark.soak)])
def test_c_gives_the_bits_of_python(way, tmp_path):
    files, library, endless = saved(tmp_path), tmp_path / "library", tmp_path / "endless.df"
    df.save_program(counts.get_concrete_function(df.constant(1, df.int64)), endless)
    df.export_library(library, [*files, endless])
    make(library, *WAYS[way])
    flags = WAYS[way][1].removeprefix("CFLAGS=").split() if len(WAYS[way]) > 1 else []
    compare(files, library / "libdualflow.a", library, tmp_path / "load", *flags)
    x = df.zeros([3])
    short = tmp_path / "short.df"
    short.write_bytes((tmp_path / "step.df").read_bytes()[:-1])
    df.save_program(df.function(df.sort).get_concrete_function(x), tmp_path / "sort.df")
    for file, message in ((short, "is cut short"), (tmp_path / "none.df", "cannot be read"),
                          (tmp_path / "sort.df", "uses op sort, which this build does not")):
        ran = run(str(tmp_path / "load"), str(file))
        assert ran.returncode == 1 and str(file) in ran.stdout and message in ran.stdout
    link("stop.c", library / "libdualflow.a", library, tmp_path / "stop", *flags)
    ran = run(str(tmp_path / "stop"), str(endless))
    assert ran.returncode == 0 and ran.stdout == "by a signal, by a thread, before it begins\n"


def test_invalid_arguments_raise(tmp_path):
    with pytest.raises(df.errors.InvalidArgumentError, match="expected a list of program files"):
        df.export_library(tmp_path / "library", "f.df")
    with pytest.raises(FileNotFoundError):
        df.export_library(tmp_path / "library", [tmp_path / "f.df"])
    with pytest.raises(FileExistsError):
        (tmp_path / "library").mkdir()
        df.save_program(df.function(df.sin).get_concrete_function(df.ones([2])), tmp_path / "f.df")
        df.export_library(tmp_path / "library", [tmp_path / "f.df"])
