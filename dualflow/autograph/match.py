"""Rewrites `match` of values as `if`, which a traced tensor may decide. Patterns that match parts
of their subject are not rewritten."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

LOAD, STORE = ast.Load(), ast.Store()


class UnsupportedPattern(Exception):
    """A pattern matches parts of its subject."""


def as_choices(s: ast.Match, fresh: Callable[[str], str]) -> list[ast.stmt] | None:
    """Return statements equivalent to a `match`, or None if its patterns are not supported."""
    held = fresh("subject")
    made: list[ast.stmt] = []
    try:
        for case in reversed(s.cases):
            made = _choice(case, held, made)
    except UnsupportedPattern:
        return None
    return [ast.Assign(targets=[ast.Name(id=held, ctx=STORE, **_at(s.subject))], value=s.subject,
                       **_at(s)), *made]


def _choice(case: ast.match_case, held: str, others: list[ast.stmt]) -> list[ast.stmt]:
    """Rewrite one case; `others` are the rewritten later cases."""
    at = _at(case.pattern)
    test, captures = _test(case.pattern, held)
    if captures and test is not None and case.guard is not None:
        raise UnsupportedPattern
    bound: list[ast.stmt] = [
        ast.Assign(targets=[ast.Name(id=x, ctx=STORE, **at)],
                   value=ast.Name(id=held, ctx=LOAD, **at), **at) for x in captures]
    if test is None:
        if case.guard is None:
            return [*bound, *case.body]
        return [*bound, ast.If(test=case.guard, body=case.body, orelse=others, **at)]
    if case.guard is not None:
        test = ast.BoolOp(op=ast.And(), values=[test, case.guard], **at)
    return [ast.If(test=test, body=[*bound, *case.body], orelse=others, **at)]


def _test(pattern: Any, held: str) -> tuple[ast.expr | None, list[str]]:
    """Return the test of a pattern, None if it always matches, and the names it captures."""
    at = _at(pattern)
    if isinstance(pattern, ast.MatchAs):
        test, names = (None, []) if pattern.pattern is None else _test(pattern.pattern, held)
        return test, [*names, *([pattern.name] if pattern.name else [])]
    if isinstance(pattern, ast.MatchOr):
        tests = [_test(x, held)[0] for x in pattern.patterns]
        values = [x for x in tests if x is not None]
        if len(values) < len(tests) or any([_test(x, held)[1] for x in pattern.patterns]):
            raise UnsupportedPattern
        return ast.BoolOp(op=ast.Or(), values=values, **at), []
    if not isinstance(pattern, ast.MatchValue | ast.MatchSingleton):
        raise UnsupportedPattern
    value, op = ((pattern.value, ast.Eq()) if isinstance(pattern, ast.MatchValue) else
                 (ast.Constant(value=pattern.value, **at), ast.Is()))
    return ast.Compare(left=ast.Name(id=held, ctx=LOAD, **at), ops=[op], comparators=[value],
                       **at), []


def _at(node: Any) -> dict[str, Any]:
    return {"lineno": node.lineno, "col_offset": node.col_offset, "end_lineno": node.end_lineno,
            "end_col_offset": node.end_col_offset}
