"""Build and run the programs that check lanes.h and vmath.h of csrc/simd at each SIMD level of this
CPU."""

import os
import platform
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.built import objects

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-O2", "-std=gnu11", "-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra"]
AVX512 = ["avx512f", "avx512bw", "avx512dq", "avx512vl"]
LEVELS = {  # flags that /proc/cpuinfo must list
    "baseline": [],
    "avx2": ["avx2", "fma"],
    "avx512": ["avx2", "fma", *AVX512],
}


def run(command):
    # A preloaded sanitizer is meant for this interpreter, not for compilers and their programs.
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(params=LEVELS)
def build(request, tmp_path):
    """Return a function that builds a source for a level of this CPU and returns the program."""
    wanted = LEVELS[request.param]
    if wanted:
        cpuinfo = Path("/proc/cpuinfo")
        have = cpuinfo.read_text().split() if cpuinfo.exists() else []
        if platform.machine() != "x86_64" or not set(wanted) <= set(have):
            pytest.skip(f"this CPU lacks {request.param}")

    def build_program(name, *others):
        program = tmp_path / name
        compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        flags = [*FLAGS, *(f"-m{flag}" for flag in wanted), f"-I{ROOT}/csrc"]
        source = ROOT / "tests/c" / f"{name}.c"
        sources = [str(source), *map(str, others)]
        built = run([*compiler, *flags, *sources, "-o", str(program), "-lm"])
        assert built.returncode == 0, built.stderr
        assert "warning" not in built.stderr
        return program

    return build_program


def test_lanes(build):
    ran = run([build("lanes_check")])
    assert ran.returncode == 0, ran.stderr


def test_vmath_errors_stay_below_two_ulp(build):
    special = sorted((ROOT / "csrc/special").glob("*.c"))
    ran = run([build("vmath_sweep", *objects("common", special) or special), "9973"])
    assert ran.returncode == 0, ran.stdout
