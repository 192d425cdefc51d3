"""A matrix that several products read transposed is transposed once.

A product packs a transposed right operand anew each time, which a product of few rows does not make
up for: the steps of a recurrent network written by hand, backwards, multiply by the same kernel.
Sums are made in the same order either way, except in products with a vector, which stay.
"""

from collections import Counter
from collections.abc import Sequence

from dualflow._core import Symbol, get_op
from dualflow.graph.ir import Graph, Node, edit
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import is_known, stand_in

MATMUL, TRANSPOSE = get_op("matmul"), get_op("transpose")
MIN_READERS = 3
MAX_ROWS = 256          # with more, packing is a small part of a product


def run(graph: Graph, options: Options) -> Graph:
    """Products that read such a matrix read it as it is then."""
    readers = Counter([node.inputs[1] for node in graph.nodes if _packs(node)])
    if not any(n >= MIN_READERS for n in readers.values()):
        return graph
    transposed: dict[Symbol, Symbol] = {}

    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        if not _packs(node) or readers[node.inputs[1]] < MIN_READERS:
            return None
        a, b = node.inputs
        if b not in transposed:
            transposed[b] = stand_in(graph, node, TRANSPOSE, b, perm=(1, 0))
        flag = node.given["transpose_a"]
        return (stand_in(graph, node, MATMUL, a, transposed[b], transpose_a=flag,
                         transpose_b=False),)

    return edit(graph, visit)


def _packs(node: Node) -> bool:
    """Whether a node is a product of few rows, and more than one, with a matrix transposed."""
    if node.op is not MATMUL or not node.given["transpose_b"]:
        return False
    b, y = node.inputs[1], node.outputs[0]
    if len(b.known_shape) != 2 or not is_known(b) or not is_known(y) or b.dtype.itemsize < 4:
        return False
    rows, columns = y.shape[-2:]
    return rows > 1 and columns > 1 and y.size <= MAX_ROWS * columns
