"""Lookup of tensors and operations of a graph by name or by object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualflow._core import Symbol, unwrapped
from dualflow.compat.v1.operation import HostTensor, Operation

if TYPE_CHECKING:
    from dualflow.compat.v1.graph import Graph


class Lookup:
    """The names of one graph; operations are indexed lazily at a lookup."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._by_name: dict[str, Operation] = {}
        self._n_indexed = 0

    def _find(self, name: str) -> Operation | None:
        operations = self.graph.operations
        for op in operations[self._n_indexed:]:
            self._by_name[op.name] = op
        self._n_indexed = len(operations)
        return self._by_name.get(name)

    def operation(self, name: Any) -> Operation:
        """Return the operation of this name."""
        if not isinstance(name, str):
            raise TypeError("Operation names are strings (or similar), not "
                            f"{type(name).__name__}.")
        if ":" in name:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        found = self._find(name)
        if found is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return found

    def tensor(self, name: Any) -> Any:
        """Return the tensor of this name."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        of, _, index = name.rpartition(":")
        if not of:
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor "
                'names must be of the form "<op_name>:<output_index>".')
        if not index.isdigit():
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor "
                'names must be of the form "<op_name>:<output_index>".')
        op = self._find(of)
        what = f"The name {name!r} refers to a Tensor which does not exist. The operation, {of!r}, "
        if op is None:
            raise KeyError(f"{what}does not exist in the graph.")
        if int(index) >= len(op.outputs):
            raise KeyError(f"{what}exists but only has {len(op.outputs)} outputs.")
        return op.outputs[int(index)]

    def element(self, obj: Any, allow_tensor: bool, allow_operation: bool) -> Any:
        """Return the tensor or operation for an object or a name."""
        wanted = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        if isinstance(obj, str):
            if allow_tensor and (":" in obj or not allow_operation):
                return self.tensor(obj)
            return self.operation(obj)
        x = getattr(obj, "slot", None)
        x = unwrapped(obj) if x is None else x.leaf
        if isinstance(x, Symbol | HostTensor) and allow_tensor:
            kind = "Tensor"
        elif isinstance(x, Operation) and allow_operation:
            kind = "Operation"
        else:
            raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")
        x = self.graph.specializations.here(x)
        if x.graph is not self.graph and x.graph is not self.graph.base:
            raise ValueError(f"{kind} {x!r} is not an element of this graph.")
        return x
