"""The guide to adding an op: its code blocks are added to a copy of the tree, which is then built
and tested. Other guides: tests/test_guides.py."""

import doctest
import os

import pytest

from tests import guides

GUIDE = guides.page("adding_an_op.md")

# The tests that enumerate the ops and require something of each, or derive tests from its rows.
DERIVED = ["tests/ops", "tests/transforms/test_every_op.py", "tests/onnx/test_ops.py",
           "tests/onnx/test_sweep.py", "tests/autodiff/test_forward.py",
           "tests/graph/test_cluster.py", "tests/hostile"]
ENUMERATING = ["tests/test_complete.py", "tests/test_benchmarks.py", "tests/test_layering.py",
               "tests/test_names.py", "tests/test_signatures.py", "tests/test_types.py",
               "tests/test_docs.py", "tests/onnx/test_ops.py", "tests/aot/test_export.py",
               "tests/test_site.py", "tests/compat/test_names.py",
               "tests/array_api/test_namespace.py"]


def test_guide_names_the_files_to_edit():
    assert [block.file for block in guides.blocks(GUIDE)] == [
        "csrc/ops/elementwise/hyperbolic_formulas.h", "csrc/ops/elementwise/hyperbolic.c",
        "csrc/op/ops.def",
        "dualflow/ops/elementwise/hyperbolic.py", "dualflow/math.py",
        "tests/ops/elementwise/hyperbolic.py",
        "dualflow/onnx/exporters/elementwise.py"]


def test_guide_needs_fewer_than_45_lines():
    assert sum(len(block.code.splitlines()) for block in guides.blocks(GUIDE)) < 45


def test_python_op_examples_pass():
    """Run the examples of the section on ops written in Python."""
    text = GUIDE[GUIDE.index("## In Python"):]
    examples = doctest.DocTestParser().get_doctest(text, {}, "In Python", None, None)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.tries > 10 and not runner.failures


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the project with the op of the guide, built for the baseline."""
    tree = guides.copy(tmp_path_factory.mktemp("op"))
    for block in guides.blocks(GUIDE):
        guides.add(tree, block)
    guides.run(tree, "setup.py", "-q", "build_ext", "--inplace", "--isa", "baseline")
    return tree


needs_build = pytest.mark.skipif("LD_PRELOAD" in os.environ,
                                 reason="sanitizers need their own build")


@needs_build
@pytest.mark.soak
def test_guide_builds_and_passes_tests_of_the_op(tree):
    assert guides.run_tests(tree, "-k", "sech", *DERIVED) > 30
    guides.run(tree, "-c", "import doctest, dualflow.ops.elementwise.hyperbolic as m; "
               "assert not doctest.testmod(m).failed")


@needs_build
@pytest.mark.soak
def test_guide_passes_tests_that_enumerate_ops(tree):
    assert guides.run_tests(tree, *ENUMERATING) > 1000


BOOK = guides.page("book/real_files.md")


def test_steps_of_the_book_change_existing_lines(tmp_path):
    """The exercises at the end of the book: each block applies to its file."""
    blocks = guides.blocks(BOOK)
    old = {block.file for block in blocks if (guides.ROOT / block.file).exists()}
    tree = guides.copy(tmp_path, *old)
    (tree / "tests/graph/passes").mkdir(parents=True)
    for block in blocks:
        guides.add(tree, block)
    assert {block.file for block in blocks} - old == {
        "dualflow/graph/passes/signed_squares.py", "tests/graph/passes/test_signed_squares.py"}
    assert sum(len(block.code.splitlines()) for block in blocks) < 150


@pytest.fixture(scope="module")
def tree_of_the_book(tmp_path_factory):
    """A copy of the project with the op, the rule and the pass of the book."""
    tree = guides.copy(tmp_path_factory.mktemp("book"))
    for block in guides.blocks(BOOK):
        guides.add(tree, block)
    guides.run(tree, "setup.py", "-q", "build_ext", "--inplace", "--isa", "baseline")
    return tree


@needs_build
@pytest.mark.soak
def test_steps_of_the_book(tree_of_the_book):
    tree = tree_of_the_book
    assert guides.run_tests(tree, "-k", "signed_square", *DERIVED) > 30
    assert guides.run_tests(tree, "tests/graph/passes/test_signed_squares.py") == 8
    assert guides.run_tests(tree, "tests/graph/passes", "tests/graph/test_random_programs.py",
                            "tests/test_complete.py", "tests/test_layering.py",
                            "tests/test_docs.py::test_table_of_passes") > 1000
