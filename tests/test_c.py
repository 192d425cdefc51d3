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
from tests.once import alone

ROOT = Path(__file__).resolve().parent.parent
# The folders of csrc that a program links; by default those of the runtime, lowest layer first.
FOLDERS = ("base", "tape", "op", "exec")
LINKED = dict.fromkeys(["layout_test", "numerics_test", "tensor_test", "thread_test"], ("base",))
LINKED |= dict.fromkeys(["signature_test", "tape_test"], ("base", "tape"))
LINKED |= {"tree_test": ("base", "op"), "cluster_test": (*FOLDERS, "fuse"),
           "weights_test": (*FOLDERS, "model")}
KERNELS = {"table.c", "registry.c"}         # the dispatch to tables of kernels: not linked
RUNTIME = sorted(path for name in FOLDERS for path in (ROOT / "csrc" / name).glob("*.c")
                 if path.name not in KERNELS)
FLAGS = ["-std=gnu11", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-pthread"]
VARIANTS = {
    "plain": ["-O2"],
    # without optimisation, which takes three quarters of the compiler's time
    "address": ["-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-O0", "-g", "-fsanitize=thread"],
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


def variants(text):
    """Return the variants that can find a fault of a program which the address sanitizer misses:
    the thread sanitizer for programs with threads, plain code for those that fork beside threads,
    which sanitizers do not support."""
    yield "address"
    if "base/thread.h" in text or "pthread.h" in text:
        yield "thread"
    if "FORK_BESIDE_THREADS" in text:
        yield "plain"


def pytest_generate_tests(metafunc):
    if "variant" in metafunc.fixturenames:
        every = metafunc.config.getoption("exhaustive")
        metafunc.parametrize(("variant", "name"), [
            (variant, path.stem) for variant in VARIANTS
            for path in sorted((ROOT / "tests/c").glob("*_test.c"))
            if every or variant in variants(path.read_text())])


@pytest.fixture(scope="module")
def built(shared):
    """A function that returns the flags of a variant, and the objects of folders of csrc, compiled
    by the first process of the run that needs them."""
    done = {}

    def flags_of(variant):
        flags = [*VARIANTS[variant], "-DDF_ISA=baseline", "-DDF_VEC_BYTES=16"]
        if variant not in done:
            folder = shared / "c" / variant
            folder.mkdir(parents=True, exist_ok=True)
            source, program = folder / "empty.c", folder / "empty"
            with alone(program):
                source.write_text("int main(void) { return 0; }\n")
                works = not (build([source], program, flags).returncode
                             or run([program]).returncode)
            done[variant] = flags if works else None
        return done[variant]

    def objects(variant, name):
        flags = flags_of(variant)
        for path in (ROOT / "csrc" / name).glob("*.c"):
            if path.name not in KERNELS:
                found = shared / "c" / variant / f"{name}-{path.stem}.o"
                with alone(found):
                    if not found.exists():
                        made = run([*compiler(flags), "-c", str(path), "-o", str(found)])
                        assert made.returncode == 0, made.stderr
                yield found

    def of(variant, names):
        if variant == "address" and flags_of(variant) is None:
            variant = "plain"
        if flags_of(variant) is None:
            pytest.skip(f"cannot build or run programs with {' '.join(VARIANTS[variant])}")
        return flags_of(variant), [path for name in names for path in objects(variant, name)]

    return of


def test_program(name, variant, built, tmp_path):
    flags, objects = built(variant, LINKED.get(name, FOLDERS))
    made = build([ROOT / "tests/c" / f"{name}.c", *objects], tmp_path / name, flags)
    assert made.returncode == 0, made.stderr
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
                if found is None:           # complex numbers have no formulas
                    continue
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
    # of complex numbers; of grids that are computed once for a run of elements
    assert missing == {"complex", "conj", "imag", "real", "fake_quant", "fake_quant_grad"}
