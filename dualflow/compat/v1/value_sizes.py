"""Sizes that are values of tensors, for example a fed batch size or a maximum of lengths.

Such a size is unknown while the graph is built. If it can be computed from feeds, variables and
sizes alone, a run computes it first and uses a program specialised to it, which is planned like
any other. Otherwise (for example in a loop) it is a data-dependent size, computed by the program.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._core import SIZE_HINT, Dim, Symbol, Tensor
from dualflow.compat.v1.static_sizes import static_elements
from dualflow.graph.ir import CONSTANT, PARAMETER, Node
from dualflow.graph.trace.as_dims import known_dims
from dualflow.graph.trace.dims import leaves
from dualflow.graph.trace.dynamic import DependsOnData
from dualflow.graph.trace.parameters import Feed, Number
from dualflow.graph.trace.static_value import static_value
from dualflow.graph.trace.trace import Trace

if TYPE_CHECKING:
    from dualflow.compat.v1.rank_specialization import RankSpecializations

Values = tuple[tuple[Symbol, Any], ...]     # integers; tuples of integers for vectors


class SizedTrace(Trace):
    """A trace that accepts any integer tensor as a size.

    Attributes
    ----------
    value_sizes : set of Symbol
        Values used as sizes that cannot be derived from sizes.
    whole_shapes : set of Symbol
        Placeholders without a shape that are used as a shape; a value has one element.
    """

    specializations: RankSpecializations
    unranked: Any

    def __init__(self, name: str, after: Trace | None) -> None:
        super().__init__(name, after)
        self.value_sizes: set[Symbol] = set()
        self.whole_shapes: set[Symbol] = set()
        self._may_be_fed: dict[Symbol, Symbol] = {}

    def may_be_fed(self, x: Symbol) -> None:
        """Treat a value as unknown although the graph computes it from constants."""
        self._may_be_fed[x] = self.parameter_like(x, x.node.name)

    def dim_of(self, x: Symbol) -> Dim | int:
        if x.node.op is CONSTANT:
            return int(x.node.data.item())
        found = self.static_elements(x)
        if found is not None and found[0] is not None:
            return found[0]
        try:
            return known_dims(self, x)[0]
        except DependsOnData:
            return self._unknown(x, ())

    def dims_of(self, x: Symbol) -> tuple[Dim | int, ...]:
        found = self.static_elements(x)
        if found is None:
            return self._dims_of(x)
        known = [n for n in found if n is not None]
        if len(known) == len(found):
            return tuple(known)
        return tuple([d if n is None else n for n, d in zip(found, self._dims_of(x), strict=True)])

    def static_elements(self, x: Symbol) -> list[int | None] | None:
        """Return the elements that are constants in every run, None for each other element."""
        if x.ndim > 1 or not x.dtype.is_integer:
            return None
        return static_elements(x, self._has_shape)

    def _has_shape(self, x: Symbol) -> bool:
        return x not in self._may_be_fed and not self.specializations.depends(x)

    def _dims_of(self, x: Symbol) -> tuple[Dim | int, ...]:
        try:
            return known_dims(self, x)
        except DependsOnData:
            if x.ndim == 0:
                if x in self.unranked:
                    self.whole_shapes.add(x)
                return (self.dim_of(x),)
            if x.known_shape[0] is None:
                return super().dims_of(x)
        if x.node.op.name == "stack":
            return tuple([self.dim_of(part) for part in x.node.inputs])
        return tuple([self._unknown(x, (k,)) for k in range(x.known_shape[0])])

    def _unknown(self, x: Symbol, at: tuple[int, ...]) -> Dim:
        if not at:
            self.specializations.settle(x)  # a placeholder without a shape becomes a scalar
        self.value_sizes.add(x)
        return Dim(SIZE_HINT, "element", (x, *at), self)

    def known(self, x: Symbol, read: Callable[[Symbol], Tensor]) -> Tensor:
        return static_value(x, read, ChainMap({}, self._may_be_fed, self.outliner.recorded_as))


def numbers_of(node: Node) -> list[Any]:
    """Return the Python values of a node, which may include Dims."""
    if isinstance(node.data, Number):
        return [node.data.dim]
    if isinstance(node.data, Feed):
        return list(node.data.args)
    if node.attrs is None or not node.attrs.symbolic:
        return []
    return [v for value in node.attrs.values
            for v in (value if isinstance(value, tuple) else (value,))]


def source(d: Dim) -> Symbol:
    """Return the value from which a size or an element is taken."""
    x: Symbol = d.graph.outliner.now(d.args[0])
    return x


def elements(values: Iterable[Any]) -> list[Dim]:
    """Return the tensor elements from which the Dims among `values` are computed."""
    return [d for value in values if isinstance(value, Dim)
            for d in leaves(value) if d.kind == "element"]


def is_settled(nodes: Iterable[Node]) -> bool:
    """Return True if the nodes are pure: no random draw, write or call into Python."""
    return not any([node.effect or node.writes or (
        node.op is PARAMETER and isinstance(node.data, Feed)) for node in nodes])


def numbers_in(x: Tensor) -> Any:
    """Return the integers in a tensor as an int or a tuple."""
    return x.item() if x.ndim == 0 else tuple(x.tolist())


def element_of(value: Any, at: Sequence[int]) -> Any:
    """Return an element of a result of `numbers_in`."""
    if at:
        return value[at[0]]
    return value[0] if isinstance(value, tuple) else value      # a shape of one size
