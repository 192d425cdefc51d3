"""Batching rules of matrix products."""

from typing import Any

from dualflow.ops.array.shape import reshape
from dualflow.transforms.batched_value import Application, BatchedValue
from dualflow.transforms.registry import batching


@batching("matmul", "matmul_int32")
def matmul(run: Application, a: BatchedValue, b: BatchedValue) -> Any:
    """A batched product; rows of all examples times a shared matrix are one product."""
    x, y = run.inputs
    if not b.batched and x.ndim == 2 and y.ndim == 2 and not run.attrs["transpose_a"]:
        made = run.shape(run.outputs[0])
        rows = reshape(a.value, (run.n * made[0], run.shape(x)[1]))
        return reshape(run(rows, b.value), (run.n, *made))
    rank = max(x.ndim, y.ndim)
    return run(run.with_rank(a, x, rank), run.with_rank(b, y, rank))
