"""Traced integers where an op takes a number as an attribute: a size, a bound, an axis.

A `Dim` stands for each. What follows from sizes alone is known for each call; anything else is
known only when the program runs (`dynamic.py` computes it there).
"""

from __future__ import annotations

from typing import Any

from dualflow._core import Dim, Symbol, as_tensor
from dualflow.errors import DTypeError
from dualflow.graph.trace.dynamic import DependsOnData, refuse
from dualflow.ops.array import identity


def known_dims(trace: Any, x: Symbol) -> tuple[Dim, ...]:
    """The numbers in a traced vector of integers, or the one in an integer of shape (). Raises
    DependsOnData if they do not follow from sizes alone."""
    if x.ndim > 1 or not x.dtype.is_integer:
        raise _unfit(x, "integers of shape () or (n,)")
    numbers = trace.known(x, refuse).tolist()
    if not x.ndim:
        return (Dim(numbers, "element", (x,), trace),)
    return tuple([Dim(n, "element", (x, k), trace) for k, n in enumerate(numbers)])


def dims_of(trace: Any, x: Symbol) -> tuple[Dim, ...]:
    """The same, also where only a run knows them."""
    try:
        return known_dims(trace, x)
    except DependsOnData:
        if None in x.known_shape:
            raise _unfit(x, "a vector whose length is known while it is traced") from None
    if not x.ndim:
        return (Dim(None, "element", (x,), trace),)
    return tuple([Dim(None, "element", (x, k), trace) for k in range(x.known_shape[0] or 0)])


def dim_of(trace: Any, x: Symbol) -> Dim:
    """The number in a traced integer of shape ()."""
    if x.ndim:
        raise _unfit(x, "an integer of shape ()")
    return dims_of(trace, x)[0]


def inside(trace: Any, x: Any) -> Any:
    """A number that only a run knows as the value of a node in the body that is being recorded."""
    if not isinstance(x, Dim) or not x.from_data:
        return x
    return Dim(None, "element", (identity(as_tensor(x)),), trace)


def _unfit(x: Symbol, want: str) -> DTypeError:
    return DTypeError(f"{x.name} is {x.dtype} {x.known_shape}, want {want} for sizes, bounds and "
                      "axes")
