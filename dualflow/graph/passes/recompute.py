"""Recomputation of residuals in loops for which the user requested it (``recompute=True``).

A loop stacks the residuals that the loop of its gradient reads. With ``recompute``, it stacks the
carries instead, and the gradient recomputes the residuals from these with copies of the nodes. If
only an inner loop has ``recompute``, the outer loop stacks the inputs of the inner loop.

Exact: the same kernels run on the same values. Outputs of nodes that write variables or have other
effects stay stacked, as do values with other readers. Nothing changes unless memory is saved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from dualflow._core import Symbol
from dualflow.graph.ir import (
    CONSTANT,
    LEAVES,
    LOOP,
    NO_LIMIT,
    PARAMETER,
    Copier,
    Graph,
    Input,
    Node,
    graphs,
    is_dynamic,
    loop_parts,
)
from dualflow.graph.passes import bodies, versions
from dualflow.graph.passes.bodies import keep_inputs, set_counts, stack, tidy_inputs
from dualflow.graph.passes.options import Options


def run(graph: Graph, options: Options) -> Graph:
    """Rewrite loops and the loops of their gradients, outer loops first: that puts an inner loop
    and its gradient into the same graph."""
    changes = 0
    for one in reversed(graphs(graph)):
        for loop in [node for node in one.nodes if node.op is LOOP]:
            if any([_marked(node) for node in (loop, *loop.bodies[0].nodes)]):
                changes += _give_less(one, loop)
    graph.changes += changes
    return bodies.run(versions.run(graph, options), options) if changes else graph


def _marked(node: Node) -> bool:
    return node.op is LOOP and loop_parts(node).recompute


def _give_less(graph: Graph, loop: Node) -> int:
    """Rewrite the loops that read residuals of a loop; return the number of recomputed values."""
    parts, body = loop_parts(loop), loop.bodies[0]
    readers = []
    stays: set[Symbol] = set()              # values of the body with other readers
    overwritten: set[Symbol] = set()
    for node in graph.nodes:
        sliced = range(0)
        if node.op is LOOP and node.line is not None and node.line.gradient_of:
            sliced = range(*loop_parts(node).sliced.indices(len(node.inputs)))
            if not _counts_rows(node):
                readers.append((node, set(overwritten)))
        stays.update([body.outputs[x.index] for k, x in enumerate(node.inputs)
                      if x.node is loop and x.index >= parts.stacked.start and k not in sliced])
        overwritten.update([before for before, _ in node.written])
    stays.update([body.outputs[y.index] for y in graph.outputs
                  if y.node is loop and y.index >= parts.stacked.start])
    return sum([_Again(graph, loop, reader, stays, gone).run() for reader, gone in readers
                if any([x.node is loop for x in reader.inputs])])


def _counts_rows(loop: Node) -> bool:
    """Return True if the packed rows that a loop reads determine its trip count."""
    parts = loop_parts(loop)
    return parts.times == NO_LIMIT and parts.carried.start == parts.tested


class _Again:
    """A loop, and a second loop that reads its residuals.

    Attributes
    ----------
    given : dict of Symbol to Symbol
        From a value of the first body to the parameter of the second body that holds it.
    outside : dict of Symbol to Symbol
        From a loop-invariant parameter of the first body to the value around the loop.
    """

    def __init__(self, graph: Graph, loop: Node, reader: Node, stays: set[Symbol],
                 gone: set[Symbol]) -> None:
        self.graph, self.loop, self.reader, self.stays = graph, loop, reader, stays
        self.body, self.parts = loop.bodies[0], loop_parts(loop)
        self.inner = reader.bodies[0]
        start = self.parts.captured.start
        self.outside = {x: given for k, (x, given) in enumerate(
            zip(self.body.inputs, loop.inputs, strict=True)) if k >= start and given not in gone
            and not loop.writes >> k & 1}
        self.sliced = dict(zip(self.body.inputs[self.parts.sliced],
                               loop.inputs[self.parts.sliced], strict=True))
        self.given = self._given()

    def _given(self) -> dict[Symbol, Symbol]:
        sliced = loop_parts(self.reader).sliced
        rows = {around: x for x, around in self.sliced.items()}
        found: dict[Symbol, Symbol] = {}
        for x, made in zip(self.reader.inputs[sliced], self.inner.inputs[sliced], strict=True):
            if x.node is self.loop and x.index >= self.parts.stacked.start:
                found[self.body.outputs[x.index]] = made
            elif x in rows:
                found[rows[x]] = made
        return found

    def run(self) -> int:
        """Replace residuals by recomputed values; return their number."""
        again = dict.fromkeys([x for x in self.given
                               if self._repeats(x.node) and x not in self.stays])
        nodes, read = self._needed(again)
        rows = [x for x in read if x not in self.given and x not in self.outside]
        more = [x for x in rows if x not in self.sliced]
        if not again or _bytes(more, 0) >= _bytes(again, math.inf):
            return 0
        walk = Copier(self.inner)
        for x in read:
            walk.stands_for[x] = self.given[x] if x in self.given else self._give(x)
        before = list(self.inner.nodes)
        del self.inner.nodes[:]
        walk.play(nodes)
        leaves = [node for node in before if node.op in LEAVES]
        self.inner.nodes = [*leaves, *self.inner.nodes,
                            *[node for node in before if node.op not in LEAVES]]
        self._replace({self.given[x]: walk.stands_for[x] for x in again})
        tidy_inputs(self.graph, self.reader)
        return len(again)

    def _repeats(self, node: Node) -> bool:
        """Return True if a node may be recomputed."""
        return (node.op not in LEAVES and not node.effect and not node.writes
                and (self.parts.recompute or _marked(node)))

    def _needed(self, again: dict[Symbol, None]) -> tuple[list[Node], list[Symbol]]:
        """Return the nodes to recompute, in order, and the other values that they read."""
        wanted: set[Symbol] = set(again)
        nodes: list[Node] = []
        read: dict[Symbol, None] = {}
        for node in reversed(self.body.nodes):
            if wanted.isdisjoint(node.outputs):
                continue
            if node.op is CONSTANT:
                nodes.append(node)
                continue
            for y in node.outputs:
                if y in wanted and y not in again and (
                        y in self.stays or not self._repeats(node)):
                    read[y] = None
                    wanted.discard(y)
            if not wanted.isdisjoint(node.outputs):
                nodes.append(node)
                wanted.update(node.inputs)
        return nodes[::-1], list(read)

    # --- additional inputs of the second loop ---

    def _give(self, x: Symbol) -> Symbol:
        """Add a parameter to the second body for a value of the first body."""
        made = self.inner.add_leaf(PARAMETER, x, x.node.name, x.node.line,
                                   Input(len(self.inner.inputs)), x.known_shape)
        self.inner.nodes.insert(0, self.inner.nodes.pop())
        self.inner.inputs.append(made)
        reader, n = self.reader, len(self.reader.inputs)
        if x in self.outside:
            reader.inputs = (*reader.inputs, self.outside[x])
            return made
        reader.inputs = (*reader.inputs, self.sliced[x] if x in self.sliced else
                         stack(self.graph, self.loop, x))
        parts = loop_parts(reader)
        at = parts.sliced.stop
        keep_inputs(reader, [*range(at), n, *range(at, n)])
        set_counts(reader, parts, n_sliced=at - parts.sliced.start + 1)
        return made

    def _replace(self, values: dict[Symbol, Symbol]) -> None:
        for node in self.inner.nodes:
            node.inputs = tuple([values.get(x, x) for x in node.inputs])
        self.inner.outputs = [values.get(y, y) for y in self.inner.outputs]


def _bytes(values: Iterable[Symbol], unknown: float) -> float:
    """Return the bytes of values; a value whose size depends on data counts as `unknown`."""
    return sum([unknown if is_dynamic(x) else math.prod(x.shape) * x.dtype.itemsize
                for x in values])
