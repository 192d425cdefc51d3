"""Cluster fusion: groups of elementwise nodes and reductions become one `cluster` node each.

`partition` decides the groups; this file orders them and writes tile code. A cluster takes the
position of its last member, or a later one if an input requires that. Its outputs are the values
that are used outside. A view that only renames elements disappears into the cluster; any other view
is added where it is first read.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from math import prod

from dualflow._core import Symbol, get_op, make_attrs
from dualflow.graph.ir import Graph, Node
from dualflow.graph.ir.tile_code import FOLD, FULL, ROW, Code, Step, assemble, words
from dualflow.graph.passes.operands import (
    Shape,
    layout,
    shape_of,
    squeezed_shape,
    without_leading_ones,
)
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.partition import ADD_N, Group, Partition, Space, is_row
from dualflow.graph.passes.values import count_in_loops, is_known

FEW = 4     # groups of up to 4 small nodes of a body stay separate nodes
ADD, CLUSTER = get_op("add"), get_op("cluster")
RESHAPE = get_op("reshape")


def run(graph: Graph, options: Options) -> Graph:
    """Replace the members of clusters by the clusters."""
    partition = Partition(graph)
    if not any([candidate is not None for candidate in partition.readings]):
        return graph
    Writer(graph, partition).run()
    return graph


def in_order(partition: Partition) -> list[Group]:
    """Return the groups, each after the groups it reads, else by position of the last member."""
    groups = list(dict.fromkeys([g.root() for g in partition.group_of if g is not None]))
    waiting = dict.fromkeys(groups, 0)
    readers: dict[Group, list[Group]] = {g: [] for g in groups}
    edges = {(a.root(), b.root()) for a, b in partition.orders}
    edges |= {(partition.home[x].root(), g.root()) for at, g in enumerate(partition.group_of)
              if g is not None for x in partition.operands(at)}
    for a, b in edges:
        if a is not b:
            waiting[b] += 1
            readers[a].append(b)
    ready = [(max(g.members), g) for g in groups if not waiting[g]]
    heapq.heapify(ready)
    found = []
    while ready:
        _, group = heapq.heappop(ready)
        found.append(group)
        for reader in readers[group]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, (max(reader.members), reader))
    assert len(found) == len(groups), "groups form a cycle"
    return found


class Writer:
    """Builds the new list of nodes of a graph, group by group."""

    def __init__(self, graph: Graph, partition: Partition) -> None:
        self.graph = graph
        self.old: list[Node] = graph.nodes
        self.partition = partition
        self.stands_for: dict[Symbol, Symbol] = {}
        self.made: set[Node] = set()            # views that have been added
        self.used: set[Symbol] = self._used()
        self.tiny: int = count_in_loops(graph)
        self.shaped: dict[tuple[Symbol, Shape], Symbol] = {}

    def _used(self) -> set[Symbol]:
        """Return the values that are read outside their group."""
        p = self.partition
        used = {p.views.operand(x).source if x in p.views.seen else x for x in self.graph.outputs}
        for at, group in enumerate(p.group_of):
            if group is not None:
                used.update([x for x in p.operands(at) if p.home[x].root() is not group.root()])
        return used

    def run(self) -> None:
        self.graph.nodes = []
        for group in in_order(self.partition):
            members = sorted(group.members)
            if self._is_cluster(members):
                assert group.space is not None
                self._cluster(members, group.space.full, group)
            else:
                for at in members:
                    self._plain(self.old[at])
        self.graph.outputs = [self._value(x) for x in self.graph.outputs]

    def _is_cluster(self, members: list[int]) -> bool:
        """Return True if a group becomes a cluster. A single reduction or sum stays a node, since
        its kernel can split long work, as do groups of column reductions only."""
        first = self.partition.readings[members[0]]
        if first is None or len(members) == 1:
            return first is not None and not (
                first.reduces or self.old[members[0]].op is ADD_N
                or (self.tiny and self._is_tiny(members[0])))
        if self.tiny and len(members) <= FEW and all(map(self._is_tiny, members)):
            return False
        readings = [self.partition.readings[at] for at in members]
        return not all([candidate is not None and candidate.space.fold for candidate in readings])

    def _is_tiny(self, at: int) -> bool:
        """Return True if a node is one call of a tile function on few elements."""
        node = self.old[at]
        y = node.outputs[0]
        return (node.op.kind == "elementwise" and is_known(y) and y.size <= self.tiny
                and all([x.known_shape == y.known_shape for x in node.inputs]))

    def _plain(self, node: Node) -> None:
        node.inputs = tuple([self._value(x) for x in node.inputs])
        self.graph.nodes.append(node)

    def _value(self, x: Symbol) -> Symbol:
        """Return the replacement of a value; add the views that lead to it if needed."""
        pending = []
        seen, y = self.partition.views.seen, x
        while y in seen and y.node not in self.made:
            pending.append(y.node)
            y = y.node.inputs[0]
        for node in reversed(pending):
            self.made.add(node)
            node.inputs = tuple([self.stands_for.get(z, z) for z in node.inputs])
            self.graph.nodes.append(node)
        return self.stands_for.get(x, x)

    # --- a cluster ---

    def _cluster(self, members: list[int], full: Shape, group: Group) -> None:
        nodes = [self.old[at] for at in members]
        results = [node.outputs[0] for node in nodes]
        outputs = [y for y in results if y in self.used]
        if not outputs:
            return
        shape = self._shape(members, full, outputs)
        bare_inputs = self._could_share(members, group, shape, outputs)
        if bare_inputs:
            shape = (1, *shape)
        inputs, reads = self._reads(members, shape, bare_inputs)
        number: dict[Symbol, int] = {}
        assert group.space is not None
        steps: list[Step] = []
        for at, node in zip(members, nodes, strict=True):
            values = [number[x] if isinstance(x, Symbol) else x for x in reads[at]]
            space = self._space(at, group.space)
            for k, step in enumerate(self._steps(at, node, values, space)):
                if k:       # its first operand is the result of the previous step
                    step = step._replace(operands=(len(inputs) + len(steps) - 1, *step.operands))
                steps.append(step)
            number[node.outputs[0]] = len(inputs) + len(steps) - 1
        row = group.space.row
        length = 1 if row is None else prod(full[len(row):])
        code = assemble(Code(length, tuple(steps), tuple([number[y] for y in outputs])))
        last = nodes[-1]
        made = self.graph.add(CLUSTER, inputs, make_attrs(CLUSTER, shape=shape, code=code),
                              last.name, last.line)
        self.graph.changes += 1
        for y, new in zip(outputs, made.outputs, strict=True):
            self.stands_for[y] = self._reshaped(new, shape_of(y))

    def _space(self, at: int, of: Space) -> int:
        candidate = self.partition.readings[at]
        assert candidate is not None
        if candidate.space.fold is not None:
            return FOLD
        return ROW if is_row(self.old[at].outputs[0], of) else FULL

    def _steps(self, at: int, node: Node, values: list[int], space: int) -> list[Step]:
        """Return the steps of a member; the caller prepends the previous result to the operands of
        each step but the first."""
        if node.op is ADD_N:        # its kernel adds in this order with this formula
            return [Step(ADD, space, tuple(some))
                    for some in (values[:2], *[[v] for v in values[2:]])]
        candidate = self.partition.readings[at]
        assert candidate is not None
        attrs: tuple[int, ...] = ()
        if candidate.space.fold is not None:
            full, (first, end) = candidate.space.full, candidate.space.fold
            attrs = prod(full[:first]), prod(full[first:end])
        elif not candidate.reduces and node.attrs is not None:
            attrs = words(node.attrs.values)
        return [Step(node.op, space, tuple(values), attrs)]

    def _could_share(self, members: list[int], group: Group, shape: Shape,
                     outputs: list[Symbol]) -> bool:
        """Return True if an output with one element per row may have the shape of an input that is
        repeated along rows.

        The planner must not place such an output in the memory of the input. So their shapes are
        made to differ: the iteration shape gets a leading 1, inputs do not."""
        assert group.space is not None
        full, row, _ = group.space
        if row is None or not any([is_row(y, group.space) for y in outputs]):
            return False
        present = (True,) * len(row) + (False,) * (len(full) - len(row))
        readings = [self.partition.readings[at] for at in members]
        return any([x.present == present for candidate in readings if candidate is not None
                    for x in candidate.operands if candidate.space.full == full])

    def _shape(self, members: list[int], full: Shape, outputs: list[Symbol]) -> Shape:
        """Return the iteration shape: the shape of an output if possible, which then needs no view.
        """
        nodes = [self.old[at] for at in members]
        shapes = [shape_of(y) for y in outputs]
        shapes += [shape_of(y) for node in nodes for y in (*node.outputs, *node.inputs)]
        return next(shape for shape in shapes if squeezed_shape(shape) == full)

    def _reads(self, members: list[int], shape: Shape,
               bare_inputs: bool) -> tuple[list[Symbol], dict[int, list[Symbol | int]]]:
        """Return the inputs of a cluster, and the operands of each member: the number of an input,
        or the result of another member."""
        inputs: dict[Symbol, int] = {}
        reads: dict[int, list[Symbol | int]] = {}
        inside = {self.old[at].outputs[0] for at in members}
        for at in members:
            candidate = self.partition.readings[at]
            assert candidate is not None
            reads[at] = []
            for x in candidate.operands:
                if x.source in inside:
                    reads[at].append(x.source)
                    continue
                laid = self._laid(x.source, x.present, shape, bare_inputs)
                reads[at].append(inputs.setdefault(laid, len(inputs)))
        return list(inputs), reads

    def _laid(self, source: Symbol, present: Sequence[bool], shape: Shape,
              bare_inputs: bool) -> Symbol:
        """Return a source in the shape that it has within the iteration shape."""
        x = self._value(source)
        want = layout(tuple(present), shape)
        if not bare_inputs and without_leading_ones(shape_of(x)) == want and x.ndim <= len(shape):
            return x
        found = self.shaped.get((x, want))
        if found is None:
            found = self.shaped[x, want] = self._reshaped(x, want)
        return found

    def _reshaped(self, x: Symbol, shape: Shape) -> Symbol:
        if x.known_shape == shape:
            return x
        return self.graph.add(RESHAPE, [x], make_attrs(RESHAPE, shape=shape)).outputs[0]
