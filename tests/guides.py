"""Helpers for tests that execute guides: they read the code blocks of a page, add the blocks to a
copy of the tree, and run commands there.

A block belongs to the file whose path, in backquotes, comes last before it. A block of any language
is appended to the file, which is created if it does not exist; a block of the language `diff`
replaces its context and removed lines with its context and added lines.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests import light

ROOT = Path(__file__).resolve().parent.parent
LEFT = shutil.ignore_patterns(".git", "lib", "lib64", ".hypothesis", "__pycache__", ".*_cache")
SOURCES = {".py", ".pyi", ".pyx", ".pxi", ".pxd", ".c", ".h", ".def", ".txt"}
BLOCK = re.compile(r"`([\w./]+)`|^```(\w+)\n(.*?)^```$", re.M | re.S)


class Block(NamedTuple):
    """A code block of a page.

    Attributes
    ----------
    file : str
        Path of the file that the block changes, relative to the root of the project.
    language : str
    code : str
    """

    file: str
    language: str
    code: str


def page(name):
    """Return the text of a page of docs/."""
    return (ROOT / "docs" / name).read_text()


def is_file(path):
    """Return True if a word in backquotes is the path of a file, or of a new file in a folder."""
    return (ROOT / path).is_file() or re.fullmatch(r".+/\w+\.\w+", path) is not None


def blocks(text):
    """Return the blocks of a page; examples of the interpreter are left out."""
    file, found = "", []
    for path, language, code in BLOCK.findall(text):
        if path:
            file = path if is_file(path) else file
        elif not code.startswith(">>>"):
            found.append(Block(file, language, code))
    return found


def add(tree, block):
    """Apply a block to its file in a tree."""
    path = tree / block.file
    before = path.read_text() if path.exists() else ""
    path.write_text(changed(before, block) if block.language == "diff" else before + block.code)


def changed(text, block):
    """Return a text after a block of the language diff; its lines must occur exactly once."""
    lines = [(line[:1], line[1:]) for line in block.code.splitlines()]
    old, new = ["".join([f"{line}\n" for sign, line in lines if sign != left]) for left in "+-"]
    assert text.count(old) == 1, f"{block.file}: found {text.count(old)} times:\n{old}"
    return text.replace(old, new)


def copy(folder, *names):
    """Copy the project, or the named files and folders of it, and return the root of the copy."""
    tree = folder / "tree"
    if not names:
        shutil.copytree(ROOT, tree, ignore=LEFT)
    for name in names:
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=LEFT)
        else:
            shutil.copy(ROOT / name, target)
    return tree


def run(tree, *command, check=True):
    """Run Python in a tree and return its output."""
    done = subprocess.run([sys.executable, *command], cwd=tree, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": light.path(tree)}, timeout=3600,
                          check=False)
    assert not check or done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def run_tests(tree, *arguments):
    """Run pytest in a tree and return the number of tests that passed; a failure is an error."""
    stdout = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
    return int(re.search(r"(\d+) passed", stdout).group(1))


def remove(tree, block):
    """Undo a block; the file must contain its lines, exactly once."""
    signs = {"+": "-", "-": "+", " ": " "} if block.language == "diff" else {}
    lines = [signs[line[0]] + line[1:] if signs else f"-{line}" for line in block.code.splitlines()]
    path, opposite = tree / block.file, "".join([f"{line}\n" for line in lines])
    path.write_text(changed(path.read_text(), block._replace(code=opposite)))


LINK = re.compile(
    r"\[`([\w.]+)`\]\(((?:\.\./)+(?:setup\.py|(?:csrc|dualflow|tests|asv_bench|examples|docs)"
    r"/[\w/]+\.(?!md)\w+))\)")
DEFINITIONS = [
    r"\b(?:def|class|struct|enum) {}\b", r"^cdef \w.* {}\(", r"^[a-z]\w*[\w *]* \**{}\(",
    r"^\}} {};",
    r"^(?:DF_INLINE|static) .*FN\({}\)", r"^(?:DF_OP|OP|TILE_\w+)\({}\)", r"^#define {}\b",
    r"^DF_ONCE\([^(),]*, {},",
    r"^[a-z].*\bDF_SYM\({}\)\(",
    r"^    \w+ {};", r"^(?:enum {{ |static const [\w ]*)?{}\b.* = "]


def links(text):
    """Return (name, path) of each name in backquotes that links to a file of code."""
    return LINK.findall(text)


def defines(source, name):
    """Return True if a source text in Python, Cython or C defines a name."""
    return any(re.search(pattern.format(name), source, re.M) for pattern in DEFINITIONS)


def files_of(text):
    """Return the paths of existing files that a page names in backquotes."""
    return {path for path, _, _ in BLOCK.findall(text) if path and (ROOT / path).is_file()}


def files_matching(pattern, *roots):
    """Return the paths of source files below some folders whose text matches a pattern."""
    found = set()
    for root in roots:
        for path in [ROOT / root] if (ROOT / root).is_file() else sorted((ROOT / root).rglob("*")):
            if path.is_file() and (path.suffix in SOURCES or not path.suffix) and \
                    path.name != "_core.c" and re.search(pattern, path.read_text()):
                found.add(path.relative_to(ROOT).as_posix())
    return found
