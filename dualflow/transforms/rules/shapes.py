"""Batching rules of ops that only change shapes."""

from typing import Any

from dualflow.ops.array.shape import broadcast_to, reshape, shape
from dualflow.ops.reduction.reduce import reduce_prod
from dualflow.transforms.batched_value import Application, BatchedValue
from dualflow.transforms.registry import batching


@batching("identity", "stop_gradient")
def same(run: Application, operand: BatchedValue) -> Any:
    return run(operand.value)


@batching("reshape")
def reshaped(run: Application, operand: BatchedValue) -> Any:
    return run(operand.value, shape=(run.n, *run.attrs["shape"]))


@batching("expand_dims", "squeeze")
def ones(run: Application, operand: BatchedValue) -> Any:
    return reshape(operand.value, run.whole(run.outputs[0]))


@batching("broadcast_to")
def broadcast(run: Application, operand: BatchedValue) -> Any:
    shape = run.attrs["shape"]
    return broadcast_to(run.with_rank(operand, run.inputs[0], len(shape)), (run.n, *shape))


@batching("transpose")
def transposed(run: Application, operand: BatchedValue) -> Any:
    return run(operand.value, perm=(0, *[p + 1 for p in run.attrs["perm"]]))


@batching("shape")
def shape_of(run: Application, operand: BatchedValue) -> Any:
    return BatchedValue(shape(operand.value)[1:], False)


@batching("size")
def size_of(run: Application, operand: BatchedValue) -> Any:
    return BatchedValue(reduce_prod(shape(operand.value)[1:]), False)


@batching("bitcast")
def bits(run: Application, operand: BatchedValue) -> Any:
    return run(operand.value)
