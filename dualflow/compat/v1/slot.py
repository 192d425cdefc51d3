"""What stands in a graph for a variable: its place, not its value, which each session has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._core import Symbol, TensorSpec
from dualflow.dtypes import DType
from dualflow.graph.ir import VARIABLE

if TYPE_CHECKING:
    from dualflow.compat.v1.graph import Graph


class Slot:
    """A variable of a graph.

    Attributes
    ----------
    name : str
        Of its operation.
    leaf : Symbol
        Its value as it is when a run begins.
    dtype, shape
    begin : callable or None
        What gives a session its first value unasked; None: it is uninitialized.
    """

    graph: Graph
    dtype: DType
    shape: tuple[Any, ...]

    def __init__(self, graph: Graph, name: str, dtype: DType, shape: Sequence[Any],
                 begin: Callable[[], Any] | None = None) -> None:
        self.graph, self.dtype, self.shape = graph, dtype, tuple(shape)
        self.begin: Callable[[], Any] | None = begin
        self.leaf: Symbol = graph.leaf(VARIABLE, TensorSpec(self.shape, dtype), self.shape,
                                       self.shape, self, None, name)
        self.name: Any = self.leaf.node.name

    def __df_tensor__(self) -> Symbol:
        """What a reader recorded now reads."""
        return self.graph.variables[self]

    def __repr__(self) -> str:
        return f"<variable {self.name}>"
