"""Strict mypy and pyright accept correct programs and find the marked mistakes."""

import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent / "typed"
ROOT = HERE.parent.parent
PROGRAMS = ["datasets.py", "functions.py", "programs.py", "stars.py"]
FILES = [*PROGRAMS, "mistakes.py"]


def marked():
    lines = (HERE / "mistakes.py").read_text().split("\n")
    return {k for k, line in enumerate(lines, 1) if line.endswith("# error")}


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Errors by file: {line: message}."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent",
         f"--cache-dir={tmp_path_factory.mktemp('mypy')}", *FILES], cwd=HERE,
        capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT)})
    found = {name: {} for name in FILES}
    for name, line, kind, said in re.findall(r"^(\w+\.py):(\d+): (\w+): (.*)$", ran.stdout, re.M):
        if kind == "error":
            found[name][int(line)] = said
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return found


def test_mypy_accepts_programs(mypy):
    assert [mypy[name] for name in PROGRAMS] == [{}] * len(PROGRAMS)


def test_mypy_finds_mistakes(mypy):
    assert set(mypy["mistakes.py"]) == marked()


@pytest.fixture(scope="module")
def pyright(tmp_path_factory):
    """Errors by file: {line: message}."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    place = tmp_path_factory.mktemp("pyright")
    for name in FILES:
        shutil.copy(HERE / name, place)
    (place / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    ran = subprocess.run([sys.executable, "-m", "pyright", "--outputjson", "--pythonpath",
                           sys.executable], cwd=place, capture_output=True, text=True)
    found = {name: {} for name in FILES}
    for one in json.loads(ran.stdout)["generalDiagnostics"]:
        if one["severity"] == "error":
            found[Path(one["file"]).name][one["range"]["start"]["line"] + 1] = one["message"]
    return found


def test_pyright_accepts_programs(pyright):
    assert [pyright[name] for name in PROGRAMS] == [{}] * len(PROGRAMS)


def test_pyright_finds_mistakes(pyright):
    assert set(pyright["mistakes.py"]) == marked()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run(name):
    runpy.run_path(str(HERE / name))


@pytest.mark.soak
def test_public_interface_is_completely_typed():
    """Needs an installed package in the current environment."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    ran = subprocess.run([sys.executable, "-m", "pyright", "--verifytypes", "dualflow",
                           "--ignoreexternal", "--outputjson"], capture_output=True, text=True)
    found = json.loads(ran.stdout)["typeCompleteness"]
    if not found["symbols"]:
        pytest.skip("dualflow is not installed")
    assert found["completenessScore"] >= 0.99
