"""Writer: builds one graph of a file, with nodes, constants, and numbers computed from sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from dualflow._core import Dim, Symbol, Tensor, constant, memory_of
from dualflow.dtypes import ALL, DType, float32, float64, int32, int64, uint8
from dualflow.graph.trace.dims import LEAF_KINDS, in_order
from dualflow.graph.trace.names import Names
from dualflow.onnx.package import OPSET, code_of, onnx
from dualflow.onnx.values import Value

# Nodes for the arithmetic of Dims, by the kind of Dim; functions of one or two values.
ARITHMETIC: dict[str, Callable[..., Value]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "neg": lambda a: -a, "abs": lambda a: a.writer.op("Abs", a),
    "max": lambda a, b: a.writer.op("Max", a, b), "min": lambda a, b: a.writer.op("Min", a, b),
    "mod": lambda a, b: a.writer.op("Mod", a, b),
    "floordiv": lambda a, b: (a - a.writer.op("Mod", a, b)) / b,
    "truediv": lambda a, b: a.cast(float64) / b.cast(float64),
    "pow": lambda a, b: a.writer.op("Pow", a, b),
    "int": lambda a: a.cast(int64), "float": lambda a: a.cast(float64),
}


# Dtypes that hold all values of a dtype, the narrowest first.
WIDER: dict[str, tuple[DType, ...]] = {
    "bool": (uint8, int32, float32), "uint8": (int32, int64, float32),
    "int8": (int32, int64, float32), "uint16": (int32, int64, float32),
    "int16": (int32, int64, float32), "uint32": (int64, float64), "int32": (int64, float64),
    **{d.name: (float32,) for d in ALL if d.is_reduced_float}, "float32": (float64,)}
SPELLED = {"float32": "float", "float64": "double"}      # in schemas


class Refused(Exception):
    """Something cannot be expressed in a file; the text is the reason."""


class Shared:
    """State that a graph shares with its subgraphs: names and constants."""

    def __init__(self) -> None:
        self.names: Names = Names()
        self.initializers: list[Any] = []
        self.constants: dict[Any, Value] = {}
        self.read: set[str] = set()             # names that nodes read


class Writer:
    """Builds one graph.

    Parameters
    ----------
    outer : Writer, optional
        The enclosing graph, whose values the graph can read.

    Attributes
    ----------
    nodes : list of NodeProto
    values : dict of Symbol to Value
        Values in the file for values of the trace.
    """

    def __init__(self, outer: Writer | None = None) -> None:
        self.outer = outer
        self.shared: Shared = Shared() if outer is None else outer.shared
        self.nodes: list[Any] = []
        self.values: dict[Symbol, Value] = {}
        self.sizes: dict[Any, Value] = {}
        self.found: Callable[[Symbol], Symbol] = lambda x: x    # maps x to the source of its size
        if outer is not None:
            self.found = outer.found
        self.at = ""                                            # the user's line

    def inner(self) -> Writer:
        """Return a writer of a subgraph."""
        return Writer(self)

    # --- values ---

    def find(self, x: Symbol) -> Value | None:
        """Return the value for a trace value, from this graph or an enclosing one; None if its op
        was refused."""
        writer: Writer | None = self
        while writer is not None:
            if x in writer.values:
                found = writer.values[x]
                return Value(self, found.name, found.dtype)     # adds nodes here
            writer = writer.outer
        return None

    def value(self, x: Symbol) -> Value:
        """Return the value for a trace value; raise Refused if its op was refused."""
        found = self.find(x)
        if found is None:
            raise Refused("it depends on an op that has no form in ONNX")
        return found

    def named(self, name: str, dtype: DType) -> Value:
        """Return a value with a unique name like this one; no node makes it."""
        return Value(self, self.shared.names.unique(name), dtype)

    def op(self, kind: str, *inputs: Value | None, dtype: DType | None = None, **attrs: Any) -> Any:
        """Add a node and return its only output; by default with the dtype of the first input."""
        return self.ops(kind, inputs, [dtype or _dtype(inputs)], **attrs)[0]

    def ops(self, kind: str, inputs: Sequence[Value | None], dtypes: Sequence[DType | None],
            **attrs: Any) -> list[Any]:
        """Add a node and return its outputs; an output with dtype None is omitted."""
        inputs, narrow = self._widened(kind, inputs)
        dtypes = [d and narrow.get(d, d) for d in dtypes] if narrow else dtypes
        for name, given in attrs.items():
            for a in given if isinstance(given, list | tuple) else (given,):
                if isinstance(a, Dim):
                    raise Refused(f"{name} depends on an unknown size")
        self.shared.read.update([x.name for x in inputs if x is not None])
        made = [None if d is None else self.named(f"{kind}_output", d) for d in dtypes]
        outputs = ["" if y is None else y.name for y in made]
        self.nodes.append(onnx("helper").make_node(
            kind, ["" if x is None else x.name for x in inputs], outputs,
            name=self.shared.names.unique(kind), doc_string=self.at or None, **attrs))
        back = {wide: d for d, wide in narrow.items()}
        return [y if y is None or y.dtype not in back else self.cast(y, back[y.dtype])
                for y in made]

    def _widened(self, kind: str, inputs: Sequence[Value | None],
                 ) -> tuple[Sequence[Value | None], dict[DType, DType]]:
        """Return the inputs in dtypes that the operator supports, and the casts as a dict."""
        found = [(x.dtype, wider(kind, k, x.dtype)) for k, x in enumerate(inputs) if x is not None]
        narrow = {d: wide for d, wide in found if wide is not d}
        if narrow:
            inputs = [x if x is None else self.cast(x, narrow.get(x.dtype, x.dtype))
                      for x in inputs]
        return inputs, narrow

    def cast(self, x: Value, dtype: DType) -> Value:
        return x if x.dtype is dtype else self.op("Cast", x, dtype=dtype, to=code_of(dtype))

    def initializer(self, name: str, x: Tensor) -> Value:
        """Return a tensor stored in the file."""
        data = bytes(memory_of(x))
        proto = onnx().TensorProto(name=self.shared.names.unique(name), data_type=code_of(x.dtype),
                                   dims=list(x.shape), raw_data=data)
        self.shared.initializers.append(proto)
        return Value(self, proto.name, x.dtype)

    def constant(self, x: Tensor) -> Value:
        """Return a tensor stored in the file; equal small tensors are stored once."""
        if x.size > 64:
            return self.initializer("constant", x)
        key = (x.dtype, tuple(x.shape), bytes(memory_of(x)))
        if key not in self.shared.constants:
            self.shared.constants[key] = self.initializer("constant", x)
        found = self.shared.constants[key]
        return Value(self, found.name, found.dtype)

    def scalar(self, x: Any, dtype: DType) -> Value:
        """Return a scalar constant."""
        return self.constant(constant(x, dtype))

    # --- numbers computed from sizes ---

    def ints(self, numbers: Sequence[Any]) -> Value:
        """Return a list of integers as a value; some may be Dims."""
        if not any([isinstance(n, Dim) for n in numbers]):
            return self.constant(constant([int(n) for n in numbers], int64))
        parts = [self.op("Unsqueeze", self.number(n).cast(int64), self.ints([0]))
                 for n in numbers]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def number(self, x: Any) -> Value:
        """Return a number as a value of shape (): int64, or float64 for a float."""
        if not isinstance(x, Dim):
            return self.scalar(x, float64 if isinstance(x, float) else int64)
        made: dict[int, Value] = {}
        for d in in_order(x):
            if d.kind in LEAF_KINDS:
                made[id(d)] = self._leaf(d)
                continue
            if d.kind not in ARITHMETIC:
                raise Refused(f"a number is computed from sizes by {d.kind!r}")
            args = [made[id(a)] if isinstance(a, Dim) else self.number(a) for a in d.args]
            if any([a.dtype is float64 for a in args]):
                args = [a.cast(float64) for a in args]
            made[id(d)] = ARITHMETIC[d.kind](*args)
        return made[id(x)]

    def _leaf(self, d: Dim) -> Value:
        if d.kind == "argument":
            raise Refused("a number among the arguments may change")
        x = self.found(d.args[0])
        if d.kind == "size":
            return self.size(x, d.args[1])
        value = self.value(x).cast(int64)
        for k in d.args[1:]:
            value = self.op("Gather", value, self.scalar(k, int64), axis=0)
        return value

    def size(self, x: Symbol, axis: int) -> Value:
        """Return a size of a value as a scalar value."""
        axis %= x.ndim
        known = x.known_shape[axis]
        if known is not None:
            return self.scalar(known, int64)
        if (x, axis) not in self.sizes:
            shape = self.op("Shape", self.value(x), dtype=int64, start=axis, end=axis + 1)
            self.sizes[x, axis] = self.op("Squeeze", shape, self.ints([0]))
        return self.sizes[x, axis]

    def shape(self, x: Symbol, axes: Sequence[int] | None = None) -> Value:
        """Return the sizes of a value along some axes, by default all, as int64."""
        if axes is None and None in x.known_shape:
            return self.op("Shape", self.value(x), dtype=int64)
        axes = range(x.ndim) if axes is None else axes
        if all([x.known_shape[a] is not None for a in axes]):
            return self.ints([x.known_shape[a] for a in axes])
        return self.op("Concat", *[self.op("Unsqueeze", self.size(x, a), self.ints([0]))
                                   for a in axes], axis=0)

    # --- common nodes ---

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        return x if list(perm) == sorted(perm) else self.op("Transpose", x, perm=list(perm))

    def reduce(self, kind: str, x: Value, axes: Sequence[int], keepdims: bool = True) -> Value:
        """Write ReduceSum or a similar node; without axes the input is unchanged."""
        return self.op(kind, x, self.ints(axes), keepdims=int(keepdims), noop_with_empty_axes=1)

    def where(self, test: Value, a: Any, b: Any) -> Value:
        """Write Where; at least one of `a` and `b` is a Value."""
        some = a if isinstance(a, Value) else b
        return self.op("Where", test, some.number(a), some.number(b), dtype=some.dtype)

    def reshape(self, x: Value, shape: Value) -> Value:
        return self.op("Reshape", x, shape, allowzero=1)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        return self.op("Unsqueeze", x, self.ints(axes)) if axes else x

    def squeeze(self, x: Value, *axes: int) -> Value:
        return self.op("Squeeze", x, self.ints(axes)) if axes else x

    def zeros(self, dtype: DType, shape: Value) -> Value:
        """Return zeros of a shape that is a value."""
        return self.op("Expand", self.scalar(0, dtype), shape, dtype=dtype)

    def range(self, n: Any) -> Value:
        """Return 0 to n - 1 as int64; n is a number or a value."""
        n = n if isinstance(n, Value) else self.number(n)
        return self.op("Range", self.scalar(0, int64), n, self.scalar(1, int64), dtype=int64)

    # --- the graph as a message ---

    def graph(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """Return the graph as a GraphProto; inputs and outputs are ValueInfoProtos."""
        own = [] if self.outer is not None else [
            x for x in self.shared.initializers if x.name in self.shared.read]
        return onnx("helper").make_graph(self.nodes, name, list(inputs), list(outputs),
                                         initializer=own)

    def info(self, value: Value, shape: Sequence[int | None] | None, name: str = "") -> Any:
        """Return the ValueInfoProto of an input or output; unknown sizes get names."""
        sizes = None if shape is None else [
            f"{name or value.name}_{k}" if n is None else n for k, n in enumerate(shape)]
        return onnx("helper").make_tensor_value_info(value.name, code_of(value.dtype), sizes)


@cache
def _taken(kind: str, place: int) -> frozenset[str]:
    """Return the types that an operator accepts for an input."""
    formal = onnx("defs").get_schema(kind, OPSET).inputs
    return frozenset(formal[min(place, len(formal) - 1)].types)


@cache
def wider(kind: str, place: int, dtype: DType) -> DType:
    """Return the dtype if an operator accepts it, else the next wider one that it accepts."""
    taken = _taken(kind, place)
    for wide in (dtype, *WIDER.get(dtype.name, ())):
        if f"tensor({SPELLED.get(wide.name, wide.name)})" in taken:
            return wide
    raise Refused(f"the operator {kind} does not take {dtype}")


def _dtype(inputs: Sequence[Value | None]) -> DType:
    return next(x.dtype for x in inputs if x is not None)


def opsets() -> list[Any]:
    """Return the operator sets for the header of the file."""
    return [onnx("helper").make_opsetid("", OPSET)]
