"""Each file of the Cython core uses only names that it or a file included before it defines."""

import io
import re
import token
import tokenize
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parent.parent / "dualflow/_core"
INCLUDED = re.findall(r'^include "(\w+\.pxi)"', (CORE / "_core.pyx").read_text(), re.M)
PARTS = ["_core.pxd", *INCLUDED]       # Cython reads the .pxd first
OF_A_TYPE = {"bint", "bool", "char", "const", "dict", "double", "except", "float", "inline", "int",
             "list", "long", "noexcept", "object", "public", "readonly", "set", "str", "tuple",
             "unsigned", "void"}
OF_CONTAINERS = {name for kind in (list, dict, set, str, bytes) for name in dir(kind)}


def statements(source):
    """Yield (depth, tokens) of each logical line; a token is (kind, text, row), comments are left
    out. Expressions in f-strings count as code."""
    depth, line = 0, []
    for t in tokenize.generate_tokens(io.StringIO(source).readline):
        if t.type in (token.INDENT, token.DEDENT):
            depth += 1 if t.type == token.INDENT else -1
        elif t.type == token.NEWLINE:
            yield depth, line
            line = []
        elif t.type == token.STRING and t.string[0] in "fF":
            for inside in re.findall(r"{([^{}!:]+)", t.string):
                line += [(token.NAME if w[0].isalpha() else token.OP, w, t.start[0])
                         for w in re.findall(r"[^\W\d]\w*|[^\w\s'\"]", inside)]
        elif t.type not in (token.NL, token.COMMENT):
            line.append((t.type, t.string, t.start[0]))


def texts(line):
    return [text for _, text, _ in line]


def declared(line):
    """Return the names in a C declaration such as `int a, *b = 1, c(int d)`."""
    names, depth, last, done = [], 0, None, False
    for kind, text, _ in [*line, (token.OP, ",", 0)]:
        if text in ("(", "[", "{"):
            done = done or last is not None            # in parameters or an array size
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
        elif depth == 0 and text in (",", ":", "="):
            names += [last] if last else []
            last, done = None, text == "="
            if text == ":":
                break
        elif depth == 0 and not done and kind == token.NAME and text not in OF_A_TYPE:
            last = text
    return names


def parameters(line):
    """Return the names of a function and of its parameters."""
    start = texts(line).index("(")
    depth, end = 1, start
    while depth:
        end += 1
        depth += (line[end][1] in ("(", "[", "{")) - (line[end][1] in (")", "]", "}"))
    return {line[start - 1][1], *declared(line[start + 1:end])}


def bound(line):
    """Return the names that a line inside a function binds."""
    t = texts(line)
    if t[0] in ("def", "cdef"):
        return parameters(line) if t[-1] == ":" else set(declared(line[1:]))
    names = {t[k + 1] for k, text in enumerate(t[:-1]) if text == "as"}
    for k, text in enumerate(t):
        if text in ("for", "lambda"):
            names.update(t[k + 1:k + t[k:].index("in" if text == "for" else ":")])
    if "=" in t and all(text.isidentifier() or text in ",=" for text in t[:t.index("=")]):
        names.update(t[:t.index("=")])
    return names


