"""Python numbers that depend on data, computed by nodes in each run.

`Numbers` turns a Dim into nodes of int64 or float64, with the results of Python's arithmetic. The
values are attributes of other nodes (the op `dynamic_attrs` applies them) or check decisions that
Python made while tracing (`assert_sizes`). `specialize.py` decides which numbers depend on data and
calls this file, which must not depend on traces.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from dualflow._core import (
    Dim,
    Symbol,
    Tensor,
    constant,
    dim_value,
    get_op,
    infer,
    make_attrs,
    map_attrs,
)
from dualflow.dtypes import DType, float64, int64
from dualflow.errors import DualflowError, UnimplementedError
from dualflow.graph.ir import Graph, Line, Node
from dualflow.graph.trace.dims import LEAF_KINDS
from dualflow.graph.trace.parameters import Guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Kind of Dim -> op; both operands have one dtype.
ARITHMETIC = {"add": "add", "sub": "subtract", "mul": "multiply", "floordiv": "floordiv",
              "mod": "floormod", "truediv": "divide", "pow": "pow", "max": "maximum",
              "min": "minimum", "neg": "negative", "abs": "abs"}
DYNAMIC, CHECK = get_op("dynamic_attrs"), get_op("assert_sizes")
LITERAL, FROM_VECTOR = 0, 1  # marks in the code for csrc/ops/control_flow/dynamic.c
EQUAL, LESS, LESS_EQUAL = range(3)
# Operator of a guard -> (one of these three, swap the operands, negate the answer).
COMPARE = {"eq": (EQUAL, False, False), "ne": (EQUAL, False, True), "lt": (LESS, False, False),
           "le": (LESS_EQUAL, False, False), "gt": (LESS, True, False),
           "ge": (LESS_EQUAL, True, False), "bool": (EQUAL, False, True)}


class DependsOnData(UnimplementedError):
    """A number is known only when the program runs."""


class Numbers:
    """The nodes of a graph that compute Dims, each once.

    Parameters
    ----------
    graph : Graph
        The graph to which nodes are added.
    known : callable (Dim) -> number
        Returns the value of a leaf, or raises DependsOnData.
    tensor : callable (Dim) -> Symbol
        Returns the tensor with the size or element of a leaf, or the number of an argument.
    """

    def __init__(self, graph: Graph, known: Callable[[Dim], Any],
                 tensor: Callable[[Dim], Symbol]) -> None:
        self.graph = graph
        self.known = known
        self.tensor = tensor
        self.made: dict[int, tuple[Dim, Any]] = {}          # Symbol or number
        self.line: Line | None = None

    def node(self, name: str, *inputs: Symbol, **attrs: Any) -> Symbol:
        """Apply an op at the line of the current node and return its output."""
        op = get_op(name)
        return self.graph.add(op, inputs, make_attrs(op, **attrs), line=self.line).outputs[0]

    def constant(self, value: Any, dtype: DType) -> Symbol:
        return self.graph.constant(constant(value, dtype), line=self.line)

    def cast(self, x: Symbol, dtype: DType) -> Symbol:
        """Convert like a Python number: an int becomes a float by way of float64."""
        if x.dtype is int64 and dtype.is_floating and dtype is not float64:
            x = self.node("cast", x, dtype=float64)
        return x if x.dtype is dtype else self.node("cast", x, dtype=dtype)

    def scalar(self, x: Any) -> Symbol:
        """Return a number or a Dim as a Symbol of int64 or float64."""
        if isinstance(x, Dim):
            x = self.value(x)
        if isinstance(x, Symbol):
            return x
        return self.constant(x, float64 if isinstance(x, float) else int64)

    def value(self, dim: Dim) -> Any:
        """Return a Dim as a number if it is known, otherwise as a Symbol of shape ()."""
        pending = [dim]
        while pending:
            d = pending[-1]
            waiting = [] if id(d) in self.made or d.kind in LEAF_KINDS else [
                x for x in d.args if isinstance(x, Dim) and id(x) not in self.made]
            if waiting:
                pending += waiting
                continue
            pending.pop()
            if id(d) not in self.made:
                made = self._leaf(d) if d.kind in LEAF_KINDS else self._operator(d)
                self.made[id(d)] = d, made
        return self.made[id(dim)][1]

    def _leaf(self, d: Dim) -> Any:
        if d.kind != "argument":
            try:
                return self.known(d)
            except DependsOnData:
                pass                        # computed by a node
        x = self.tensor(d)
        if d.kind == "size":
            return self.node("dimension", x, axis=d.args[1])
        if d.kind == "element":
            for k in d.args[1:]:
                x = self.node("gather", x, self.constant(k, int64), axis=0, batch_dims=0)
        return self.cast(x, float64 if x.dtype.is_floating else int64)

    def _operator(self, d: Dim) -> Any:
        values = [self.made[id(x)][1] if isinstance(x, Dim) else x for x in d.args]
        if not any([isinstance(x, Symbol) for x in values]):
            return dim_value(d.kind, *values)
        operands = [self.scalar(x) for x in values]
        floats = d.kind == "truediv" or any(x.dtype is float64 for x in operands)
        if floats or (d.kind == "pow" and isinstance(d.hint, float)):
            operands = [self.cast(x, float64) for x in operands]
        return self.node(ARITHMETIC[d.kind], *operands)

    # --- uses ---

    def number(self, dim: Dim, dtype: DType) -> Symbol:
        """Return a Dim as a tensor of `dtype`."""
        return self.cast(self.scalar(dim), dtype)

    def apply(self, node: Node, inputs: Sequence[Symbol]) -> Node:
        """Add an application of a traced node's op whose attributes are computed in each run."""
        if node.writes:
            raise UnimplementedError(f"{node.op.name}: an attribute depends on a size that depends "
                                     f"on data, at {node.line}")
        assert node.attrs is not None
        numbers: dict[int, int] = {}        # id of a Dim -> index in the vector
        vector: list[Symbol] = []
        code: list[int] = []
        for value in node.attrs.values:
            if isinstance(value, tuple):
                code.append(len(value))
            for v in value if isinstance(value, tuple) else (value,):
                code += self._word(node, v, numbers, vector)
        shapes = self._shapes(node, inputs)
        outputs = [n for y, shape in zip(node.outputs, shapes, strict=True)
                   for n in (y.dtype.index, y.ndim, *shape)]
        values = self.node("stack", *vector, axis=0)
        attrs = make_attrs(DYNAMIC, index=node.op.index, outputs=outputs, encoded=code)
        return self.graph.add(DYNAMIC, [*inputs, values], attrs, node.name, node.line)

    def _shapes(self, node: Node, inputs: Sequence[Symbol]) -> list[list[int]]:
        """Return the shapes of the outputs, with -1 for sizes that depend on data."""
        def value(d: Any) -> Any:
            x = self.value(d) if isinstance(d, Dim) else d
            return None if isinstance(x, Symbol) else x

        assert node.attrs is not None
        try:
            made = infer(node.op, list(inputs), map_attrs(node.op, node.attrs, value), self.graph)
            return [[-1 if n is None else n for n in y.known_shape] for y in made]
        except DualflowError:       # the attribute `shape` may be the shape of the output
            given = list(map(value, node.attr_dict.get("shape", ())))
            return [[-1 if n is None or n < 0 else n for n in given]
                    if len(given) == y.ndim else [-1] * y.ndim for y in node.outputs]

    def _word(self, node: Node, v: Any, numbers: dict[int, int],
              vector: list[Symbol]) -> tuple[int, int]:
        """Return an entry of an attribute as a mark and a word."""
        x = self.value(v) if isinstance(v, Dim) else v
        if isinstance(x, float):
            return LITERAL, struct.unpack("<q", struct.pack("<d", x))[0]
        if not isinstance(x, Symbol):
            return LITERAL, x
        if id(v) not in numbers:
            if x.dtype is not int64:
                raise UnimplementedError(f"{node.op.name}: an attribute is a float that depends on "
                                         f"a size that depends on data, at {node.line}")
            numbers[id(v)] = len(vector)
            vector.append(x)
        return FROM_VECTOR, numbers[id(v)]

    def check(self, guard: Guard) -> None:
        """Add a node that checks in each run that Python would decide as in the trace."""
        if guard.op in ("int", "float"):
            by, swap, turned, args, answer = EQUAL, False, False, (*guard.args, guard.answer), True
        else:
            by, swap, turned = COMPARE[guard.op]
            args, answer = guard.args if len(guard.args) == 2 else (*guard.args, 0), guard.answer
        a, b = [self.cast(self.scalar(x), float64) for x in (args[::-1] if swap else args)]
        self.graph.add(CHECK, (a, b), make_attrs(CHECK, by=by, answer=answer is not turned),
                       line=guard.line)


def refuse(x: Symbol) -> Tensor:
    """Raise DependsOnData; the `read` of callers that need a static value."""
    raise DependsOnData(f"{x.name} is used as a size, and depends on data")
