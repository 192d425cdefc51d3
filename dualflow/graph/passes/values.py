"""What passes ask about a value, and how they replace a node by another.

Knows no op by name except `broadcast_to`, which makes a large value of one number, and two that are
needed to read the bits of any tensor.
"""

import math
from typing import Any

from dualflow._core import Op, Symbol, Tensor, evaluate, get_op, make_attrs
from dualflow.dtypes import bfloat16, float32
from dualflow.graph.ir import CONSTANT, Graph, Input, Node

BROADCAST = get_op("broadcast_to")
CAST, RESHAPE = get_op("cast"), get_op("reshape")
VIEW_NDIM = 64            # of a memoryview
FEW_ELEMENTS = 32


def stand_in(graph: Graph, node: Node, op: Op, *inputs: Symbol, **attrs: Any) -> Symbol:
    """The output of a new node that carries on the name and line of `node`."""
    made = graph.add(op, inputs, make_attrs(op, **attrs), node.name, node.line)
    return made.outputs[0]


def made_by(x: Symbol, op: Op) -> tuple[Symbol, ...] | None:
    """The inputs of the node that makes x, if it applies `op`."""
    return x.node.inputs if x.node.op is op else None


def is_zero(value: Any, negative: bool = False) -> bool:
    """Whether a number is 0.0 (or -0.0 if `negative`); None is not."""
    return value is not None and value == 0 and (math.copysign(1, value) < 0) == negative


def constant_of(x: Symbol) -> Tensor | None:
    """The tensor a constant stands for; None for anything else."""
    return x.node.data if x.node.op is CONSTANT else None


def source(x: Symbol) -> Symbol:
    """What is repeated to give `x`, if `x` is a broadcast; else `x`."""
    return x.node.inputs[0] if x.node.op is BROADCAST else x


def uniform(x: Symbol) -> Tensor | None:
    """The constant of one element that `x` holds everywhere, if there is one."""
    data = constant_of(source(x))
    return data if data is not None and data.size == 1 else None


def number(x: Symbol) -> Any:
    """The Python number that `x` holds everywhere, or None."""
    data = uniform(x)
    return None if data is None else data.item()


def is_known(x: Symbol) -> bool:
    """Whether no size depends on data."""
    return None not in x.known_shape


def bits(x: Any) -> bytes:
    """The bytes of a tensor (or variable), to compare it with others of its dtype and shape."""
    if x.dtype is bfloat16:             # has no buffer format; float32 holds all its numbers
        x = evaluate(CAST, [x], make_attrs(CAST, dtype=float32))[0]
    if x.ndim > VIEW_NDIM:
        x = evaluate(RESHAPE, [x], make_attrs(RESHAPE, shape=(x.size,)))[0]
    return memoryview(x).tobytes()


def few_in_rounds(graph: Graph) -> int:
    """Up to how many elements a node of a graph runs sooner by itself than as a part of a cluster
    or an epilogue: in a body, whose rounds are short, 6 ns are less than the 25 that those take to
    begin. Elsewhere none."""
    return FEW_ELEMENTS if any([isinstance(x.node.data, Input) for x in graph.inputs]) else 0


def same_tensor(a: Any, b: Any) -> bool:
    """Whether two tensors have the same dtype, shape and bits."""
    return a is b or (a.dtype is b.dtype and a.shape == b.shape and bits(a) == bits(b))
