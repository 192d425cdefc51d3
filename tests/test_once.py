"""Functions that a build for several SIMD levels contains once (DF_ONCE of csrc/op/op.h)."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAD = re.compile(r"^(?:DF_ONCE\([^(),]*, (?:FN\()?(\w+)\)?, |"
                  r"(?:static|DF_INLINE)\b[^;{}()=]*?\b(\w+))\([^;{}]*\)\s*\{", re.M)
COMMENT = re.compile(r'/\*.*?\*/|"(?:[^"\\]|\\.)*"', re.S)
PER_LEVEL = re.compile(
    r"\bDF_SYM\(|\bDF_VEC_BYTES\b|\bDF_ISA\b|\b[VM] \w+ =|\bFN\((?:load|store)\b")


def functions(path):
    """Return the bodies of the functions of a file by name, and the names of those marked."""
    text = COMMENT.sub("", path.read_text())
    bodies, once = {}, []
    for found in HEAD.finditer(text):
        name = found[1] or found[2]
        one_line = text[found.end():text.index("\n", found.end())]
        end = text.index("}" if "}" in one_line else "\n}", found.end())
        bodies[name] = text[found.end():end]
        once += [name] if found[1] else []
    return bodies, once


FILES = [path for path in sorted(ROOT.glob("csrc/**/*.[ch]"))
         if re.search(r"^DF_ONCE\(", path.read_text(), re.M)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_functions_use_nothing_of_a_level(path):
    bodies, once = functions(path)
    assert once
    for name in once:
        reached, wanted = set(), {name}
        while wanted:
            at = wanted.pop()
            reached.add(at)
            assert not PER_LEVEL.search(bodies[at]), f"{path}: {name} reaches {at}"
            wanted |= {x for x in re.findall(r"\b(\w+)\(", bodies[at]) if x in bodies} - reached


def test_names_are_unique():
    """Other levels refer to the functions by name."""
    counts = Counter(name for path in FILES for name in functions(path)[1])
    assert len(counts) > 100
    assert [name for name, n in counts.items() if n > 1] == []
