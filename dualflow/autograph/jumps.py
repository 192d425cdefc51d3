"""Rewrites `return`, `break` and `continue` as flags, so that each block runs to its end.

The statements after an `if` with a branch that always jumps move into the other branch, so most
jumps need no flag. If a statement may have jumped, a flag guards the statements after it. Jumps
are not rewritten inside a `try` whose `finally` jumps, since such a jump also ends an exception.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from dualflow.autograph.hoisted import hoisted
from dualflow.autograph.match import as_choices

Block = list[ast.stmt]
Test = TypeVar("Test", bound=Callable[..., bool])
LOAD, STORE = ast.Load(), ast.Store()


class Left(ast.Pass):
    """A jump out of several loops; the flags of the inner loops are already set."""


class Region:
    """The target of jumps: a function, or a loop in it.

    Attributes
    ----------
    loop : str or None
        The flag that ends the loop.
    guard : str
        The flag that skips the rest of an iteration, or of the function.
    guarded : int
        Number of enclosing statements that may jump.
    used : bool
        Whether the guard is tested.
    in_try : bool
        Whether jumps are not rewritten.
    """

    def __init__(self, loop: str | None, guard: str, in_try: bool) -> None:
        self.loop = loop
        self.guard = guard
        self.guarded = 0
        self.used = False
        self.in_try = in_try


class Jumps:
    """Rewrites the jumps of one function.

    Parameters
    ----------
    fresh : callable (str) -> str
        Returns a name that the function does not use.
    """

    region: Region
    root: Region

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self.fresh = fresh
        self.result: str = ""        # the variable that holds the function's result
        self.done: str = ""          # the flag that is set by a return
        self.region = self.root = Region(None, "", False)

    def function(self, node: ast.FunctionDef) -> Block:
        """Return the body of a function with a `return` only as its last statement."""
        body = node.body
        if not any([returns(s) for s in body[:-1]]) and (
                isinstance(body[-1], ast.Return) or not returns(body[-1])):
            return self.block(body)
        self.result, self.done = self.fresh("result"), self.fresh("done")
        self.region.guard = self.done
        at = body[-1]
        if not ends(body):
            body = [*body, ast.Return(value=constant(None, at), **place(at))]
        made = self.block(body)
        start = [set_flag(self.done, False, node.body[0])] if self.region.used else []
        return [*start, *made, ast.Return(value=name(self.result, at), **place(at))]

    def block(self, body: Sequence[ast.stmt]) -> Block:
        """Return a block without jumps."""
        made: Block = []
        for k, s in enumerate(body):
            rest = list(body[k + 1:])
            choices = (as_choices(s, self.fresh) if isinstance(s, ast.Match)
                       else hoisted(s, self.fresh))
            if choices is not None:
                return made + self.block([*choices, *rest])
            if isinstance(s, JUMPS):
                return [*made, *self.jump(s)] or [ast.Pass(**place(s))]
            if isinstance(s, LOOPS):
                loop, after = self.loop(s)
                made += loop
                if after:
                    return made + self.block([*after, *rest])
            elif isinstance(s, TRIES) and (self.region.in_try or any(map(jumps, s.finalbody))):
                made.append(self.as_python(s))
            elif not jumps(s):
                made.append(self.without(s))
            elif isinstance(s, ast.If) and not self.region.in_try and ends(s.body):
                if not rest and isinstance(s.body[0], Left) and self.at_end:
                    return made
                return [*made, self.choice(s, s.body, [*s.orelse, *rest])]
            elif isinstance(s, ast.If) and not self.region.in_try and ends(s.orelse):
                return [*made, self.choice(s, [*s.body, *rest], s.orelse)]
            elif self.region.in_try:
                made.append(self.without(s))
            else:
                return made + self.guarded(s, rest)
        return made

    @property
    def at_end(self) -> bool:
        """Whether a jump needs no flag because no statement follows."""
        return not self.region.loop and not self.region.guarded

    def choice(self, s: ast.If, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> ast.If:
        if isinstance(s.body[0], Left) and self.at_end:
            return ast.If(test=negated(self.done, s), body=self.block(orelse), orelse=[],
                          **place(s))
        return ast.If(test=s.test, body=self.block(body), orelse=self.block(orelse), **place(s))

    def without(self, s: ast.stmt) -> ast.stmt:
        """Return a statement with the jumps in its blocks rewritten."""
        if isinstance(s, TRIES):
            return self.attempt(s)
        for field in ("body", "orelse"):
            inner = getattr(s, field, None)
            if inner and not isinstance(s, SCOPES):
                setattr(s, field, self.block(inner))
        for case in getattr(s, "cases", ()):
            case.body = self.block(case.body)
        return s

    def guarded(self, s: ast.stmt, rest: Block) -> Block:
        """Rewrite a statement that may jump, and guard the rest of its block."""
        region = self.region
        region.guarded += 1
        made = self.without(s)
        region.guarded -= 1
        if not rest:
            return [made]
        region.used = True
        inner = self.block(rest)
        return [made, ast.If(test=negated(region.guard, rest[0]), body=inner, orelse=[],
                             **place(rest[0]))]

    def jump(self, s: ast.stmt) -> Block:
        """Return the assignments of flags that replace a jump."""
        region = self.region
        made: Block = []
        if region.in_try:
            flag = region.loop if isinstance(s, ast.Break) else None
            return [*([set_flag(flag, True, s)] if flag else []), s]
        if isinstance(s, ast.Return):
            if not self.result:         # the last statement of the function
                return [s]
            value = s.value or constant(None, s)
            made.append(ast.Assign(targets=[name(self.result, s, STORE)], value=value,
                                   **place(s)))
            if region.loop:
                made.append(set_flag(self.done, True, s))
        if region.loop and not isinstance(s, ast.Continue):
            made.append(set_flag(region.loop, True, s))
        if region.guarded:
            made.append(set_flag(region.guard, True, s))
        return made or [ast.Pass(**place(s))]

    def loop(self, s: ast.While | ast.For) -> tuple[Block, Block]:
        """Return a loop whose iterations run to their end, and the statements to follow it."""
        outer = self.region
        leaves = not outer.in_try and any([returns(x) for x in s.body])
        breaks = leaves or any([breaks_out(x) for x in s.body])
        inner = self.region = Region(self.fresh("break") if breaks else None, self.fresh("skip"),
                                     False)
        if outer.in_try:
            inner.in_try = any([returns(x) for x in s.body])
        body = self.block(s.body)
        if inner.used:
            body.insert(0, set_flag(inner.guard, False, s.body[0]))
        self.region = outer
        before: Block = []
        if inner.loop:
            before.append(set_flag(inner.loop, False, s))
        if isinstance(s, ast.While):
            made: Any = ast.While(test=s.test, body=body, orelse=[], **place(s))
        else:
            made = ast.For(target=s.target, iter=s.iter, body=body, orelse=[], **place(s))
            if inner.loop:
                self.item_by_item(made, inner.loop)
        made.breaks = inner.loop
        made.flags = [x for x in (inner.loop, self.done if leaves else "") if x]
        after: Block = []
        if leaves:
            self.root.used = True
            left = Left(**place(s))
            after.append(ast.If(test=name(self.done, s), body=[left], orelse=[], **place(s)))
        if s.orelse and inner.loop:
            after.append(ast.If(test=negated(inner.loop, s), body=s.orelse, orelse=[], **place(s)))
        else:
            after += s.orelse
        return [*before, made], after

    def item_by_item(self, s: ast.For, left: str) -> None:
        """Make a loop skip its remaining items once its break flag is set."""
        item = self.fresh("item")
        target, s.target = s.target, name(item, s, STORE)
        take = ast.Assign(targets=[target], value=name(item, s), **place(s))
        s.body = [ast.If(test=negated(left, s), body=[take, *s.body], orelse=[], **place(s))]

    def attempt(self, s: Any) -> ast.stmt:
        """Rewrite a `try`. Its `else` is skipped if its body has jumped."""
        left = any(map(jumps, s.body))
        s.body = self.block(s.body)
        for handler in s.handlers:
            handler.body = self.block(handler.body)
        s.orelse = self.block(s.orelse)
        if left and s.orelse:
            self.region.used = True
            s.orelse = [ast.If(test=negated(self.region.guard, s.orelse[0]), body=s.orelse,
                               orelse=[], **place(s.orelse[0]))]
        s.finalbody = self.block(s.finalbody)
        return s

    def as_python(self, s: Any) -> ast.stmt:
        """Return a `try` whose jumps are not rewritten."""
        before, self.region.in_try = self.region.in_try, True
        for field in ("body", "orelse", "finalbody"):
            setattr(s, field, self.block(getattr(s, field)))
        for handler in s.handlers:
            handler.body = self.block(handler.body)
        self.region.in_try = before
        return s


# --- predicates on statements --------------------------------------------------------------------

JUMPS = ast.Return, ast.Break, ast.Continue, Left
LOOPS = ast.While, ast.For              # coroutines are not converted
SCOPES = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
TRIES = ast.Try, getattr(ast, "TryStar", ast.Try)
COMPOUND = ast.If, *LOOPS, *TRIES, ast.With, ast.AsyncWith, ast.Match


def parts(s: ast.stmt) -> list[ast.stmt]:
    """Return the statements in the blocks of a statement."""
    if not isinstance(s, COMPOUND):
        return []
    found: list[ast.stmt] = []
    for field in ("body", "orelse", "finalbody"):
        found += getattr(s, field, ())
    for inner in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
        found += inner.body
    return found


def asked_once(test: Test) -> Test:
    """Decorate a predicate on statements so that its result is cached in the statement."""
    word = f"it_{test.__name__}"

    def ask(s: Any) -> bool:
        known: bool | None = s.__dict__.get(word)
        if known is None:
            known = test(s)
            setattr(s, word, known)
        return known

    return cast(Test, ask)


@asked_once
def returns(s: ast.stmt) -> bool:
    """Return True if a statement may return; a `try` whose `finally` jumps is excluded."""
    if isinstance(s, TRIES) and any(map(jumps, s.finalbody)):
        return False
    return isinstance(s, ast.Return) or any(map(returns, parts(s)))


@asked_once
def breaks_out(s: ast.stmt) -> bool:
    """Return True if a statement may break out of the loop that contains it."""
    inner = s.orelse if isinstance(s, LOOPS) else parts(s)
    return isinstance(s, ast.Break) or any(map(breaks_out, inner))


@asked_once
def jumps(s: ast.stmt) -> bool:
    """Return True if control may leave a statement other than at its end."""
    if isinstance(s, JUMPS):
        return True
    if isinstance(s, LOOPS):
        return any(map(returns, s.body)) or any(map(jumps, s.orelse))
    return any(map(jumps, parts(s)))


def ends(body: Sequence[ast.stmt]) -> bool:
    """Return True if a block never runs to its end."""
    for s in body:
        if isinstance(s, (*JUMPS, ast.Raise)):
            return True
        if isinstance(s, ast.If) and ends(s.body) and ends(s.orelse):
            return True
        if (isinstance(s, ast.While) and isinstance(s.test, ast.Constant) and s.test.value
                and not any(map(breaks_out, s.body))):
            return True
    return False


# --- new nodes -----------------------------------------------------------------------------------

def place(node: ast.AST) -> Any:
    """Return the source position of a node, for another node; a statement's is its first column."""
    at: Any = node
    try:
        return at.place
    except AttributeError:
        pass
    if isinstance(node, ast.stmt):
        end, column = at.lineno, at.col_offset + 1
    else:
        end, column = at.end_lineno, at.end_col_offset
    at.place = {"lineno": at.lineno, "col_offset": at.col_offset, "end_lineno": end,
                "end_col_offset": column}
    return at.place


def name(text: str, at: ast.AST, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(id=text, ctx=context or LOAD, **place(at))


def constant(value: Any, at: ast.AST) -> ast.Constant:
    return ast.Constant(value=value, kind=None, **place(at))


def set_flag(flag: str, value: bool, at: ast.AST) -> ast.Assign:
    return ast.Assign(targets=[name(flag, at, ast.Store())], value=constant(value, at), **place(at))


def negated(flag: str, at: ast.AST) -> ast.UnaryOp:
    return ast.UnaryOp(op=ast.Not(), operand=name(flag, at), **place(at))
