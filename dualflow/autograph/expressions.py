"""Rewrites expressions that need a truth value as operator calls, and records the names they read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dualflow.autograph.activity import (
    COMPREHENSIONS,
    MUTATORS,
    SCOPES,
    Names,
    path,
    reads_of_scope,
)
from dualflow.autograph.builtins import CONDITIONAL_NAMES, NAMES, PASSED
from dualflow.autograph.jumps import LOAD, STORE, place

OPERATORS = "operators of dualflow.autograph"       # placeholder constant for that module
SIMPLE = ast.Name, ast.Constant
FIXED = ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.JoinedStr     # indices, not tensors
NO_FUNCTION = ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom     # cannot move to a lambda
TAKEN_APART = "range", "enumerate", "zip", "reversed", "map"


def operator(text: str, at: ast.AST) -> ast.Attribute:
    """Return a reference to an operator by name."""
    where = place(at)
    module = ast.Constant(value=OPERATORS, kind=None, **where)
    return ast.Attribute(value=module, attr=text, ctx=LOAD, **where)


def call(function: ast.expr, *args: ast.expr) -> ast.Call:
    """Return a call at the source position of the function."""
    return ast.Call(func=function, args=[*args], keywords=[], **place(function))


def later(value: ast.expr) -> ast.Lambda:
    """Return a lambda that evaluates an expression on demand."""
    none = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=none, body=value, **place(value))


def conditional(node: ast.expr) -> bool:
    """Return True for a generator expression whose conditions can be computed separately."""
    return isinstance(node, ast.GeneratorExp) and len(node.generators) == 1 and bool(
        node.generators[0].ifs) and not any([isinstance(x, NO_FUNCTION) for x in ast.walk(node)])


class Expressions:
    """The conversion of the expressions of one function.

    Parameters
    ----------
    owner : str
        The class whose name mangles private names.
    first : str
        The function's first parameter.
    fresh : callable (str) -> str
        Returns a name that the function does not use.
    scope : callable (node) -> None
        Rewrites a nested function.

    Attributes
    ----------
    captured : set of str
        Names that nested functions may read at any time.
    """

    def __init__(self, owner: str, first: str, fresh: Callable[[str], str],
                 scope: Callable[[Any], None]) -> None:
        self.owner: str = owner.lstrip("_")
        self.first = first
        self.fresh = fresh
        self.scope = scope
        self.captured: set[str] = set()
        self.assigned_inside: set[str] = set()

    def mangled(self, text: str) -> str:
        """Return a name with the compiler's mangling for private names of a class."""
        if self.owner and text.startswith("__") and not text.endswith("__"):
            return f"_{self.owner}{text}"
        return text

    def visit(self, node: Any, names: Names) -> Any:
        """Return the rewritten expression; append its uses of names to `names`."""
        kind = type(node)
        if kind is ast.Constant:
            return node
        if kind is ast.Name:
            return self.name(node, names)
        method = SPECIAL.get(kind)
        if method is not None:
            return method(self, node, names)
        self.fields(node, names)
        return node

    def fields(self, node: Any, names: Names) -> None:
        """Rewrite all fields of a node."""
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                if value._fields:
                    setattr(node, field, self.visit(value, names))
            elif isinstance(value, list):
                value[:] = [self.visit(x, names) if isinstance(x, ast.AST) else x for x in value]

    def name(self, node: ast.Name, names: Names) -> ast.Name:
        if self.owner:
            node.id = self.mangled(node.id)
        if isinstance(node.ctx, ast.Load):
            names.read(node.id)
        elif isinstance(node.ctx, ast.Store):
            names.write(node.id)
        else:
            names.delete(node.id)
        return node

    def attribute(self, node: ast.Attribute, names: Names) -> ast.expr:
        node.attr = self.mangled(node.attr)
        node.value = self.visit(node.value, names)
        if not isinstance(node.ctx, ast.Load) and path(node):
            names.assign_attribute(path(node))
        return node

    def subscript(self, node: ast.Subscript, names: Names) -> ast.expr:
        self.fields(node, names)
        if not isinstance(node.ctx, ast.Load):
            if path(node.value):
                names.change(path(node.value))
            return node
        if isinstance(node.slice, FIXED):
            return node
        made = call(operator("item", node), node.value, node.slice)
        made.subscript = node                   # type: ignore[attr-defined]
        return made

    def text(self, node: ast.FormattedValue, names: Names) -> ast.expr:
        self.fields(node, names)
        node.value = call(operator("shown", node.value), node.value)
        return node

    def call(self, node: ast.Call, names: Names) -> ast.expr:
        f = node.func
        if isinstance(f, ast.Attribute) and f.attr in MUTATORS and path(f.value):
            names.change(path(f.value))
        if isinstance(f, ast.Name) and f.id == "super" and not node.args and self.first:
            where = place(node)
            node.args = [ast.Name(id=x, ctx=LOAD, **where) for x in ("__class__", self.first)]
        has_conditions = (isinstance(f, ast.Name) and f.id in CONDITIONAL_NAMES and node.args[:1]
                          and conditional(node.args[0]))
        if has_conditions:
            node.args[0].has_conditions = True            # type: ignore[attr-defined]
        self.fields(node, names)
        if isinstance(f, ast.Name) and f.id in NAMES:
            return ast.Call(func=operator("call_conditional" if has_conditions else "call", node),
                            args=[f, *node.args], keywords=node.keywords, **place(node))
        if isinstance(f, ast.Attribute) and f.attr == "get" and node.args:
            node.args, node.func = [node.func, *node.args], operator("get", node)
            return node
        node.args = [*map(self.passed, node.args)]
        for keyword in node.keywords:
            keyword.value = self.passed(keyword.value)
        return node

    def passed(self, node: ast.expr) -> ast.expr:
        """Rewrite an argument that is a builtin, since the callee may apply it to tensors."""
        if isinstance(node, ast.Name) and node.id in PASSED:
            return call(operator("traced", node), node)
        return node

    def walrus(self, node: ast.NamedExpr, names: Names) -> ast.expr:
        node.value = self.visit(node.value, names)
        node.target = self.visit(node.target, names)
        return node

    def perhaps(self, node: ast.expr, names: Names) -> tuple[ast.expr, bool]:
        """Rewrite a conditionally evaluated operand; also return True if a lambda may hold it."""
        inner = Names()
        node = self.visit(node, inner)
        names.then(inner, False)
        return node, not inner.writes

    def both(self, node: ast.BoolOp, names: Names) -> ast.expr:
        values = [self.visit(node.values[0], names)]
        plain = False
        for x in node.values[1:]:
            value, fits = self.perhaps(x, names)
            values.append(value)
            plain |= not fits
        node.values = values
        if plain:
            return node
        word = "and_" if isinstance(node.op, ast.And) else "or_"
        made = values[-1]
        for x in values[-2::-1]:
            made = call(operator(word, node), x, later(made))
        return made

    def negation(self, node: ast.UnaryOp, names: Names) -> ast.expr:
        node.operand = self.visit(node.operand, names)
        if not isinstance(node.op, ast.Not):
            return node
        return call(operator("not_", node), node.operand)

    def choice(self, node: ast.IfExp, names: Names) -> ast.expr:
        node.test = self.visit(node.test, names)
        node.body, first = self.perhaps(node.body, names)
        node.orelse, second = self.perhaps(node.orelse, names)
        if not (first and second):
            return node
        return call(operator("if_exp", node), node.test, later(node.body), later(node.orelse))

    def comparison(self, node: ast.Compare, names: Names) -> ast.expr:
        self.fields(node, names)
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            word = "in_" if isinstance(node.ops[0], ast.In) else "not_in"
            return call(operator(word, node), node.left, *node.comparators)
        if len(node.ops) == 1 or all([isinstance(x, ast.Is | ast.IsNot) for x in node.ops]):
            return node
        where = place(node)
        left, made = node.left, []
        for op, right in zip(node.ops[:-1], node.comparators[:-1], strict=True):
            held = right
            if not isinstance(right, SIMPLE):
                temporary = self.fresh("middle")
                held = ast.NamedExpr(target=ast.Name(id=temporary, ctx=STORE, **where),
                                     value=right, **where)
                right = ast.Name(id=temporary, ctx=LOAD, **where)
            made.append(ast.Compare(left=left, ops=[op], comparators=[held], **where))
            left = right
        last: ast.expr = ast.Compare(left=left, ops=node.ops[-1:],
                                     comparators=node.comparators[-1:], **where)
        for x in made[::-1]:
            last = call(operator("and_", node), x, later(last))
        return last

    def comprehension(self, node: Any, names: Names) -> ast.expr:
        inner = Names()
        looped = isinstance(node, ast.ListComp) and len(node.generators) == 1 and not (
            node.generators[0].ifs or any([isinstance(x, NO_FUNCTION) for x in ast.walk(node)]))
        node.generators[0].iter = (self.items if looped else self.visit)(
            node.generators[0].iter, names)
        for k, g in enumerate(node.generators):
            if k:
                g.iter = self.visit(g.iter, inner)
            g.target = self.visit(g.target, inner)
            g.ifs = [self.visit(x, inner) for x in g.ifs]
            if not hasattr(node, "has_conditions"):
                g.ifs = [call(operator("condition", x), x) for x in g.ifs]
        targets = set(inner.sets)
        for field in ("key", "value", "elt"):
            if hasattr(node, field):
                setattr(node, field, self.visit(getattr(node, field), inner))
        inner.writes -= targets
        inner.reads -= targets
        names.then(inner, False)
        if hasattr(node, "has_conditions"):
            self.separate_conditions(node)
        return self.loop(node) if looped else node

    def separate_conditions(self, node: ast.GeneratorExp) -> None:
        """Separate the items of a generator expression from its conditions, for the callee."""
        g = node.generators[0]
        *before, wanted = g.ifs
        for x in before[::-1]:
            wanted = call(operator("and_", node), x, later(wanted))
        node.elt = call(operator("Conditional", node), wanted, later(node.elt))
        g.ifs = []

    def items(self, node: ast.expr, names: Names) -> ast.expr:
        """Rewrite the iterable of a comprehension."""
        plain = (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                 and node.func.id in TAKEN_APART)
        if not plain:
            made: ast.expr = self.visit(node, names)
            return made
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        names.read(node.func.id)
        node.args = [self.items(x, names) for x in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value, names)
        return ast.Call(func=operator("unrolled", node), args=[node.func, *node.args],
                        keywords=node.keywords, **place(node))

    def loop(self, node: ast.ListComp) -> ast.expr:
        """Rewrite a comprehension as a call with its iterable and a function of an item."""
        where, g, item = place(node), node.generators[0], self.fresh("item")
        iterable, g.iter = g.iter, ast.Tuple(
            elts=[ast.Name(id=item, ctx=LOAD, **where)], ctx=LOAD, **where)
        function = later(node)
        function.args.args.append(ast.arg(arg=item, **where))
        return call(operator("comprehension", node), iterable, function)

    def nested(self, node: Any, names: Names) -> Any:
        """Rewrite a nested function or class; it may read captured names at any time."""
        args = getattr(node, "args", None)
        if args is not None:
            for outside in (args.defaults, args.kw_defaults, getattr(node, "decorator_list", [])):
                outside[:] = [x and self.visit(x, names) for x in outside]
        read, assigned = reads_of_scope(node)
        read = {self.mangled(x) for x in read}
        for x in read:
            names.read(x)
        self.captured |= read
        self.assigned_inside |= assigned
        if hasattr(node, "name"):
            names.write(node.name)
        self.scope(node)
        return node


SPECIAL: dict[type, Callable[..., Any]] = {
    ast.Attribute: Expressions.attribute, ast.Subscript: Expressions.subscript,
    ast.Call: Expressions.call, ast.NamedExpr: Expressions.walrus, ast.BoolOp: Expressions.both,
    ast.UnaryOp: Expressions.negation, ast.IfExp: Expressions.choice,
    ast.Compare: Expressions.comparison, ast.FormattedValue: Expressions.text,
    **dict.fromkeys(COMPREHENSIONS, Expressions.comprehension),
    **dict.fromkeys(SCOPES, Expressions.nested),
}
