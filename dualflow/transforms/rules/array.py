"""Batching rules of ops that join, split, slice or pad tensors."""

from typing import Any

from dualflow.transforms.batched_value import Application, BatchedValue
from dualflow.transforms.registry import batching


@batching("concat")
def concat(run: Application, *operands: BatchedValue) -> Any:
    return run(*run.all_batched(operands), axis=run.axis())


@batching("stack")
def stack(run: Application, *operands: BatchedValue) -> Any:
    return run(*run.all_batched(operands), axis=run.axis(rank=run.outputs[0].ndim))


@batching("add_n")
def add_n(run: Application, *operands: BatchedValue) -> Any:
    return run(*run.all_batched(operands))


@batching("split", "unstack", "roll")
def along(run: Application, operand: BatchedValue) -> Any:
    return run(operand.value, axis=run.axis())


MISSING = -1 << 63          # an omitted begin or end: DF_SLICE_MISSING


@batching("strided_slice")
def strided_slice(run: Application, operand: BatchedValue) -> Any:
    return run(operand.value, **whole_first(run))


@batching("strided_slice_grad")
def strided_slice_grad(run: Application, operand: BatchedValue) -> Any:
    return run(operand.value, shape=(run.n, *run.attrs["shape"]), **whole_first(run))


def whole_first(run: Application) -> dict[str, Any]:
    """Return the keys of a slice, preceded by one for all examples."""
    first = {"begin": MISSING, "end": MISSING, "strides": 1, "kind": 0}
    return {name: (key, *run.attrs[name]) for name, key in first.items()}


@batching("pad")
def pad(run: Application, x: BatchedValue, value: BatchedValue) -> Any:
    if value.batched:
        return None
    return run(x.value, value.value, paddings=(0, 0, *run.attrs["paddings"]))


@batching("one_hot")
def one_hot(run: Application, indices: BatchedValue, on: BatchedValue, off: BatchedValue) -> Any:
    if on.batched or off.batched:
        return None
    axis = run.axis(rank=run.outputs[0].ndim)
    return run(indices.value, on.value, off.value, axis=axis)
