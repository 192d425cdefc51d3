"""The registry of operators: functions on tensors by operator name."""

from __future__ import annotations

from functools import wraps

from dualflow._core import Symbol, TensorBase, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import DType, float32
from dualflow.errors import UnimplementedError
from dualflow.onnx.importers.choices import CHOICES
from dualflow.onnx.narrow import NarrowType
from dualflow.onnx.package import dtype_of, name_of
from dualflow.ops.array.shape import ints as sizes
from dualflow.ops.elementwise.cast import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

Operator: TypeAlias = "Callable[..., Any]"
OPERATORS: dict[str, Operator] = {}         # by name, or "domain:name"
LIMITS: dict[str, Operator] = {}
DRAWS: set[str] = set()         # operators with different results in each run
ON_SIZES: dict[str, Operator] = {}          # versions for arrays of Python numbers


class Node:
    """A node of a file, as operators receive it.

    Attributes
    ----------
    kind : str
        The operator, "domain:name" for domains other than the standard's.
    attrs : dict
        Attributes by name; tensors are Tensors, graphs are `Body`.
    version : int
        Version of the operator set.
    n_outputs : int
        Number of outputs up to the last one.
    """

    def __init__(self, kind: str, attrs: dict[str, Any], version: int, inputs: list[str],
                 outputs: list[str]) -> None:
        self.kind = kind
        self.attrs = attrs
        self.version = version
        self.inputs = inputs
        self.outputs = outputs
        self.scope: Any = {}                # values of enclosing graphs during a run
        self.body: Any = None               # the graph that contains the node
        self.wire = b""                     # the NodeProto of a composed operator

    @property
    def n_outputs(self) -> int:
        return len(self.outputs)

    def __call__(self, name: str, default: Any = None) -> Any:
        """Return an attribute."""
        return self.attrs.get(name, default)

    def given(self, name: str, value: Any, default: Any = None) -> Any:
        """Return integers from an input, or from an attribute in older files; None if missing."""
        if value is not None:
            return ints(value)
        return self.attrs.get(name, default)

    def dtype(self, name: str) -> DType | NarrowType | None:
        """Return the dtype that an attribute names, or None."""
        return dtype_of(self.attrs.get(name) or 0)

    def refuse(self, why: str) -> UnimplementedError:
        return UnimplementedError(f"onnx.load: {self.kind}: {why}")


def limit(*names: str) -> Callable[[Operator], Operator]:
    """Register a function that returns an unsupported feature of a node, or None."""
    def add(function: Operator) -> Operator:
        LIMITS.update(dict.fromkeys(names, function))
        return function
    return add


DTYPES_OF = ("to", "dtype", "output_dtype", "output_datatype", "precision")


def limits_of(node: Node) -> Iterator[str]:
    """Yield the unsupported attribute values of a node."""
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
    """Register the decorated function as the implementation of operators."""
    def add(function: Operator) -> Operator:
        OPERATORS.update(dict.fromkeys(names, function))
        return function
    return add


def plain(**functions: Operator) -> None:
    """Register operators without attributes as functions of their inputs."""
    for name, function in functions.items():
        OPERATORS[name] = _without_attributes(function)


def _without_attributes(function: Operator) -> Operator:
    def run(node: Node, *inputs: Any) -> Any:
        return function(*inputs)
    return run


def in_float32(function: Operator) -> Operator:
    """Return a function that computes 16-bit floats in float32 and rounds its results once.

    For formulas whose intermediate values, such as squares, overflow or underflow in float16
    although the results do not.
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
    """Return a tensor of 16-bit floats in float32, anything else unchanged."""
    return cast(x, float32) if _is_half(x) else x


def _is_half(x: Any) -> bool:
    return isinstance(x, TensorBase) and x.dtype.is_floating and x.dtype.itemsize == 2


def ints(value: Any) -> list[Any]:
    """Return integers; while Python is traced, some may be Dims."""
    if isinstance(value, Symbol):
        return list(sizes(value, "sizes"))
    listed = value.tolist() if hasattr(value, "tolist") else value
    return listed if isinstance(listed, list) else [listed]


def number(value: Any) -> Any:
    """Return the number in a tensor that must be known."""
    return value.item() if isinstance(value, TensorBase) and not isinstance(value, Symbol) else (
        ints(value)[0])


def axis_of(axis: int, x: Any) -> int:
    """Return a nonnegative axis."""
    return axis % x.ndim if x.ndim else 0


def tensor(x: Any) -> TensorBase:
    return x if isinstance(x, TensorBase) else as_tensor(x)


