"""Right operands of products are packed once: those that last from run to run, and are then kept
(`keep`), and those that a loop only reads, before it begins; and a matrix that several products
read transposed is transposed once.

A product packs a transposed right operand anew each time, and any one of float16 and bfloat16,
which a product of few rows does not make up for: think of inference, or of the steps of a recurrent
network written by hand, backwards, that multiply by the same kernel. So does a convolution that
transforms its filters (Winograd) for few pixels. Constants are always packed:
panels are read faster than rows that lie far apart. (Variables may change before each run, and then
that would not pay.) Sums are made in the same order either way, except in products with a vector,
which stay.
"""

from collections import Counter
from collections.abc import Sequence

from dualflow._core import Symbol, get_op
from dualflow.errors import ShapeError
from dualflow.graph.ir import LOOP, VARIABLE, Graph, Node, edit, graphs, loop_parts
from dualflow.graph.passes import bodies, hoist
from dualflow.graph.passes.keep import is_worth_it, lasting_values
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import is_known, stand_in

MATMUL, TRANSPOSE = get_op("matmul"), get_op("transpose")
PACK, MATMUL_PACKED = get_op("pack_matrix"), get_op("matmul_packed")
CONV, TRANSFORM = get_op("conv"), get_op("conv_transform")
CONV_TRANSFORMED = get_op("conv_transformed")
MIN_READERS = 3
MAX_ROWS = 256          # with more, packing is a small part of a product
MAX_PIXELS = 16384      # with more, transforming filters is a small part of a convolution
MAX_BYTES = 4 << 20     # of transformed filters: reading more takes as long as transforming


def run(graph: Graph, options: Options) -> Graph:
    """Products that read such a matrix read it packed, or as it is, then."""
    if any([node.op is CONV for node in graph.nodes]):
        graph = _transform_what_lasts(graph)
    if options.portable:
        return graph
    if any([_is_small(node) for node in graph.nodes]):
        graph = _pack_what_lasts(graph)
        graph = _transpose_what_is_read_often(graph)
    loops = [(one, node) for one in graphs(graph) for node in one.nodes if node.op is LOOP]
    changed = [(one, node) for one, node in loops if _pack_for_rounds(node)]
    if changed:
        graph = hoist.run(graph, options)
    for one, node in changed:
        bodies.tidy_inputs(one, node)       # most read packed matrices only
    return graph


def _pack_for_rounds(loop: Node) -> int:
    """Packs what a loop only reads inside it, from where it is to be hoisted."""
    parts, body = loop_parts(loop), loop.bodies[0]
    if 0 <= parts.times < MIN_READERS:
        return 0
    same = {x for k, x in enumerate(body.inputs)
            if k >= parts.captured.start and not loop.writes >> k & 1}
    packed: dict[tuple[Symbol, bool, int], Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if not _is_small(node) or node.inputs[1] not in same or node.given["transpose_a"]:
            return None
        return _packed(graph, node, packed)

    before = body.changes
    edit(body, visit)
    found, body.changes = body.changes - before, before
    return found


def _packed(graph: Graph, node: Node,
            packed: dict[tuple[Symbol, bool, int], Symbol]) -> Sequence[Symbol]:
    """The same product of a packed matrix, which others may share."""
    a, b = node.inputs
    y = node.outputs[0]
    key = b, node.given["transpose_b"], y.size // y.shape[-1]
    if key not in packed:
        packed[key] = stand_in(graph, node, PACK, b, transpose=key[1], rows=key[2])
    return (stand_in(graph, node, MATMUL_PACKED, a, packed[key], columns=y.shape[-1]),)


def _pack_what_lasts(graph: Graph) -> Graph:
    lasting = lasting_values(graph)
    packed: dict[tuple[Symbol, bool, int], Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if not _is_small(node) or node.inputs[1] not in lasting or node.given["transpose_a"]:
            return None
        b = node.inputs[1]
        if not _packs(node) and any([x.node.op is VARIABLE for x in lasting[b]]):
            return None
        made = _packed(graph, node, packed)
        return made if is_worth_it(made[0].node.inputs[1], lasting[b]) else None

    return edit(graph, visit)


def _transform_what_lasts(graph: Graph) -> Graph:
    lasting = lasting_values(graph)
    transformed: dict[Symbol, Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if node.op is not CONV or node.inputs[1] not in lasting:
            return None
        x, w = node.inputs
        y = node.outputs[0]
        if not is_known(y) or not 0 < y.size <= MAX_PIXELS * y.shape[-1]:
            return None
        try:
            found = transformed.get(w)
            if found is None:
                found = stand_in(graph, node, TRANSFORM, w)
            made = stand_in(graph, node, CONV_TRANSFORMED, x, found, kernel=w.shape[0],
                            **node.given)
        except ShapeError:
            return None                     # is computed otherwise
        if found.size * 4 > MAX_BYTES or not is_worth_it(found, lasting[w]):
            return None
        transformed[w] = found
        return (made,)

    return edit(graph, visit)


def _transpose_what_is_read_often(graph: Graph) -> Graph:
    readers = Counter([node.inputs[1] for node in graph.nodes if _packs_transposed(node)])
    transposed: dict[Symbol, Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if not _packs_transposed(node) or readers[node.inputs[1]] < MIN_READERS:
            return None
        a, b = node.inputs
        if b not in transposed:
            transposed[b] = stand_in(graph, node, TRANSPOSE, b, perm=(1, 0))
        return (stand_in(graph, node, MATMUL, a, transposed[b],
                         transpose_a=node.given["transpose_a"], transpose_b=False),)

    return edit(graph, visit) if any([n >= MIN_READERS for n in readers.values()]) else graph


def _is_small(node: Node) -> bool:
    """Whether a node is a product of few rows, and more than one, with one matrix."""
    if node.op is not MATMUL or len(node.inputs[1].known_shape) != 2:
        return False
    b, y = node.inputs[1], node.outputs[0]
    if not is_known(b) or not is_known(y):
        return False
    rows, columns = y.shape[-2:]
    return rows > 1 and columns > 1 and b.size > 0 and 0 < y.size <= MAX_ROWS * columns


def _packs(node: Node) -> bool:
    """Whether a product packs its right operand each time."""
    return _is_half(node.inputs[1]) or bool(node.given["transpose_b"])


def _packs_transposed(node: Node) -> bool:
    return _is_small(node) and bool(node.given["transpose_b"]) and not _is_half(node.inputs[1])


def _is_half(x: Symbol) -> bool:
    return x.dtype.itemsize == 2
