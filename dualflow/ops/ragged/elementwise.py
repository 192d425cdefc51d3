"""Elementwise ops of ragged tensors, with broadcasting."""

from __future__ import annotations

from dualflow._core import Dim, TensorBase, apply, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array.shape import is_open, reshape, same_size, static_shape
from dualflow.ops.elementwise.arithmetic import add, multiply
from dualflow.ops.indexing.gather import gather
from dualflow.ops.ragged.convert import coordinates
from dualflow.ops.ragged.partition import is_known
from dualflow.ops.ragged.ragged_tensor import RaggedTensor, length, levels
from dualflow.ops.ragged.rows import convertible, same_splits, shown_lengths, with_rank
from dualflow.ops.sparse.select import product
from dualflow.ops.string_tensor import OPS, StringTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__: list[str] = []

DENSE: Any = (TensorBase, StringTensor)


def elementwise(op: str, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
    """Apply an elementwise op."""
    return on_flat_values(op, inputs, lambda flat: _of_flat(op, flat, attrs, name))


def on_flat_values(caller: str, inputs: Sequence[Any], function: Callable[[list[Any]], Any]) -> Any:
    """Return the ragged tensor of the function of the flat values of all inputs, broadcast to the
    input with the most dimensions."""
    xs = [x if isinstance(x, int | float | Dim) else convertible(x) for x in inputs]
    given = [x for x in xs if isinstance(x, RaggedTensor)]
    like = max(given, key=lambda x: (x.ndim, x.ragged_rank))
    return like.with_flat_values(function([_flat(caller, x, like) for x in xs]))


def _of_flat(op: str, flat: list[Any], attrs: dict[str, Any], name: str | None) -> Any:
    if any([isinstance(x, StringTensor) for x in flat]):
        operators = {"equal": "__eq__", "not_equal": "__ne__", "add": "__add__"}
        if op in operators and isinstance(flat[0], StringTensor):
            return getattr(flat[0], operators[op])(flat[1])
        if op not in OPS:
            raise DTypeError(f"{op}: text, expected numbers")
    return apply(op, *flat, name=name, **attrs)


def _flat(caller: str, x: Any, like: RaggedTensor) -> Any:
    """Return the values of an operand for the flat values of `like`."""
    if not isinstance(x, RaggedTensor):
        return _of_dense(caller, x, like)
    if x is like:
        return x.flat_values
    if x.ndim != like.ndim:
        raise ShapeError(f"{caller}: ragged tensors of shapes {x.shape} and {like.shape}, expected "
                         "equally many dimensions")
    own, others = levels(x), levels(like)
    for a, b in zip(own, others, strict=False):
        same_splits(b, a, caller)
    for level in others[len(own):]:
        flat = x.flat_values
        if static_shape(flat)[1] == 1:      # one value for all of the row
            flat = gather(reshape(flat, (static_shape(flat)[0], *static_shape(flat)[2:])),
                          level.value_rowids())
            x = like_rows(x, level, flat)
        else:
            x = with_rank(x, x.ragged_rank + 1)
            same_splits(level, levels(x)[-1], caller)
    return x.flat_values


def like_rows(x: RaggedTensor, level: RaggedTensor, flat: Any) -> RaggedTensor:
    """Return a ragged tensor with one more level, the splits of `level`."""
    made: Any = RaggedTensor._made(flat, level.row_splits, level._uniform)
    for outer in reversed(levels(x)):
        made = RaggedTensor._made(made, outer.row_splits, outer._uniform)
    found: RaggedTensor = made
    return found


def _of_dense(caller: str, x: Any, like: RaggedTensor) -> Any:
    flat, split = like.flat_values, like.ragged_rank + 1
    if not isinstance(x, DENSE) or x.ndim <= flat.ndim - 1:
        return x
    if x.ndim > like.ndim:
        raise ShapeError(f"{caller}: shapes {like.shape} and {x.shape}, expected at most "
                         f"{like.ndim} dimensions")
    shape = (1,) * (like.ndim - x.ndim) + static_shape(x)
    at: Any = None
    for d, (n, c) in enumerate(zip(shape[:split], coordinates(like), strict=True)):
        if not is_open(n) and n == 1:
            continue
        _check(caller, like, d, n, x)
        at = c if at is None else add(multiply(at, as_tensor(n, int64)), c)
    rows = reshape(x, (product(shape[:split]), *shape[split:]))
    return rows if at is None else gather(rows, at)


def _check(caller: str, like: RaggedTensor, d: int, n: Any, x: Any) -> None:
    """Raise unless size n of dimension d of a dense operand is the length of all rows."""
    if d == 0:
        fits = same_size(length(like), n)
        found = f"{length(like)} rows"
    else:
        level = levels(like)[d - 1]
        lengths = level.row_lengths()
        fits = not is_known(lengths) or all([k == n for k in lengths.tolist()])
        found = f"rows of {shown_lengths(level)} values" if not fits else ""
    if not fits:
        raise ShapeError(f"{caller}: a ragged tensor with {found} and a tensor of shape {x.shape} "
                         f"cannot be broadcast in dimension {d}")
