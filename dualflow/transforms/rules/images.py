"""Batching rules of image ops: the examples are merged with the batch of images."""

from typing import Any

from dualflow.ops.array import reshape
from dualflow.transforms.lane import Application, Lane
from dualflow.transforms.registry import batching


@batching("conv", "max_pool", "avg_pool", "extract_patches", "local_response_normalization",
          "group_norm")
def forward(run: Application, x: Lane, *shared: Lane) -> Any:
    return merged(run, (x, *shared), 0)


@batching("conv_backprop_input")
def input_gradient(run: Application, filters: Lane, g: Lane) -> Any:
    return merged(run, (filters, g), 1)


@batching("avg_pool_grad", "extract_patches_grad")
def back(run: Application, g: Lane) -> Any:
    return merged(run, (g,), 0)


@batching("max_pool_grad", "max_pool_pick", "local_response_normalization_grad")
def pairs(run: Application, *lanes: Lane) -> Any:
    return merged(run, lanes, 0, 1)


def merged(run: Application, lanes: tuple[Lane, ...], *images: int) -> Any:
    """Apply an op to the images of all examples; other operands must be shared."""
    if any([lane.stacked for k, lane in enumerate(lanes) if k not in images]):
        return None
    values = [lane.value for lane in lanes]
    for k in images:
        n, *rest = run.shape(run.inputs[k])
        values[k] = reshape(run.stacked(lanes[k], run.inputs[k]), (run.n * n, *rest))
    changed = {}
    if "shape" in run.attrs:
        n, *rest = run.attrs["shape"]
        changed["shape"] = (run.n * n, *rest)
    made = run(*values, **changed)
    if not isinstance(made, tuple):
        return reshape(made, run.whole(run.outputs[0]))
    return tuple([reshape(y, run.whole(x)) for y, x in zip(made, run.outputs, strict=True)])
