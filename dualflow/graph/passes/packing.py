"""Packing of right operands of matrix products ahead of the product.

    a matrix that lasts from run to run     packed once, then cached (`cache_invariants`)
    a matrix captured by a loop             packed before the loop (`loop_packing`)
    a matrix that many products transpose   transposed once
    filters that last from run to run       transformed (Winograd) or packed once, then cached
    a scale of the input's channels         applied by a convolution with packed filters
    constant kernels of recurrent layers    packed once, then cached
    weights of an imported model            packed once, the matrix freed

A product packs a transposed right operand, and any operand of 8 or 16 bits or of complex numbers,
in each run. A product of few rows does not amortise that: think of inference, or of the backward
steps of a recurrent network. Constants are always packed, since panels are read faster than distant
rows; for variables, which may change before each run, that alone does not pay. The order of sums
stays, except in products with a vector, which are not rewritten.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from dualflow._core import Symbol, Tensor, constant, evaluate, get_op
from dualflow.errors import ShapeError
from dualflow.graph.ir import VARIABLE, Graph, Node, Weight, edit
from dualflow.graph.passes import dead_code
from dualflow.graph.passes.cache_invariants import Sources, invariant_values, is_worth_it
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import is_known, replacement

MATMUL, TRANSPOSE = get_op("matmul"), get_op("transpose")
MATMUL_INT32 = get_op("matmul_int32")
PACK, MATMUL_PACKED = get_op("pack_matrix"), get_op("matmul_packed")
CONV, TRANSFORM = get_op("conv"), get_op("conv_transform")
CONV_TRANSFORMED = get_op("conv_transformed")
PACK_FILTERS, CONV_PACKED = get_op("conv_pack"), get_op("conv_packed")
CONV_SCALED, MULTIPLY = get_op("conv_scaled"), get_op("multiply")
PACK_KERNEL = get_op("pack_kernel")
RECURRENT = {get_op(name): get_op(f"{name}_packed") for name in ("simple_rnn", "lstm", "gru")}
MIN_READERS = 3
MAX_ROWS = 256          # with more rows, packing is a small part of a product
MAX_PIXELS = 16384      # with more, the transform of filters is a small part of a convolution
MAX_BYTES = 4 << 20     # of transformed filters; reading more takes as long as the transform


def run(graph: Graph, options: Options) -> Graph:
    """Rewrite products and convolutions whose right operand is worth packing."""
    if any([node.op is CONV for node in graph.nodes]):
        graph = _pack_filters(_transform_invariants(graph))
    if not options.portable and any([node.op in RECURRENT for node in graph.nodes]):
        graph = _pack_kernels(graph)
    if any([is_small(node) for node in graph.nodes]):
        graph = _pack_invariants(graph, options)
        if not options.portable:
            graph = _pack_weights(graph, options)
        graph = _transpose_often_read(graph)
    return graph


def packed_product(graph: Graph, node: Node,
                   packed: dict[tuple[Symbol, bool, int], Symbol]) -> Sequence[Symbol]:
    """Return the product of a packed matrix, which other products may share."""
    a, b = node.inputs
    y = node.outputs[0]
    rows = y.size // y.shape[-1] if type(b.node.stored) is not Weight else 2
    key = b, node.attr_dict["transpose_b"], rows
    if key not in packed:
        packed[key] = replacement(graph, node, PACK, b, transpose=key[1], rows=key[2])
    return (replacement(graph, node, MATMUL_PACKED, a, packed[key], columns=y.shape[-1]),)


def _pack_invariants(graph: Graph, options: Options) -> Graph:
    """Pack matrices, for portable programs those whose packed size is the same at every level."""
    invariant = invariant_values(graph)
    packed: dict[tuple[Symbol, bool, int], Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if not is_small(node) or node.inputs[1] not in invariant or node.attr_dict["transpose_a"]:
            return None
        b = node.inputs[1]
        if options.portable and _is_narrow(b):
            return None
        if not _packs(node) and any([x.node.op is VARIABLE for x in invariant[b]]):
            return None
        made = packed_product(graph, node, packed)
        return made if is_worth_it(made[0].node.inputs[1], invariant[b]) else None

    return edit(graph, visit)


def _pack_weights(graph: Graph, options: Options) -> Graph:
    """Pack each weight without other readers, and free the matrix before packing the next."""
    readers = Counter([x for node in graph.nodes for x in node.inputs] + graph.outputs)

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        weight = node.inputs[0].node.stored if node.op is PACK else None
        if type(weight) is not Weight or readers[node.inputs[0]] > 1:
            return None
        packed = weight.packed
        if packed is None or packed[1] != node.attrs:
            made = evaluate(PACK, [weight.tensor()], node.attrs)[0]
            packed = weight.packed = made, node.attrs, _unpacked
        weight.dense = None
        return (graph.constant(packed[0], node.name, node.line),)

    return dead_code.run(edit(graph, visit), options)


def _unpacked(weight: Weight) -> Tensor:
    """Return the matrix. Packing moves float32 elements, bit for bit, as it moves int32 numbers."""
    import numpy as np

    packed, attrs, _ = weight.packed
    numbers = np.arange(1, math.prod(weight.shape) + 1, dtype=np.int32).reshape(weight.shape)
    order = evaluate(PACK, [constant(numbers)], attrs)[0].numpy().view(np.int32)    # 0: padding
    flat = np.empty(numbers.size + 1, np.float32)
    flat[order] = packed.numpy().view(np.float32)
    return constant(flat[1:].reshape(weight.shape))


def _transform_invariants(graph: Graph) -> Graph:
    invariant = invariant_values(graph)
    transformed: dict[Symbol, Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if node.op is not CONV or node.inputs[1] not in invariant:
            return None
        x, w = node.inputs
        y = node.outputs[0]
        if not is_known(y) or not 0 < y.size <= MAX_PIXELS * y.shape[-1]:
            return None
        try:
            found = transformed.get(w)
            if found is None:
                found = replacement(graph, node, TRANSFORM, w)
            made = replacement(graph, node, CONV_TRANSFORMED, x, found, kernel=w.shape[0],
                               **node.attr_dict)
        except ShapeError:
            return None                     # these filters have no transform
        if found.size * 4 > MAX_BYTES or not is_worth_it(found, invariant[w]):
            return None
        transformed[w] = found
        return (made,)

    return edit(graph, visit)


def _pack_filters(graph: Graph) -> Graph:
    """Pack constant filters, unless there are so many pixels that packing is a small part."""
    invariant = invariant_values(graph)
    packed: dict[tuple[Symbol, int], Symbol] = {}
    readers = Counter([x for node in graph.nodes for x in node.inputs])
    readers.update(graph.outputs)

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if node.op is not CONV:
            return None
        x, w = node.inputs
        y = node.outputs[0]
        if (not _is_constant(w, invariant) or not is_known(y)
                or not 0 < y.size <= MAX_PIXELS * y.shape[-1]):
            return None
        key = w, x.shape[-1] // max(w.shape[-2], 1)
        try:
            found = packed.get(key)
            if found is None:
                found = replacement(graph, node, PACK_FILTERS, w, groups=key[1])
            made = replacement(graph, node, CONV_PACKED, x, found, filters=w.shape,
                               **node.attr_dict)
        except ShapeError:
            return None                     # another kernel computes this convolution
        scaled = _scaled(graph, node, found, readers)
        if scaled is None and not is_worth_it(found, invariant[w]):
            return None
        packed[key] = found
        return (made if scaled is None else scaled,)

    return edit(graph, visit)


def _scaled(graph: Graph, node: Node, packed: Symbol, readers: Counter[Symbol]) -> Symbol | None:
    """Return the convolution of y * scale, a factor for each image and channel, if x is such a
    product, which nothing else reads; None otherwise. If nothing else reads y, the multiplication
    may be in the epilogue of the node that makes y."""
    x, w = node.inputs
    if x.node.op is not MULTIPLY or readers[x] > 1:
        return None
    shape = x.known_shape
    for y, scale in (x.node.inputs, x.node.inputs[::-1]):
        if (y.known_shape == shape and readers[y] > 1
                and scale.known_shape == (shape[0], *[1] * (len(shape) - 2), shape[-1])):
            try:
                return replacement(graph, node, CONV_SCALED, y, packed, scale, filters=w.shape,
                                   **node.attr_dict)
            except ShapeError:
                return None                 # filters of several pixels
    return None


def _pack_kernels(graph: Graph) -> Graph:
    """Pack constant kernels of recurrent layers, which the layers otherwise pack in each run."""
    invariant = invariant_values(graph)
    packed: dict[tuple[Symbol, int, bool, bool], Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if node.op not in RECURRENT:
            return None
        x, *kernels = node.inputs[:3]
        if not all([_is_constant(w, invariant) and w.size and not _is_narrow(w) for w in kernels]):
            return None
        gates = kernels[1].shape[1] // kernels[1].shape[0]
        after = bool(node.attr_dict.get("reset_after"))
        found: dict[tuple[Symbol, int, bool, bool], Symbol] = {}
        for w, recurrent in zip(kernels, (False, True), strict=True):
            key = w, gates, after, recurrent
            found[key] = packed[key] if key in packed else replacement(
                graph, node, PACK_KERNEL, w, gates=gates, reset_after=after, recurrent=recurrent)
        if not any([is_worth_it(y, invariant[w]) for (w, *_), y in found.items()]):
            return None
        packed.update(found)
        return replacement(graph, node, RECURRENT[node.op], x, *found.values(), *node.inputs[3:],
                           **node.attr_dict).node.outputs

    return edit(graph, visit)


def _is_constant(x: Symbol, invariant: Sources) -> bool:
    """Return True if x depends on constants only and has known sizes."""
    return x in invariant and is_known(x) and not any(
        [source.node.op is VARIABLE for source in invariant[x]])


def _transpose_often_read(graph: Graph) -> Graph:
    readers = Counter([node.inputs[1] for node in graph.nodes if _packs_transposed(node)])
    transposed: dict[Symbol, Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if not _packs_transposed(node) or readers[node.inputs[1]] < MIN_READERS:
            return None
        a, b = node.inputs
        if b not in transposed:
            transposed[b] = replacement(graph, node, TRANSPOSE, b, perm=(1, 0))
        return (replacement(graph, node, MATMUL, a, transposed[b],
                            transpose_a=node.attr_dict["transpose_a"], transpose_b=False),)

    return edit(graph, visit) if any([n >= MIN_READERS for n in readers.values()]) else graph


def is_small(node: Node) -> bool:
    """Return True if a node is a product of 2 to `MAX_ROWS` rows with one matrix, or of 2 or more
    rows with a packed weight."""
    if node.op not in (MATMUL, MATMUL_INT32) or len(node.inputs[1].known_shape) != 2:
        return False
    b, y = node.inputs[1], node.outputs[0]
    if not is_known(b) or not is_known(y):
        return False
    rows, columns = y.shape[-2:]
    is_packed = type(b.node.stored) is Weight and b.node.stored.packed
    return bool(rows > 1 and columns > 1 and b.size > 0 and y.size > 0 and (
        is_packed or y.size <= MAX_ROWS * columns))


def _packs(node: Node) -> bool:
    """Return True if the kernel of a product packs its right operand in each run."""
    return _is_repacked(node.inputs[1]) or bool(node.attr_dict["transpose_b"])


def _packs_transposed(node: Node) -> bool:
    return (is_small(node) and bool(node.attr_dict["transpose_b"])
            and not _is_repacked(node.inputs[1]))


def _is_repacked(x: Symbol) -> bool:
    """Return True for operands whose packed form has other elements."""
    return x.dtype.is_complex or _is_narrow(x)


def _is_narrow(x: Symbol) -> bool:
    """Return True for operands of 8 and 16 bits, which products pack in each run."""
    return x.dtype.itemsize <= 2
