"""Row partitions of ragged dimensions: int64 tensors of splits, lengths and row numbers."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array import creation
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import ints, one_size
from dualflow.ops.elementwise.arithmetic import add, multiply, subtract
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.division import divide, floordiv
from dualflow.ops.elementwise.limits import maximum
from dualflow.ops.elementwise.rounding import ceil
from dualflow.ops.indexing.gather import gather
from dualflow.ops.reduction.cumulative import cumsum
from dualflow.ops.reduction.reduce import reduce_max
from dualflow.ops.sorting.sort import searchsorted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []


def vector(x: Any, what: str) -> Any:
    """Return an argument as an int64 tensor of shape (n,)."""
    made = as_tensor(x, int64 if isinstance(x, list | tuple) and not len(x) else None, what)
    if not made.dtype.is_integer:
        raise DTypeError(f"{what} is {made.dtype}, expected integers")
    if made.ndim != 1:
        raise ShapeError(f"{what} has shape {made.shape}, expected (n,)")
    return cast(made, int64)


def iota(n: Any) -> Any:
    """Return 0, 1, ... n - 1; `n` is an int or a traced size."""
    return cast(creation.range(n), int64)


def size_of(x: Any) -> Any:
    """Return a tensor of one integer as an int, or as a size if it is traced."""
    return one_size(x, "ragged: size")


def splits_of(lengths: Any) -> Tensor:
    """Return the splits of rows of given lengths."""
    return concat([as_tensor([0], int64), cumsum(lengths)], 0)


def rows_of(splits: Any, n: Any) -> Tensor:
    """Return the row of each of the `n` values; `splits` begins at 0 and ends with `n`."""
    return cast(searchsorted(splits[1:], iota(n), side="right"), int64)


def splits_of_rows(rows: Any, nrows: Any) -> Tensor:
    """Return the splits for the row of each value."""
    return cast(searchsorted(rows, iota(nrows + 1)), int64)


def largest(lengths: Any) -> Any:
    """Return the largest of some lengths, 0 if there is none."""
    return reduce_max(concat([as_tensor([0], int64), lengths], 0))


def ranges(starts: Any, limits: Any, deltas: Any) -> tuple[Any, Any]:
    """Return the concatenated ranges from `starts` to `limits`, three tensors of shape (n,), and
    their splits."""
    if starts.dtype.is_floating:
        count = cast(ceil(divide(subtract(limits, starts), deltas)), int64)
    else:       # the floor of -x is minus the ceiling of x
        count = cast(-floordiv(subtract(starts, limits), deltas), int64)
    splits = splits_of(maximum(count, as_tensor(0, int64)))
    n = size_of(splits[-1])
    rows = rows_of(splits, n)
    step = subtract(iota(n), gather(splits, rows))
    shift = multiply(cast(step, starts.dtype), gather(deltas, rows))
    return add(gather(starts, rows), shift), splits


def check_splits(splits: Any, n: Any, what: str) -> None:
    """Raise unless splits begin at 0, do not decrease and end with the number of values. Traced
    splits are not checked."""
    if type(splits) is not Tensor:
        return
    found = splits.tolist()
    if not found:
        raise ShapeError(f"{what} is empty, expected one number more than rows")
    if found[0] != 0:
        raise ShapeError(f"{what} begins with {found[0]}, expected 0")
    for k, (a, b) in enumerate(zip(found, found[1:], strict=False)):
        if b < a:
            raise ShapeError(f"{what} decreases from {a} to {b} at index {k + 1}")
    if type(n) is int and found[-1] != n:
        raise ShapeError(f"{what} ends with {found[-1]}, expected the number of values, {n}")


def is_known(x: Any) -> bool:
    """Return True if a tensor has data, so that Python code may read it."""
    return type(x) is Tensor


def sizes(shape: Any, what: str) -> list[Any]:
    """Return the sizes of a shape in which some may be None."""
    given: Any = ints(shape, what) if isinstance(shape, TensorBase) else shape
    return [None if n is None else ints(n, what)[0] for n in given]
