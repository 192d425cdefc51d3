"""Run the value and edge tests at every other SIMD level of this build, in one process each.

Three dtypes and a fifth of the tests by default; all dtypes, slices and threads with
``pytest --exhaustive``.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dualflow import _core
from tests import levels

ROOT = Path(__file__).resolve().parents[2]
LEVELS = ("baseline", "avx2", "avx512", "neon")


def run(level, *command):
    env = {**os.environ, "DUALFLOW_ISA": level}
    return subprocess.run([sys.executable, *command], cwd=ROOT, env=env, capture_output=True,
                          text=True, timeout=900, check=False)


@pytest.mark.parametrize("level", [name for name in LEVELS if name != _core.isa()])
def test_level(level, request):
    levels.skip_unless_available(level)
    # Strided operands and threads divide the work in code that all levels share.
    some = ("(float32 or int32 or epilogue) and not slices and not test_threads"
            " or test_halves and (test_value and not bfloat16 or every_half)"
            " or test_half_products or test_packed_products or test_half_pieces and bfloat16")
    few = [] if request.config.getoption("exhaustive") else ["-k", some, "--sample", "5"]
    products = "tests/ops/linalg/test_half_products.py"
    ran = run(level, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
              "tests/ops/test_values.py", "tests/ops/test_edges.py", "tests/ops/test_halves.py",
              "tests/ops/test_half_pieces.py",
              "tests/graph/test_matmul_epilogue.py", "tests/graph/test_conv_epilogue.py",
              "tests/ops/nn/test_recurrent.py", "tests/graph/test_packed_kernels.py",
              "tests/graph/test_packed_products.py", products,
              f"--deselect={products}::test_other_kernels", *few)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]


def test_unknown_level():
    ran = run("mmx", "-c", "import dualflow")
    assert ran.returncode and "DUALFLOW_ISA=mmx" in ran.stderr
