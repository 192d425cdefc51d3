"""Arguments of the batching rules of `vmap`: the op, its batched operands, and their types for one
example.

In this package, n is the batch size. A batched value (`batched`) has the examples along its first
dimension; the remaining dimensions belong to one example. A value that is not batched is shared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dualflow._core import Symbol, apply_ordered
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import ALL
from dualflow.ops.array.shape import broadcast_to, reshape

if TYPE_CHECKING:
    from dualflow.graph.ir import Node

Shape = tuple[Any, ...]


class BatchedValue(NamedTuple):
    """A value with a flag: batched over the examples, or shared."""

    value: Any
    batched: bool


class Application:
    """One application of an op in the mapped function.

    Attributes
    ----------
    n : int or Dim
        The batch size.
    attrs : dict
        Attributes by name.
    inputs, outputs : tuple of Symbol
        With the shapes of one example.
    """

    def __init__(self, node: Node, n: Any, number: Callable[[Any], Any]) -> None:
        self.n = n
        self.op: Any = node.op
        self.inputs: tuple[Symbol, ...] = node.inputs
        self.outputs: tuple[Symbol, ...] = node.outputs
        self._number = number
        types = zip(node.op.attr_types, node.attr_dict.items(), strict=False)
        self.attrs: dict[str, Any] = {name: ALL[value] if kind == "dtype"
                      else tuple([number(v) for v in value]) if isinstance(value, tuple)
                      else number(value) for kind, (name, value) in types}

    def __call__(self, *values: Any, **changed: Any) -> Any:
        """Apply the op to other values, with some attributes changed."""
        attrs = {**self.attrs, **changed} if changed else self.attrs
        return apply_ordered(self.op, values, tuple(attrs.values()))

    def shape(self, x: Symbol) -> Shape:
        """Return the shape of a value for one example."""
        return tuple([self._number(d) for d in x.shape])

    def whole(self, x: Symbol) -> Shape:
        """Return the batched shape of a value."""
        return (self.n, *self.shape(x))

    def axis(self, name: str = "axis", rank: int | None = None) -> int:
        """Return the position of an axis in the batched shape; `rank` is the rank per example."""
        at: int = self.attrs[name]
        return at + 1 + (at < 0) * (self.inputs[0].ndim if rank is None else rank)

    def batched(self, operand: BatchedValue, x: Symbol) -> Any:
        """Return the batched value, repeating it if it is shared."""
        return operand.value if operand.batched else broadcast_to(operand.value, self.whole(x))

    def all_batched(self, operands: tuple[BatchedValue, ...]) -> list[Any]:
        """Return all operands batched."""
        return [self.batched(operand, x) for operand, x in zip(operands, self.inputs, strict=True)]

    def with_rank(self, operand: BatchedValue, x: Symbol, rank: int) -> Any:
        """Return an operand that broadcasts with batched ones of `rank` dimensions per example."""
        if not operand.batched or x.ndim == rank:
            return operand.value
        return reshape(operand.value, (self.n, *[1] * (rank - x.ndim), *self.shape(x)))
