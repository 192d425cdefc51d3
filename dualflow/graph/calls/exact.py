"""Indistinguishable Python values: a comparison stricter than ==, which holds for 1, True and 1.0,
and for 0.0 and -0.0.

Keys of calls and the comparison of traces use it. If in doubt, values must count as different.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable

from dualflow._core import Dim, Symbol, TensorBase, unwrapped
from dualflow.graph.passes.values import same_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MUTABLE = set, bytearray
DEPTH = 20                # limit of nested structures that are compared


def is_numpy_scalar(x: Any) -> bool:
    """Return True if a value is a NumPy scalar; NumPy is not imported for the check."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, getattr(numpy, "generic", ()))


def exact_key(value: Any) -> Any:
    """Return a key for a value of a built-in type that equals only keys of indistinguishable
    values; other values are returned themselves."""
    kind = type(value)
    if kind is float:
        return "nan" if value != value else (value, math.copysign(1., value))
    if kind is complex:
        return repr(value)
    if kind in (tuple, set, frozenset):         # in order: equal sets may iterate differently
        return tuple([typed_key(x) for x in value])
    if kind in (slice, range):
        return (typed_key(value.start), typed_key(value.stop), typed_key(value.step))
    if kind is bytearray:
        return bytes(value)
    if kind is Dim or isinstance(unwrapped(value), TensorBase):
        return id(value)
    if is_numpy_scalar(value) and not value.dtype.hasobject:
        return (value.dtype.str, value.tobytes())
    return value


def typed_key(value: Any) -> Any:
    """Return `exact_key` with the type, for values in a container."""
    return type(value), exact_key(value)


def contradict(a: Any, b: Any, depth: int = DEPTH) -> bool:
    """Return True if equal values contain equal but distinguishable numbers at one position."""
    if a is b or depth == 0 or isinstance(a, TensorBase) or isinstance(b, TensorBase):
        return False
    if type(a) is not type(b):
        return isinstance(a, int | float | complex) and bool(a == b)
    if isinstance(a, int | float | complex | str | bytes | set | frozenset):
        return bool(a == b) and exact_key(a) != exact_key(b)
    if isinstance(a, list | tuple):
        return any(contradict(x, y, depth - 1) for x, y in zip(a, b, strict=False))
    if isinstance(a, dict):
        return ({typed_key(k) for k in a} != {typed_key(k) for k in b} if a.keys() == b.keys()
                else False) or any(contradict(x, b[k], depth - 1) for k, x in a.items() if k in b)
    inside = state(a)
    if inside:
        return contradict(inside, state(b), depth - 1)
    return not equivalent(pickled(a), pickled(b), depth - 1)


def equivalent(a: Any, b: Any, depth: int = DEPTH) -> bool:
    """Return True if no code can distinguish two results of the same code. Two traced tensors are
    always equivalent."""
    if a is b or (isinstance(a, Symbol) and isinstance(b, Symbol)) or depth == 0:
        return True
    if type(a) is not type(b) or type(a) is Dim:        # a Dim belongs to its trace
        return False
    if isinstance(a, TensorBase):
        return same_tensor(a, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(
            equivalent(x, y, depth - 1) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return equivalent(list(a.items()), list(b.items()), depth - 1)
    if isinstance(a, functools.partial):
        return equivalent((a.func, a.args, a.keywords), (b.func, b.args, b.keywords), depth - 1)
    if hasattr(a, "__code__"):
        return a.__code__ == b.__code__ and equivalent(captured(a), captured(b), depth - 1)
    if hasattr(a, "__func__"):
        return a.__func__ is b.__func__ and equivalent(a.__self__, b.__self__, depth - 1)
    inside = state(a)
    if inside and type(a).__eq__ is object.__eq__:
        return equivalent(inside, state(b), depth - 1)
    try:
        return bool(exact_key(a) == exact_key(b)) and not contradict(a, b)
    except Exception:                   # raised by the values' own ==
        return False


def captured(function: Callable[..., Any]) -> list[Any]:
    """Return the defaults and the closure of a Python function."""
    found: list[Any] = [getattr(function, "__defaults__", None)]
    for cell in getattr(function, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:              # a name that is not bound yet
            found.append(None)
    return found


def state(x: Any) -> dict[str, Any]:
    """Return the attributes of an object."""
    found = dict(getattr(x, "__dict__", {}))
    for kind in type(x).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if hasattr(x, name) and not name.startswith("__"):
                found[name] = getattr(x, name)
    return found


def pickled(x: Any) -> Any:
    """Return the pickled state of an object without attributes; None if it cannot be pickled."""
    try:
        return None if isinstance(x, type) or callable(x) else x.__reduce_ex__(2)[1:3]
    except Exception:                   # whatever its class raises
        return None
