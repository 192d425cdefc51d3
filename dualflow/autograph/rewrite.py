"""Rewrites statements that need a truth value or items into pieces driven by operators.

    if x > 0:               with ag.if_(x > 0, 'y') as choice:
        y = x                   if choice.first:
    else:                           y = x
        y = -x                  if choice.traced:
                                    y, = choice.begin_else()
                                if choice.second:
                                    y = -x
                                if choice.traced:
                                    y, = choice.done()

The code stays in its frame. A Python test runs as usual; for a traced test both branches run, each
is recorded as a separate body, and variables have the same values at the start of both. Loops are
rewritten likewise: one iteration is recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from dualflow._util.named_tuple import NamedTuple
from dualflow.autograph.activity import Live, Names
from dualflow.autograph.analysis import Analysis
from dualflow.autograph.checked import checked
from dualflow.autograph.expressions import Expressions, call, later, operator
from dualflow.autograph.jumps import Block, Jumps, constant, name, place
from dualflow.autograph.pieces import Pieces, targets_of
from dualflow.autograph.source import GENERATOR, first_line, functions_in
from dualflow.autograph.state import DEFERRED

PREFIX = "ag_"


class Known(NamedTuple):
    """Facts about a function and its nested functions, taken from the original code.

    Attributes
    ----------
    prefix : str
        A prefix that no name in the code has.
    generators : set of (str, int)
        Names and first lines of the generators, which are not converted.
    """

    prefix: str
    generators: set[tuple[str, int]]


def known_of(code: CodeType) -> Known:
    """Collect the facts from a code object."""
    every = [code, *functions_in(code)]
    prefix = PREFIX
    while any([x.startswith(prefix) for c in every
               for x in (*c.co_names, *c.co_varnames, *c.co_cellvars)]):
        prefix += "_"
    return Known(prefix, {(c.co_name, c.co_firstlineno) for c in every if c.co_flags & GENERATOR})


def rewrite(node: Any, owner: str, known: Known) -> None:
    """Rewrite a function definition or a lambda, and the functions in it, in place."""
    if (getattr(node, "name", "<lambda>"), first_line(node)) not in known.generators:
        _Function(node, owner, known)


class _Function(Analysis):
    """The conversion of one function: analysis of its statements, then their replacement."""

    def __init__(self, node: Any, owner: str, known: Known) -> None:
        self.owner, self.prefix, self.known = owner, known.prefix, known
        self.counts: dict[str, int] = {}
        self.doubtful: set[str] = set()         # variables that may have no value at a read
        self.caught: set[str] = set()           # variables live where an exception may be caught
        args = [*node.args.posonlyargs, *node.args.args]
        super().__init__(Expressions(owner, args[0].arg if args else "", self.fresh, self.scope))
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
        node.body = checked(self.block(body, Live(set(), set()), given | self.declared),
                            self.doubtful - self.declared - self.of_module)

    def fresh(self, word: str) -> str:
        n = self.counts[word] = self.counts.get(word, 0) + 1
        return f"{self.prefix}{word}" if n == 1 else f"{self.prefix}{word}_{n}"

    def scope(self, node: Any) -> None:
        """Rewrite a nested function or the methods of a nested class."""
        if isinstance(node, ast.ClassDef):
            for x in node.body:
                if isinstance(x, ast.FunctionDef):
                    rewrite(x, node.name, self.known)
        elif not isinstance(node, ast.AsyncFunctionDef):
            rewrite(node, self.owner, self.known)

    # --- replacement of statements ---

    def block(self, body: Sequence[Any], live: Live, known: set[str]) -> Block:
        """Rewrite a block; `live` is read after it, `known` has a value before it."""
        after: list[Live] = []
        caught = Live(self.caught, set())
        for s in reversed(body):
            after.append(live | caught)
            live = live.before(s.does)
        known = set(known)
        made: Block = []
        for s, wanted in zip(body, reversed(after), strict=True):
            method = BECOMES.get(type(s))
            made += [s] if method is None else method(self, s, wanted, known)
            known |= s.does.sets
            known -= s.does.drops
        return made

    def choice(self, s: Any, live: Live, known: set[str]) -> Block:
        inside = known | (s.does.sets - s.first.sets - s.second.sets)
        body, orelse = self.block(s.body, live, inside), self.block(s.orelse, live, inside)
        if not s.asks:
            s.body, s.orelse = body, orelse
            return [s]
        a, b = s.first, s.second
        writes = a.writes | b.writes | self.expressions.assigned_inside
        carried = (writes & (live.every | self.soft)) | (a.writes & b.reads)
        names = sorted(carried)
        it = Pieces(self.fresh("if"), s, names)
        # After a branch that jumps, the following code reads only the other branch's variables.
        leaves = any([x.startswith(self.prefix) for x in a.writes | b.writes])
        usual = carried - live.every if leaves else live.usual | (carried - live.every)
        opened = call(operator("if_", s.test), s.test,
                      *self.described(s, names, live, usual, s.does))
        inner: Block = [it.piece("first", body)]
        if orelse:
            inner += [it.update("begin_else", self.unknown(names, inside)),
                      it.piece("second", orelse)]
        inner.append(it.update("done", self.unknown(names, (known | s.does.sets) - s.does.drops)))
        return [it.opening(opened, inner)]

    def while_loop(self, s: Any, live: Live, known: set[str]) -> Block:
        inside = (known | s.head.sets) - s.round.drops
        head = (live | live.before(s.round)).before(s.head) | live
        writes = s.round.writes | s.head.writes | self.expressions.assigned_inside
        carried = writes & (head.every | self.soft)
        body = self.block(s.body, head, inside)
        if not s.asks and not s.breaks:
            s.body = body
            return [s]
        names = sorted(carried)
        it = Pieces(self.fresh("while"), s, names)
        opened = call(operator("while_", s), *self.described(
            s, names, live, head.usual, s.round, s.flags, s.rows))
        unknown = self.unknown(names, known - s.round.drops)
        loop = ast.While(test=it.call("test", s.test), orelse=[], **place(s),
                         body=[it.update("enter", unknown), *body])
        it.take(s.rows)
        return [it.opening(opened, [loop, it.update("done", unknown)])]

    def for_loop(self, s: Any, live: Live, known: set[str]) -> Block:
        head = live.before(s.round) | live
        writes = s.round.writes | self.expressions.assigned_inside
        carried = writes & (head.every | self.soft)
        body = self.block(s.body, head, (known - s.round.drops) | targets_of(s.target))
        names = sorted(carried)
        it = Pieces(self.fresh("for"), s, names)
        opened = call(operator("for_", s.iter), s.iter, *self.described(
            s, names, live, head.usual, s.round, s.flags, s.rows))
        target, take = s.target, []
        if not isinstance(target, ast.Name) or target.id in carried:
            item = self.fresh("item")
            target = name(item, s.target, ast.Store())
            take = [ast.Assign(targets=[s.target], value=name(item, s.target), **place(s.target))]
        unknown = self.unknown(names, known - s.round.drops)
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

    def inside(self, s: Any, live: Live, known: set[str]) -> Block:
        """Rewrite a statement that has blocks but no test. An exception may transfer control from
        any statement in it to one of its blocks, or past it."""
        within = live | Live(s.does.reads, s.does.usual_reads)
        caught, self.caught = self.caught, self.caught | within.every
        known = (known | getattr(s, "bound", set())) - s.does.drops
        for field in ("body", "orelse", "finalbody"):
            if getattr(s, field, None):
                setattr(s, field, self.block(getattr(s, field), self.reach(s, field, live), known))
        self.caught = caught
        for inner in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            inner.body = self.block(inner.body, within, known)
        return [s]

    def reach(self, s: Any, field: str, live: Live) -> Live:
        """Return the variables live at the end of a block of a `with` or `try`, if no exception is
        raised."""
        later = {"body": ("orelse", "finalbody"), "orelse": ("finalbody",)}.get(field, ())
        for block in reversed(later):
            for x in reversed(getattr(s, block, [])):
                live = live.before(x.does)
        return live

    # --- pieces ---

    def described(self, at: ast.AST, names: Sequence[str], live: Live, usual: set[str],
                  does: Names, flags: Sequence[str] = (), rows: Sequence[str] = (),
                  ) -> list[ast.expr]:
        """Return the description of a statement for its operator: the names of the variables it
        assigns, those not read later, flags, lists it appends to, other containers that it changes,
        attributes."""
        mutable_containers = [x for x in does.mutable_containers or () if x not in rows]
        owned = self.expressions.captured - self.declared - self.of_module
        dead = [x for x in names if x not in live.every and x not in owned]
        deferred = [x for x in names if x not in usual and not x.startswith(self.prefix)]
        self.doubtful.update(deferred)
        dead += [DEFERRED + x for x in deferred]
        names = [f"global:{x}" if x in self.of_module else x for x in names]
        fields = [names, dead, flags, rows, mutable_containers, does.attributes or ()]
        while fields and not fields[-1]:
            fields.pop()
        return [constant(" ".join(words), at) for words in fields]

    def unknown(self, names: Sequence[str], known: set[str]) -> list[str]:
        """Return the variables that may have no value."""
        found = [x for x in names if x not in known and not x.startswith(self.prefix)]
        self.doubtful.update(found)
        return found


BECOMES: dict[type, Callable[..., Block]] = {
    ast.If: _Function.choice, ast.While: _Function.while_loop, ast.For: _Function.for_loop,
    ast.Assert: _Function.assertion, ast.Try: _Function.inside,
    getattr(ast, "TryStar", ast.Try): _Function.inside, ast.With: _Function.inside,
    ast.Match: _Function.inside,
}
