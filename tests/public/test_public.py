"""Programs for TensorFlow by other people: `DUALFLOW_PUBLIC=folder:folder pytest -m soak -s`."""

import json
import os
import subprocess
import sys

import pytest

from tests.public.report import ROOT, report

PROGRAM = """import tensorflow as tf
print(tf.reduce_sum([1, 2]))
"""
CELLS = ["import tensorflow as tf", "!pip install things\n%matplotlib inline\ntf.ones([2])",
         "%%bash\necho no Python", "x = tf.absent_name(1)", "print(x)", "raise ValueError('a\\nb')",
         "def f():\n    return g()", "f()", "import absent_package.x as y", "y.z",
         "import urllib.request as r\nr.urlopen('http://localhost')",
         "@tf.function\ndef h(x):\n    while x < 9:\n        x += 1\n    return x\nh(tf.zeros([]))",
         "while True: pass"]
STATES = ["runs", "runs", "runs", "fails", "follows", "fails", "runs", "fails", "needs", "follows",
          "needs", "runs", "time"]


def test_report(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.public.report.CELL", 2.)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "first.py").write_text(PROGRAM.replace("tf.reduce", "tf.Session, tf.reduce"))
    (tmp_path / "other.py").write_text("raise ValueError('does not name the package')\n")
    (tmp_path / "crash.py").write_text("import os, tensorflow\nos.abort()\n")
    (tmp_path / "notebook.ipynb").write_text(json.dumps({"cells": [
        {"cell_type": "markdown", "source": "text"},
        *[{"cell_type": "code", "source": cell.splitlines(True)} for cell in CELLS]]}))
    (tmp_path / "reference.json").write_text('{"/notebook.ipynb": [0, 1, 3, 11]}')
    monkeypatch.setenv("DUALFLOW_PUBLIC_CELLS", str(tmp_path / "reference.json"))
    lines = []
    total = report([tmp_path], lines.append)
    assert total == {**{s: STATES.count(s) for s in STATES}, "runs": STATES.count("runs") + 2,
                     "crash": 1}
    text = "\n".join(lines)
    for part in ("cell 5 fails: ValueError: a\n", "    1 ValueError: a\n",
                 "    1 tensorflow.absent_name", "crash.py: 1 crash", "program.py: 1 runs",
                 "    of 4 cells that TensorFlow runs, 3 run (75.0 %)",
                 "\nOf 4 cells that TensorFlow runs, 3 run (75.0 %)"):
        assert part in text, text
    assert "other.py" not in text


TABLE = """name	uses	keywords
tf.math.log	6	x:2 axis:1
tf.compat.v1.Session	3	
tf.absent.name	1	y:1
"""


def test_names(tmp_path):
    """In a process of its own, as the module binds the name `tensorflow`."""
    path = tmp_path / "table.tsv"
    path.write_text(TABLE)
    made = subprocess.run([sys.executable, "-m", "tests.public.names", str(path)], cwd=ROOT,
                          capture_output=True, text=True, check=True)
    assert made.stdout.splitlines() == [
        "2 of 3 names, 9 of 10 uses (90.00 %), 2 of 3 keyword arguments",
        "    1 tf.absent.name", "    1 tf.math.log(axis=)"]


@pytest.mark.soak
def test_public_programs():
    folders = os.environ.get("DUALFLOW_PUBLIC", "")
    if not folders:
        pytest.skip("DUALFLOW_PUBLIC names no folders of programs")
    total = report(folders.split(os.pathsep))
    assert total["runs"] and not total["crash"]
