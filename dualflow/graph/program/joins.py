"""Values that are computed in the memory of the tensor in which a concat or stack joins them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from dualflow._core import Symbol, view_offset
from dualflow.graph.ir import LEAVES, Graph, Node, is_dynamic
from dualflow.graph.program.arena import ALIGNMENT
from dualflow.graph.program.lifetimes import nbytes


def joined_values(graph: Graph, elsewhere: Container[Symbol]) -> dict[Symbol, tuple[Symbol, int]]:
    """Return, for values that ops may compute in the memory of the tensor that joins them, that
    tensor and the byte offset in it.

    Values in `elsewhere` and results of the graph have memory of their own. So have values whose
    offset is not aligned, since kernels are faster on aligned memory.
    """
    found: dict[Symbol, tuple[Symbol, int]] = {}
    results = {*graph.outputs}
    for node in graph.nodes:
        if not node.op.joins or not _is_consecutive(node):
            continue
        whole, offset = node.outputs[0], 0
        bases = list(map(_base, node.inputs))
        uses = Counter(bases)
        if whole in elsewhere:
            continue
        for part, x in zip(node.inputs, bases, strict=True):
            if (offset % ALIGNMENT == 0 and uses[x] == 1 and _is_whole(part)
                    and x not in elsewhere and x not in results and x not in found
                    and _has_own_memory(x)):
                found[x] = whole, offset
            offset += nbytes(part)
    return found


def _is_consecutive(node: Node) -> bool:
    """Return True if the inputs are consecutive in the memory of the output."""
    whole = node.outputs[0]
    if node.wave or len(node.inputs) < 2 or any(map(is_dynamic, (whole, *node.inputs))):
        return False
    axis = node.attrs.as_dict()["axis"] % whole.ndim
    return whole.size > 0 and all([n == 1 for n in whole.shape[:axis]])


def _base(x: Symbol) -> Symbol:
    """Return the value in whose memory a view, or a view of a view, may be; x if it is no view."""
    while x.node.op.kind == "view":
        x = x.node.inputs[0]
    return x


def _is_whole(x: Symbol) -> bool:
    """Return True if x has all elements of its base in the same order."""
    while x.node.op.kind == "view":
        node, of = x.node, x.node.inputs[0]
        if is_dynamic(of) or nbytes(of) != nbytes(x) or view_offset(
                node.op, node.inputs, node.outputs, node.attrs) != 0:
            return False
        x = of
    return True


def _has_own_memory(x: Symbol) -> bool:
    """Return True if the op of x writes x to memory that it is given."""
    node = x.node
    return not (node.op in LEAVES or node.op.kind == "view" or node.bodies or node.wave
                or node.op.joins or node.op.writes or node.op.async_role or x.size == 0
                or any(map(is_dynamic, node.inputs)) or any(map(is_dynamic, node.outputs)))
