"""Rewrites reads of variables that may have no value as calls of `value`.

`rewrite.py` determines the names. Every read of them is checked, in nested functions too; `value`
returns the value of a variable that has one unchanged.
"""

from __future__ import annotations

import ast
from typing import Any

from dualflow.autograph.expressions import call, operator
from dualflow.autograph.jumps import STORE, Block, name, place


def checked(body: Block, doubtful: set[str]) -> Block:
    """Return a block in which reads of the variables in `doubtful` are checked."""
    if not doubtful:
        return body
    reads = _Reads(doubtful)
    made: Block = []
    for s in body:
        made += reads.statements(s)
    return made


class _Reads(ast.NodeTransformer):

    def __init__(self, doubtful: set[str]) -> None:
        self.doubtful = doubtful

    def statements(self, s: ast.stmt) -> Block:
        found: Any = self.visit(s)
        return found if isinstance(found, list) else [found]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.doubtful and isinstance(node.ctx, ast.Load) and (
                not getattr(node, "unchecked", False)):
            return _checked(node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        target = node.target
        if isinstance(target, ast.Name) and target.id in self.doubtful:
            read = _checked(name(target.id, target))
            return [ast.Assign(targets=[name(target.id, target, STORE)], value=read,
                               **place(node)), node]
        return node

    def visit_Delete(self, node: ast.Delete) -> Any:
        self.generic_visit(node)
        names = [x for x in node.targets if isinstance(x, ast.Name) and x.id in self.doubtful
                 and not getattr(x, "unchecked", False)]
        return [*[ast.Expr(value=_checked(name(x.id, x)), **place(node)) for x in names], node]

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        node.body = [x for s in node.body for x in self.statements(s)]
        return node


def _checked(node: ast.Name) -> ast.expr:
    return call(operator("value", node), node)
