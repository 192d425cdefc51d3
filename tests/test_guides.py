"""The guides of docs/: their code blocks are added to a copy of the tree, whose tests then pass;
their lists of files are complete. tests/test_adding_an_op.py tests the guide for ops."""

import importlib.util
import os
import re
import subprocess

import pytest

from dualflow.dtypes import ALL
from tests import guides
from tests.aot.test_build import COMPILER, works

PYTHON = ("dualflow", "csrc", "tests", "pyproject.toml")    # all that tests of Python code need


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None,
                              reason=f"{package} is not installed")


def applied(tmp_path, name, *files):
    """Return a copy of the Python code, or of some files, with the blocks of a page."""
    tree = guides.copy(tmp_path, *(files or PYTHON))
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
                              "tests/test_layering.py::test_passes_look_up_op_names_at_import_only")
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
    output = guides.run(tree, "-c", "from dualflow.keras import ops; ops.squareplus([1.])",
                      check=False)
    assert re.search("AttributeError.*squareplus", output)
    for block in blocks:
        guides.add(tree, block)
    assert guides.run_tests(tree, "tests/keras/test_functions.py", "-k", "squareplus") == 8


CHOICE = """
#include "op/registry.h"
#include <stdio.h>
const df_op *const df_optable_baseline[] = {NULL}, *const df_optable_sse4[] = {NULL};
int main(void)
{
    df_error err = {0};
    puts(df_registry_init(&err) == DF_OK ? df_registry_isa() : err.text);
}
"""
needs_x86 = pytest.mark.skipif(os.uname().machine != "x86_64" or not works(COMPILER),
                               reason="needs a compiler for x86-64")


def compiled(tree, *arguments):
    done = subprocess.run([COMPILER, "-std=gnu11", "-D_GNU_SOURCE", "-DDF_HAVE_SSE4", "-Icsrc",
                           *arguments], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_files_of_the_simd_levels():
    """The guide names every file with a list of levels, or with a branch for one."""
    found = guides.files_matching("(?i)avx2|__AVX|DF_ISA_", "setup.py", "csrc", "dualflow")
    assert found == found & guides.files_of(guides.page("adding_a_simd_level.md"))
    assert len(found) > 25


@needs_x86
def test_simd_level(tmp_path):
    tree = applied(tmp_path, "adding_a_simd_level.md", *PYTHON, "setup.py")
    (tree / "main.c").write_text(CHOICE)
    compiled(tree, "main.c", *[f"csrc/{name}.c" for name in ("base/cpu", "base/status",
                                                            "op/registry")], "-o", "main")
    for wanted, chosen in (("", "sse4"), ("baseline", "baseline"),
                           ("neon", "DUALFLOW_ISA=neon: this build on this CPU has baseline sse4")):
        output = subprocess.run(["./main"], cwd=tree, capture_output=True, text=True, check=True,
                              env={**os.environ, "DUALFLOW_ISA": wanted}).stdout
        assert output == f"{chosen}\n"
    guides.run_tests(tree, "tests/aot/test_export.py::test_levels_match_setup",
                     "tests/aot/test_csrc.py::test_make_compiles_what_setup_does")


@needs_x86
@pytest.mark.soak
def test_simd_level_compiles_kernels(tmp_path):
    tree = applied(tmp_path, "adding_a_simd_level.md", *PYTHON, "setup.py")
    for source in ("op/table", "ops/hyperbolic", "ops/cast"):
        compiled(tree, "-O1", "-Wall", "-Werror", "-msse4.2", "-DDF_ISA=sse4", "-c",
                 f"csrc/{source}.c", "-o", "out.o")


ROW = re.compile(r"^\| (`[^|]+`) \| `([^|]+)` \| .* \|$", re.M)


def test_files_of_a_dtype():
    """The guide for dtypes names the files that name bfloat16, and files for complex numbers; it
    quotes a line of each."""
    page, _, of_complex = guides.page("adding_a_dtype.md").partition("\nComplex numbers are pairs")
    listed, others = [{path: entry for paths, entry in ROW.findall(part)
                       for path in guides.files_of(paths)} for part in (page, of_complex)]
    assert len(listed) > 30 and len(others) > 10
    for path, entry in [*listed.items(), *others.items()]:
        assert entry in (guides.ROOT / path).read_text(), f"{path} does not contain {entry}"
    found = guides.files_matching("(?i)bfloat16|(?<!avx512)(?<!avx10_2)(?<!_512)bf16", "setup.py",
                                  "csrc", "dualflow")
    assert found == {*listed}


def test_dtype_tables_agree():
    """The tables of dtypes in C and in Python have the same rows."""
    table = (guides.ROOT / "csrc/base/dtype.c").read_text()
    rows = re.findall(r'\[DF_(\w+)\] = \{"(\w+)", "([^"]*)", (\d+), DF_KIND_(\w+)\}', table)
    order = re.findall(r"^    DF_([A-Z]+\d*)\b", (guides.ROOT / "csrc/base/dtype.h").read_text()
                       .partition("} df_dtype;")[0], re.M)
    assert order == [row[0] for row in rows] == [d.short_name for d in ALL]
    assert [d.index for d in ALL] == [*range(len(ALL))]
    assert [(d.short_name, d.name, str(d.itemsize), d.kind.upper(), d.is_numpy_compatible)
            for d in ALL] == [(short, name, size, kind, bool(format))
                              for short, name, format, size, kind in rows]
