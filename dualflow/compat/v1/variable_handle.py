"""Slot: the handle of a variable in a graph. The value is stored per session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._core import Symbol, TensorSpec
from dualflow.dtypes import DType
from dualflow.graph.ir import VARIABLE

if TYPE_CHECKING:
    from dualflow.compat.v1.graph import Graph


class VariableHandle:
    """The handle of a graph variable.

    Attributes
    ----------
    name : str
        Name of its operation.
    leaf : Symbol
        Its value at the start of a run.
    dtype, shape
    begin : callable or None
        Returns the first value in a session; None if the variable needs an initializer.
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
        """Return the version of the value that an operation recorded now reads."""
        return self.graph.variables[self]

    def __repr__(self) -> str:
        return f"<variable {self.name}>"
