"""Statements that ask for a truth or for items, as pieces that operators put together.

    if x > 0:               with ag.if_(x > 0, 'y') as choice:
        y = x                   if choice.first:
    else:                           y = x
        y = -x                  if choice.traced:
                                    y, = choice.turn()
                                if choice.second:
                                    y = -x
                                if choice.traced:
                                    y, = choice.done()

The code stays where it is, in the frame it is in. Where Python decides, it runs as ever; for a
traced test both branches run, each recorded by itself, and variables begin the second as they began
the first. Loops are alike: one round is recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

from dualflow.autograph.expressions import (
    TAKEN_APART,
    Expressions,
    call,
    later,
    operator,
)
from dualflow.autograph.jumps import SCOPES, Block, Jumps, constant, name, parts, place
from dualflow.autograph.names import Names, appended_to, only_appended, path
from dualflow.autograph.pieces import Pieces, targets_of
from dualflow.autograph.source import GENERATOR, first_line, functions_in

SAFE_CALLS = "isinstance", "issubclass", "hasattr", "callable"
PREFIX = "ag_"


class Known(NamedTuple):
    """What the original code tells of a function and of those in it.

    Attributes
    ----------
    prefix : str
        With which no name in it begins.
    generators : set of (str, int)
        Names and first lines of those that are left to Python.
    """

    prefix: str
    generators: set[tuple[str, int]]


def known_of(code: CodeType) -> Known:
    """What a code object tells."""
    every = [code, *functions_in(code)]
    prefix = PREFIX
    while any([x.startswith(prefix) for c in every
               for x in (*c.co_names, *c.co_varnames, *c.co_cellvars)]):
        prefix += "_"
    return Known(prefix, {(c.co_name, c.co_firstlineno) for c in every if c.co_flags & GENERATOR})


def rewrite(node: Any, owner: str, known: Known) -> None:
    """Rewrites a function definition or a lambda, and the functions in it, in place."""
    if (getattr(node, "name", "<lambda>"), first_line(node)) not in known.generators:
        _Function(node, owner, known)


class _Function:
    """One function, from the inside out: what statements do with names, then what they become."""

    def __init__(self, node: Any, owner: str, known: Known) -> None:
        self.owner, self.prefix, self.known = owner, known.prefix, known
        self.counts: dict[str, int] = {}
        self.declared: set[str] = set()         # nonlocal
        self.of_module: set[str] = set()        # global
        args = [*node.args.posonlyargs, *node.args.args]
        self.expressions = Expressions(owner, args[0].arg if args else "", self.fresh, self.scope)
        if isinstance(node, ast.Lambda):
            node.body = self.expressions.visit(node.body, Names())
            return
        self.declarations(node.body)
        body = Jumps(self.fresh).function(node)
        self.names_of(body)
        self.soft = (self.expressions.captured | self.expressions.assigned_inside
                     | self.declared | self.of_module)
        every = [*args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        given = {self.expressions.mangled(x.arg) for x in every if x is not None}
        node.body = self.block(body, set(), given | self.declared)

    def declarations(self, body: Sequence[ast.stmt]) -> None:
        """Finds out which names belong to functions around it and to the module."""
        for s in body:
            if isinstance(s, ast.Nonlocal):
                self.declared.update(map(self.expressions.mangled, s.names))
            elif isinstance(s, ast.Global):
                self.of_module.update(map(self.expressions.mangled, s.names))
            else:
                self.declarations(parts(s))

    def fresh(self, word: str) -> str:
        n = self.counts[word] = self.counts.get(word, 0) + 1
        return f"{self.prefix}{word}" if n == 1 else f"{self.prefix}{word}_{n}"

    def scope(self, node: Any) -> None:
        """A function or a class inside."""
        if isinstance(node, ast.ClassDef):
            for x in node.body:
                if isinstance(x, ast.FunctionDef):
                    rewrite(x, node.name, self.known)
        elif not isinstance(node, ast.AsyncFunctionDef):
            rewrite(node, self.owner, self.known)

    # --- what statements do with names; their expressions are rewritten on the way ---

    def names_of(self, body: Sequence[ast.stmt]) -> Names:
        """Those of a block."""
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
        """The test of a loop, which a flag may end."""
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
        """What a loop goes through: `range`, `zip`... of tensors are taken apart."""
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
        """Control may go from anywhere in it to anywhere else."""
        blocks = [s.body, *[x.body for x in s.handlers], s.orelse, s.finalbody]
        for handler in s.handlers:
            if handler.type is not None:
                handler.type = self.expressions.visit(handler.type, found)
            if handler.name:
                found.write(handler.name, False)
        for block in blocks:
            found.then(self.names_of(block), False)
        for block in blocks:                # what one assigns, another may read
            for x in block:
                found.reads |= x.does.reads

    def names_of_with(self, s: Any, found: Names) -> None:
        for item in s.items:
            item.context_expr = self.expressions.visit(item.context_expr, found)
            if item.optional_vars is not None:
                item.optional_vars = self.expressions.visit(item.optional_vars, found)
        s.bound = set(found.sets)
        found.then(self.names_of(s.body), False)    # it may swallow an exception

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

    # --- what they become ---

    def block(self, body: Sequence[Any], live: set[str], known: set[str]) -> Block:
        """A block rewritten; `live` is read after it, `known` has a value before it."""
        after: list[set[str]] = []
        for s in reversed(body):
            after.append(live)
            live = s.does.reads | (live - s.does.sets)
        known = set(known)
        made: Block = []
        for s, wanted in zip(body, reversed(after), strict=True):
            method = BECOMES.get(type(s))
            made += [s] if method is None else method(self, s, wanted, known)
            known |= s.does.sets
            if type(s) is ast.Delete:
                known -= after_deletion(s)
        return made

    def choice(self, s: Any, live: set[str], known: set[str]) -> Block:
        inside = known | (s.does.sets - s.first.sets - s.second.sets)
        body, orelse = self.block(s.body, live, inside), self.block(s.orelse, live, inside)
        if not s.asks:
            s.body, s.orelse = body, orelse
            return [s]
        a, b = s.first, s.second
        writes = a.writes | b.writes | self.expressions.assigned_inside
        kept = (writes & (live | self.soft)) | (a.writes & b.reads)
        names = sorted(kept)
        it = Pieces(self.fresh("if"), s, names)
        opened = call(operator("if_", s.test), s.test, *self.described(s, names, live, s.does))
        inner: Block = [it.piece("first", body)]
        if orelse:
            inner += [it.update("turn", self.unknown(names, inside)), it.piece("second", orelse)]
        inner.append(it.update("done", self.unknown(names, known | s.does.sets)))
        return [it.opening(opened, inner)]

    def while_loop(self, s: Any, live: set[str], known: set[str]) -> Block:
        inside = known | s.head.sets
        head = s.head.reads | (s.round.reads - s.head.sets) | live
        writes = s.round.writes | s.head.writes | self.expressions.assigned_inside
        kept = writes & (head | self.soft)
        body = self.block(s.body, head, inside)
        if not s.asks and not s.breaks:
            s.body = body
            return [s]
        names = sorted(kept)
        it = Pieces(self.fresh("while"), s, names)
        opened = call(operator("while_", s), *self.described(
            s, names, live, s.round, s.flags, s.rows))
        unknown = self.unknown(names, known)
        loop = ast.While(test=it.call("test", s.test), orelse=[], **place(s),
                         body=[it.update("enter", unknown), *body])
        it.take(s.rows)
        return [it.opening(opened, [loop, it.update("done", unknown)])]

    def for_loop(self, s: Any, live: set[str], known: set[str]) -> Block:
        head = s.round.reads | live
        writes = s.round.writes | self.expressions.assigned_inside
        kept = writes & (head | self.soft)
        body = self.block(s.body, head, known | targets_of(s.target))
        names = sorted(kept)
        it = Pieces(self.fresh("for"), s, names)
        opened = call(operator("for_", s.iter), s.iter, *self.described(
            s, names, live, s.round, s.flags, s.rows))
        target, take = s.target, []
        if not isinstance(target, ast.Name) or target.id in kept:
            item = self.fresh("item")
            target = name(item, s.target, ast.Store())
            take = [ast.Assign(targets=[s.target], value=name(item, s.target), **place(s.target))]
        unknown = self.unknown(names, known)
        body = [it.update("enter", unknown), *take, *body]
        if s.breaks:
            body.append(ast.Expr(value=it.call("more", name(s.breaks, s)), **place(s)))
        loop = ast.For(target=target, iter=it.it, orelse=[], body=body, **place(s))
        it.take(s.rows)
        return [it.opening(opened, [loop, it.update("done", unknown)])]

    def assertion(self, s: ast.Assert, live: set[str], known: set[str]) -> Block:
        given = [s.test] if s.msg is None else [s.test, later(s.msg)]
        made = ast.Expr(value=call(operator("assert_", s), *given), **place(s))
        return [ast.If(test=name("__debug__", s), body=[made], orelse=[], **place(s))]

    def inside(self, s: Any, live: set[str], known: set[str]) -> Block:
        """A statement with blocks that asks for nothing itself."""
        live = live | s.does.reads
        known = known | getattr(s, "bound", set())
        for field in ("body", "orelse", "finalbody"):
            if getattr(s, field, None):
                setattr(s, field, self.block(getattr(s, field), live, known))
        for inner in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            inner.body = self.block(inner.body, live, known)
        return [s]

    # --- pieces ---

    def described(self, at: ast.AST, names: Sequence[str], live: set[str], does: Names,
                  flags: Sequence[str] = (), rows: Sequence[str] = ()) -> list[ast.expr]:
        """What an operator is told: the names of variables that a statement assigns, those that
        nobody reads later, flags, lists it appends to, what else it changes, attributes."""
        boxes = [x for x in does.boxes or () if x not in rows]
        dead = [x for x in names if x not in live]
        names = [f"global:{x}" if x in self.of_module else x for x in names]
        told = [names, dead, flags, rows, boxes, does.attributes or ()]
        while told and not told[-1]:
            told.pop()
        return [constant(" ".join(words), at) for words in told]

    def unknown(self, names: Sequence[str], known: set[str]) -> list[str]:
        """Variables that may have no value."""
        return [x for x in names if x not in known and not x.startswith(self.prefix)]


def after_deletion(s: Any) -> set[str]:
    """The variables that a `del` leaves without a value."""
    found: set[str] = s.does.writes
    return found


def asks(test: ast.expr) -> bool:
    """Whether a test may ask a tensor for its truth."""
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


STATEMENTS: dict[type, Callable[[_Function, Any, Names], None]] = {
    ast.Expr: _Function.names_of_expression, ast.AugAssign: _Function.names_of_update,
    ast.Assign: _Function.names_of_assignment, ast.AnnAssign: _Function.names_of_assignment,
    ast.Import: _Function.names_of_import, ast.ImportFrom: _Function.names_of_import,
    ast.Assert: _Function.names_of_assertion, ast.Try: _Function.names_of_try,
    getattr(ast, "TryStar", ast.Try): _Function.names_of_try,
    ast.With: _Function.names_of_with, ast.Match: _Function.names_of_match,
}
BECOMES: dict[type, Callable[..., Block]] = {
    ast.If: _Function.choice, ast.While: _Function.while_loop, ast.For: _Function.for_loop,
    ast.Assert: _Function.assertion, ast.Try: _Function.inside,
    getattr(ast, "TryStar", ast.Try): _Function.inside, ast.With: _Function.inside,
    ast.Match: _Function.inside,
}
