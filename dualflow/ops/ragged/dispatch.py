"""Ops with ragged operands. `_core` calls `apply_op` through `RaggedTensor._apply_op`; functions of
tensors whose Python code needs a dense tensor call it with their own name."""

from __future__ import annotations

from dualflow._core import TensorBase, TensorSpec, apply, as_tensor, get_op
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array.creation import ones_like, zeros_like
from dualflow.ops.array.join import stack as stack_dense
from dualflow.ops.array.shape import ints, size, squeeze as squeeze_dense
from dualflow.ops.array.slicing import reverse as reverse_dense
from dualflow.ops.elementwise.arithmetic import add
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where as where_dense
from dualflow.ops.indexing.gather import gather as gather_dense
from dualflow.ops.ragged import rows
from dualflow.ops.ragged.convert import coordinates, from_tensor
from dualflow.ops.ragged.dynamic_shape import DynamicRaggedShape
from dualflow.ops.ragged.elementwise import elementwise
from dualflow.ops.ragged.indexing import item
from dualflow.ops.ragged.partition import is_known
from dualflow.ops.ragged.ragged_tensor import RaggedTensor, length
from dualflow.ops.ragged.reduction import reduce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__: list[str] = []

FLAT = ("identity", "stop_gradient", "bitcast")


def apply_op(op: str, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    """Return the result of an op with at least one ragged operand."""
    special = SPECIAL.get(op)
    if special is not None:
        return special(*inputs, **attrs)
    if op.startswith("reduce_"):
        return reduce(op, rows.ragged(inputs[0], op), attrs["axes"], attrs["keepdims"], name)
    if op == "one_hot" and attrs["axis"] < 0:
        x = rows.ragged(inputs[0], op)
        return x.with_flat_values(apply(op, x.flat_values, *inputs[1:], name=name, **attrs))
    if op in FLAT or get_op(op).kind == "elementwise":
        return elementwise(op, inputs, attrs, name)
    raise DTypeError(f"{op}: got a RaggedTensor, expected a tensor; use x.to_tensor() or "
                     "df.ragged.map_flat_values")


def gather(params: Any, indices: Any, axis: int = 0, batch_dims: int = 0) -> Any:
    """Gather from or by a ragged tensor."""
    if not isinstance(params, RaggedTensor):
        if axis != 0 or batch_dims:
            raise DTypeError(f"gather: ragged indices with axis {axis} and batch_dims "
                             f"{batch_dims}, expected 0 for a dense tensor")
        flat = gather_dense(params, indices.flat_values)
        return indices.with_flat_values(flat)
    at = rows.convertible(indices)
    n = params.ndim
    axis %= n
    if batch_dims == 0 and axis == 0:
        if isinstance(at, RaggedTensor):
            return at.with_values(gather(params, at.values))
        if at.ndim == 0:
            return item(params, at)
        if at.ndim > 1:
            return gather(params, from_tensor(at, None, None, 1))
        return rows.take(params, _from_start(at, length(params)))
    if batch_dims == 0:
        return params.with_values(_gather_inner(params.values, at, axis - 1)) if axis > 1 else (
            _columns(params, at))
    if batch_dims != 1 or axis != 1:
        raise DTypeError(f"gather: a ragged tensor with axis {axis} and batch_dims {batch_dims}, "
                         "expected batch_dims 0, or 1 and axis 1")
    if not isinstance(at, RaggedTensor):
        if at.ndim == 1:
            return rows.take(params.values, add(_index(at), params.row_starts()))
        at = from_tensor(at, None, None, 1)
    starts = gather_dense(params.row_starts(), at.value_rowids())
    return at.with_values(rows.take(params.values, add(_index(at.values), starts)))


def _gather_inner(values: Any, at: Any, axis: int) -> Any:
    if isinstance(values, RaggedTensor):
        return gather(values, at, axis)
    return gather_dense(values, at, axis=axis)


def _columns(x: RaggedTensor, at: Any) -> Any:
    """Return the same columns of each row."""
    lengths = x.row_lengths()
    if is_known(at) and is_known(lengths) and at.size and lengths.size:
        low, high = min(lengths.tolist()), max(at.numpy().ravel().tolist())
        if high >= low:
            raise ShapeError(f"gather: index {high} of axis 1, the shortest row has {low} values")
    made = rows.expand_dims(x.row_starts(), 1) + _index(at)
    flat = rows.take(x.values, made.reshape((-1,)))
    return from_tensor_rows(flat, made)


def from_tensor_rows(flat: Any, shaped: Any) -> Any:
    """Return values in rows of the shape of a matrix."""
    made = from_tensor(shaped, None, None, 1).with_values(flat)
    return made if isinstance(flat, RaggedTensor) else made.to_tensor()


def _index(at: Any) -> Any:
    return cast(at, int64)


def _from_start(at: Any, n: Any) -> Any:
    """Return indices of which negative ones count from the end as indices from the start."""
    at = _index(at)
    return where_dense(at < 0, at + n, at)


def reverse(x: RaggedTensor, axis: Any) -> Any:
    """Reverse dimensions."""
    made = x
    for a in ints(axis, "reverse: axis"):
        at = a % x.ndim
        if at <= x.ragged_rank:
            made = item(made, (slice(None),) * at + (slice(None, None, -1),))
        else:
            made = made.with_flat_values(reverse_dense(made.flat_values, [at - x.ragged_rank]))
    return made


def full_like(x: RaggedTensor, value: int, dtype: Any) -> RaggedTensor:
    """Return a ragged tensor with 0 or 1 as each value."""
    return x.with_flat_values((ones_like if value else zeros_like)(x.flat_values, dtype))


def squeeze(x: RaggedTensor, axis: Any) -> Any:
    """Remove inner dimensions of size 1."""
    found = sorted([a % x.ndim for a in axis])
    if not found or found[0] <= x.ragged_rank:
        raise DTypeError(f"squeeze: axis {axis} of a ragged tensor, expected dimensions after the "
                         "ragged ones")
    return x.with_flat_values(squeeze_dense(
        x.flat_values, [a - x.ragged_rank for a in found]))


def map_fn(x: Any, fn: Callable[[Any], Any], signature: Any) -> Any:
    """Return the results of a function of each row, as rows of a ragged tensor unless they are
    scalars."""
    made = [fn(row) for row in rows.convertible(x)]
    if not made:
        return x
    if all([isinstance(y, TensorBase) and y.ndim == 0 for y in made]) or isinstance(
            signature, TensorSpec):
        return stack_dense(made)
    return rows.stack(made)


SPECIAL: dict[str, Callable[..., Any]] = {
    "concat": lambda *xs, axis: rows.concat(xs, axis),
    "stack": lambda *xs, axis: rows.stack(xs, axis),
    "gather": gather,
    "expand_dims": lambda x, axis: rows.expand_dims(x, axis),
    "shape": DynamicRaggedShape.from_tensor,
    "size": lambda x: size(x.flat_values),
    "where_indices": lambda x: gather_dense(
        stack_dense(coordinates(x), 1), where_dense(x.flat_values)[:, 0]),
    "tile": lambda x, multiples: rows.tile(x, ints(multiples, "tile: multiples")),
    "reverse": reverse,
    "full_like": full_like,
    "squeeze": squeeze,
    "rank": lambda x: as_tensor(x.ndim),
}
