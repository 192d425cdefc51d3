"""Batching rules of matrix products and of solutions of linear equations."""

from typing import Any

from dualflow.ops.array.shape import reshape, transpose
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


@batching("triangular_solve", "solve")
def solutions(run: Application, *operands: BatchedValue) -> Any:
    """Right-hand sides of all examples with one matrix are columns of one right-hand side."""
    *matrices, rhs = operands
    if any([operand.batched for operand in matrices]):
        return run(*run.all_batched(operands))
    rank = run.outputs[0].ndim
    *rows, columns = run.shape(run.outputs[0])
    inside = [*range(1, rank), 0, rank]                 # the examples before the columns
    wide = reshape(transpose(rhs.value, inside), (*rows, run.n * columns))
    made = reshape(run(*[operand.value for operand in matrices], wide), (*rows, run.n, columns))
    return transpose(made, [rank - 1, *range(rank - 1), rank])
