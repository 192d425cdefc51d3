"""Conversion of code objects, each converted once and cached while it is alive."""

from __future__ import annotations

import ast
import functools
import types
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

from dualflow._core import CollectorSuspended
from dualflow.autograph import operators
from dualflow.autograph.expressions import OPERATORS
from dualflow.autograph.rewrite import known_of, rewrite
from dualflow.autograph.source import GENERATOR, NoSource, compiled, source_of

# By the id of a code object: a weak reference to the object, and either its converted form or the
# class and the message of the error. An error itself would keep the frames of its traceback alive.
_cache: dict[int, tuple[weakref.ref[CodeType], CodeType | tuple[type[NoSource], str]]] = {}


def converted(code: CodeType) -> CodeType:
    """Return the converted form of a code object. Raise NoSource if it cannot be converted."""
    entry = _cache.get(id(code))
    if entry is None or entry[0]() is not code:
        key = id(code)
        try:
            with CollectorSuspended():
                result: CodeType | tuple[type[NoSource], str] = _convert(code)
        except NoSource as error:
            result = type(error), str(error)
        except SyntaxError as error:
            result = NoSource, f"{code.co_qualname} cannot be converted: {error}"
        entry = _cache[key] = weakref.ref(code, lambda _: _cache.pop(key, None)), result
    if isinstance(entry[1], tuple):
        kind, message = entry[1]
        raise kind(message)
    return entry[1]


def is_converted(code: CodeType) -> bool:
    """Return True if a code object was produced by this module."""
    return any([x is operators for x in code.co_consts])


def _convert(code: CodeType) -> CodeType:
    if code.co_flags & GENERATOR:
        raise NoSource(f"{code.co_qualname} is a generator or a coroutine, which cannot be "
                       "converted: return a list")
    source = source_of(code)
    rewrite(source.function, source.owner, known_of(code))
    result = compiled(source, code)
    if result.co_freevars != code.co_freevars:  # some occur only in annotations that never run
        _read_names(source.function, code.co_freevars)
        result = compiled(source, code)
    return _with_operators(result)


def _read_names(function: Any, names: tuple[str, ...]) -> None:
    """Insert reads of `names` that never run, which make them free variables of the function."""
    at = function.body[0] if isinstance(function.body, list) else function.body
    where = {"lineno": at.lineno, "col_offset": 0, "end_lineno": at.lineno, "end_col_offset": 0}
    read: list[ast.stmt] = [ast.Expr(value=ast.Name(id=x, ctx=ast.Load(), **where), **where)
                            for x in names]
    never = ast.Constant(value=False, **where)
    function.body.insert(0, ast.If(test=never, body=read, orelse=[], **where))


def _with_operators(code: CodeType) -> CodeType:
    """Return the code with its placeholder constant replaced by the operators module."""
    consts = [_with_operators(x) if isinstance(x, CodeType) else operators if x == OPERATORS else x
              for x in code.co_consts]
    if not any([x is operators for x in consts]):
        consts.append(operators)
    return code.replace(co_consts=tuple(consts))


def to_code(function: Callable[..., Any]) -> str:
    """Return the text of a converted function."""
    code = plain(function).__code__
    source = source_of(code)
    rewrite(source.function, source.owner, known_of(code))
    for node in ast.walk(source.function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Constant) and (
                node.value.value == OPERATORS):
            node.value = ast.Name(id="ag", ctx=ast.Load())
    return ast.unparse(source.function)


def to_graph(function: Callable[..., Any]) -> types.FunctionType:
    """Return a converted function."""
    f = plain(function)
    result = types.FunctionType(converted(f.__code__), f.__globals__, f.__name__, f.__defaults__,
                                f.__closure__)
    result.__kwdefaults__ = f.__kwdefaults__
    return functools.update_wrapper(result, f)    # type: ignore[return-value]


def plain(function: Any) -> types.FunctionType:
    """Return the Python function in a method, a partial or a traced function."""
    for _ in range(20):
        if isinstance(function, types.FunctionType):
            return function
        for inside in ("python_function", "__func__", "func", "__wrapped__", "fget"):
            if hasattr(function, inside):
                function = getattr(function, inside)
                break
        else:
            function = type(function).__call__
    raise TypeError(f"{function!r} is not a Python function")
