"""The one backward walker: from gradients of outputs to gradients of sources, over records.

A record is one application of an op: `op`, `inputs`, `outputs`, their ids, `attrs`. The loop itself
is `walk_back` in the core; this module has the parts that apply ops: adding up and un-broadcasting.
Both happen nowhere else, least of all in rules.
"""

from collections.abc import Iterable
from typing import Any

from dualflow._core import (
    Dim,
    Record,
    RecordLog,
    Tensor,
    TensorBase,
    apply,
    as_tensor,
    filled,
    walk_back,
)
from dualflow.errors import ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.arithmetic import add_n
from dualflow.ops.array import broadcast_to, reshape, static_shape
from dualflow.ops.cast import cast
from dualflow.ops.indexed_slices import IndexedSlices, add_up

__all__ = ["backward", "ones", "zeros"]


def backward(records: RecordLog | Iterable[Record], gradients: dict[int, Any],
             sources: Iterable[int], free: bool = False) -> dict[int, Any]:
    """Gradients of the values whose ids are `sources`.

    Parameters
    ----------
    records : RecordLog, or iterable of Record, newest first
    gradients : dict of id to Tensor
        What flows into the values that the walk starts from.
    sources : iterable of int
    free : bool, default False
        Whether to drop each record from the log, with what it keeps alive, on the way.

    Returns
    -------
    dict of id to Tensor or IndexedSlices, without the sources nothing flows to
    """
    found = walk_back(records, gradients, sources, total, fit, zeros, free)
    for g in found.values():
        if type(g) is IndexedSlices:
            g.write_out()           # while the tapes and the graph are there that are to know of it
    return found


def total(parts: list[Any]) -> Any:
    """The sum of tensors of one shape, from the first to the last, rounded after each."""
    if any([type(g) is IndexedSlices for g in parts]):
        return add_up(parts)
    return parts[0] + parts[1] if len(parts) == 2 else add_n(parts)


def fit(g: Any, x: Any) -> Any:
    """`g` with the dtype and, broadcast dimensions summed, the shape of `x`."""
    if not isinstance(g, TensorBase):
        g = as_tensor(g)
    if depends_on_data(g.shape) or depends_on_data(x.shape):
        g = apply("unbroadcast", g, x)      # what was repeated is known only at run time
        return g if g.dtype is x.dtype else cast(g, x.dtype)
    lead = len(g.shape) - len(x.shape)
    kept = list(zip(g.shape[max(lead, 0):], x.shape, strict=lead >= 0))
    summed = [d for d, (n, wanted) in enumerate(kept) if n != wanted]
    if lead < 0 or any(kept[d][1] != 1 for d in summed):
        raise ShapeError(f"a gradient rule gave a gradient of shape {g.shape} "
                         f"for an input of shape {x.shape}")
    if lead or summed:
        axes = [*range(lead), *(lead + d for d in summed)]
        g = reshape(apply("reduce_sum", g, axes=axes, keepdims=True), x.shape)
    return g if g.dtype is x.dtype else cast(g, x.dtype)


@gradient("unbroadcast", saves="inputs")
def _(gg, y, g, x):
    return broadcast_to(gg, static_shape(g)), None


def depends_on_data(shape: tuple[Any, ...]) -> bool:
    """Whether a size of a shape is known only when the program runs."""
    return any(isinstance(n, Dim) and n.from_data for n in shape)


def zeros(x: Any) -> Tensor:
    """Zeros of the dtype and shape of a Tensor, Variable or TensorSpec."""
    return filled(0, x)


def ones(x: Any) -> Tensor:
    """Ones of the dtype and shape of a Tensor, Variable or TensorSpec."""
    return filled(1, x)
