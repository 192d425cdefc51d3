"""The book of docs/book: its files are those of the pages, the code and the examples run, the
solutions of the exercises pass, and the references to the project exist."""

import ast
import contextlib
import doctest
import importlib
import io
import json
import os
import re
import runpy
import subprocess
import sys

import pytest

from tests import guides, light
from tests.aot.test_build import COMPILER, works
from tests.test_site import loaded

book = loaded("book")
CHAPTERS = book.chapters()
SOLUTIONS = book.BOOK / "solutions"
MNIST = guides.ROOT.parent / "shared/data/mnist"
ARGUMENTS = {"ch09_matmul": ["64"]}         # measures products of matrices of this size
STALE = "run python docs/ext/book.py"
needs_compiler = pytest.mark.skipif(not works(COMPILER), reason="needs a C compiler")


def uses_c(chapter):
    """Return True if a chapter compiles C, or uses a chapter that does."""
    text = "".join(book.files(chapter).values())
    imported = re.findall(r"^from (ch\d\d_\w+) import", text, re.M)
    return ".c" in "".join(book.files(chapter)) or any(map(uses_c, imported))


def marked(chapters):
    """Return the parameters of a test: chapters with C are skipped without a compiler."""
    return [pytest.param(chapter, marks=[needs_compiler] if uses_c(chapter) else [])
            for chapter in chapters]


@pytest.fixture(scope="module", autouse=True)
def path():
    """Put the folders of the book on the path of modules."""
    folders = [str(book.CODE), str(SOLUTIONS)]
    sys.path[:0] = folders
    yield
    for folder in folders:
        sys.path.remove(folder)


@pytest.fixture(autouse=True)
def op_table():
    """Restore op records of the toy that a chapter or a solution replaces."""
    ops = importlib.import_module("ch01_tensors").OPS
    before = dict(ops)
    yield
    ops.update(before)


def test_files_match_the_pages():
    wanted = {name: text for chapter in CHAPTERS for name, text in book.files(chapter).items()}
    found = {file.name: file.read_text() for file in book.CODE.iterdir() if file.is_file()}
    assert found == wanted, STALE


def test_pictures_are_up_to_date():
    """Each chapter shows one picture, which the script of the book draws."""
    drawn = book.pictures()
    shown = {file.name: file.read_text() for file in book.BOOK.glob("*.svg")}
    assert drawn == shown, STALE
    for chapter in CHAPTERS:
        assert book.page(chapter).count(f"]({chapter}.svg)") == 1
    assert len(drawn) == len(CHAPTERS)


@pytest.mark.parametrize("chapter", marked(CHAPTERS))
def test_file_runs_alone(chapter, monkeypatch):
    monkeypatch.setattr(sys, "argv", [f"{chapter}.py", *ARGUMENTS.get(chapter, [])])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(book.CODE / f"{chapter}.py"), run_name="__main__")
    assert printed.getvalue()


