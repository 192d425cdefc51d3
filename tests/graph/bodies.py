"""Outlining for tests: moves parts of a graph into the bodies of calls, recursively."""

from collections.abc import Sequence

import numpy as np

from dualflow._core import Dim, Symbol
from dualflow.graph import ir
from dualflow.graph.ir import CALL, LEAVES, PARAMETER, Graph, Input
from dualflow.graph.trace.dims import leaves
from dualflow.graph.trace.parameters import Number


def outline(graph: Graph, start: int, stop: int, name: str = "part") -> bool:
    """Move the nodes from `start` to before `stop` into the body of a new call; leaves move before
    the call. Return False if the body would be empty.

    The nodes themselves are moved, since Dims of the trace may be sizes of their outputs.
    """
    inside = [node for node in graph.nodes[start:stop] if node.op not in LEAVES]
    if not inside:
        return False
    made = {y for node in inside for y in node.outputs}
    given = list(dict.fromkeys(x for node in inside for x in node.inputs if x not in made))
    if not given or _is_measured_outside(graph, made, graph.nodes[stop:]):
        return False
    returned, written = _outputs(graph, inside, given)
    body = Graph(name)
    inner = {x: body.add_leaf(PARAMETER, x, f"{name}_{k}", None, Input(k), x.known_shape)
             for k, x in enumerate(given)}
    for node in inside:
        node.inputs = tuple([inner.get(x, x) for x in node.inputs])
    body.inputs = list(inner.values())
    body.nodes += inside
    body.outputs = [*returned, *written]
    call = graph.add(CALL, given, name=name, bodies=[body])
    graph.nodes.pop()
    stands_for = dict(zip((*returned, *written), call.outputs, strict=True))
    before = graph.nodes[:start] + [n for n in graph.nodes[start:stop] if n.op in LEAVES]
    after = graph.nodes[stop:]
    for node in after:
        node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
    graph.outputs = [stands_for.get(x, x) for x in graph.outputs]
    graph.nodes = [*before, call, *after]
    return True


def _is_measured_outside(graph: Graph, made: set[Symbol], after: Sequence[ir.Node]) -> bool:
    """Return True if sizes of inside values are used outside without passing through the call."""
    used = [v for node in after if node.attrs is not None and node.attrs.symbolic
            for value in node.attrs.values for v in (value if type(value) is tuple else (value,))]
    used += [node.data.dim for node in graph.nodes if isinstance(node.data, Number)]
    used += [v for guard in getattr(graph, "guards", {}).values() for v in guard.args]
    return any(d.args[0] in made for v in used if isinstance(v, Dim) for d in leaves(v)
               if d.kind != "argument")


def _outputs(graph: Graph, inside: Sequence[ir.Node],
             given: Sequence[Symbol]) -> tuple[list[Symbol], list[Symbol]]:
    """Return inside values read outside, and the last versions of variables written inside."""
    latest = {x: x for x in given}
    first = {x: x for x in given}
    for node in inside:
        for before, after in node.written:
            first[after] = first[before]
            latest[first[before]] = after
    written = [latest[x] for x in given if latest[x] is not x]
    here = set(inside)
    read = {x for node in graph.nodes if node not in here for x in node.inputs}
    read.update(graph.outputs)
    last = set(written)
    return [y for node in inside for y in node.outputs if y in read and y not in last], written


def outlined(graph: Graph, rng: np.random.Generator, depth: int = 3) -> Graph:
    """Return a copy with random parts outlined, and random parts within the outlined ones."""
    graph = ir.copy(graph)
    outline(graph, 0, len(graph.nodes) // 2 + 1)
    work = [(graph, depth)]
    while work:
        one, left = work.pop()
        for _ in range(int(rng.integers(1, 4))):
            n = len(one.nodes)
            start = int(rng.integers(0, max(n - 1, 1)))
            outline(one, start, min(n, start + int(rng.integers(1, 9))))
        if left:
            work += [(body, left - 1) for node in one.nodes for body in node.bodies]
    return ir.copy(graph)           # all values belong to their graph again


def leaves_first(graph: Graph) -> Graph:
    """Return the graph with its leaves moved to the front."""
    graph.nodes.sort(key=lambda node: node.op not in LEAVES)
    return graph
