"""Environment variables are validated, and devices that do not exist are named."""

import os
import subprocess
import sys
import warnings

import pytest

import dualflow as df
from dualflow import context

CODE = "import dualflow as df; print(df.config.num_threads())"


def run(**variables):
    """Return (exit status, last line of the output) of a program with these variables."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("DUALFLOW_", "OMP_"))}
    ran = subprocess.run([sys.executable, "-c", CODE], env=env | variables, capture_output=True,
                         text=True)
    return ran.returncode, (ran.stdout + ran.stderr).splitlines()[-1]


@pytest.mark.parametrize("value", ["abc", "0", "-3", "257", "2x", "1.5", "99999999999999999999"])
def test_invalid_numbers_of_threads_raise(value):
    status, says = run(DUALFLOW_NUM_THREADS=value)
    assert status and says.endswith(
        f"DUALFLOW_NUM_THREADS={value}: expected an integer from 1 to 256")


@pytest.mark.parametrize("variables, n", [
    ({"DUALFLOW_NUM_THREADS": "3"}, 3), ({"DUALFLOW_NUM_THREADS": " 256 "}, 256),
    ({"OMP_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "3,2"}, 3),
    ({"OMP_NUM_THREADS": "1000"}, 256), ({"DUALFLOW_NUM_THREADS": "", "OMP_NUM_THREADS": "5"}, 5),
    ({"DUALFLOW_NUM_THREADS": "4", "OMP_NUM_THREADS": "5"}, 4)])
def test_numbers_of_threads(variables, n):
    assert run(**variables) == (0, str(n))


@pytest.mark.parametrize("value", ["", "many", "0", "-2"])
def test_invalid_numbers_of_openmp_are_ignored(value):
    assert run(OMP_NUM_THREADS=value) == run()


@pytest.mark.parametrize("name, says", [
    ("DUALFLOW_BFLOAT16", "DUALFLOW_BFLOAT16=x: expected tiles, pairs or float32"),
    ("DUALFLOW_ISA", "DUALFLOW_ISA=x: this build on this CPU has ")])
def test_other_variables(name, says):
    status, line = run(**{name: "x"})
    assert status and says in line
    assert name != "DUALFLOW_ISA" or df.config.isa() in line.partition(says)[2].split()
    assert run(**{name: ""})[0] == 0


def test_absent_device_warns_once_per_kind(monkeypatch):
    monkeypatch.setattr(context, "_warned", set())
    with pytest.warns(UserWarning, match="device: there is no GPU: the ops of '/gpu:0' run on the "
                                         "CPU") as caught, df.device("/gpu:0"):
        x = df.constant(1.)
    assert caught[0].filename == __file__ and x.device == "/device:CPU:0"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("/device:GPU:1", "gpu", "/CPU:0", "/job:gpu_worker/device:CPU:0", "", None):
            with df.device(name):
                pass
    with pytest.warns(UserWarning, match="TPU"):
        df.device("/job:worker/replica:0/device:TPU:3")
