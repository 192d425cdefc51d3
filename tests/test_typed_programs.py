"""Strict mypy and pyright accept correct programs and find the marked mistakes."""

import importlib.util
import json
import os
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent / "typed"
ROOT = HERE.parent.parent
PROGRAMS = ["datasets.py", "functions.py", "keras_models.py", "programs.py", "stars.py"]
FILES = [*PROGRAMS, "mistakes.py"]


def marked(name="mistakes.py"):
    lines = (HERE / name).read_text().split("\n")
    return {k for k, line in enumerate(lines, 1) if line.endswith("# error")}


def skip_without(*packages):
    for name in packages:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


def errors_of_mypy(files, folder, settings=""):
    """Return the errors of strict mypy by file: {line: message}."""
    skip_without("mypy")
    (folder / "mypy.ini").write_text(f"[mypy]\nstrict = true\n{settings}")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", f"--config-file={folder / 'mypy.ini'}",
         "--follow-imports=silent", f"--cache-dir={os.devnull}", *files], cwd=HERE,
        capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT)})
    found = {name: {} for name in files}
    for name, line, kind, said in re.findall(r"^(\w+\.py):(\d+): (\w+): (.*)$", ran.stdout, re.M):
        if kind == "error":
            found[name][int(line)] = said
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return found


def test_mypy_accepts_programs_and_finds_mistakes(tmp_path):
    found = errors_of_mypy(FILES, tmp_path)
    assert [found[name] for name in PROGRAMS] == [{}] * len(PROGRAMS)
    assert set(found["mistakes.py"]) == marked()


@pytest.fixture(scope="module")
def pyright(tmp_path_factory):
    """Errors by file: {line: message}."""
    skip_without("pyright")
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
    if name.startswith("keras"):
        skip_without("keras")
    runpy.run_path(str(HERE / name))


# docs/keras.md recommends these settings.
KERAS_SETTINGS = """
disallow_untyped_calls = false

[mypy-keras.*]
follow_untyped_imports = true
"""


@pytest.mark.soak           # mypy reads the source of Keras
def test_mypy_knows_the_classes_of_keras(tmp_path):
    skip_without("mypy", "keras")
    found = errors_of_mypy(["keras_models.py", "keras_classes.py"], tmp_path, KERAS_SETTINGS)
    assert set(found["keras_classes.py"]) == marked("keras_classes.py")
    assert found["keras_models.py"] == {}


def test_every_module_of_keras_has_a_stub():
    skip_without("keras")
    [path] = importlib.util.find_spec("keras").submodule_search_locations
    modules = {name for _, name, is_package in pkgutil.iter_modules([path]) if is_package}
    stubs = {path.stem for path in (ROOT / "dualflow/keras").glob("*.pyi")} - {"__init__"}
    assert modules - {"src", "_tf_keras"} <= stubs
    for name in stubs:
        text = (ROOT / f"dualflow/keras/{name}.pyi").read_text()
        assert f"from keras.{name} import *" in text


@pytest.mark.soak
def test_public_interface_is_completely_typed():
    """Needs an installed package in the current environment."""
    skip_without("pyright")
    ran = subprocess.run([sys.executable, "-m", "pyright", "--verifytypes", "dualflow",
                           "--ignoreexternal", "--outputjson"], capture_output=True, text=True)
    found = json.loads(ran.stdout)["typeCompleteness"]
    if not found["symbols"]:
        pytest.skip("dualflow is not installed")
    assert found["completenessScore"] >= 0.99
