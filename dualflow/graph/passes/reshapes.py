"""Removal of reshapes, transposes and broadcasts that cancel, or that their reader can perform.

    reshape, expand_dims, squeeze in a chain    one reshape, or nothing
    one of them, only reader of a reduction     the reduction with the other `keepdims`, so that a
                                                cluster can continue with its results
    transpose of a transpose                    one transpose, or nothing
    transpose that only moves sizes of 1        a reshape, which moves no memory
    broadcast_to the same shape                 nothing; of another broadcast: one
    a view of a broadcast scalar                the scalar broadcast to its shape
    a row of a slice, only reader of the slice  the slice of the row
    matmul of transposed matrices               transpose_a, transpose_b
    an elementwise op on broadcasts             the op on their sources, then one broadcast

These ops move or repeat elements, so bits cannot change, except in matmul: a product with a vector
sums in another order if its matrix is transposed. So if the number of rows or columns of the result
is 1 or unknown, transposes stay, except for integers and with `fast_math`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dualflow._core import Symbol, get_op
from dualflow.graph.ir import Graph, Node, edit
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.row_parts import KEYS, keys_of, of_slice
from dualflow.graph.passes.values import BROADCAST, is_known, replacement, source

RESHAPE = get_op("reshape")
RESHAPES = frozenset((RESHAPE, get_op("expand_dims"), get_op("squeeze")))
TRANSPOSE, MATMUL = get_op("transpose"), get_op("matmul")

GATHER, GATHER_ND, SLICE = get_op("gather"), get_op("gather_nd"), get_op("strided_slice")

Shape = tuple[int | None, ...]


def run(graph: Graph, options: Options) -> Graph:
    """Simplify each node together with the producers of its inputs."""
    uses = _Uses(graph)

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        op = node.op
        if op.kind == "elementwise":
            found = _on_sources(graph, node)
        elif op.kind == "view" and is_one_number(node.inputs[0]):
            found = _broadcast_like(graph, node, node.inputs[0].node.inputs[0])
        elif op in RESHAPES:
            found = _reshape(graph, node)
            if found is None:
                found = _of_reduction(graph, node, uses)
        elif op is TRANSPOSE:
            found = _transpose(graph, node, uses)
        elif op is BROADCAST:
            found = _broadcast(graph, node)
        elif op is GATHER or op is GATHER_ND:
            found = _row_of_slice(graph, node, uses)
        elif op is MATMUL:
            found = _matmul(graph, node, options.fast_math)
        else:
            return None
        return None if found is None else (found,)

    return edit(graph, visit)


def _reshape(graph: Graph, node: Node) -> Symbol | None:
    x, y = node.inputs[0], node.outputs[0]
    root = x
    while root.node.op in RESHAPES:
        root = root.node.inputs[0]
    shape = y.known_shape
    if root.known_shape == shape and is_known(y):
        return root
    if root is x or not (is_known(root) and is_known(y)):
        return None                     # the reshapes between check sizes that depend on data
    return replacement(graph, node, RESHAPE, root, shape=shape)


class _Uses:
    """The number of uses of each value, outputs of the graph included; counted on first use."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = graph.nodes
        self.outputs = graph.outputs
        self.counts: Counter[Symbol] | None = None

    def of(self, x: Symbol) -> int:
        if self.counts is None:
            self.counts = Counter(self.outputs)
            for node in self.nodes:
                self.counts.update(node.inputs)
        return self.counts[x]


def _of_reduction(graph: Graph, node: Node, uses: _Uses) -> Symbol | None:
    """Return the reduction with the other `keepdims`, if it has the shape of the node."""
    x, y = node.inputs[0], node.outputs[0]
    reduction = x.node
    if "keepdims" not in reduction.op.attrs or not is_known(y) or uses.of(x) > 1:
        return None
    attrs = reduction.attr_dict
    attrs["keepdims"] = not attrs["keepdims"]
    made = replacement(graph, reduction, reduction.op, *reduction.inputs, **attrs)
    return made if made.known_shape == y.known_shape else None


def _transpose(graph: Graph, node: Node, uses: _Uses) -> Symbol | None:
    x, y = node.inputs[0], node.outputs[0]
    order, root = perm(node), x
    if x.node.op is TRANSPOSE:
        order, root = tuple([perm(x.node)[p] for p in order]), x.node.inputs[0]
    if order == tuple(range(len(order))):
        return root
    moved = [p for p in order if root.known_shape[p] != 1]
    if moved == sorted(moved) and is_known(y):
        return replacement(graph, node, RESHAPE, root, shape=y.known_shape)
    if root is x or uses.of(x) > 1:     # x is computed anyway, and a product can read it directly
        return None
    return replacement(graph, node, TRANSPOSE, root, perm=order)


