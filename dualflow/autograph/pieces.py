"""Node factory for rewritten statements: the `with` that opens an operator, its queries, and the
assignments from it. Recurring nodes are shared, since node creation dominates the conversion time.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from dualflow.autograph.expressions import operator
from dualflow.autograph.jumps import LOAD, STORE, Block, place


class Pieces:
    """The nodes of one rewritten statement.

    Parameters
    ----------
    it : str
        The variable that holds the operator.
    at : ast.stmt
    names : sequence of str
        The variables that are assigned from the operator.
    """

    def __init__(self, it: str, at: ast.AST, names: Sequence[str]) -> None:
        self.place: Any = place(at)
        self.it: ast.Name = ast.Name(id=it, ctx=LOAD, **self.place)
        self.traced: ast.Attribute = self.ask("traced")
        self.targets: ast.Tuple | None = None
        self.take(names)

    def take(self, names: Sequence[str]) -> None:
        """Add variables that are assigned from the operator from now on."""
        if names:
            before = [] if self.targets is None else self.targets.elts
            more = [ast.Name(id=x, ctx=STORE, **self.place) for x in names]
            self.targets = ast.Tuple(elts=[*before, *more], ctx=STORE, **self.place)

    def ask(self, word: str) -> ast.Attribute:
        return ast.Attribute(value=self.it, attr=word, ctx=LOAD, **self.place)

    def call(self, word: str, *args: ast.expr) -> ast.Call:
        return ast.Call(func=self.ask(word), args=[*args], keywords=[], **self.place)

    def piece(self, word: str, body: Block) -> ast.If:
        """Return a block that runs if an attribute of the operator is true."""
        return ast.If(test=self.ask(word), body=body, orelse=[], **self.place)

    def update(self, word: str, unknown: Sequence[str] = ()) -> ast.stmt:
        """Return the assignment of the variables; names in `unknown` may be UNDEFINED."""
        value = self.call(word)
        made: Block = [ast.Expr(value=value, **self.place) if self.targets is None else
                       ast.Assign(targets=[self.targets], value=value, **self.place)]
        for x in unknown:
            held = ast.Name(id=x, ctx=LOAD, **self.place)
            lost = ast.Name(id=x, ctx=ast.Del(), **self.place)
            held.unchecked = lost.unchecked = True      # type: ignore[attr-defined]
            test = ast.Compare(left=held, ops=[ast.Is()],
                               comparators=[operator("UNDEFINED", self.it)], **self.place)
            gone = ast.Delete(targets=[lost], **self.place)
            made.append(ast.If(test=test, body=[gone], orelse=[], **self.place))
        return ast.If(test=self.traced, body=made, orelse=[], **self.place)

    def opening(self, opened: ast.expr, body: Block) -> ast.With:
        """Return the `with` statement."""
        held = ast.Name(id=self.it.id, ctx=STORE, **self.place)
        item = ast.withitem(context_expr=opened, optional_vars=held)
        return ast.With(items=[item], body=body, **self.place)


def targets_of(target: ast.expr) -> set[str]:
    """Return the variables that an assignment target sets."""
    return {x.id for x in ast.walk(target) if isinstance(x, ast.Name)
            and isinstance(x.ctx, ast.Store)}
