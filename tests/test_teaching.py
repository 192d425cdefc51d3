"""The page for teachers: each change of a line that it proposes is noticed by the test it names."""

import os
import re
import subprocess
import sys

import pytest

from tests import guides, light

PAGE = guides.page("book/teaching.md")
BREAK = re.compile(r"\*\*(\d+)\. .*?`([\w./]+)`:\n\n```diff\n(.*?)```\n\n`pytest ([^`]+)`", re.S)
BREAKS = BREAK.findall(PAGE)
NEEDED = ("dualflow", "csrc", "tests", "docs", "asv_bench", "pyproject.toml", "setup.py")


def broken(number, file, code):
    """Return the text of a file after a change of the page."""
    text = (guides.ROOT / file).read_text()
    return guides.changed(text, guides.Block(file, "diff", code))


def test_changes_apply():
    assert [int(number) for number, *_ in BREAKS] == [*range(1, len(BREAKS) + 1)]
    assert len(BREAKS) == PAGE.count("```diff") > 8
    for number, file, code, _ in BREAKS:
        assert broken(number, file, code) != (guides.ROOT / file).read_text()


@pytest.mark.soak
@pytest.mark.parametrize(("number", "file", "code", "arguments"), BREAKS)
def test_change_is_noticed(number, file, code, arguments, tmp_path):
    tree = guides.copy(tmp_path, *NEEDED)
    (tree / file).write_text(broken(number, file, code))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                           *arguments.split()], cwd=tree, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": light.path(tree)}, check=False)
    assert done.returncode == 1 and re.search(r"1 failed", done.stdout), done.stdout[-2000:]
