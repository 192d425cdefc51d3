"""The exclusions of the standard's own test suite have reasons; if ARRAY_API_TESTS names a
checkout, the suite runs."""

import os
import subprocess
import sys

import pytest

from tests.array_api.referee import run


def test_each_exclusion_has_a_reason():
    for line in run.exclusions():
        assert len(line) == 2, line
        pattern, reason = line
        assert "::" in pattern and len(reason.split()) > 3, line


def test_patterns():
    assert run.matches("test_a.py::test_b[fft-*]", "array_api_tests/test_a.py::test_b[fft-x]")
    assert not run.matches("test_a.py::test_b", "array_api_tests/test_a.py::test_b2")
    assert not run.matches("test_a.py::test_[b]", "array_api_tests/test_a.py::test_b")


@pytest.mark.soak
@pytest.mark.skipif("ARRAY_API_TESTS" not in os.environ, reason="ARRAY_API_TESTS is not set")
def test_suite_passes():
    assert subprocess.run([sys.executable, run.__file__], check=False).returncode == 0
