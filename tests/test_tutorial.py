"""The walk of docs/tutorial: its pages run, and its drawings and notebook are what they make."""

import ast
import contextlib
import io
import json

import pytest

from tests import tutorial

STALE = "run python -m tests.tutorial"


def test_pages(tmp_path):
    """All examples in order, and the drawings they write are those that the pages show."""
    result = tutorial.run(tmp_path)
    assert result.failed == 0 and result.attempted > 70
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    shown = {path.name: path.read_text() for path in tutorial.FOLDER.glob("*.svg")}
    assert drawn == shown, STALE
    pages = "".join(page.read_text() for page in tutorial.PAGES)
    assert all(f"]({name})" in pages for name in drawn)


def test_notebook_is_made_from_the_pages():
    assert tutorial.NOTEBOOK.read_text() == tutorial.notebook(), STALE


def test_notebook_runs(tmp_path, monkeypatch):
    """Each cell prints, or has as the value of its last line, what it shows."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in json.loads(tutorial.NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        *lines, last = ast.parse("".join(cell["source"])).body
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(lines, []), cell["id"], "exec"), names)
            exec(compile(ast.Interactive([last]), cell["id"], "single"), names)
        shown = "".join("".join(output["text"]) for output in cell["outputs"])
        assert printed.getvalue() == shown, cell["id"]


def test_notebook_in_jupyter(tmp_path):
    """Cells run in a kernel, one after another, and show what the pages show."""
    pytest.importorskip("ipykernel")
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(tutorial.NOTEBOOK, as_version=4)
    wanted = [shown(cell) for cell in notebook.cells]
    client.NotebookClient(notebook, timeout=120, kernel_name="python3",
                          resources={"metadata": {"path": tmp_path}}).execute()
    for cell, text in zip(notebook.cells, wanted, strict=True):
        # A kernel breaks long values over lines where Python's prompt does not.
        assert "".join(shown(cell).split()) == "".join(text.split()), cell.id


def shown(cell):
    """What the outputs of a cell say: what was printed, and the value of its last line."""
    return "".join(output.get("text") or output["data"]["text/plain"]
                   for output in cell.get("outputs", []))
