"""Traced Python numbers: bool(), int() and float() of a tensor, and operations that need a number:
the index of a list, the key of a dict, text."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

from dualflow import nest
from dualflow._core import Dim, Symbol, as_tensor, unwrapped
from dualflow.autograph.replacements import refuse, replaces
from dualflow.autograph.values import column, is_number, is_tensor, is_traced, scalar, truth
from dualflow.dtypes import float32, float64, int32, int64, uint32, uint64
from dualflow.ops.array.shape import identity, stop_gradient
from dualflow.ops.control_flow.host import host_call
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.indexing.gather import gather

NAME = "python_"            # name prefix of the nodes that represent Python numbers
MOST = 100                  # limit of nodes visited in the search for such a node


@replaces(builtins.bool)
def _bool(*args: Any) -> Any:
    if len(args) != 1 or not is_traced(args[0]):
        return bool(*args)
    return identity(truth(args[0]), name=f"{NAME}bool")


def check_int(bound: int, dtype: str, value: Any) -> None:
    """Raise unless -bound <= int(value) < bound."""
    if not -bound <= int(value) < bound:
        raise OverflowError(f"int() of a traced {value.dtype}: {int(value)} does not fit in "
                            f"{dtype}; use dualflow.cast(x, dtype)")


@replaces(builtins.int)
def _int(*args: Any, **keywords: Any) -> Any:
    """Return a traced integer, rounded toward zero: int64 for dtypes with a larger range than
    int32, else int32, the default of Python ints. NaN, infinities and overflow raise."""
    if len(args) != 1 or keywords or not is_traced(args[0]):
        return int(*args, **keywords)
    x = check_real("int()", scalar(args[0], "int()"))
    dtype = int64 if x.dtype in (int64, uint32, uint64, float64) else int32
    if x.dtype.is_floating or x.dtype is uint64:
        bound = 1 << (63 if dtype is int64 else 31)
        host_call(functools.partial(check_int, bound, str(dtype)), [x], "int")
    return identity(cast(stop_gradient(x), dtype), name=f"{NAME}int")


@replaces(builtins.float)
def _float(*args: Any) -> Any:
    """Return a traced number without a gradient, as in Python: float64 for float64, else
    float32."""
    if len(args) != 1 or not is_traced(args[0]):
        return float(*args)
    x = check_real("float()", scalar(args[0], "float()"))
    return stop_gradient(cast(x, float64 if x.dtype is float64 else float32),
                         name=f"{NAME}float")


def stands_for_number(x: Any) -> bool:
    """Return True if a traced tensor is a result of bool(), int() or float(), or is computed from
    such results and constants: in eager mode it is a Python number."""
    x, n, found = unwrapped(x), 0, False
    if not isinstance(x, Symbol) or x.ndim:
        return False
    pending = [x]
    while pending:
        node, n = pending.pop().node, n + 1
        if node is None or n > MOST:
            return False
        if node.name.startswith(NAME):
            found = True
        elif node.inputs:
            pending += node.inputs
        elif node.op.name != "constant":
            return False
    return found


# --- operations that need a number ---------------------------------------------------------------

@replaces(builtins.isinstance)
def _isinstance(x: Any, kinds: Any) -> bool:
    if stands_for_number(x):
        dtype = unwrapped(x).dtype
        x = (False if dtype.is_bool else 0. if dtype.is_floating else 0j if dtype.is_complex
             else 0)
    return isinstance(x, kinds)


def item(box: Any, key: Any) -> Any:
    """`box[key]`"""
    if is_traced(key):
        if isinstance(box, dict) and stands_for_number(key):
            _refuse_key(key)
        index = as_tensor(unwrapped(key))
        if index.dtype.is_bool and stands_for_number(index):
            index = cast(index, int32)          # Python's True equals 1
        parts = [nest.flatten(x) for x in box] if isinstance(box, list | tuple) else []
        numeric = all([is_tensor(x) or is_number(x) for part in parts for x in part])
        if len({*map(len, parts)}) == 1 and numeric and index.dtype.is_integer and index.ndim == 0:
            index = where(index < 0, index + len(box), index)
            columns = [gather(column([*values], "an item by a traced index"), index)
                       for values in zip(*parts, strict=True)]
            return nest.pack_sequence_as(box[0], columns)
    return box[key]


def get(method: Any, /, *args: Any, **keywords: Any) -> Any:
    """`box.get(key, ...)`"""
    if args and isinstance(getattr(method, "__self__", None), dict) and stands_for_number(args[0]):
        _refuse_key(args[0])
    return method(*args, **keywords)


def _refuse_key(key: Any) -> Any:
    refuse("the item of a dict by the number", key, "is known only when the graph runs: use "
           "dualflow.switch_case, or a list of tensors")


def shown(x: Any) -> Any:
    """Return a value to format in an f-string; raise if it is a traced number or size. A size
    with a hint is formatted as the hint, for which the trace becomes specific."""
    if type(x) is Dim and x.graph.alive and not x.graph.for_any_size:
        return x.__index__() if isinstance(x, int) else float(x)
    inner = unwrapped(x)
    if stands_for_number(x) or (isinstance(inner, Symbol) and hasattr(inner.node.data, "dim")):
        refuse("the text of the number", x, "is known only when the graph runs: use "
               "dualflow.print, or format the tensor itself, whose text describes it")
    return x


def _text(function: Any) -> Callable[..., Any]:
    def replacement(*args: Any, **keywords: Any) -> Any:
        return function(*[*map(shown, args[:1]), *args[1:]], **keywords)

    return replacement


for f in (builtins.str, builtins.repr, builtins.format):
    replaces(f)(_text(f))
