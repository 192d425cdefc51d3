"""The guide to adding an op: its code blocks are added to a copy of the tree, which is then built
and tested."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT / "docs/adding_an_op.md").read_text()
LEFT = shutil.ignore_patterns(".git", "lib", "lib64", ".hypothesis", "__pycache__", ".*_cache")


def blocks():
    """Yield (file, code) of each block: a block belongs to the file named last before it."""
    file, found = None, []
    for path, code in re.findall(r"`([\w/]+\.\w+)`|^```\w+\n(.*?)^```$", GUIDE, re.M | re.S):
        if code.startswith(">>>"):
            continue
        if path and (ROOT / path).is_file():
            file = path
        elif code:
            found.append((file, code))
    return found


def run(tree, *command):
    done = subprocess.run([sys.executable, *command], cwd=tree, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tree)}, timeout=900)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_guide_names_the_files_to_edit():
    assert [file for file, _ in blocks()] == [
        "csrc/ops/hyperbolic_formulas.h", "csrc/ops/hyperbolic.c", "csrc/op/ops.def",
        "dualflow/ops/hyperbolic.py", "dualflow/math.py", "tests/ops/cases/hyperbolic.py"]


def test_guide_needs_fewer_than_40_lines():
    assert sum(len(code.splitlines()) for _, code in blocks()) < 40


def test_python_op_examples_pass():
    """Run the examples of the section on ops written in Python."""
    text = GUIDE[GUIDE.index("## In Python"):]
    examples = doctest.DocTestParser().get_doctest(text, {}, "In Python", None, None)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.tries > 10 and not runner.failures


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers need their own build")
@pytest.mark.soak
def test_guide_builds_and_passes_op_tests(tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=LEFT)
    for file, code in blocks():
        with open(tree / file, "a") as f:
            f.write(code)
    run(tree, "setup.py", "-q", "build_ext", "--inplace", "--isa", "baseline")
    said = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "sech", "tests/ops",
               "tests/test_complete.py", "tests/test_benchmarks.py")
    assert int(re.search(r"(\d+) passed", said).group(1)) > 30
    run(tree, "-c", "import doctest, dualflow.ops.hyperbolic as m; "
        "assert not doctest.testmod(m).failed")
