"""csrc built without Python: the files and flags of setup.py, and the bits of Python."""

import json
import os
import shlex
from pathlib import Path

import pytest

from dualflow import _core
from dualflow.aot.builds import LEVELS
from tests.aot.test_build import COMPILER, make, needs_make, works
from tests.aot.test_library import compare, run, saved
from tests.built import setup_names
from tests.test_c import LINKED, RUNTIME, build

ROOT = Path(__file__).resolve().parent.parent.parent
CSRC = ROOT / "csrc"
# The flags of setup.py that affect results or instructions.
TELLING = ("-fwrapv", "-ffp-", "-fno-math", "-fno-trap", "-mavx", "-mfma", "-mf16c", "-mbmi",
           "-mprefer")
needs_x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="needs x86-64")


def telling(flags):
    return tuple(flag for flag in flags if flag.startswith(TELLING))


def wanted(monkeypatch):
    """Return (source, level or None, flags) of each object of setup.py."""
    pytest.importorskip("setuptools")
    monkeypatch.chdir(ROOT)
    names = setup_names()
    levels = names["ISA_LEVELS"]["x86_64"]
    return sorted([(str(path.relative_to("csrc")), level, telling(names["FLAGS"] + flags))
                   for path in names["PER_ISA"] for level, flags in levels.items()]
                  + [(str(path.relative_to("csrc")), "", telling(names["FLAGS"]))
                     for path in names["COMMON"]])


def compiled(commands):
    """Return the same triples for command lines."""
    found = []
    for words in map(shlex.split, commands):
        source = os.path.relpath(CSRC / words[words.index("-c") + 1], CSRC)
        level = [word.removeprefix("-DDF_ISA=") for word in words if word.startswith("-DDF_ISA=")]
        have = {word for word in words if word.startswith("-DDF_HAVE_AVX")}
        assert have == (set() if level else {"-DDF_HAVE_AVX2", "-DDF_HAVE_AVX512"})
        assert {"-DDF_NO_THREADS", "-DDF_NO_MMAP"} <= {*words}
        found.append((source, level[0] if level else "", telling(words)))
    return sorted(found)


@needs_make
@needs_x86
def test_make_compiles_what_setup_does(tmp_path, monkeypatch):
    said = run("make", "-n", "-C", str(CSRC), f"CC={COMPILER}", f"BUILD={tmp_path}/build",
               "THREADS=0", "MMAP=0", "CFLAGS=")
    assert said.returncode == 0, said.stderr
    commands = [line for line in said.stdout.splitlines() if " -c " in line]
    assert compiled(commands) == wanted(monkeypatch)


@needs_make
@needs_x86
@pytest.mark.skipif(not works("cmake"), reason="no cmake")
def test_cmake_compiles_what_setup_does(tmp_path, monkeypatch):
    said = run("cmake", "-S", str(CSRC), "-B", str(tmp_path), "-G", "Unix Makefiles",
               f"-DCMAKE_C_COMPILER={COMPILER}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
               "-DTHREADS=OFF", "-DMMAP=OFF")
    assert said.returncode == 0, said.stderr
    entries = json.loads((tmp_path / "compile_commands.json").read_text())
    assert compiled([entry["command"] for entry in entries]) == wanted(monkeypatch)


@pytest.mark.soak
@needs_make
@pytest.mark.parametrize("options", [["OPT=-O1 -Werror"],
                                     ["OPT=-O1 -Werror", "THREADS=0", "MMAP=0"]])
def test_c_gives_the_bits_of_python(options, tmp_path):
    make(CSRC, *options, f"LEVELS={_core.isa()}", f"BUILD={tmp_path}/build",
         f"PREFIX={tmp_path}/prefix", "install")
    prefix = tmp_path / "prefix"
    compare(saved(tmp_path), prefix / "lib/libdualflow.a", prefix / "include", tmp_path / "load")


@pytest.mark.soak
@needs_make
@pytest.mark.skipif(not works("cmake"), reason="no cmake")
def test_cmake_install_gives_the_bits_of_python(tmp_path):
    prefix = tmp_path / "prefix"
    for command in (["-S", CSRC, "-B", tmp_path / "build", f"-DCMAKE_C_COMPILER={COMPILER}",
                     "-DCMAKE_C_FLAGS_RELEASE=-O1 -Werror", f"-DLEVELS={_core.isa()}",
                     f"-DCMAKE_INSTALL_PREFIX={prefix}",
                     *(["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if works("ccache") else [])],
                    ["--build", tmp_path / "build", "-j2"], ["--install", tmp_path / "build"]):
        said = run("cmake", *map(str, command))
        assert said.returncode == 0, said.stdout + said.stderr
    compare(saved(tmp_path), prefix / "lib/libdualflow.a", prefix / "include", tmp_path / "load")


@pytest.mark.soak
@needs_x86
@pytest.mark.skipif(not works("gcc-11"), reason="no gcc 11")
def test_gcc_11_compiles_all_sources(tmp_path, monkeypatch):
    for source, level, flags in wanted(monkeypatch):
        said = run("gcc-11", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                   f"-I{CSRC}", *flags, *([f"-DDF_ISA={level}"] if level else []), "-fsyntax-only",
                   str(CSRC / source))
        assert said.returncode == 0, said.stderr


@needs_x86
@pytest.mark.parametrize("compiler", [COMPILER, *[f"gcc-{n}" for n in range(11, 20)]])
def test_every_compiler_here_accepts_the_intrinsics(compiler, tmp_path):
    """The header omits parts of the compiler's header, on which other parts may depend."""
    if not works(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "empty.c"
    source.write_text('#include "simd/intrinsics.h"\n')
    for flags in ("", *LEVELS.values()):
        said = run(compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                   f"-I{CSRC}", *flags.split(), str(source))
        assert said.returncode == 0, said.stderr[:2000]


@pytest.mark.parametrize("flags", [["-DDF_NO_MMAP"], ["-DDF_NO_MMAP", "-DDF_NO_THREADS"]],
                         ids=["no mmap", "neither"])
def test_memory_without_mmap_or_threads(flags, tmp_path):
    sources = [path for path in RUNTIME if path.parent.name in LINKED["tensor_test"]]
    flags = [*flags, "-O1", "-DDF_ISA=baseline", "-DDF_VEC_BYTES=16"]
    built = build([ROOT / "tests/c/tensor_test.c", *sources], tmp_path / "test", flags)
    assert built.returncode == 0, built.stderr
    ran = run(str(tmp_path / "test"))
    assert ran.returncode == 0, ran.stderr
