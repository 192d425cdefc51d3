"""Each construct nested inside each other construct."""

import itertools
import textwrap

import pytest

from tests import sampling
from tests.autograph.referee import check, compiled

# `a` and `b` are numbers, `n` a small one, `xs` a list; INNER is replaced by another construct.
CONSTRUCTS = {
    "if": """
        if a > b:
            INNER
        """,
    "else": """
        if a % 2 == 0:
            b = b - 1
        else:
            INNER
        """,
    "elif": """
        if a > 7:
            a = a - b
        elif a > 1:
            INNER
        elif b > 3:
            b = a + 1
        else:
            a, b = b, a
        """,
    "if return": """
        if a > 40:
            return a, b
        INNER
        """,
    "if else return": """
        if a < b:
            if b > 9:
                return b, a
            a = a + 1
        else:
            INNER
        """,
    "while": """
        k = 0
        while k < n and a < 60:
            k = k + 1
            INNER
        """,
    "while break": """
        z = 0
        while a < 20 and z < 9:
            a, z = a + 3, z + 1
            if b > 11:
                break
            INNER
        else:
            b = b + 100
        """,
    "while True": """
        t = 0
        while True:
            t += 1
            if t > n:
                break
            INNER
        """,
    "while continue": """
        i = 0
        while i < n:
            i = i + 1
            if (a + i) % 3 == 0:
                continue
            INNER
        """,
    "while return": """
        m = 0
        while m < n:
            m = m + 1
            if b > 25:
                return a + m, b
            INNER
        """,
    "for range": """
        for i in range(n):
            a = a + i
            INNER
        """,
    "for rows": """
        for x in xs:
            b = b + x
            INNER
        """,
    "for break": """
        for x in xs:
            if x > 2:
                break
            INNER
        else:
            a = a + 50
        """,
    "for return": """
        for j, x in enumerate(xs):
            if a == x:
                return b, j
            INNER
        """,
    "for zip": """
        for x, y in zip(xs, reversed(xs)):
            if x > y:
                continue
            a = a + x * y
            INNER
        """,
    "python for": """
        for q in (1, 2):
            a = a + q
            if a > 30:
                break
            INNER
        """,
    "expression": """
        a = (a + 1 if a < b else b - 1) if not a > 5 else b
        INNER
        """,
    "and or": """
        if (a < b or a > 10) and not b < 0:
            INNER
        """,
    "chain": """
        if 0 < a <= b + 3 < 20:
            INNER
        """,
}
INNERMOST = "a, b = a + 2, b + 1"
CALLS = [(1, 2, 2, [1, 2, 3]), (5, 0, 3, [4, -1]), (-3, 8, 0, [3, 1, 2]), (12, 12, 4, [0, 0])]


def text_of(outer, inner):
    """Return the text of a function with one construct inside another."""
    body = INNERMOST
    for construct, mark in ((inner, "_2"), (outer, "_1")):
        text = textwrap.dedent(CONSTRUCTS[construct]).strip("\n")
        for name in ("k", "t", "i", "m", "x", "j", "y", "q", "z"):
            text = rename(text, name, name + mark)
        lines = []
        for line in text.splitlines():
            margin = line[:len(line) - len(line.lstrip())]
            lines.append(textwrap.indent(body, margin) if line.strip() == "INNER" else line)
        body = "\n".join(lines)
    return f"def f(a, b, n, xs):\n{textwrap.indent(body, '    ')}\n    return a, b\n"


def rename(text, old, new):
    out, word = [], ""
    for c in text + " ":
        if c.isidentifier() or (word and c.isdigit()):
            word += c
            continue
        out.append(new if word == old else word)
        out.append(c)
        word = ""
    return "".join(out)[:-1]


@pytest.mark.parametrize("outer, inner",
                         sampling.part(list(itertools.product(CONSTRUCTS, CONSTRUCTS)), 6))
def test_each_construct_inside_each_other(outer, inner):
    check(compiled(text_of(outer, inner)), *CALLS)
