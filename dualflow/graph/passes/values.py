"""Helpers of the passes: facts about values, and `replacement`, which adds a replacement node.

No op is known by name except `broadcast_to`, the source of large values of one element, and two
ops that read the bits of any tensor.
"""

from __future__ import annotations

import math

from dualflow._core import Op, Symbol, Tensor, evaluate, get_op, make_attrs
from dualflow.dtypes import float32
from dualflow.graph.ir import CONSTANT, Graph, Input, Node, Weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BROADCAST = get_op("broadcast_to")
CAST, RESHAPE = get_op("cast"), get_op("reshape")
VIEW_NDIM = 64            # largest rank of a memoryview
FEW_ELEMENTS = 32


def replacement(graph: Graph, node: Node, op: Op, *inputs: Symbol, **attrs: Any) -> Symbol:
    """Add a node with the name and line of `node`, and return its output."""
    made = graph.add(op, inputs, make_attrs(op, **attrs), node.name, node.line)
    return made.outputs[0]


def made_by(x: Symbol, op: Op) -> tuple[Symbol, ...] | None:
    """Return the inputs of the producer of x if it applies `op`, else None."""
    return x.node.inputs if x.node.op is op else None


def is_zero(value: Any, negative: bool = False) -> bool:
    """Return True if a number is 0.0 (or -0.0 if `negative`); None is not."""
    return value is not None and value == 0 and (math.copysign(1, value) < 0) == negative


def constant_of(x: Symbol) -> Tensor | None:
    """Return the tensor of a constant; None for any other value, and for a packed weight."""
    data = x.node.stored if x.node.op is CONSTANT else None
    return data.dense if type(data) is Weight else data


def source(x: Symbol) -> Symbol:
    """Return the operand of a broadcast; for any other value, `x`."""
    return x.node.inputs[0] if x.node.op is BROADCAST else x


def splat_constant(x: Symbol) -> Tensor | None:
    """Return the constant of one element that all elements of `x` equal, or None."""
    data = constant_of(source(x))
    return data if data is not None and data.size == 1 else None


def number(x: Symbol) -> Any:
    """Return the real constant that all elements of `x` equal as a Python number, or None."""
    if x.dtype.is_complex:
        return None
    data = splat_constant(x)
    return None if data is None else data.item()


def is_known(x: Symbol) -> bool:
    """Return True if no size of `x` depends on data."""
    return None not in x.known_shape


def bits(x: Any) -> bytes:
    """Return the bytes of a tensor (or variable), for comparison with others of its type."""
    if not x.dtype.is_numpy_compatible:     # no buffer format; float32 holds all its values
        x = evaluate(CAST, [x], make_attrs(CAST, dtype=float32))[0]
    if x.ndim > VIEW_NDIM:
        x = evaluate(RESHAPE, [x], make_attrs(RESHAPE, shape=(x.size,)))[0]
    return memoryview(x).tobytes()


def count_in_loops(graph: Graph) -> int:
    """Return the number of elements up to which a node is faster alone than in a cluster or an
    epilogue. In a body, which may run many short iterations, that saves the 25 ns that a cluster
    takes to start, against 6 ns for a node. In other graphs the number is 0."""
    return FEW_ELEMENTS if any([isinstance(x.node.data, Input) for x in graph.inputs]) else 0


def same_tensor(a: Any, b: Any) -> bool:
    """Return True if two tensors have equal dtype, shape and bits, or are one weight."""
    return a is b or (Weight not in (type(a), type(b)) and a.dtype is b.dtype
                      and a.shape == b.shape and bits(a) == bits(b))
