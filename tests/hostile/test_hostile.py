"""Invalid values and failing allocations, each in a separate process: a crash or a hang fails one
test, whose output ends with the call or allocation responsible."""

import os
import random
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.hostile.allocations import SCENARIOS
from tests.light import environment

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def run(module, *args, log=None, **env):
    """Return the output of a module, which must exit with 0."""
    done = subprocess.run([sys.executable, "-m", f"tests.hostile.{module}", *map(str, args)],
                          cwd=ROOT, env=environment(**env), capture_output=True, text=True,
                          timeout=3 * 3600, check=False)
    last = log.read_text().splitlines()[-1:] if log is not None and log.exists() else []
    assert done.returncode == 0, "\n".join([*last, done.stdout[-3000:], done.stderr[-3000:]])
    return done.stdout


def test_public_functions(pytestconfig, tmp_path):
    log = tmp_path / "calls"
    if pytestconfig.getoption("exhaustive"):
        run("public", "--all", log=log, HOSTILE_LOG=str(log))
        run("public", "--seed", random.randrange(10**9), "--count", 100_000, log=log,
            HOSTILE_LOG=str(log))
    run("public", "--seed", 0, "--count", 500, log=log, HOSTILE_LOG=str(log))


def test_kernels(pytestconfig, tmp_path):
    log = tmp_path / "calls"
    # Address space cannot be limited under a sanitizer; its allocations can.
    sanitizer = "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=256"
    options = {"log": log, "HOSTILE_LOG": str(log), "ASAN_OPTIONS": sanitizer}
    if pytestconfig.getoption("exhaustive"):
        run("kernels", "--seed", random.randrange(10**9), "--count", 200_000, **options)
    run("kernels", "--seed", 0, "--count", 700, **options)


SHORT = [name for name in SCENARIOS if name not in ("trace", "second_order")]


def test_failing_python_allocations(pytestconfig):
    pytest.importorskip("_testcapi", reason="CPython's own failing allocator")
    if pytestconfig.getoption("exhaustive"):
        run("allocations", "python", *SCENARIOS)
    run("allocations", "python", *SHORT, "--step", 9)
    run("allocations", "python", "trace", "second_order", "--step", 601)


@pytest.mark.skipif("LD_PRELOAD" in os.environ or sys.platform != "linux",
                    reason="another library replaces malloc")
def test_failing_c_allocations(pytestconfig, tmp_path):
    shim = tmp_path / "failing_malloc.so"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    subprocess.run([*compiler, "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror",
                    str(HERE / "failing_malloc.c"), "-o", str(shim)], check=True)
    names, step = (SCENARIOS, 1) if pytestconfig.getoption("exhaustive") else (SHORT[2:6], 3)
    run("allocations", "c", *names, "--step", step, LD_PRELOAD=str(shim))