class Part:
    """The names that a file defines and uses; C methods of its classes are listed as `.name`."""

    def __init__(self, name, source):
        self.name, self.defines, self.uses = name, set(), {}
        self.block, self.own = [], set()        # of the last function: lines, names it binds
        top = ""                                # the enclosing block: class, enum, extern
        for depth, line in statements(source):
            t = texts(line)
            if depth == 0:
                top = next((w for w in ("class", "enum", "extern", "struct") if w in t[:3]), "")
            if depth == 0 or (depth == 1 and top == "class"):
                self.close()
            if depth == 0 or top in ("enum", "extern"):
                self.define(t, line, depth)
            elif top == "class" and depth == 1 and t[0] == "cdef" and "(" in t:
                self.defines.add("." + t[t.index("(") - 1])
            if top not in ("enum", "extern", "struct"):
                self.block.append(line)
                if t[0] == "def" or (t[0] == "cdef" and t[-1] == ":" and "(" in t) or depth:
                    self.own |= bound(line) if top != "class" or "class" not in t[:2] else set()
        self.close()

    def define(self, t, line, depth):
        for word in ("class", "enum", "struct"):
            if word in t[:3]:
                self.defines.add(t[t.index(word) + 1])
                return
        if t[0] == "def":
            self.defines.add(t[1])
        elif t[0] in ("cdef", "ctypedef") and t[1] != "extern":
            self.defines.update(declared(line[1:]))
        elif depth and line[0][0] == token.NAME:
            self.defines.update(declared(line))
        elif "import" in t or "cimport" in t:
            ends = zip(t, [*t[1:], ","], strict=True)
            self.defines.update(a for a, b in ends if b in (",", ")"))
        elif "=" in t:
            self.defines |= bound(line)

    def close(self):
        """Record the names that the last function uses."""
        for line in self.block:
            before = ""
            for k, (kind, text, row) in enumerate(line):
                after = line[k + 1][1] if k + 1 < len(line) else ""
                if kind != token.NAME:
                    pass
                elif before == ".":
                    if after == "(" and text not in OF_CONTAINERS:
                        self.uses.setdefault("." + text, row)
                elif text not in self.own and not (after == "=" and before in ("(", ",")):
                    self.uses.setdefault(text, row)
                before = text
        self.block, self.own = [], set()


def upward(parts):
    """Return uses of names defined in later files, as text."""
    first = {}
    for level, part in enumerate(parts):
        for name in part.defines:
            first.setdefault(name, level)
    return [f"{part.name}:{row} uses {name} of {parts[first[name]].name}"
            for level, part in enumerate(parts) for name, row in part.uses.items()
            if first.get(name, level) > level]


def test_every_pxi_file_is_included_once():
    assert sorted(INCLUDED) == sorted(path.name for path in CORE.glob("*.pxi"))


def test_design_page_lists_the_pxi_files_in_order():
    text = (CORE.parent.parent / "docs/design.md").read_text()
    block = text[text.index("\nerrors frame_observer "):]
    lines = block[:block.index("```")].splitlines()
    assert " ".join(line[:52] for line in lines).split() == [
        name.removesuffix(".pxi") for name in INCLUDED]


def test_pxi_files_use_only_earlier_names():
    assert upward([Part(name, (CORE / name).read_text()) for name in PARTS]) == []


def test_pxd_declares_only_fields():
    """A C method declared in the .pxd could hide a call into a later file."""
    source = (CORE / "_core.pxd").read_text()
    assert re.findall(r"^    cdef .*?(\w+)\(", source, re.M) == []


LATER = """
cdef enum:
    ONE = 1
cdef int total = 0
cdef class Box:
    cdef int size
    cdef int weigh(self) except -1:
        return ONE
cdef inline int add(int a, int *b) noexcept:
    return a + b[0]
def public(x, *, key=None):
    return x
"""


@pytest.mark.parametrize("source, found", [
    ("def f(x):\n    return add(x, NULL)\n", ["add"]),
    ("cdef int f(x) except -1:\n    cdef int k = ONE\n    return k\n", ["ONE"]),
    ("cdef class A:\n    def g(self, x):\n        return (<Box>x).weigh()\n", ["Box", ".weigh"]),
    ("cdef Box f(object x):\n    return None\n", ["Box"]),
    ("def f(x):\n    global total\n    total += 1\n", ["total"]),
    ("def f(x):\n    return f'{add(x, x)} of {x:.2f}'\n", ["add"]),
    ("def f(total, add=1):\n    Box = total\n    return [ONE for ONE in Box]\n", []),
    ("def f(x):\n    cdef int add, *Box = NULL\n    return x(public=add) + x.total\n", []),
    ("# add\ndef f(x):\n    '''public'''\n    x.append('Box')\n", []),
], ids=range(9))
def test_upward_finds_uses_of_later_names(source, found):
    parts = [Part("early", source), Part("late", LATER)]
    assert [use.split()[2] for use in upward(parts)] == found
    assert upward(parts[::-1]) == []
