"""Expressions with conditional evaluation: Python's semantics for Python values, a branch in the
graph for traced tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from dualflow._core import current_graph, unwrapped
from dualflow.autograph.conditions import Formula, conditions, negation
from dualflow.autograph.errors import one_branch
from dualflow.autograph.values import Differ, Merge, filled, is_traced, truth
from dualflow.ops.elementwise.bitwise import logical_and, logical_not, logical_or

CHEAP = 16          # nodes of a condition that is computed unconditionally


def merged(merge: Merge, what: str, a: Any, b: Any, where: str) -> Any:
    """Merge the results of two branches, for `filled`; raise an error if they differ too much."""
    try:
        return merge.add(a, b)
    except Differ as error:
        raise one_branch(what, a, b, where, error) from error


def if_exp(test: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """`first if test else second`"""
    if not is_traced(test):
        return first() if test else second()
    return chosen(truth(test), first, second, "the conditional expression",
                  where_of(sys._getframe(1)))


def chosen(test: Any, first: Callable[[], Any], second: Callable[[], Any], what: str,
           where: str) -> Any:
    """Return the result of one of two functions, selected by a traced bool. `what` and `where` are
    for messages."""
    known = conditions().decided(test)
    if known is not None:
        return first() if known else second()
    branches = current_graph().cond_builder(test)
    fact = conditions().of(branches.chosen)
    a, b = _recorded(branches, first, fact), _recorded(branches, second, negation(fact))
    merge = Merge()
    value = merged(merge, what, a, b, where)
    return filled(value, branches.finish(merge.first, merge.second))


def where_of(frame: FrameType) -> str:
    """Return the current line of a frame."""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _recorded(branches: Any, f: Callable[[], Any], fact: Formula) -> Any:
    """Return the result of a function, recorded as a branch in which a fact holds."""
    body = branches.open()
    try:
        with conditions().given(fact):
            result = f()
    except BaseException:
        body.drop()
        raise
    body.close()
    return result


def and_(a: Any, b: Callable[[], Any]) -> Any:
    """`a and b`"""
    if not is_traced(a):
        return a and b()
    return _joined(a, b, logical_and, "`and`")


def or_(a: Any, b: Callable[[], Any]) -> Any:
    """`a or b`"""
    if not is_traced(a):
        return a or b()
    return _joined(a, b, logical_or, "`or`")


def _joined(a: Any, b: Callable[[], Any], op: Callable[..., Any], what: str) -> Any:
    """Return `a and b` or `a or b`. `b` is computed conditionally, unless it is a cheap condition
    that cannot fail."""
    both = op is logical_and
    a = unwrapped(a)
    test = truth(a) if both else logical_not(truth(a))
    known = conditions().decided(test)
    if known is not None:
        return b() if known else a
    branches = current_graph().cond_builder(test)
    result = _recorded(branches, b, conditions().of(branches.chosen))
    body = branches.bodies[0]
    plain = all([not (node.effect or node.may_raise or node.bodies) for node in body.nodes])
    if _is_condition(a) and _is_condition(result) and plain and len(body.nodes) <= CHEAP:
        body.put_back()
        return op(a, result)
    branches.open().close()
    merge = Merge()
    value = merged(merge, what, result, a, where_of(sys._getframe(2)))
    return filled(value, branches.finish(merge.first, merge.second))


def _is_condition(x: Any) -> bool:
    x = unwrapped(x)
    return isinstance(x, bool) or (getattr(x, "dtype", None) is not None and x.dtype.name == "bool"
                                   and x.ndim == 0)


def not_(a: Any) -> Any:
    """`not a`"""
    return logical_not(truth(a)) if is_traced(a) else not a
