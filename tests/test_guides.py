"""The guides of docs/: their code blocks are added to a copy of the tree, whose tests then pass;
their lists of files are complete. tests/test_adding_an_op.py tests the guide for ops."""

import importlib.util
import re
import subprocess

import pytest

from tests import guides
from tests.guides import ROOT

PYTHON = ("dualflow", "csrc", "tests", "pyproject.toml")    # all that tests of Python code need


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None,
                              reason=f"{package} is not installed")


def applied(tmp_path, name):
    """Return a copy of the Python code with the blocks of a page."""
    tree = guides.copy(tmp_path, *PYTHON)
    for block in guides.blocks(guides.page(name)):
        guides.add(tree, block)
    return tree


def test_diff_blocks_insert_and_replace():
    block = guides.Block("a.py", "diff", " one\n-two\n+2\n+2.5\n three\n")
    assert guides.changed("zero\none\ntwo\nthree\n", block) == "zero\none\n2\n2.5\nthree\n"
    with pytest.raises(AssertionError, match="found 0 times"):
        guides.changed("one\nthree\n", block)


def test_pass(tmp_path):
    tree = applied(tmp_path, "adding_a_pass.md")
    passed = guides.run_tests(tree, "tests/graph/passes/test_joins.py",
                              "tests/graph/passes/test_optimize.py::"
                              "test_watch_sees_every_pass_in_order",
                              "tests/test_layering.py::test_passes_look_up_op_names_at_import_only"
                              "[dualflow/graph/passes/joins.py]")
    assert passed == 4


@pytest.mark.soak
def test_pass_in_the_pipeline(tmp_path):
    tree = applied(tmp_path, "adding_a_pass.md")
    assert guides.run_tests(tree, "tests/graph/passes", "tests/test_layering.py",
                            "tests/graph/test_random_programs.py") > 500


@needs("onnx")
def test_onnx_operator(tmp_path):
    tree = applied(tmp_path, "adding_an_onnx_operator.md")
    assert guides.run_tests(tree, "tests/onnx/test_operators.py", "-k", "quick_gelu") == 12


@needs("keras")
def test_keras_function(tmp_path):
    """The blocks are lines of the tree: without them the function is missing."""
    tree = guides.copy(tmp_path, *PYTHON)
    blocks = guides.blocks(guides.page("adding_a_keras_function.md"))
    for block in blocks:
        guides.remove(tree, block)
    told = guides.run(tree, "-c", "from dualflow.keras import ops; ops.squareplus([1.])",
                      check=False)
    assert re.search("AttributeError.*squareplus", told)
    for block in blocks:
        guides.add(tree, block)
    assert guides.run_tests(tree, "tests/keras/test_functions.py", "-k", "squareplus") == 8
