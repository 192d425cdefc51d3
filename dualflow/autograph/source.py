"""Recovers the syntax tree of a function from its code object.

The text may be missing, or may have changed since it was compiled. Therefore each candidate is
compiled again and accepted only if its code equals the running code.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import opcode
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

from dualflow._util.named_tuple import NamedTuple

Function = ast.FunctionDef | ast.Lambda
FUNCTIONS = ast.FunctionDef, ast.Lambda
FUTURE = sum([getattr(__future__, name).compiler_flag for name in __future__.all_feature_names])
NO_TYPES: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}
GENERATOR = 0x20 | 0x80 | 0x100 | 0x200      # flags of generators and coroutines
REWRITTEN = "@pytest_ar"    # a name in functions whose `assert`s pytest has replaced
CONSOLE = "<stdin>"         # the file name of input at Python's own prompt


CACHE, EXTENDED = opcode.opmap.get("CACHE", 0), opcode.opmap["EXTENDED_ARG"]
GLOBAL, ATTRIBUTE = opcode.opmap["LOAD_GLOBAL"], opcode.opmap["LOAD_ATTR"]
METHOD = opcode.opmap.get("LOAD_METHOD") if sys.version_info < (3, 12) else None


class NoSource(Exception):
    """A function cannot be converted, or its text does not match; the message states why."""


class Missing(NoSource):
    """The text of a function is not available."""


class Source(NamedTuple):
    """The syntax tree of one function, alone in a module.

    Attributes
    ----------
    module : ast.Module
        Binds the free variables of the function, so that its code has the same cells.
    function : ast.FunctionDef or ast.Lambda
    owner : str
        The enclosing class, whose name mangles private names.
    depth : int
        Number of code objects that enclose the function's code.
    """

    module: ast.Module
    function: Function
    owner: str
    depth: int


def compiled(source: Source, code: CodeType) -> CodeType:
    """Return the code of a function whose tree may have been rewritten; `code` is its original."""
    made = compile(source.module, code.co_filename, "exec", flags=code.co_flags & FUTURE,
                   dont_inherit=True)
    for _ in range(source.depth):
        made = next(x for x in made.co_consts if isinstance(x, CodeType))
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def functions_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the functions in a code object, at any depth, outer ones first."""
    for x in code.co_consts:
        if isinstance(x, CodeType):
            yield x
            yield from functions_in(x)


def source_of(code: CodeType) -> Source:
    """Return the syntax tree of a code object. Raise NoSource if no text matches the code."""
    seen = None
    for first, text in _texts(code):
        for function in _functions(text, first, code):
            found = _alone(function, code)
            seen = compiled(found, code)
            if _same(seen, code):
                return found
    if seen is None:
        raise Missing(f"the source of {code.co_qualname} is not available ({code.co_filename}, "
                      f"line {code.co_firstlineno}): keep it in a file or a notebook, or use "
                      "dualflow.cond and dualflow.while_loop")
    raise NoSource(f"the text at {code.co_filename}:{code.co_firstlineno} does not match the "
                   f"running code of {code.co_qualname}: the file has changed; load it again")


# --- text ----------------------------------------------------------------------------------------

def _texts(code: CodeType) -> Iterator[tuple[int, str]]:
    """Yield texts that may contain a function, and the lines at which they begin: first the lines
    indented below the function's first line, then the whole file."""
    if code.co_filename == CONSOLE and not linecache.getlines(CONSOLE):
        yield from _typed(code)
        return
    lines = linecache.getlines(code.co_filename)
    first = code.co_firstlineno
    if not lines or first > len(lines):
        return
    last = max([line for _, _, line in code.co_lines() if line is not None], default=first)
    for inner in functions_in(code):
        last = max(last, *[line for _, _, line in inner.co_lines() if line is not None])
    margin = _indent(lines[first - 1])
    for end in range(last, len(lines) + 1):
        if end == len(lines) or (lines[end].strip() and _indent(lines[end]) <= margin):
            text = "".join(lines[first - 1:end])
            yield first, text if not margin else "if 1:\n" + text
            if end > last + 2:      # allows for a bracket or a string that closes on a later line
                break
    yield 1, "".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _typed(code: CodeType) -> Iterator[tuple[int, str]]:
    """Yield inputs typed at the prompt, latest first. Lines count from the start of each input."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    n = readline.get_current_history_length()
    lines = [readline.get_history_item(k) or "" for k in range(1, n + 1)]
    inside = [k for k, line in enumerate(lines) if line.lstrip().startswith(("def ", "@", "async "))
              or "lambda" in line]
    for k in reversed(inside):
        end = k + 1
        while end < n and (lines[end][:1] in (" ", "\t", "") or lines[end - 1][:1] == "@"):
            end += 1
        first = max(code.co_firstlineno - _indent(lines[k]), 1)
        yield first, "\n".join(lines[k:end])


# --- trees ---------------------------------------------------------------------------------------

def _functions(text: str, first: int, code: CodeType) -> Iterator[Function]:
    """Yield the functions in a text whose name and first line match the code."""
    begins = first - text.startswith("if 1:\n")
    try:
        tree = ast.parse("\n" * (begins - 1) + text)
    except (SyntaxError, ValueError):
        return
    is_lambda = code.co_name == "<lambda>"
    for node in _all_functions(tree):
        if isinstance(node, ast.Lambda) is is_lambda and first_line(node) == code.co_firstlineno:
            if not isinstance(node, ast.Lambda):
                if node.name == code.co_name:
                    yield node
            elif _holds(node, code):
                yield node


def _all_functions(tree: ast.AST) -> Iterator[Function]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, FUNCTIONS):
            yield node
        pending += ast.iter_child_nodes(node)


def first_line(node: Function) -> int:
    """Return the first line of a function's code: the line of its first decorator, if any."""
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def _holds(node: ast.Lambda, code: CodeType) -> bool:
    """Return True if the positions of the code lie in this lambda; a line may hold several."""
    body = node.body
    places = [(a, c) for a, _, c, _ in code.co_positions() if a and c is not None and (a, c) != (
        code.co_firstlineno, 0)]
    return not places or (min(places) >= (body.lineno, body.col_offset)
                          and max(places) <= (body.end_lineno, body.end_col_offset))


