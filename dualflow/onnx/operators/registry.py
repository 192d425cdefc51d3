"""The table from operators of the standard to functions on tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from dualflow._core import Symbol, TensorBase, as_tensor
from dualflow.arguments import shown
from dualflow.dtypes import DType, float32
from dualflow.errors import UnimplementedError
from dualflow.onnx.narrow import NarrowType
from dualflow.onnx.operators.choices import CHOICES
from dualflow.onnx.package import dtype_of, name_of
from dualflow.ops.array import ints as sizes
from dualflow.ops.cast import cast

Operator = Callable[..., Any]
OPERATORS: dict[str, Operator] = {}         # by name, of other domains with that and a colon before
LIMITS: dict[str, Operator] = {}
DRAWS: set[str] = set()         # other numbers in each run, even of constants
ON_SIZES: dict[str, Operator] = {}          # the same on arrays of Python numbers


class Node:
    """A node of a file as operators see it.

    Attributes
    ----------
    kind : str
        The operator, of domains other than the standard's with that and a colon before.
    attrs : dict
        By name; tensors are Tensors, graphs are `Body`.
    version : int
        Of the set of operators.
    n_outputs : int
        How many are named, the last of them counted.
    """

    def __init__(self, kind: str, attrs: dict[str, Any], version: int, inputs: list[str],
                 outputs: list[str]) -> None:
        self.kind = kind
        self.attrs = attrs
        self.version = version
        self.inputs = inputs
        self.outputs = outputs
        self.scope: Any = {}                # what graphs inside see, while it runs
        self.body: Any = None               # the graph that it is a node of
        self.proto: Any = None

    @property
    def n_outputs(self) -> int:
        return len(self.outputs)

    def __call__(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attrs.get(name, default)

    def given(self, name: str, value: Any, default: Any = None) -> Any:
        """Integers that are an input, or in older files an attribute; None if neither is there."""
        if value is not None:
            return ints(value)
        return self.attrs.get(name, default)

    def dtype(self, name: str) -> DType | NarrowType | None:
        """A dtype that an attribute names; None if it does not."""
        return dtype_of(self.attrs.get(name) or 0)

    def refuse(self, why: str) -> UnimplementedError:
        return UnimplementedError(f"onnx.load: {self.kind}: {why}")


def limit(*names: str) -> Callable[[Operator], Operator]:
    """What operators cannot do: a function of a node that says it, or None."""
    def add(function: Operator) -> Operator:
        LIMITS.update(dict.fromkeys(names, function))
        return function
    return add


DTYPES_OF = ("to", "dtype", "output_dtype", "output_datatype", "precision")


def limits_of(node: Node) -> Iterator[str]:
    """What of its attributes an operator does not know."""
    for name in DTYPES_OF:
        code = node.attrs.get(name)
        if isinstance(code, int) and code and dtype_of(code) is None:
            yield f"to {name_of(code)}"
    for name, value in node.attrs.items():
        known = CHOICES.get(f"{node.kind}.{name}", CHOICES.get(name))
        if known is not None and value not in known:
            yield f"with {name} {shown(value)}"
    if node.kind in LIMITS and (found := LIMITS[node.kind](node)):
        yield found


def operator(*names: str) -> Callable[[Operator], Operator]:
    """What the decorated function computes: operators by name."""
    def add(function: Operator) -> Operator:
        OPERATORS.update(dict.fromkeys(names, function))
        return function
    return add


def plain(**functions: Operator) -> None:
    """Operators that are a function of their inputs, without attributes."""
    for name, function in functions.items():
        OPERATORS[name] = _without_attributes(function)


def _without_attributes(function: Operator) -> Operator:
    def run(at: Node, *inputs: Any) -> Any:
        return function(*inputs)
    return run


def in_float32(function: Operator) -> Operator:
    """Return a function that computes 16-bit floats in float32 and rounds its results once.

    For formulas whose intermediate values, such as squares, overflow or underflow in float16 where
    their results do not.
    """
    @wraps(function)
    def run(*args: Any) -> Any:
        halves = [x.dtype for x in args if _is_half(x)]
        if not halves:
            return function(*args)
        made = function(*[widened(x) for x in args])
        if isinstance(made, list | tuple):
            return [cast(y, halves[0]) if y.dtype is float32 else y for y in made]
        return cast(made, halves[0])
    return run


def widened(x: Any) -> Any:
    """Return a tensor of 16-bit floats in float32, anything else as it is."""
    return cast(x, float32) if _is_half(x) else x


def _is_half(x: Any) -> bool:
    return isinstance(x, TensorBase) and x.dtype.is_floating and x.dtype.itemsize == 2


def ints(value: Any) -> list[Any]:
    """Integers, which may follow from sizes while Python is traced."""
    if isinstance(value, Symbol):
        return list(sizes(value, "sizes"))
    listed = value.tolist() if hasattr(value, "tolist") else value
    return listed if isinstance(listed, list) else [listed]


def number(value: Any) -> Any:
    """A number that must be known."""
    return value.item() if isinstance(value, TensorBase) and not isinstance(value, Symbol) else (
        ints(value)[0])


def axis_of(axis: int, x: Any) -> int:
    """An axis counted from the front."""
    return axis % x.ndim if x.ndim else 0


def tensor(x: Any) -> TensorBase:
    return x if isinstance(x, TensorBase) else as_tensor(x)


