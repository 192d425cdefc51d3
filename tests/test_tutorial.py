"""The tutorial in docs/tutorial: pages and notebook run, drawings and notebook are up to date."""

import ast
import contextlib
import io
import json

import pytest

from tests import tutorial

STALE = "run python -m tests.tutorial"


def test_pages(tmp_path):
    """Run all examples in order; the drawings they write must equal the ones in the pages."""
    result = tutorial.run(tmp_path)
    assert result.failed == 0 and result.attempted > 70
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    shown = {path.name: path.read_text() for path in tutorial.FOLDER.glob("*.svg")}
    assert drawn == shown, STALE
    pages = "".join(page.read_text() for page in tutorial.PAGES)
    assert all(f"]({name})" in pages for name in drawn)


def test_notebook_matches_the_pages():
    assert tutorial.NOTEBOOK.read_text() == tutorial.notebook(), STALE


def test_notebook_runs(tmp_path, monkeypatch):
    """Each cell prints, or its last line returns, the stored output."""
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


@pytest.mark.soak
def test_notebook_in_jupyter(tmp_path):
    """Cells run in order in a kernel and give the stored outputs."""
    pytest.importorskip("ipykernel")
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(tutorial.NOTEBOOK, as_version=4)
    wanted = [shown(cell) for cell in notebook.cells]
    client.NotebookClient(notebook, timeout=120, kernel_name="python3",
                          resources={"metadata": {"path": tmp_path}}).execute()
    for cell, text in zip(notebook.cells, wanted, strict=True):
        # A kernel wraps long values; Python's prompt does not.
        assert "".join(shown(cell).split()) == "".join(text.split()), cell.id


def shown(cell):
    """Return the stored output of a cell: printed text and the value of its last line."""
    return "".join(output.get("text") or output["data"]["text/plain"]
                   for output in cell.get("outputs", []))
