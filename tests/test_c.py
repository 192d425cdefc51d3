"""Builds and runs the C programs of tests/c: csrc without the ops and without Python."""

import os
import platform
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Everything but kernels and the dispatch to their tables.
RUNTIME = sorted(path for path in (ROOT / "csrc").glob("*/*.c")
                 if path.parent.name in ("base", "tape", "op", "exec")
                 and path.name not in ("table.c", "registry.c"))
OWN = {"cluster_test": "fuse", "weights_test": "model"}       # the folder that the program tests
FLAGS = ["-std=gnu11", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-pthread"]
VARIANTS = {
    "plain": ["-O2"],
    "address": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-O1", "-g", "-fsanitize=thread"],
}


def run(command):
    # A preloaded sanitizer is meant for this interpreter, not for compilers and their programs.
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def compiler(flags):
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    return [*command, *FLAGS, *flags, f"-I{ROOT}/csrc", f"-I{ROOT}/tests/c"]


def build(sources, program, flags):
    return run([*compiler(flags), *map(str, sources), "-o", str(program), "-lm"])


@pytest.fixture(scope="module", params=VARIANTS)
def variant(request, tmp_path_factory):
    """Flags that this compiler and this system support, and the runtime built with them."""
    folder = tmp_path_factory.mktemp(request.param)
    source, program = folder / "empty.c", folder / "empty"
    source.write_text("int main(void) { return 0; }\n")
    flags = [*VARIANTS[request.param], "-DDF_ISA=baseline", "-DDF_VEC_BYTES=16"]
    if build([source], program, flags).returncode or run([program]).returncode:
        pytest.skip(f"cannot build or run programs with {' '.join(flags)}")
    objects = []
    for path in RUNTIME:
        objects.append(folder / f"{path.parent.name}-{path.stem}.o")
        built = run([*compiler(flags), "-c", str(path), "-o", str(objects[-1])])
        assert built.returncode == 0, built.stderr
    return flags, objects


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "tests/c").glob("*_test.c")))
def test_program(name, variant, tmp_path):
    flags, runtime = variant
    own = sorted((ROOT / "csrc" / OWN[name]).glob("*.c")) if name in OWN else []
    built = build([ROOT / "tests/c" / f"{name}.c", *runtime, *own], tmp_path / name, flags)
    assert built.returncode == 0, built.stderr
    ran = run([tmp_path / name])
    assert ran.returncode == 0, ran.stderr


def elementwise():
    """Yield the lines with which each family with tile functions compiles its formulas."""
    for path in sorted((ROOT / "csrc/ops").rglob("*.c")):
        pattern = r'#define TEMPLATE "(ops/.*_formulas\.h)"\n(?:#include .*\n)+#undef TEMPLATE\n'
        for lines in re.finditer(pattern, path.read_text()):
            if re.search(r"^TILE_", (ROOT / "csrc" / lines[1]).read_text(), re.M):
                yield lines[0]


@pytest.mark.parametrize("level", [["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"], []],
                         ids=["avx512", "baseline"])
def test_elementwise_formulas_need_only_one_header(level, tmp_path):
    """Compile the formulas of all families in one file, as generated cluster code may."""
    if level and platform.machine() != "x86_64":
        pytest.skip("needs x86-64")
    lines = [*elementwise()]
    assert len(lines) > 10
    source = tmp_path / "all.c"
    source.write_text('#include "ops/elementwise/elementwise.h"\n' + "".join(lines))
    flags = [*level, *(["-mavx2", "-mfma", "-mf16c"] if level else [])]
    built = build([source], os.devnull, [*flags, "-Wno-unused-function", "-fsyntax-only"])
    assert built.returncode == 0, built.stderr
