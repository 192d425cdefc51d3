"""What a rule of `vmap` is given: the op, its operands for all lanes, and what they are in one.

Throughout, n is the number of lanes. A value that differs from lane to lane has them along its
first dimension; what one lane sees is the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dualflow._core import Symbol, apply_ordered
from dualflow.dtypes import ALL
from dualflow.ops.array import broadcast_to, reshape

if TYPE_CHECKING:
    from dualflow.graph.ir import Node

Shape = tuple[Any, ...]


class Lane(NamedTuple):
    """A value: of all lanes, stacked, or one that all lanes share."""

    value: Any
    stacked: bool


class Application:
    """One application of an op in the function that is mapped.

    Attributes
    ----------
    n : int or Dim
        How many lanes.
    attrs : dict
        By name.
    inputs, outputs : tuple of Symbol
        As one lane sees them.
    """

    def __init__(self, node: Node, n: Any, number: Callable[[Any], Any]) -> None:
        self.n = n
        self.op: Any = node.op
        self.inputs: tuple[Symbol, ...] = node.inputs
        self.outputs: tuple[Symbol, ...] = node.outputs
        self._number = number
        types = zip(node.op.attr_types, node.given.items(), strict=False)
        self.attrs: dict[str, Any] = {name: ALL[value] if kind == "dtype"
                      else tuple([number(v) for v in value]) if isinstance(value, tuple)
                      else number(value) for kind, (name, value) in types}

    def __call__(self, *values: Any, **changed: Any) -> Any:
        """The op, applied to other values, with some attributes changed."""
        attrs = {**self.attrs, **changed} if changed else self.attrs
        return apply_ordered(self.op, values, tuple(attrs.values()))

    def shape(self, x: Symbol) -> Shape:
        """The shape that a value has in one lane."""
        return tuple([self._number(d) for d in x.shape])

    def whole(self, x: Symbol) -> Shape:
        """Its shape with the lanes in front."""
        return (self.n, *self.shape(x))

    def axis(self, name: str = "axis", rank: int | None = None) -> int:
        """Where an axis is among all dimensions, with the lanes; `rank` is that of one lane."""
        at: int = self.attrs[name]
        return at + 1 + (at < 0) * (self.inputs[0].ndim if rank is None else rank)

    def stacked(self, lane: Lane, x: Symbol) -> Any:
        """The value of every lane, repeated where they share it."""
        return lane.value if lane.stacked else broadcast_to(lane.value, self.whole(x))

    def all_stacked(self, lanes: tuple[Lane, ...]) -> list[Any]:
        """All operands, stacked."""
        return [self.stacked(lane, x) for lane, x in zip(lanes, self.inputs, strict=True)]

    def with_rank(self, lane: Lane, x: Symbol, rank: int) -> Any:
        """An operand as it broadcasts beside stacked ones that have `rank` dimensions in a lane."""
        if not lane.stacked or x.ndim == rank:
            return lane.value
        return reshape(lane.value, (self.n, *[1] * (rank - x.ndim), *self.shape(x)))