def _broadcast(graph: Graph, node: Node) -> Symbol | None:
    x, y = node.inputs[0], node.outputs[0]
    if not is_known(x):
        return None
    if x.known_shape == y.known_shape:
        return x
    if x.node.op is BROADCAST and is_known(x.node.inputs[0]):
        return _broadcast_like(graph, node, x.node.inputs[0])
    return None


def _broadcast_like(graph: Graph, node: Node, x: Symbol) -> Symbol | None:
    """Return x broadcast to the shape of the node's output, or None if that depends on data."""
    shape = node.outputs[0].known_shape
    if x.known_shape == shape:
        return x
    return None if None in shape else replacement(graph, node, BROADCAST, x, shape=shape)


def _row_of_slice(graph: Graph, node: Node, uses: _Uses) -> Symbol | None:
    x, index = node.inputs
    attrs, keys = node.attr_dict, x.node.attr_dict
    nested = node.op is GATHER_ND
    if (x.node.op is not SLICE or uses.of(x) > 1 or attrs["batch_dims"] or index.ndim != nested
            or not all(map(is_known, (index, *x.node.inputs, *node.outputs)))
            or not all([type(n) is int for name in KEYS for n in keys[name]])):
        return None
    whole, depth = x.node.inputs[0], index.known_shape[0] if nested else 1
    axis = attrs["axis"] + x.ndim * (attrs["axis"] < 0)
    found = of_slice(axis, depth, keys_of(keys), whole.ndim) if depth else None
    if found is None:
        return None
    row = replacement(graph, node, node.op, whole, index, axis=found[0], batch_dims=0)
    cut = dict(zip(KEYS, zip(*found[1], strict=True), strict=True)) if found[1] else None
    return row if cut is None else replacement(graph, x.node, SLICE, row, **cut)


def perm(node: Node) -> tuple[int, ...]:
    """Return the permutation of a transpose."""
    order: tuple[int, ...] = node.attrs.values[0]  # type: ignore[union-attr, assignment]
    return order


def is_one_number(x: Symbol) -> bool:
    """Return True if x is a broadcast scalar."""
    return x.node.op is BROADCAST and x.node.inputs[0].known_shape == ()


# --- matmul -------------------------------------------------------------------------------------

def _matmul(graph: Graph, node: Node, fast_math: bool) -> Symbol | None:
    y = node.outputs[0]
    exact = not y.dtype.is_inexact or not {0, 1, None} & set(y.known_shape[-2:])
    if not (exact or fast_math) or not any([x.node.op is TRANSPOSE for x in node.inputs]):
        return None
    attrs = node.attr_dict
    flags = [attrs["transpose_a"], attrs["transpose_b"]]
    inputs = list(node.inputs)
    for i, x in enumerate(inputs):
        if x.node.op is TRANSPOSE and swaps_last_two(perm(x.node)):
            inputs[i], flags[i] = x.node.inputs[0], not flags[i]
    if flags == [attrs["transpose_a"], attrs["transpose_b"]]:
        return None
    return replacement(graph, node, MATMUL, *inputs, transpose_a=flags[0], transpose_b=flags[1])


def swaps_last_two(order: tuple[int, ...]) -> bool:
    """Return True if a permutation only swaps the last two dimensions."""
    n = len(order)
    return n >= 2 and order == (*range(n - 2), n - 1, n - 2)


# --- elementwise --------------------------------------------------------------------------------

def _on_sources(graph: Graph, node: Node) -> Symbol | None:
    """Return the op applied to the sources of broadcasts, broadcast to the shape of the node."""
    inputs = [source(x) for x in node.inputs]
    if all([a is b for a, b in zip(inputs, node.inputs, strict=True)]):
        return None
    shape, want = broadcast_shape(inputs), node.outputs[0].known_shape
    if shape is None or 0 in want:
        return None
    made = graph.add(node.op, inputs, node.attrs, node.name, node.line).outputs[0]
    return made if shape == want else _broadcast_like(graph, node, made)


def broadcast_shape(inputs: Sequence[Symbol]) -> Shape | None:
    """Return the shape that inputs broadcast to; None if a size depends on data."""
    shapes = [x.known_shape for x in inputs]
    ndim = max(map(len, shapes))
    found: list[int | None] = [1] * ndim
    for shape in shapes:
        if None in shape:
            return None
        for d, n in enumerate(shape, ndim - len(shape)):
            if n != 1:
                found[d] = n
    return tuple(found)
