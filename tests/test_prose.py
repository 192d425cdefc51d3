"""The prose of the project stays plain: few matches of the patterns of `prose.py`."""

import subprocess
from collections import Counter

import pytest

from tests import prose

# Matches per 1,000 words, at most.
LIMITS = {"dualflow": 6, "csrc": 6, "docs": 4, "README.md": 4, "CHANGELOG.md": 4, "tests": 8}


def in_a_repository():
    found = subprocess.run(["git", "rev-parse", "--show-toplevel"], cwd=prose.ROOT,
                           capture_output=True, text=True, check=False)
    return found.returncode == 0 and found.stdout.strip() == str(prose.ROOT)


@pytest.mark.skipif(not in_a_repository(), reason="no git repository")
@pytest.mark.parametrize("path", LIMITS)
def test_prose_is_plain(path):
    words, found, by_file = 0, [], Counter()
    for file in prose.files_under(path):
        n, matches = prose.measure(file)
        words += n
        found += matches
        by_file[str(file.relative_to(prose.ROOT))] = len(matches)
    rate = 1000 * len(found) / words
    worst = "\n".join(f"  {n} {name}" for name, n in by_file.most_common(10))
    assert rate <= LIMITS[path], (
        f"{rate:.1f} matches per 1,000 words of {path}, at most {LIMITS[path]}; `python -m "
        f"tests.prose {path}` lists them; most are in\n{worst}")


@pytest.mark.parametrize(("sentence", "n"), [
    ("Return the sources in execution order.", 0),
    ("What comes first, then the rest.", 2),
    ("Whether a value is there.", 1),
    ("The sum of what flows into it.", 3),
    ("A loop with as many rounds, the last one first.", 2),
    ("Round to the nearest even number.", 0),
    ("Return True if the op has no gradient.", 0)])
def test_patterns(sentence, n):
    assert len(prose.matches(sentence)) == n


def test_passages_of_each_kind_of_file():
    assert prose.passages('"""A module."""\nx = 1  # one\n# two\n# three\ny = "# no"\n', ".py") == [
        "A module.", "one two three"]
    assert prose.passages("int x; /* one\n * two */ int y;", ".c") == [" one\n two "]
    assert prose.passages("A page.\n\n```python\nwhat = 1\n```\n", ".md") == ["A page."]
