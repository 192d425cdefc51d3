"""SIMD levels in tests that start processes at another level."""

import functools
import os
import subprocess
import sys

import pytest


@functools.cache
def is_available(level: str) -> bool:
    """Return True if this build and this CPU have a level."""
    probe = subprocess.run([sys.executable, "-c", "import dualflow"],
                           env={**os.environ, "DUALFLOW_ISA": level},
                           capture_output=True, text=True, check=False)
    assert not probe.returncode or f"DUALFLOW_ISA={level}" in probe.stderr, probe.stderr
    return not probe.returncode


def skip_unless_available(level: str) -> None:
    """Skip the test if this build, or this CPU, does not have a level."""
    if not is_available(level):
        pytest.skip(f"{level} is not available in this build on this CPU")
