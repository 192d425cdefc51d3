"""Constant elements of vectors of sizes, as TensorFlow propagates them through shape arithmetic.

The shape of a placeholder of shape [None, 3] is a vector whose second element is known while the
graph is built. `static_elements` computes such elements through slices, joins and arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dualflow._core import Symbol, Tensor, TraceContext, constant, evaluate, get_op
from dualflow.graph.ir import CONSTANT
from dualflow.ops.array.creation import ones, zeros

MOVES = frozenset(["cast", "concat", "expand_dims", "gather", "identity", "reshape", "squeeze",
                   "stack", "strided_slice", "unstack"])
ELEMENTWISE = frozenset(["add", "floordiv", "floormod", "maximum", "minimum", "multiply",
                         "negative", "subtract"])
REDUCTIONS = frozenset(["reduce_max", "reduce_min", "reduce_prod", "reduce_sum"])
SIZES = frozenset(["shape", "size"])
MAX_SIZE = 254          # elements of a vector of sizes

Known = tuple[Tensor, Tensor]       # values, and 1 or 0 for a known or unknown element


def static_elements(x: Symbol, has_shape: Callable[[Symbol], bool]) -> list[int | None] | None:
    """Return the elements of a vector or scalar of integers, None for each unknown element.

    Returns None if no element is known. `has_shape` returns False for a tensor whose known sizes
    may not be used.
    """
    found: dict[Symbol, Known | None] = {}
    pending = [x]
    while pending:
        y = pending[-1]
        if y in found:
            pending.pop()
            continue
        waiting = [z for z in y.node.inputs if z not in found] if is_followed(y) else []
        if waiting:
            pending += waiting
            continue
        pending.pop()
        with TraceContext(None):
            found.update(zip(y.node.outputs, results(y, found, has_shape), strict=True))
    known = found[x]
    if known is None:
        return None
    values, mask = [t.numpy().reshape(-1).tolist() for t in known]
    return [n if m else None for n, m in zip(values, mask, strict=True)] if any(mask) else None


def is_followed(y: Symbol) -> bool:
    """Return True if the elements of a result follow from the elements of the operands."""
    node = y.node
    return node.op.name in MOVES | ELEMENTWISE | REDUCTIONS and (
        not node.effect and (node.attrs is None or not node.attrs.symbolic)
        and all([is_small(z) for z in (*node.inputs, *node.outputs)]))


def is_small(y: Symbol) -> bool:
    """Return True if the shape is known and has few elements of a numeric dtype."""
    sizes = [n for n in y.known_shape if n is not None]
    return (len(sizes) == y.ndim <= 2 and (y.dtype.is_integer or y.dtype.is_floating)
            and math.prod(sizes) <= MAX_SIZE)


def results(y: Symbol, found: dict[Symbol, Known | None],
            has_shape: Callable[[Symbol], bool]) -> list[Known | None]:
    """Return the known elements of all outputs of the node of `y`."""
    node = y.node
    name = node.op.name
    if not all([is_small(z) and has_shape(z) for z in node.outputs]):
        return [None] * len(node.outputs)
    if node.op is CONSTANT:
        return [(node.data, ones(node.data.shape, y.dtype))]
    if name in SIZES and has_shape(node.inputs[0]):
        sizes = node.inputs[0].known_shape
        values = constant([1 if n is None else n for n in sizes], y.dtype)
        mask = constant([int(n is not None) for n in sizes], y.dtype)
        if name == "shape":
            return [(values, mask)]
        return [(constant(int(values.numpy().prod()), y.dtype),
                 constant(int(mask.numpy().prod()), y.dtype))]
    operands = [k for z in node.inputs if (k := found.get(z)) is not None]
    if not is_followed(y) or len(operands) < len(node.inputs):
        return unknown(node.outputs)
    values_of, masks = [k[0] for k in operands], [k[1] for k in operands]
    if name == "gather":
        if not masks[1].numpy().all():
            return unknown(node.outputs)
        masks[1] = values_of[1]
    made = evaluate(node.op, values_of, node.attrs)
    if name in ELEMENTWISE:
        return [(made[0], masks[0] if len(masks) == 1 else masks[0] * masks[1])]
    known = evaluate(get_op("reduce_prod") if name in REDUCTIONS else node.op, masks, node.attrs)
    return list(zip(made, known, strict=True))


def unknown(outputs: Sequence[Symbol]) -> list[Known | None]:
    """Return tensors without known elements."""
    return [(ones(z.known_shape, z.dtype), zeros(z.known_shape, z.dtype)) for z in outputs]
