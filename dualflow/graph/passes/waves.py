"""Waves: independent large nodes with single-threaded kernels, which may run in parallel.

Most kernels use all threads and would only compete. A kernel that uses one thread
(`op.is_serial`), such as a recurrent layer on few rows, gains from a wave, a sequence of
consecutive nodes that do not read each other's results. A node only moves to an earlier position,
after its inputs, so readers still precede overwriters. A node that may raise does not move across
nodes that write or may raise.
"""

from __future__ import annotations

from itertools import accumulate

from dualflow._core import Symbol
from dualflow.graph.ir import LEAVES, Graph, Node, is_dynamic
from dualflow.graph.passes.options import Options

MIN_ELEMENTS = 65536      # read and written; with fewer, waking a thread costs more than it saves
MAX_WAVE = 8


def is_candidate(node: Node) -> bool:
    """Return True if a node is large enough for a separate thread and may be in a wave."""
    if node.op in LEAVES or node.effect or not node.op.is_serial(node.inputs):
        return False
    values = (*node.inputs, *node.outputs)
    return (not any(map(is_dynamic, values))
            and sum(x.size for x in values) >= MIN_ELEMENTS)


def run(graph: Graph, options: Options) -> Graph:
    """Number the waves and move the nodes of each wave together."""
    if sum(map(is_candidate, graph.nodes)) > 1:
        graph.nodes.sort(key=lambda node: node.op not in LEAVES)        # readers may move
        candidates = [k for k, node in enumerate(graph.nodes) if is_candidate(node)]
        beside = _waves(graph.nodes, candidates)
        for wave, (first, joined) in enumerate(beside.items(), 1):
            for k in (first, *joined):
                graph.nodes[k].wave = wave
        moved = {k for joined in beside.values() for k in joined}
        graph.nodes = [node for k, first in enumerate(graph.nodes) if k not in moved
                       for node in (first, *[graph.nodes[j] for j in beside.get(k, ())])]
    return graph


def _waves(nodes: list[Node], candidates: list[int]) -> dict[int, list[int]]:
    """Return the positions of the other nodes of each wave, by the position of its first node."""
    # fixed[k]: number of nodes before node k across which a node that may raise does not move
    fixed = list(accumulate([bool(node.writes) or node.may_raise for node in nodes],
                            initial=0))
    made_at: dict[Symbol, int] = {y: k for k, node in enumerate(nodes) for y in node.outputs}
    beside: dict[int, list[int]] = {}
    moved: set[int] = set()
    for i, first in enumerate(candidates):
        if first in moved:
            continue
        joined, within = list[int](), fixed[first + 1]
        for k in candidates[i + 1:i + 1 + MAX_WAVE]:
            may_raise = fixed[k + 1] > fixed[k]         # a candidate writes nothing
            if k not in moved and all(made_at[x] < first for x in nodes[k].inputs) and (
                    not may_raise or fixed[k] == within):
                joined.append(k)
                within += may_raise
        if joined:
            beside[first] = joined
            moved.update(joined)
    return beside
