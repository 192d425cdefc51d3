"""Batching rules of gather and scatter ops."""

from typing import Any

from dualflow.ops.array.creation import range as range_
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import broadcast_to, reshape, transpose
from dualflow.transforms.batched_value import Application, BatchedValue
from dualflow.transforms.registry import batching


@batching("gather")
def gather(run: Application, params: BatchedValue, indices: BatchedValue) -> Any:
    batch, rank = run.attrs["batch_dims"], run.inputs[0].ndim
    if not batch and not indices.batched:
        return run(params.value, indices.value, axis=run.axis())
    if not batch and not params.batched and run.attrs["axis"] in (0, -rank):
        return run(params.value, indices.value)
    return run(*run.all_batched((params, indices)), axis=run.axis(), batch_dims=batch + 1)


@batching("gather_grad", "gather_nd", "scatter_nd")
def nested(run: Application, first: BatchedValue, second: BatchedValue) -> Any:
    """Treat the examples as another batch dimension."""
    rank = len(run.attrs["shape"]) if "shape" in run.attrs else run.inputs[0].ndim
    changed: dict[str, Any] = {"axis": run.axis(rank=rank),
                               "batch_dims": run.attrs["batch_dims"] + 1}
    if "shape" in run.attrs:
        changed["shape"] = (run.n, *run.attrs["shape"])
    return run(*run.all_batched((first, second)), **changed)


@batching("tensor_scatter_nd_add", "tensor_scatter_nd_sub", "tensor_scatter_nd_update",
          "tensor_scatter_nd_min", "tensor_scatter_nd_max", "tensor_scatter_nd_mul",
          "scatter_update_grad")
def scatter(run: Application, *operands: BatchedValue) -> Any:
    """Prefix each index with the number of its example."""
    x, indices, *updates = run.all_batched(operands)
    each = run.shape(run.inputs[1])
    operand = reshape(range_(run.n, dtype=indices.dtype), (run.n, *[1] * len(each)))
    operand = broadcast_to(operand, (run.n, *each[:-1], 1))
    return run(x, concat([operand, indices], -1), *updates)


@batching("searchsorted")
def searchsorted(run: Application, rows: BatchedValue, values: BatchedValue) -> Any:
    """Look up the values of each example in its row; the leading dimensions must agree."""
    if run.inputs[0].ndim != run.inputs[1].ndim:
        return None
    return run(*run.all_batched((rows, values)))


@batching("sparse_dense_matmul")
def sparse_product(run: Application, indices: BatchedValue, values: BatchedValue,
                   dense: BatchedValue) -> Any:
    """If the sparse matrix is shared, move the examples into the columns."""
    if indices.batched or values.batched:
        return None
    _, k, n = dense.value.shape
    y = run(indices.value, values.value, reshape(transpose(dense.value, [1, 0, 2]), (k, run.n * n)))
    return transpose(reshape(y, (y.shape[0], run.n, n)), [1, 0, 2])


@batching("segment_sum", "segment_gather")
def segments(run: Application, data: BatchedValue, ids: BatchedValue) -> Any:
    """If ids are shared, move the examples into the rows."""
    if ids.batched:
        return None
    k = 1 if run.op.name == "segment_gather" else run.inputs[1].ndim
    x = transpose(data.value, [*range(1, k + 1), 0, *range(k + 1, data.value.ndim)])
    y = run(x, ids.value)
    k = run.inputs[1].ndim if run.op.name == "segment_gather" else 1
    return transpose(y, [k, *range(k), *range(k + 1, y.ndim)])
