"""Rewrites `:=` in conditionally evaluated operands as assignment statements.

`a and (y := b) > 0` cannot become a call with a lambda for the second operand, since `:=` in a
lambda binds a local name of the lambda. `jumps.py` calls `hoisted` before it converts jumps.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

LOAD, STORE = ast.Load(), ast.Store()
VALUES: dict[type, str] = {ast.If: "test", ast.While: "test", ast.Assert: "test",
                           ast.Assign: "value", ast.AnnAssign: "value", ast.AugAssign: "value",
                           ast.Return: "value", ast.Expr: "value"}


def hoisted(s: Any, fresh: Callable[[str], str]) -> list[ast.stmt] | None:
    """Return statements equivalent to `s`, or None if `s` needs no change. Only the outermost
    operators of a statement's expression are decomposed."""
    field = VALUES.get(type(s), "")
    value: Any = getattr(s, field, None)
    if value is None or not _assigns_perhaps(value):
        return None
    held = fresh("value")
    made = _into(held, value)
    if isinstance(s, ast.While):
        if s.orelse:
            return None
        at = _at(s)
        end = ast.If(test=ast.UnaryOp(op=ast.Not(), operand=_name(held, value), **at),
                     body=[ast.Break(**at)], orelse=[], **at)
        s.test = ast.Constant(value=True, **_at(value))
        s.body = [*made, end, *s.body]
        return [s]
    setattr(s, field, _name(held, value))
    return [*made, s]


def _assigns_perhaps(x: ast.expr) -> bool:
    """Return True if a conditionally evaluated operand assigns a name."""
    if isinstance(x, ast.UnaryOp) and isinstance(x.op, ast.Not):
        return _assigns_perhaps(x.operand)
    if isinstance(x, ast.BoolOp):
        return _assigns_perhaps(x.values[0]) or any(map(_assigns, x.values[1:]))
    return isinstance(x, ast.IfExp) and (
        _assigns_perhaps(x.test) or _assigns(x.body) or _assigns(x.orelse))


def _assigns(x: ast.expr) -> bool:
    return any([isinstance(y, ast.NamedExpr) for y in ast.walk(x)])


def _into(held: str, x: ast.expr) -> list[ast.stmt]:
    """Return statements that assign the value of an expression to a name."""
    at = _at(x)
    if not _assigns_perhaps(x):
        return [_assign(held, x)]
    if isinstance(x, ast.UnaryOp):
        return [*_into(held, x.operand), _assign(held, ast.UnaryOp(
            op=ast.Not(), operand=_name(held, x), **at))]
    if isinstance(x, ast.IfExp):
        return [*_into(held, x.test), ast.If(
            test=_name(held, x.test), body=_into(held, x.body), orelse=_into(held, x.orelse), **at)]
    assert isinstance(x, ast.BoolOp)
    both = isinstance(x.op, ast.And)
    made: list[ast.stmt] = []
    for value in reversed(x.values[1:]):
        test: ast.expr = _name(held, value)
        if not both:
            test = ast.UnaryOp(op=ast.Not(), operand=test, **_at(value))
        inner: Sequence[ast.stmt] = [*_into(held, value), *made]
        made = [ast.If(test=test, body=[*inner], orelse=[], **_at(value))]
    return [*_into(held, x.values[0]), *made]


def _assign(held: str, x: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[ast.Name(id=held, ctx=STORE, **_at(x))], value=x, **_at(x))


def _name(held: str, at: ast.AST) -> ast.Name:
    return ast.Name(id=held, ctx=LOAD, **_at(at))


def _at(node: Any) -> dict[str, Any]:
    return {"lineno": node.lineno, "col_offset": node.col_offset, "end_lineno": node.end_lineno,
            "end_col_offset": node.end_col_offset}
