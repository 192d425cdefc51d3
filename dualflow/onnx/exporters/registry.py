"""The registry of export rules: functions that write ops as nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Dim, Symbol
from dualflow.dtypes import ALL, float32
from dualflow.graph.ir import Node
from dualflow.onnx.values import Value
from dualflow.onnx.writer import Refused, Writer

# Arguments: a Writer, an Application and a Value per input. Returns a Value per output, or one.
Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
REASONS: dict[str, str] = {}        # why ops cannot be exported
REDUCED = tuple([d for d in ALL if d.is_reduced_float])    # computed in float32 by formulas


class Application:
    """A node of the trace, as rules receive it.

    Attributes
    ----------
    inputs, outputs : tuple of Symbol
        Symbols with dtypes and shapes.
    attrs : dict
        Attributes by name; numbers may be Dims.
    """

    def __init__(self, node: Node) -> None:
        self.ir_node = node
        self.inputs: tuple[Symbol, ...] = node.inputs
        self.outputs: tuple[Symbol, ...] = node.outputs
        self.attrs: dict[str, Any] = node.attr_dict

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    @property
    def x(self) -> Symbol:
        """The first input."""
        return self.inputs[0]

    def fixed(self, what: str, numbers: Sequence[Any]) -> list[int]:
        """Return sizes that a file cannot compute; raise Refused if one is unknown."""
        if any([n is None or isinstance(n, Dim) for n in numbers]):
            raise Refused(f"{what} must be known sizes")
        return [int(n) for n in numbers]

    def axis(self, name: str = "axis", of: int | None = None) -> int:
        """Return a nonnegative axis."""
        return int(self.attrs[name] % (self.x.ndim if of is None else of))


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the rule of ops."""
    def add(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function
    return add


def formula(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule that writes several operators, or an operator that sums many numbers.

    The rule computes 16-bit floats in float32 and rounds once, as the kernels do. In 16 bits
    intermediate squares and sums overflow, and small constants become zero.
    """
    def add(function: Rule) -> Rule:
        rule(*names)(in_float(function))
        return function
    return add


def in_float(function: Rule) -> Rule:
    """Return a rule that casts 16-bit floats to float32, and its outputs back."""
    def write(w: Writer, node: Application, *inputs: Value) -> Any:
        if not any([x.dtype in REDUCED for x in inputs]):
            return function(w, node, *inputs)
        made = function(w, node, *[x.cast(float32) if x.dtype in REDUCED else x for x in inputs])
        several = isinstance(made, list | tuple)
        back = [y if y is None else y.cast(given.dtype) for y, given in zip(
            made if several else [made], node.outputs, strict=False)]
        return back if several else back[0]
    return write


def direct(**kinds: str) -> None:
    """Register ops that map to one node with the same inputs and no attributes."""
    for name, kind in kinds.items():
        RULES[name] = _node(kind)


def _node(kind: str) -> Rule:
    def write(w: Writer, node: Application, *inputs: Value) -> Any:
        return w.op(kind, *inputs, dtype=node.outputs[0].dtype)
    return write


def refuse(why: str, *names: str) -> None:
    """Register the reason why ops cannot be exported."""
    REASONS.update(dict.fromkeys(names, why))
