"""Builds and runs the C programs of tests/c: csrc without the ops and without Python."""

import os
import platform
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest

import dualflow as df
from dualflow import _core
from dualflow.aot.clusters.formulas import formula_of, reduction_of

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


def formulas():
    """Yield, by op and dtype, the functions that generated code calls in place of its kernel."""
    for op in map(_core.get_op, _core.ops()):
        if op.formula is None:
            continue
        for dtype in (x for x in df.dtypes.ALL if x.name in (*op.dtypes, *op.reduces)):
            if op.kind == "reduction":
                found = reduction_of(op, dtype, 1)
                if found is None:
                    continue
                names = [f"{found.name}_{part}" for part in ("identity", "map", "combine")]
                names += [found.finish] if found.finish else []
            else:
                found = formula_of(op, dtype, (0,))
                names = [found.name, formula_of(op, dtype, (1,)).name]
            for name in names:
                yield f"{name}_{found.tag}"


@pytest.mark.parametrize("level", [["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"], []],
                         ids=["avx512", "baseline"])
def test_formulas_of_records_are_in_one_header(level, tmp_path):
    if level and platform.machine() != "x86_64":
        pytest.skip("needs x86-64")
    names = sorted(set(formulas()))
    assert len(names) > 300
    source = tmp_path / "all.c"
    source.write_text('#include "ops/formulas.h"\nvoid all(void)\n{\n'
                      + "".join(f"    (void){name};\n" for name in names) + "}\n")
    flags = [*level, *(["-mavx2", "-mfma", "-mf16c"] if level else [])]
    built = build([source], os.devnull, [*flags, "-Wno-unused-function", "-fsyntax-only"])
    assert built.returncode == 0, built.stderr


def test_cheap_elementwise_ops_have_a_formula():
    missing = {op.name for op in map(_core.get_op, _core.ops())
               if op.kind == "elementwise" and op.cost < 2 and op.dtypes and op.formula is None}
    assert missing == set()
