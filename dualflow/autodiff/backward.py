"""The backward pass: from gradients of outputs to gradients of sources, over tape records.

A record is one application of an op: `op`, `inputs`, `outputs`, their ids, `attrs`. The loop is
`backward_pass` in the core; this module has the parts that apply ops: summation and
un-broadcasting. Gradient rules must not do either.
"""

from __future__ import annotations

from functools import reduce

from dualflow._core import (
    Dim,
    MaskedGradient,
    Record,
    Symbol,
    Tape,
    Tensor,
    TensorBase,
    apply,
    apply_ordered,
    as_tensor,
    backward_pass,
    current_graph,
    filled,
    get_op,
)
from dualflow.autodiff.masked_gradient import add_masked, flag_of, resolve_flags, with_flag, zeroed
from dualflow.errors import ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array import slice_parts
from dualflow.ops.array.shape import broadcast_to, identity, reshape, static_shape
from dualflow.ops.elementwise.arithmetic import add_n
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.indexing.indexed_slices import IndexedSlices, add_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["BodyCotangents", "backward", "ones", "sum_cotangents", "zeros"]

SUM = get_op("reduce_sum")


def backward(records: Tape | Iterable[Record], gradients: dict[int, Any],
             sources: Iterable[int], free: bool = False, maybe: bool = False,
             eagerly: bool = False) -> dict[int, Any]:
    """Return the gradients of the values with the ids `sources`.

    Parameters
    ----------
    records : Tape, or iterable of Record, newest first
    gradients : dict of id to Tensor
        The cotangents of the values at which the pass starts.
    sources : iterable of int
    free : bool, default False
        Whether to remove each record, with the values it keeps alive, once it is processed.
    maybe : bool, default False
        Whether the caller accepts a Maybe; otherwise gradients without a cotangent are zeros.
    eagerly : bool, default False
        If True, accumulate as an unrecorded backward pass does although a trace records.

    Returns
    -------
    dict of id to Tensor or IndexedSlices, without the sources that have no gradient
    """
    found = backward_pass(records, gradients, sources, sum_cotangents, unbroadcast, zeros,
                          resolve_flags, with_flag, identity,
                          free, eagerly)
    for key, g in found.items():
        if type(g) is slice_parts.SliceSum:
            found[key] = as_tensor(g)
        elif type(g) is IndexedSlices:
            g.write_out()           # while the tapes and the graph that must record it are active
        elif type(g) is MaskedGradient and not maybe:
            found[key] = zeroed(g)
            current_graph().flowed[found[key]] = flag_of(g)
    return found


def sum_cotangents(parts: list[Any]) -> Any:
    """Return the sum of tensors of one shape, from first to last, rounded after each addition."""
    kinds = set(map(type, parts))
    if MaskedGradient in kinds:
        return add_masked(parts)
    if BodyCotangents in kinds:
        return reduce(BodyCotangents.plus, parts)
    if slice_parts.SliceSum in kinds:
        return slice_parts.add_up(parts)
    if IndexedSlices in kinds:
        return add_up(parts)
    return parts[0] + parts[1] if len(parts) == 2 else add_n(parts)


class BodyCotangents:
    """Cotangents of values inside a branch or a loop, keyed by the output of the body that yields
    each value; ``sum_at(y, gs)`` adds the cotangents of the value behind y."""

    def __init__(self, flows: dict[Any, Any], sum_at: Callable[[Any, list[Any]], Any]) -> None:
        self.flows = flows
        self.sum_at = sum_at

    def plus(self, other: BodyCotangents) -> BodyCotangents:
        """Return the sum of two."""
        flows = dict(self.flows)
        for y, g in other.flows.items():
            flows[y] = self.sum_at(y, [flows[y], g]) if y in flows else g
        return BodyCotangents(flows, self.sum_at)


def unbroadcast(g: Any, x: Any) -> Any:
    """Cast `g` to the dtype of `x` and sum its broadcast dimensions to the shape of `x`."""
    if not isinstance(g, TensorBase):
        g = as_tensor(g)
    shape, wanted = g.shape, x.shape
    if (type(g) is Symbol or type(x) is Symbol) and (is_open(shape) or is_open(wanted)):
        g = apply("unbroadcast", g, x)      # the broadcast dimensions are known only at run time
        return g if g.dtype is x.dtype else cast(g, x.dtype)
    lead = len(shape) - len(wanted)
    summed = [d for d, n in enumerate(wanted, lead) if d < 0 or shape[d] != n]
    if lead or summed:
        if lead < 0 or any([wanted[d - lead] != 1 for d in summed]):
            raise ShapeError(f"a gradient rule returned a gradient of shape {shape} "
                             f"for an input of shape {wanted}")
        g = apply_ordered(SUM, (g,), ([*range(lead), *summed], not lead))
        if lead and summed:
            g = reshape(g, wanted)
    return g if g.dtype is x.dtype else cast(g, x.dtype)


@gradient("unbroadcast", saves="inputs")
def _(gg, y, g, x):
    return broadcast_to(gg, static_shape(g)), None


def is_open(shape: tuple[Any, ...]) -> bool:
    """Return True if a size is known only at run time, or its graph is for any size."""
    return any(isinstance(n, Dim) and (n.data_dependent or n.graph.for_any_size) for n in shape)


def zeros(x: Any) -> Tensor:
    """Return zeros with the dtype and shape of a Tensor, Variable or TensorSpec."""
    return filled(0, x)


def ones(x: Any) -> Tensor:
    """Return ones with the dtype and shape of a Tensor, Variable or TensorSpec."""
    return filled(1, x)