@pytest.mark.parametrize("chapter", marked(CHAPTERS))
def test_examples(chapter):
    """The examples of a page print the output that the page shows."""
    names = dict(vars(importlib.import_module(chapter)))
    test = doctest.DocTestParser().get_doctest(book.page(chapter), names, chapter, chapter, 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert result.attempted and not result.failed


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_imports_lead_to_earlier_chapters(chapter):
    text = book.files(chapter)[f"{chapter}.py"]
    modules = re.findall(r"^(?:from|import) (\w+)", text, re.M)
    assert all(name < chapter for name in modules if name.startswith("ch"))
    assert {"dualflow", "tests"}.isdisjoint(modules), "the code of a chapter is the toy's"


def test_no_code_outside_imports_a_chapter():
    found = guides.files_matching(r"(?:from|import) ch\d\d_", "dualflow", "asv_bench", "examples",
                                  "setup.py")
    assert not found


def without_code(text):
    return re.sub(r"^```.*?^```\n", "", text, flags=re.M | re.S)


def exercises(chapter):
    """Return the tests of the solutions of a chapter, by name."""
    tree = ast.parse((SOLUTIONS / f"{chapter[:4]}.py").read_text())
    return [node.name for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


@pytest.mark.parametrize(("chapter", "name"), [
    pytest.param(chapter, name, marks=[needs_compiler] if uses_c(chapter) else [])
    for chapter in CHAPTERS for name in exercises(chapter)])
def test_solutions(chapter, name):
    getattr(importlib.import_module(chapter[:4]), name)()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_exercise_has_a_solution(chapter):
    text = book.page(chapter).partition("## Exercises")[2]
    numbers = re.findall(r"^(\d)\. ", text, re.M)
    assert 3 <= len(numbers) <= 5
    solved = {name.split("_")[2] for name in exercises(chapter)}
    assert solved == set(numbers)


@pytest.mark.parametrize("page", sorted(page.name for page in book.BOOK.glob("*.md")))
def test_references(page):
    """A name that links to a file is defined in the file; other links lead to files."""
    text = (book.BOOK / page).read_text()
    for name, path in guides.links(text):
        source = (book.BOOK / path).resolve()
        assert guides.defines(source.read_text(), name), f"{path} does not define {name}"
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", without_code(text)):
        if not target.startswith(("http:", "https:")):
            assert (book.BOOK / target).exists(), target
    if page.startswith("ch"):
        real = text.partition("## Where this lives in dualflow")[2].partition("\n## ")[0]
        assert len(guides.links(real)) >= 4


@pytest.mark.parametrize("data", ["uci", "mnist"])
def test_training_reaches_95_percent(data):
    """An example of the page requires 95 % for the generated digits."""
    training = importlib.import_module("ch03_training")
    if data == "mnist":
        if not MNIST.exists():
            pytest.skip(f"{MNIST} does not exist")
        history = training.train(*training.read_mnist(MNIST), epochs=5, hidden=128)[1]
    else:
        pytest.importorskip("sklearn")
        history = training.train(*training.read_uci())[1]
    assert history[-1] >= 0.95


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_takes_fifteen_minutes(chapter):
    """A page has at most 2,400 words, code included. A word contains a letter or a digit."""
    words = [word for word in book.page(chapter).split() if any(map(str.isalnum, word))]
    assert 1400 < len(words) <= 2400
    for name, code in book.files(chapter).items():
        assert len(code.splitlines()) < 300, name


def n_lines(code):
    """Return the number of lines of code, without comments, docstrings and blank lines."""
    code = re.sub(r'""".*?"""|/\*.*?\*/|# [^\n]*', "", code, flags=re.S)
    return sum(bool(line.strip()) for line in code.splitlines())


def test_lengths_that_the_text_states():
    """Chapters 2, 5, 7, 9 and 13 state how many lines their code has."""
    texts = {file.name: file.read_text() for file in book.CODE.iterdir() if file.is_file()}
    parts = {node.name: ast.get_source_segment(texts[name], node)
             for name in ("ch01_tensors.py", "ch02_tape.py", "ch05_passes.py")
             for node in ast.parse(texts[name]).body if hasattr(node, "name")}
    graph = ["Operation", "Interpreter", "Graph", "topological_order", "Session"]
    assert sum(n_lines(parts[name]) for name in graph) < 60
    for run in importlib.import_module("ch05_passes").PASSES:
        assert n_lines(parts[run.__name__]) <= 20
    steps = texts["ch09_matmul.c"]
    steps = steps[steps.index("enum { ROWS"):steps.index("/* Copies the windows")]
    assert n_lines(steps) < 70
    assert n_lines(texts["ch07_executor.c"]) < 110
    assert n_lines(texts["ch13_export.c"]) == 34


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_notebook_is_valid(chapter):
    cells = json.loads(book.notebook(chapter))["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells) >= 10
    for cell in cells:
        if cell["cell_type"] == "code":
            ast.parse("".join(cell["source"]))


RUN = """
import ast, contextlib, doctest, io, json, sys
names = {"__name__": "__main__"}
same = doctest.OutputChecker().check_output
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        *lines, last = ast.parse("".join(cell["source"])).body
        wanted = "".join("".join(output["text"]) for output in cell["outputs"])
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(ast.Module(lines, []), cell["id"], "exec"), names)
                exec(compile(ast.Interactive([last]), cell["id"], "single"), names)
            except Exception as error:
                if not wanted.startswith("Traceback"):
                    raise
                continue
        assert not wanted or same(wanted, printed.getvalue(), doctest.ELLIPSIS), cell
print("done")
"""


@pytest.mark.soak
@pytest.mark.parametrize("chapter", marked(CHAPTERS))
def test_notebook_runs_alone(chapter, tmp_path):
    """The cells of a notebook run in an empty folder, given dualflow."""
    (tmp_path / "chapter.ipynb").write_text(book.notebook(chapter))
    done = subprocess.run([sys.executable, "-c", RUN, "chapter.ipynb"], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": light.path(guides.ROOT)},
                          capture_output=True, text=True, check=False)
    assert done.stdout.endswith("done\n"), done.stderr[-3000:]
