"""Batching rules of ops that join, split, slice or pad tensors."""

from typing import Any

from dualflow.transforms.lane import Application, Lane
from dualflow.transforms.registry import batching


@batching("concat")
def concat(run: Application, *lanes: Lane) -> Any:
    return run(*run.all_stacked(lanes), axis=run.axis())


@batching("stack")
def stack(run: Application, *lanes: Lane) -> Any:
    return run(*run.all_stacked(lanes), axis=run.axis(rank=run.outputs[0].ndim))


@batching("add_n")
def add_n(run: Application, *lanes: Lane) -> Any:
    return run(*run.all_stacked(lanes))


@batching("split", "unstack", "roll")
def along(run: Application, lane: Lane) -> Any:
    return run(lane.value, axis=run.axis())


MISSING = -1 << 63          # an omitted begin or end: DF_SLICE_MISSING


@batching("strided_slice")
def strided_slice(run: Application, lane: Lane) -> Any:
    return run(lane.value, **whole_first(run))


@batching("strided_slice_grad")
def strided_slice_grad(run: Application, lane: Lane) -> Any:
    return run(lane.value, shape=(run.n, *run.attrs["shape"]), **whole_first(run))


def whole_first(run: Application) -> dict[str, Any]:
    """Return the keys of a slice, preceded by one for all examples."""
    first = {"begin": MISSING, "end": MISSING, "strides": 1, "kind": 0}
    return {name: (key, *run.attrs[name]) for name, key in first.items()}


@batching("pad")
def pad(run: Application, x: Lane, value: Lane) -> Any:
    if value.stacked:
        return None
    return run(x.value, value.value, paddings=(0, 0, *run.attrs["paddings"]))


@batching("one_hot")
def one_hot(run: Application, indices: Lane, on: Lane, off: Lane) -> Any:
    if on.stacked or off.stacked:
        return None
    axis = run.axis(rank=run.outputs[0].ndim)
    return run(indices.value, on.value, off.value, axis=axis)
