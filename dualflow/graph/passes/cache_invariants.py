"""Caching of run-invariant values: values that depend on constants and unwritten variables only.

    cast(w, float16), transpose(w)      are computed once, and again after w has changed

The nodes move to a separate graph, `Graph.cached`; each value that other nodes read becomes a
parameter (`CachedParameter`). Cached values take memory for as long as the program lives, so none
is much larger than its sources, and small values are not cached. Outputs of the graph and nodes
that may raise are computed in each run.
"""

from __future__ import annotations

from dualflow._core import Symbol, view_offset
from dualflow.graph.ir import CONSTANT, LEAVES, PARAMETER, VARIABLE, Graph, Node
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import is_known
from dualflow.graph.trace.parameters import CachedParameter

LEAST_BYTES = 1 << 14
MOST_GROWTH = 4.5         # limit of bytes of a value for each byte of its sources; transformed
                          # filters take a little more than 4


def run(graph: Graph, options: Options) -> Graph:
    """Move the nodes of values that are worth caching to `graph.cached`."""
    invariant = invariant_values(graph)
    chosen = _choose(graph, invariant)
    if not chosen:
        return graph
    graph.cached = _computing(graph, chosen)
    _replace(graph, chosen)
    return graph


Sources = dict[Symbol, frozenset[Symbol]]


def invariant_values(graph: Graph) -> Sources:
    """Return the values that only change if a variable is written outside of the program, with the
    variables and constants that each depends on."""
    written = {before for node in graph.nodes for before, _ in node.written}
    found: Sources = {}
    for node in graph.nodes:
        if node.op is VARIABLE or node.op is CONSTANT:
            found.update([(y, frozenset([y])) for y in node.outputs if y not in written])
        elif (node.inputs and all([x in found for x in node.inputs]) and not node.effect
              and not node.bodies and not node.may_raise and not node.op.may_fail
              and all(map(is_known, node.outputs))):
            sources = frozenset[Symbol]().union(*[found[x] for x in node.inputs])
            found.update([(y, sources) for y in node.outputs])
    return found


def _choose(graph: Graph, invariant: Sources) -> list[Symbol]:
    """Return the values to cache, in the order of the graph: those that other nodes read."""
    read = {x for node in graph.nodes if not all([y in invariant for y in node.outputs])
            or not node.outputs for x in node.inputs if x in invariant}
    read.difference_update(graph.outputs)
    computed: dict[Symbol, bool] = {}       # False for leaves and views of leaves
    for node in graph.nodes:
        for y in node.outputs:
            if y in invariant:
                computed[y] = node.op not in LEAVES and (not _is_view(node)
                                                         or computed[node.inputs[0]])
    return [y for y in computed if y in read and computed[y] and is_worth_it(y, invariant[y])]


def _is_view(node: Node) -> bool:
    return node.op.kind == "view" and view_offset(node.op, node.inputs, node.outputs,
                                                  node.attrs) >= 0


def is_worth_it(x: Symbol, sources: frozenset[Symbol]) -> bool:
    """Return True if the size of a value with these sources makes it worth caching."""
    size = sum([y.size * y.dtype.itemsize for y in sources])
    return LEAST_BYTES <= x.size * x.dtype.itemsize <= MOST_GROWTH * size


def _computing(graph: Graph, chosen: list[Symbol]) -> Graph:
    """Return a graph that computes these values with copies of the nodes."""
    needed = set(chosen)
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
    made = Graph(f"{graph.name}, cached")
    stands_for: dict[Symbol, Symbol] = {}
    for node in graph.nodes:
        if needed.isdisjoint(node.outputs):
            continue
        if node.op in LEAVES:
            y = node.outputs[0]
            stands_for[y] = made.add_leaf(node.op, y, node.name, node.line, node.stored)
            continue
        outputs = made.add(node.op, [stands_for[x] for x in node.inputs], node.attrs, node.name,
                           node.line).outputs
        stands_for.update(zip(node.outputs, outputs, strict=True))
    made.outputs = [stands_for[x] for x in chosen]
    return made


def _replace(graph: Graph, chosen: list[Symbol]) -> None:
    """Replace these values by parameters. Variables stay in the graph, so that a run locks them."""
    stands_for: dict[Symbol, Symbol] = {}
    replaced = set(chosen)
    old, graph.nodes = graph.nodes, []
    for node in old:
        node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
        graph.nodes.append(node)
        for y in node.outputs:
            if y in replaced:
                stands_for[y] = graph.add_leaf(PARAMETER, y, node.name, node.line,
                                               CachedParameter(len(stands_for)))
    graph.inputs += stands_for.values()
    graph.changes += len(stands_for)
    _drop_unread(graph)


def _drop_unread(graph: Graph) -> None:
    needed = {*graph.inputs, *graph.outputs}
    rest: list[Node] = []
    for node in reversed(graph.nodes):
        if (node.op is VARIABLE or node.effect or node.may_raise
                or not needed.isdisjoint(node.outputs)):
            rest.append(node)
            needed.update(node.inputs)
    graph.nodes = rest[::-1]