def _alone(function: Function, code: CodeType) -> Source:
    """Return a function alone in a module, with the cells of the running code."""
    owner, depth = _class_around(code.co_qualname), 1
    at: dict[str, Any] = {
        "lineno": function.lineno, "col_offset": function.col_offset,
        "end_lineno": function.end_lineno, "end_col_offset": function.end_col_offset}
    function = _without_surroundings(function, at)
    inner: ast.stmt = (ast.Expr(value=function, **at) if isinstance(function, ast.Lambda)
                       else function)
    if owner:
        inner = ast.ClassDef(name=owner, bases=[], keywords=[], body=[inner], decorator_list=[],
                             **NO_TYPES, **at)
        depth += 1
    free = [name for name in code.co_freevars if name != "__class__" or not owner]
    if free:
        given = ast.arguments(posonlyargs=[], args=[ast.arg(arg=name, **at) for name in free],
                              kwonlyargs=[], kw_defaults=[], defaults=[])
        inner = ast.FunctionDef(name="around", args=given, body=[inner], decorator_list=[],
                                **NO_TYPES, **at)
        depth += 1
    body: list[ast.stmt] = [ast.Import(names=[ast.alias(name=x, **at)], **at)
                            for x in _imported(code)]
    body.append(inner)
    return Source(ast.Module(body=body, type_ignores=[]), function, owner, depth)


def _without_surroundings(function: Function, at: dict[str, Any]) -> Function:
    """Return a function without decorators, defaults and annotations, which its caller
    evaluates."""
    args = function.args

    def plain(arg: ast.arg) -> ast.arg:
        return arg if arg.annotation is None else ast.arg(arg=arg.arg, **at)

    bare = ast.arguments(
        posonlyargs=[*map(plain, args.posonlyargs)], args=[*map(plain, args.args)],
        vararg=args.vararg and plain(args.vararg), kwonlyargs=[*map(plain, args.kwonlyargs)],
        kw_defaults=[x and ast.Constant(value=None, **at) for x in args.kw_defaults],
        kwarg=args.kwarg and plain(args.kwarg),
        defaults=[ast.Constant(value=None, **at) for x in args.defaults])
    if isinstance(function, ast.Lambda):
        return ast.Lambda(args=bare, body=function.body, **at)
    return ast.FunctionDef(name=function.name, args=bare, body=function.body, decorator_list=[],
                           **NO_TYPES, **at)


def _imported(code: CodeType) -> set[str]:
    """Return the names that the function's module imports: the compiler emits other instructions
    for calls of their attributes than for method calls."""
    imported: set[str] = set()
    others: set[str] = set()
    for each in (code, *functions_in(code)):
        held, last, far = each.co_code, "", 0
        for k in range(0, len(held), 2):
            op, arg = held[k], held[k + 1] | far
            if op == CACHE:
                continue
            far = arg << 8 if op == EXTENDED else 0
            if last and (op == METHOD or (op == ATTRIBUTE and METHOD is None and arg & 1)):
                others.add(last)
            elif last and op == ATTRIBUTE:
                imported.add(last)
            if op != EXTENDED:
                last = each.co_names[arg >> 1] if op == GLOBAL else ""
    return imported - others


def _class_around(name: str) -> str:
    """Return the name of the class whose body defines a function, from its qualified name."""
    parts = name.split(".")
    k = len(parts) - 1
    while k > 0:
        if parts[k - 1] != "<locals>":
            return parts[k - 1]
        k -= 2
    return ""


def _same(made: CodeType, code: CodeType) -> bool:
    """Return True if two code objects differ only in their lines."""
    if REWRITTEN in code.co_names:
        return made.co_varnames[:made.co_argcount] == code.co_varnames[:code.co_argcount]
    return (made.co_code == code.co_code and made.co_names == code.co_names
            and made.co_varnames == code.co_varnames and made.co_freevars == code.co_freevars
            and made.co_cellvars == code.co_cellvars
            and len(made.co_consts) == len(code.co_consts)
            and all(map(_same_constant, made.co_consts, code.co_consts)))


def _same_constant(a: object, b: object) -> bool:
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return _same(a, b)
    return type(a) is type(b) and (repr(a) == repr(b))
