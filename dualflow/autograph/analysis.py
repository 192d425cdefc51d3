"""Activity analysis of statements: the names that each statement reads, assigns and deletes.

Expressions are rewritten during the analysis. Each statement stores its results in `does`; a loop
also in `head` (its test) and `round` (its body). `rewrite.py` reads them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from dualflow.autograph.activity import Names, appended_to, only_appended, path
from dualflow.autograph.expressions import TAKEN_APART, Expressions, operator
from dualflow.autograph.jumps import SCOPES, name, parts, place

SAFE_CALLS = "isinstance", "issubclass", "hasattr", "callable"


class Analysis:
    """The analysis of the statements of one function.

    Parameters
    ----------
    expressions : Expressions
    """

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self.declared: set[str] = set()         # nonlocal
        self.of_module: set[str] = set()        # global

    def declarations(self, body: Sequence[ast.stmt]) -> None:
        """Collect the names declared `nonlocal` and `global`."""
        for s in body:
            if isinstance(s, ast.Nonlocal):
                self.declared.update(map(self.expressions.mangled, s.names))
            elif isinstance(s, ast.Global):
                self.of_module.update(map(self.expressions.mangled, s.names))
            else:
                self.declarations(parts(s))

    def names_of(self, body: Sequence[ast.stmt]) -> Names:
        """Return the names of a block."""
        found = Names()
        for s in body:
            found.then(self.names_of_statement(s))
        return found

    def names_of_statement(self, s: Any) -> Names:
        found = s.does = Names()
        kind = type(s)
        if kind is ast.If:
            s.asks = asks(s.test)
            s.test = self.expressions.visit(s.test, found)
            s.first, s.second = self.names_of(s.body), self.names_of(s.orelse)
            found.either(s.first, s.second)
        elif kind is ast.While:
            s.asks = asks(s.test)
            s.test = self.loop_test(s)
            s.head = Names()
            s.test = self.expressions.visit(s.test, s.head)
            s.round = self.names_of(s.body)
            s.rows = only_appended(s.round, s.body)
            found.then(s.head)
            found.then(s.round, False)
        elif kind is ast.For:
            self.names_of_for(s, found)
        elif kind in STATEMENTS:
            STATEMENTS[kind](self, s, found)
        elif kind in SCOPES:
            self.expressions.nested(s, found)
        else:
            self.expressions.fields(s, found)
        return found

    def loop_test(self, s: Any) -> ast.expr:
        """Return the test of a loop, combined with the break flag if the loop has one."""
        if not s.breaks:
            test: ast.expr = s.test
            return test
        going = ast.UnaryOp(op=ast.Not(), operand=name(s.breaks, s), **place(s.test))
        if isinstance(s.test, ast.Constant) and s.test.value:
            return going
        return ast.BoolOp(op=ast.And(), values=[going, s.test], **place(s.test))

    def names_of_for(self, s: Any, found: Names) -> None:
        s.iter = self.items(s.iter, found)
        s.round = Names()
        s.target = self.expressions.visit(s.target, s.round)
        s.round.then(self.names_of(s.body))
        s.rows = only_appended(s.round, s.body)
        if s.breaks:
            s.round.read(s.breaks)
        found.then(s.round, False)

    def items(self, node: ast.expr, names: Names) -> ast.expr:
        """Rewrite the iterable of a loop; `range`, `zip` ... become calls of `ag.over`."""
        plain = (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                 and node.func.id in TAKEN_APART)
        if not plain:
            made: ast.expr = self.expressions.visit(node, names)
            return made
        assert isinstance(node, ast.Call)
        names.read(node.func.id)            # type: ignore[attr-defined]
        node.args = [self.items(x, names) for x in node.args]
        for keyword in node.keywords:
            keyword.value = self.expressions.visit(keyword.value, names)
        return ast.Call(func=operator("over", node), args=[node.func, *node.args],
                        keywords=node.keywords, **place(node))

    def names_of_expression(self, s: ast.Expr, found: Names) -> None:
        s.value = self.expressions.visit(s.value, found)
        word = appended_to(s)
        if word:
            found.appends = {word}

    def names_of_update(self, s: ast.AugAssign, found: Names) -> None:
        if isinstance(s.target, ast.Name):
            found.read(self.expressions.mangled(s.target.id))
        s.value = self.expressions.visit(s.value, found)
        s.target = self.expressions.visit(s.target, found)
        if path(s.target):
            found.change(path(s.target))

    def names_of_assignment(self, s: Any, found: Names) -> None:
        if s.value is not None:
            s.value = self.expressions.visit(s.value, found)
        targets = s.targets if isinstance(s, ast.Assign) else [s.target] if s.value else []
        for k, target in enumerate(targets):
            made = self.expressions.visit(target, found)
            if isinstance(s, ast.Assign):
                s.targets[k] = made

    def names_of_import(self, s: Any, found: Names) -> None:
        for alias in s.names:
            found.write((alias.asname or alias.name).split(".")[0])

    def names_of_assertion(self, s: ast.Assert, found: Names) -> None:
        s.test = self.expressions.visit(s.test, found)
        if s.msg is not None:
            s.msg, _ = self.expressions.perhaps(s.msg, found)

    def names_of_try(self, s: Any, found: Names) -> None:
        """Analyse a `try`: an exception may transfer control from any statement to any block."""
        blocks = [s.body, *[x.body for x in s.handlers], s.orelse, s.finalbody]
        found.then(self.names_of(s.body), False, usual=True)
        for handler in s.handlers:
            inner = Names()
            if handler.type is not None:
                handler.type = self.expressions.visit(handler.type, inner)
            if handler.name:
                inner.write(handler.name)
            inner.then(self.names_of(handler.body))
            if handler.name:
                inner.drops.add(handler.name)
            inner.usual_reads.clear()
            found.then(inner, False)
        found.then(self.names_of(s.orelse), False, usual=True)
        found.then(self.names_of(s.finalbody))
        for block in blocks:                # a block may read the assignments of any other
            for x in block:
                found.reads |= x.does.reads

    def names_of_with(self, s: Any, found: Names) -> None:
        for item in s.items:
            item.context_expr = self.expressions.visit(item.context_expr, found)
            if item.optional_vars is not None:
                item.optional_vars = self.expressions.visit(item.optional_vars, found)
        s.bound = set(found.sets)
        found.then(self.names_of(s.body), False, usual=True)    # may suppress an exception

    def names_of_match(self, s: Any, found: Names) -> None:
        s.subject = self.expressions.visit(s.subject, found)
        for case in s.cases:
            for x in ast.walk(case.pattern):
                for field in ("name", "rest"):
                    if isinstance(getattr(x, field, None), str):
                        found.write(getattr(x, field), False)
                if isinstance(x, ast.Name):
                    found.read(x.id)
            if case.guard is not None:
                case.guard = self.expressions.visit(case.guard, found)
            found.then(self.names_of(case.body), False)


def asks(test: ast.expr) -> bool:
    """Return True if a test may need the truth value of a tensor."""
    if isinstance(test, ast.Constant):
        return False
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return asks(test.operand)
    if isinstance(test, ast.BoolOp):
        return any(map(asks, test.values))
    if isinstance(test, ast.Compare):
        return not all([isinstance(x, ast.Is | ast.IsNot) for x in test.ops])
    return not (isinstance(test, ast.Call) and isinstance(test.func, ast.Name)
                and test.func.id in SAFE_CALLS)


STATEMENTS: dict[type, Callable[[Analysis, Any, Names], None]] = {
    ast.Expr: Analysis.names_of_expression, ast.AugAssign: Analysis.names_of_update,
    ast.Assign: Analysis.names_of_assignment, ast.AnnAssign: Analysis.names_of_assignment,
    ast.Import: Analysis.names_of_import, ast.ImportFrom: Analysis.names_of_import,
    ast.Assert: Analysis.names_of_assertion, ast.Try: Analysis.names_of_try,
    getattr(ast, "TryStar", ast.Try): Analysis.names_of_try,
    ast.With: Analysis.names_of_with, ast.Match: Analysis.names_of_match,
}
