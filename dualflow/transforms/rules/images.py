"""Batching rules of image ops: the examples are merged with the batch of images."""

from typing import Any

from dualflow.ops.array.shape import reshape
from dualflow.transforms.batched_value import Application, BatchedValue
from dualflow.transforms.registry import batching


@batching("conv", "conv_int32", "max_pool", "avg_pool", "extract_patches",
          "local_response_normalization", "group_norm")
def forward(run: Application, x: BatchedValue, *shared: BatchedValue) -> Any:
    return merged(run, (x, *shared), 0)


@batching("conv_backprop_input")
def input_gradient(run: Application, filters: BatchedValue, g: BatchedValue) -> Any:
    return merged(run, (filters, g), 1)


@batching("avg_pool_grad", "extract_patches_grad")
def back(run: Application, g: BatchedValue) -> Any:
    return merged(run, (g,), 0)


@batching("max_pool_grad", "max_pool_pick", "local_response_normalization_grad")
def pairs(run: Application, *operands: BatchedValue) -> Any:
    return merged(run, operands, 0, 1)


def merged(run: Application, operands: tuple[BatchedValue, ...], *images: int) -> Any:
    """Apply an op to the images of all examples; other operands must be shared."""
    if any([operand.batched for k, operand in enumerate(operands) if k not in images]):
        return None
    values = [operand.value for operand in operands]
    for k in images:
        n, *rest = run.shape(run.inputs[k])
        values[k] = reshape(run.batched(operands[k], run.inputs[k]), (run.n * n, *rest))
    changed = {}
    if "shape" in run.attrs:
        n, *rest = run.attrs["shape"]
        changed["shape"] = (run.n * n, *rest)
    made = run(*values, **changed)
    if not isinstance(made, tuple):
        return reshape(made, run.whole(run.outputs[0]))
    return tuple([reshape(y, run.whole(x)) for y, x in zip(made, run.outputs, strict=True)])
