"""Run the pages of docs/tutorial in order. ``python -m tests.tutorial`` writes the drawings they
produce, and a notebook with their text and code."""

import contextlib
import doctest
import json
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs/tutorial"
NOTEBOOK = FOLDER / "walk.ipynb"
PAGES = [FOLDER / f"{name}.md"               # a line with one word: an entry of the toctree
         for name in re.findall(r"^(\w+)$", (FOLDER / "index.md").read_text(), re.M)]
PARSER = doctest.DocTestParser()


def run(folder):
    """Return the numbers of failed and of run examples; write drawings to the folder."""
    runner, names = doctest.DocTestRunner(), {}
    with contextlib.chdir(folder):
        for page in PAGES:
            test = PARSER.get_doctest(page.read_text(), names, page.name, page.name, 0)
            runner.run(test, clear_globs=False)
            names = test.globs
    return runner.summarize(verbose=False)


def cells(text):
    """Return the cells of a page: ("markdown", text, "") and ("code", source, output)."""
    for k, part in enumerate(re.split(r"```python\n(.*?)```\n", text, flags=re.S)):
        if k % 2 == 0:
            yield "markdown", part.strip(), ""
            continue
        source = ""
        for example in PARSER.get_examples(part):
            source += example.source
            if example.want:                  # a cell shows only its last value
                yield "code", source.rstrip(), example.want
                source = ""
        if source:
            yield "code", source.rstrip(), ""


def notebook():
    """Return the text of the notebook."""
    title = (FOLDER / "index.md").read_text().split("```{toctree}")[0]
    parts = [*cells(title), *(cell for page in PAGES for cell in cells(page.read_text()))]
    made = [_cell(k, *part) for k, part in enumerate(part for part in parts if part[1])]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": made, "metadata": {"kernelspec": kernel},
                       "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False, indent=1) + "\n"


def _cell(k, kind, source, printed):
    cell = {"cell_type": kind, "id": f"cell-{k}", "metadata": {},
            "source": source.splitlines(keepends=True)}
    if kind == "code":
        stream = {"name": "stdout", "output_type": "stream", "text": printed.splitlines(True)}
        cell |= {"execution_count": None, "outputs": [stream] if printed else []}
    return cell


if __name__ == "__main__":
    run(FOLDER)
    NOTEBOOK.write_text(notebook())
