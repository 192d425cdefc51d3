"""Traced integers as attributes of ops (a size, a bound, an axis): each becomes a `Dim`.

The core and the ops call it through `Trace`. An integer that depends on sizes alone is known for
each call; any other is computed when the program runs (`dynamic.py`).
"""

from __future__ import annotations

from dualflow._core import Dim, Symbol, as_tensor
from dualflow.errors import DTypeError
from dualflow.graph.trace.dynamic import DependsOnData, refuse
from dualflow.graph.trace.parameters import is_number
from dualflow.ops.array.shape import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def known_dims(trace: Any, x: Symbol) -> tuple[Dim, ...]:
    """Return the elements of a traced vector or scalar of integers as Dims. Raise DependsOnData if
    they depend on anything but sizes."""
    if x.ndim > 1 or not x.dtype.is_integer:
        raise _unfit(x, "integers of shape () or (n,)")
    numbers = trace.known(x, refuse).tolist()
    if not x.ndim:
        return (Dim(numbers, "element", (x,), trace),)
    return tuple([Dim(n, "element", (x, k), trace) for k, n in enumerate(numbers)])


def dims_of(trace: Any, x: Symbol) -> tuple[Dim, ...]:
    """Return the elements of a traced vector or scalar of integers as Dims, which may depend on
    data."""
    if is_number(x) and x.node.data.dim.data_dependent:
        return (x.node.data.dim,)
    try:
        return known_dims(trace, x)
    except DependsOnData:
        if None in x.known_shape:
            raise _unfit(x, "a vector whose length is known while it is traced") from None
    trace.outliner.measured.add(x)
    if not x.ndim:
        return (Dim(None, "element", (x,), trace),)
    return tuple([Dim(None, "element", (x, k), trace) for k in range(x.known_shape[0] or 0)])


def dim_of(trace: Any, x: Symbol) -> Dim:
    """Return a traced integer of shape () as a Dim."""
    if x.ndim:
        raise _unfit(x, "an integer of shape ()")
    return dims_of(trace, x)[0]


def inside(trace: Any, x: Any) -> Any:
    """Return a number that depends on data as a Dim of a node in the open body; return any other
    number unchanged."""
    if not isinstance(x, Dim) or not x.data_dependent:
        return x
    return Dim(None, "element", (identity(as_tensor(x)),), trace)


def _unfit(x: Symbol, want: str) -> DTypeError:
    return DTypeError(f"{x.name} is {x.dtype} {x.known_shape}, expected {want} for sizes, bounds "
                      "and axes")
