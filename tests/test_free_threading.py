"""On free-threaded Python, importing the core enables the GIL, which the core relies on."""

import os
import subprocess
import sys
import sysconfig

import pytest


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"),
                    reason="this Python always has the GIL")
def test_import_enables_the_gil_and_warns():
    program = ("import sys; before = sys._is_gil_enabled(); import dualflow; "
               "print(before, sys._is_gil_enabled())")
    env = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    ran = subprocess.run([sys.executable, "-W", "default", "-c", program], env=env,
                         capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]
    assert "RuntimeWarning" in ran.stderr and "GIL" in ran.stderr
