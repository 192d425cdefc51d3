"""The training and prediction functions of every example are saved as program files and exported as
C, which is built and compared with Python. One folder holds them all; other compilers, libraries
and machines run under soak."""

import importlib.util

import pytest

import dualflow as df
from tests.aot.examples import EXAMPLES, FOLDER, LIBRARIES, functions_of
from tests.aot.test_build import (
    VARIANTS,
    build_by_cmake,
    make,
    needs_make,
    variant_or_skip,
    works,
)
from tests.aot.test_program_files import saved

for library in LIBRARIES:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed", allow_module_level=True)


def bits(made):
    return [x.numpy().tobytes() if isinstance(x, df.Tensor) else x for x in df.nest.flatten(made)]


def write(folder):
    """Export a folder of the functions of all examples."""
    functions, given = functions_of(EXAMPLES)
    df.export(folder, functions, examples=given)


@pytest.mark.parametrize("name", EXAMPLES)
def test_functions_are_saved_as_program_files(name, tmp_path):
    for function, *args in EXAMPLES[name]().values():
        loaded = saved(tmp_path, function, *args)
        for _ in range(2):
            assert bits(function(*args)) == bits(loaded(*args))


def test_no_example_is_missing():
    traced = {path.stem for path in FOLDER.glob("*.py") if "df.function" in path.read_text()}
    traced -= {"export_language_model"}         # tests/test_language_model.py builds its program
    assert traced <= EXAMPLES.keys()


@needs_make
def test_some_examples_give_the_bits_of_python_in_c(built):
    said = built[1]
    assert said.startswith("bit-equal")
    assert "lines_train, lines_predict, gpt_train, gpt_predict, gpt_judge" in said


@needs_make
@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_all_examples_give_the_bits_of_python_in_c(variant, tmp_path):
    arguments, end = variant_or_skip(variant)
    write(tmp_path / "model")
    assert make(tmp_path / "model", *arguments).startswith(end)


@pytest.mark.soak
@pytest.mark.skipif(not works("cmake"), reason="cmake is not installed")
def test_cmake(tmp_path):
    write(tmp_path / "model")
    build_by_cmake(tmp_path)
