"""The book of docs/book: code, notebooks and pictures of the chapters. Sphinx uses it as an
extension that adds the notebooks to the site; tests/test_book.py uses its functions.

A page is the only source of a chapter. Its blocks of Python, in order, are `code/<chapter>.py`, and
its blocks of C are `code/<chapter>.c`. Blocks that begin with `>>>` are examples of the chapter,
with their output. A notebook contains the text, the code and the examples of a page, after a cell
that writes the files of the earlier chapters; so it needs nothing but dualflow.

    python docs/ext/book.py             # after a change of a page: writes code and pictures
    python docs/ext/book.py FOLDER      # writes the notebooks
"""

import doctest
import json
import re
import runpy
import sys
from pathlib import Path

BOOK = Path(__file__).resolve().parent.parent / "book"
CODE = BOOK / "code"
PICTURES = BOOK / "pictures.py"
BLOCK = re.compile(r"^```(python|c)\n(.*?)^```\n", re.M | re.S)
PARSER = doctest.DocTestParser()

SETUP = '''\
# The code of the other chapters that this chapter uses.
import sys
import tempfile
from pathlib import Path

files = {files}
folder = Path(tempfile.mkdtemp())
for name, text in files.items():
    (folder / name).write_text(text)
sys.path.insert(0, str(folder))
__file__ = str(folder / "{chapter}.py")
'''


def chapters():
    """Return the names of the chapters in order."""
    return sorted(page.stem for page in BOOK.glob("ch[0-9][0-9]_*.md"))


def page(chapter):
    """Return the text of a chapter."""
    return (BOOK / f"{chapter}.md").read_text()


def title(chapter):
    """Return the first line of a chapter, without the sign of a heading."""
    return page(chapter).partition("\n")[0].lstrip("# ")


def blocks(chapter):
    """Yield (language, code, is_example) for each block of a page."""
    for language, code in BLOCK.findall(page(chapter)):
        yield language, code, code.startswith(">>>")


def files(chapter):
    """Return the files of a chapter: a dict from names to texts."""
    parts = {"python": [], "c": []}
    for language, code, is_example in blocks(chapter):
        if not is_example:
            parts[language].append(code)
    head = f"The code of docs/book/{chapter}.md, from which docs/ext/book.py writes this file."
    made = {f"{chapter}.py": f'"""{head}"""\n\n' + "\n\n".join(parts["python"])}
    if parts["c"]:
        made[f"{chapter}.c"] = f"/* {head} */\n" + "\n".join(parts["c"])
    return made


def cells(chapter):
    """Yield the cells of a notebook: ("markdown", text, "") and ("code", source, output)."""
    earlier = [name for name in chapters() if name < chapter]
    needed = {name: text for other in earlier for name, text in files(other).items()}
    needed |= {name: text for name, text in files(chapter).items() if name.endswith(".c")}
    if needed:
        yield "code", SETUP.format(files=_literal(needed), chapter=chapter), ""
    text, at = page(chapter), 0
    for block in BLOCK.finditer(text):
        if block[1] == "c":
            continue                            # remains in the text
        yield "markdown", text[at:block.start()].strip(), ""
        at = block.end()
        if not block[2].startswith(">>>"):
            yield "code", block[2].rstrip(), ""
            continue
        source = ""
        for example in PARSER.get_examples(block[2]):
            source += example.source
            if example.want:                    # a cell shows only its last value
                yield "code", source.rstrip(), example.want
                source = ""
        if source:
            yield "code", source.rstrip(), ""
    yield "markdown", text[at:].strip(), ""


def _literal(texts):
    """Return the source of a dict of texts, with triple quotes."""
    rows = [f'    {name!r}: r"""{text}""",\n' for name, text in
            ((name, text.replace('"""', "'''")) for name, text in texts.items())]
    return "{\n" + "".join(rows) + "}"


def notebook(chapter):
    """Return the text of the notebook of a chapter."""
    made = []
    for kind, source, printed in cells(chapter):
        if not source:
            continue
        cell = {"cell_type": kind, "id": f"cell-{len(made)}", "metadata": {},
                "source": source.splitlines(keepends=True)}
        if kind == "code":
            stream = {"name": "stdout", "output_type": "stream", "text": printed.splitlines(True)}
            cell |= {"execution_count": None, "outputs": [stream] if printed else []}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": made, "metadata": {"kernelspec": kernel},
                       "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False, indent=1) + "\n"


def pictures():
    """Return the pictures of the book: a dict from names to SVG texts."""
    return runpy.run_path(str(PICTURES))["draw_all"]()


def write_notebooks(folder):
    """Write the notebooks to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in chapters():
        (folder / f"{chapter}.ipynb").write_text(notebook(chapter))


def add_notebooks(app, exception):
    """Write the notebooks to a site that has been built."""
    if exception is None and app.builder.format == "html":
        write_notebooks(Path(app.outdir) / "book")


def setup(app):
    app.connect("build-finished", add_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main(folders):
    """Write notebooks to the folders; without folders, write code and pictures."""
    for folder in folders:
        write_notebooks(Path(folder))
    if folders:
        return
    for chapter in chapters():
        for name, text in files(chapter).items():
            (CODE / name).write_text(text)
    for name, text in pictures().items():
        (BOOK / name).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
