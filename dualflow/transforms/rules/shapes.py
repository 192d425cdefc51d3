"""Batching rules of ops that only change shapes."""

from typing import Any

from dualflow.ops.array import broadcast_to, reshape, shape
from dualflow.ops.reduce import reduce_prod
from dualflow.transforms.lane import Application, Lane
from dualflow.transforms.registry import batching


@batching("identity", "stop_gradient")
def same(run: Application, lane: Lane) -> Any:
    return run(lane.value)


@batching("reshape")
def reshaped(run: Application, lane: Lane) -> Any:
    return run(lane.value, shape=(run.n, *run.attrs["shape"]))


@batching("expand_dims", "squeeze")
def ones(run: Application, lane: Lane) -> Any:
    return reshape(lane.value, run.whole(run.outputs[0]))


@batching("broadcast_to")
def broadcast(run: Application, lane: Lane) -> Any:
    shape = run.attrs["shape"]
    return broadcast_to(run.with_rank(lane, run.inputs[0], len(shape)), (run.n, *shape))


@batching("transpose")
def transposed(run: Application, lane: Lane) -> Any:
    return run(lane.value, perm=(0, *[p + 1 for p in run.attrs["perm"]]))


@batching("shape")
def shape_of(run: Application, lane: Lane) -> Any:
    return Lane(shape(lane.value)[1:], False)


@batching("size")
def size_of(run: Application, lane: Lane) -> Any:
    return Lane(reduce_prod(shape(lane.value)[1:]), False)


@batching("bitcast")
def bits(run: Application, lane: Lane) -> Any:
    return run(lane.value)
