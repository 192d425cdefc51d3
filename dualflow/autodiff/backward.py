"""The one backward walker: from gradients of outputs to gradients of sources, over records.

A record is one application of an op: `op`, `inputs`, `outputs`, their ids, `attrs`. The loop itself
is `walk_back` in the core; this module has the parts that apply ops: adding up and un-broadcasting.
Both happen nowhere else, least of all in rules.
"""

from __future__ import annotations

from functools import reduce

from dualflow._core import (
    Dim,
    Maybe,
    Record,
    RecordLog,
    Symbol,
    Tensor,
    TensorBase,
    apply,
    apply_ordered,
    as_tensor,
    current_graph,
    filled,
    get_op,
    walk_back,
)
from dualflow.autodiff.maybe import add_maybes, flag_of, only_if, settle, zeroed
from dualflow.errors import ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.arithmetic import add_n
from dualflow.ops.array import broadcast_to, identity, reshape, static_shape
from dualflow.ops.cast import cast
from dualflow.ops.indexed_slices import IndexedSlices, add_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["Inside", "backward", "ones", "total", "zeros"]

SUM = get_op("reduce_sum")


def backward(records: RecordLog | Iterable[Record], gradients: dict[int, Any],
             sources: Iterable[int], free: bool = False, maybe: bool = False,
             eagerly: bool = False) -> dict[int, Any]:
    """Gradients of the values whose ids are `sources`.

    Parameters
    ----------
    records : RecordLog, or iterable of Record, newest first
    gradients : dict of id to Tensor
        What flows into the values that the walk starts from.
    sources : iterable of int
    free : bool, default False
        Whether to drop each record from the log, with what it keeps alive, on the way.
    maybe : bool, default False
        Whether the caller can take a Maybe; otherwise zeros stand where nothing flowed.
    eagerly : bool, default False
        In a trace: sums are made in the order of eager mode without tapes.

    Returns
    -------
    dict of id to Tensor or IndexedSlices, without the sources nothing flows to
    """
    found = walk_back(records, gradients, sources, total, fit, zeros, settle, only_if, identity,
                      free, eagerly)
    for key, g in found.items():
        if type(g) is IndexedSlices:
            g.write_out()           # while the tapes and the graph are there that are to know of it
        elif type(g) is Maybe and not maybe:
            found[key] = zeroed(g)
            current_graph().flowed[found[key]] = flag_of(g)
    return found


def total(parts: list[Any]) -> Any:
    """The sum of tensors of one shape, from the first to the last, rounded after each."""
    kinds = set(map(type, parts))
    if Maybe in kinds:
        return add_maybes(parts)
    if Inside in kinds:
        return reduce(Inside.plus, parts)
    if IndexedSlices in kinds:
        return add_up(parts)
    return parts[0] + parts[1] if len(parts) == 2 else add_n(parts)


class Inside:
    """What flows into values inside a branch or a loop, by what that returns for them; ``sum_at(y,
    gs)`` adds up what flows into the value that y gives."""

    def __init__(self, flows: dict[Any, Any], sum_at: Callable[[Any, list[Any]], Any]) -> None:
        self.flows = flows
        self.sum_at = sum_at

    def plus(self, other: Inside) -> Inside:
        """The sum of two."""
        flows = dict(self.flows)
        for y, g in other.flows.items():
            flows[y] = self.sum_at(y, [flows[y], g]) if y in flows else g
        return Inside(flows, self.sum_at)


def fit(g: Any, x: Any) -> Any:
    """`g` with the dtype and, broadcast dimensions summed, the shape of `x`."""
    if not isinstance(g, TensorBase):
        g = as_tensor(g)
    shape, wanted = g.shape, x.shape
    if (type(g) is Symbol or type(x) is Symbol) and (is_open(shape) or is_open(wanted)):
        g = apply("unbroadcast", g, x)      # what was repeated is known only at run time
        return g if g.dtype is x.dtype else cast(g, x.dtype)
    lead = len(shape) - len(wanted)
    summed = [d for d, n in enumerate(wanted, lead) if d < 0 or shape[d] != n]
    if lead or summed:
        if lead < 0 or any([wanted[d - lead] != 1 for d in summed]):
            raise ShapeError(f"a gradient rule gave a gradient of shape {shape} "
                             f"for an input of shape {wanted}")
        g = apply_ordered(SUM, (g,), ([*range(lead), *summed], not lead))
        if lead and summed:
            g = reshape(g, wanted)
    return g if g.dtype is x.dtype else cast(g, x.dtype)


@gradient("unbroadcast", saves="inputs")
def _(gg, y, g, x):
    return broadcast_to(gg, static_shape(g)), None


def is_open(shape: tuple[Any, ...]) -> bool:
    """Whether a size of a shape is known only when the program runs, or its graph is for any."""
    return any(isinstance(n, Dim) and (n.from_data or n.graph.for_any_size) for n in shape)


def zeros(x: Any) -> Tensor:
    """Zeros of the dtype and shape of a Tensor, Variable or TensorSpec."""
    return filled(0, x)


def ones(x: Any) -> Tensor:
    """Ones of the dtype and shape of a Tensor, Variable or TensorSpec."""
    return filled(1, x)
