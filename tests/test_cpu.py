"""SIMD level detection: on emulated CPUs, and in builds whose flags require more than a level."""

import os

import pytest

from tests.aot.test_build import COMPILER, works
from tests.test_c import ROOT, run

CSRC = ROOT / "csrc"
needs_x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="levels of x86-64")
CHOICE = r"""
#include "base/cpu.h"
#include "op/registry.h"
#include <stdio.h>
const df_op *const df_optable_baseline[] = {NULL};
int main(void)
{
    df_error err = {0};
    if (df_registry_init(&err) != DF_OK) puts(err.text);
    else puts(df_cpu_has(DF_ISA_AVX2) ? "both" : "baseline");
}
"""
REFUSED = ("this build needs instructions that this CPU does not have; build it on this machine, "
           "or for more SIMD levels")


def choice(folder, flags, *runner):
    """Return which of the levels baseline and avx2 the CPU has, as a build with these flags
    reports."""
    (folder / "main.c").write_text(CHOICE)
    sources = [CSRC / name for name in ("base/cpu.c", "base/status.c", "op/registry.c")]
    built = run([COMPILER, "-D_GNU_SOURCE", "-static", *flags, f"-I{CSRC}", str(folder / "main.c"),
                *map(str, sources), "-o", str(folder / "main")])
    if built.returncode and "-lc" in built.stderr:
        pytest.skip("no static C library")
    assert built.returncode == 0, built.stderr
    ran = run([*runner, folder / "main"])
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@needs_x86
def test_cpu_must_support_the_compiler_flags(tmp_path, monkeypatch):
    """No CPU has both AVX-512 and AMD's TBM."""
    monkeypatch.delenv("DUALFLOW_ISA", raising=False)
    plain = choice(tmp_path, [])
    assert plain in ("both", "baseline") and choice(tmp_path, ["-march=native"]) == plain
    assert choice(tmp_path, ["-mtbm", "-mavx512f"]) == REFUSED


@needs_x86
@pytest.mark.skipif(not works("qemu-x86_64-static"), reason="no qemu")
@pytest.mark.parametrize("cpu, flags, says", [
    ("qemu64", [], "baseline"), ("qemu64", ["-mpopcnt"], REFUSED),
    ("Haswell", ["-mpopcnt"], "both"), ("Haswell,-f16c", [], "baseline"),
    ("Haswell,-bmi2", [], "baseline"), ("Haswell,-abm", ["-mlzcnt"], REFUSED)])
def test_levels_of_emulated_cpus(cpu, flags, says, tmp_path, monkeypatch):
    monkeypatch.delenv("DUALFLOW_ISA", raising=False)
    assert choice(tmp_path, flags, "qemu-x86_64-static", "-cpu", cpu) == says
