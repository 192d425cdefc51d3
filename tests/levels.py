"""SIMD levels in tests that start processes at another level."""

import os
import subprocess
import sys

import pytest


def skip_unless_available(level: str) -> None:
    """Skip the test if this build, or this CPU, does not have a level."""
    probe = subprocess.run([sys.executable, "-c", "import dualflow"],
                           env={**os.environ, "DUALFLOW_ISA": level},
                           capture_output=True, text=True, check=False)
    if probe.returncode:
        assert f"DUALFLOW_ISA={level}" in probe.stderr, probe.stderr
        pytest.skip(f"{level} is not available in this build on this CPU")
