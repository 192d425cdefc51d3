"""Programs for TensorFlow by other people: `DUALFLOW_PUBLIC=folder:folder pytest -m soak -s`."""

import json
import os

import pytest

from tests.public.report import report

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
    lines = []
    total = report([tmp_path], lines.append)
    assert total == {**{s: STATES.count(s) for s in STATES}, "runs": STATES.count("runs") + 2,
                     "crash": 1}
    text = "\n".join(lines)
    for part in ("cell 5 fails: ValueError: a\n", "    1 ValueError: a\n",
                 "    1 tensorflow.absent_name", "crash.py: 1 crash", "program.py: 1 runs"):
        assert part in text, text
    assert "other.py" not in text


@pytest.mark.soak
def test_public_programs():
    folders = os.environ.get("DUALFLOW_PUBLIC", "")
    if not folders:
        pytest.skip("DUALFLOW_PUBLIC names no folders of programs")
    total = report(folders.split(os.pathsep))
    assert total["runs"] and not total["crash"]
