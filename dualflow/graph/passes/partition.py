"""Partition of the nodes of a graph into clusters; called by `cluster`, and in part by `epilogue`.

Every node belongs to a group: a cluster, or one node. Groups have levels, and an edge between two
groups always leads to a higher level, so groups never form a cycle. A group may rise to a higher
level below its *ceiling*, the lowest level that reads it. Two groups may merge, at the higher of
their levels, if that is below both ceilings: then no path leaves one group and returns through the
other. Each node is visited once, in order.

The *space* of a cluster is (full, row, fold). `full` is the bare shape of its iterations. `row` is
`full` without trailing dimensions that are reduced, or None. `fold` is the range (start, stop) of
other dimensions that are reduced (a column reduction), or None; its result is complete only when
the cluster ends, so no member may read it.
"""

from __future__ import annotations

from math import inf, prod

from dualflow._core import Op, Symbol, get_op
from dualflow._util.named_tuple import NamedTuple
from dualflow.graph.ir import LEAVES, Graph, Node
from dualflow.graph.ir.tile_code import HALF_ROW_MAX, ROW_MAX
from dualflow.graph.passes.operands import (
    Operand,
    Shape,
    Views,
    broadcast_present,
    shape_of,
    squeezed_shape,
)
from dualflow.graph.passes.values import is_known

STEPS_MAX = 4096          # steps of one cluster
TILE_INPUTS_MAX = 4       # DF_TILE_MAX_IN
ROWS_MIN = 8              # rows longer than L1; one thread reduces each
INNER_MAX = 4096          # inner size of a column reduction: eight rows stay in L2
FOLDED_MIN = 1024         # elements of each of several column reductions
TERMS_MAX = 64            # terms of a sum in a cluster, which bounds the time per node

ADD_N = get_op("add_n")

END = 1 << 60             # the level of an update without readers: no path leaves it

Fold = tuple[int, int]


class Space(NamedTuple):
    """The iteration space of a cluster."""

    full: Shape
    row: Shape | None = None
    fold: Fold | None = None


class Group:
    """Nodes that run as one instruction."""

    __slots__ = ("ceiling", "into", "level", "members", "space")

    def __init__(self, level: int, members: list[int], space: Space | None = None) -> None:
        self.level: int = level
        self.ceiling: float = inf
        self.members: list[int] = members
        self.space: Space | None = space
        self.into: Group | None = None

    def root(self) -> Group:
        """Return the group that this group has been merged into."""
        g = self
        while g.into is not None:
            if g.into.into is not None:
                g.into = g.into.into
            g = g.into
        return g


def joined(a: Space, b: Space) -> Space | None:
    """Return the space of the union of two clusters, or None if they cannot be merged."""
    if a.full == b.full:
        row = b.row if a.row is None else a.row
        fold = a.fold or b.fold
        if b.row not in (None, row) or b.fold not in (None, fold):
            return None
        whole = row is None or fold is None or fold[1] <= len(row)      # whole rows only
        return Space(a.full, row, fold) if whole else None
    if a.row is None and a.fold is None and a.full == b.row:
        return b
    return a if b.row is None and b.fold is None and b.full == a.row else None


def is_row(x: Symbol, space: Space) -> bool:
    """Return True if the result of a member has one element for each row."""
    return squeezed_shape(shape_of(x)) != space.full


class FusionCandidate(NamedTuple):
    """A node that may be in a cluster: its space, its operands, and the operands that are column
    reductions, complete only when their cluster ends (`late`)."""

    space: Space
    operands: list[Operand]
    reduces: bool
    late: frozenset[Symbol]

    def fits(self, x: Operand, space: Space) -> bool:
        """Return True if the node, as a member of a cluster in `space`, can read operand `x` from
        another member."""
        full, row, _ = space
        if x.source in self.late:
            return False
        if not is_row(x.source, space):
            return True
        if self.reduces:
            return False
        if self.space.full == row:
            return True
        assert row is not None
        return x.present == (True,) * len(row) + (False,) * (len(full) - len(row))


class Facts(NamedTuple):
    """The properties of an op that decide whether its applications may be in a cluster."""

    elementwise: bool
    dtypes: frozenset[str]
    reduces: frozenset[str]
    folds: frozenset[str]


class Partition:
    """The groups of a graph.

    Attributes
    ----------
    home : dict of Symbol to Group
        The group that computes a value or the source of a view; use its `root()`.
    readings : list of FusionCandidate or None
        By node.
    orders : list of (Group, Group)
        Pairs in which the second group must follow the first without reading it.
    """

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = graph.nodes
        self.views: Views = Views()
        self.home: dict[Symbol, Group] = {}
        self.group_of: list[Group | None] = []
        self.readings: list[FusionCandidate | None] = []
        self.orders: list[tuple[Group, Group]] = []
        self._facts: dict[Op, Facts] = {}
        self._sibling: dict[Symbol, Group] = {}
        self._folded: set[Symbol] = set()
        self._readers: dict[Symbol, list[Group]] = {
            before: [] for node in graph.nodes for before, _ in node.written}
        self._refusing: Group | None = None     # the last node that may raise
        self._writes: list[Group] = []          # writes since the last step (`is_step`)
        self._unrefused: list[Group] = []       # writes since the last node that may raise
        self._last_step = max([at for at, node in enumerate(graph.nodes)
                               if is_step(node) or node.may_raise], default=-1)
        self._read_somewhere = {x for node in graph.nodes for x in node.inputs}
        for at, node in enumerate(graph.nodes):
            self._place(at, node)

    def operands(self, at: int) -> list[Symbol]:
        """Return the values that a node reads, with views replaced by their sources."""
        candidate = self.readings[at]
        if candidate is not None:
            return [x.source for x in candidate.operands]
        seen = self.views.seen
        return [seen[x].source if x in seen else x for x in self.nodes[at].inputs]

    # --- one node ---

    def _place(self, at: int, node: Node) -> None:
        view = self._view(node)
        if view is not None:
            self.home[node.outputs[0]] = self.home[view.source]
            self.group_of.append(None)
            self.readings.append(None)
            return
        candidate = self._read(node)
        self.readings.append(candidate)
        sources = self.operands(at)
        group = self._alone(at, node, sources) if candidate is None else self._join(at, candidate)
        for s in sources:
            home = self.home[s].root()
            if home is not group and group.level != END:
                home.ceiling = min(home.ceiling, group.level)
            if s in self._readers:
                self._readers[s].append(group)
        for y in node.outputs:
            self.home[y] = group
        self.group_of.append(group)

    def _view(self, node: Node) -> Operand | None:
        """Return the source of a view if it is never overwritten, else None: such a view must be
        read at its position."""
        if node.op.kind != "view" or not node.inputs:
            return None
        x = node.inputs[0]
        seen = self.views.seen.get(x)
        return None if (seen.source if seen else x) in self._readers else self.views.note(node)

    def _alone(self, at: int, node: Node, sources: list[Symbol]) -> Group:
        """Return the group of a node that is in no cluster.

        An update comes after the readers of the version it overwrites and after the last preceding
        node that may raise, and before the next step. So a run that fails has done exactly the
        updates before the failure.
        """
        group = Group(0, [at])
        before = [self.home[s].root() for s in sources]
        ordered = [g.root() for x, _ in node.written for g in self._readers[x]]
        may_raise = node.may_raise
        if self._refusing and (node.writes or may_raise):
            ordered.append(self._refusing.root())
        if node.writes and not may_raise:
            self._writes.append(group)
            self._unrefused.append(group)
        elif may_raise:
            ordered += self._unrefused
            self._refusing, self._writes, self._unrefused = group, [], []
        elif is_step(node):
            ordered += self._writes
            self._writes = []
        self.orders += [(g, group) for g in ordered]
        own = {before for before, _ in node.written}
        if node.writes and at > self._last_step and not any(
                [y in self._read_somewhere for y in node.outputs]) and not any(
                [s in self._readers and s not in own for s in sources]):    # no node depends on it
            group.level = END
            return group
        group.level = 1 + max([g.level for g in before + ordered], default=-1)
        for g in ordered:
            g.ceiling = min(g.ceiling, group.level)
        return group

    def _join(self, at: int, candidate: FusionCandidate) -> Group:
        """Return the group of a node that may be in a cluster, merged with the groups of its
        operands and of another reader of them as far as possible."""
        homes = [self.home[x.source].root() for x in candidate.operands]
        merged, space = candidates(candidate, homes, homes)
        while True:
            level, able = rise(homes, merged)
            if len(able) == len(merged):
                break
            merged, space = candidates(candidate, homes, able)
        for x in candidate.operands:
            sibling = self._sibling.get(x.source) if all(x.present) else None
            if sibling is None or (sibling := sibling.root()) in homes or sibling in merged:
                continue
            highest = max(level, sibling.level)
            together = extended(candidate, homes, merged, space, sibling)
            if together and all([g.ceiling > highest for g in (sibling, *merged)]):
                level, space = highest, together
                merged.append(sibling)
        return self._united(Group(level, [at], space), merged, candidate)

    def _united(self, group: Group, merged: list[Group], candidate: FusionCandidate) -> Group:
        largest = max(merged, key=lambda g: len(g.members), default=group)
        largest.level, largest.space = group.level, group.space
        for g in (group, *merged):
            if g is not largest:
                largest.members += g.members
                largest.ceiling = min(largest.ceiling, g.ceiling)
                g.into, g.members = largest, []
        for x in candidate.operands:
            if all(x.present) and self.home[x.source].root() is not largest:
                self._sibling[x.source] = largest
        return largest

    # --- candidates for clusters ---

    def _read(self, node: Node) -> FusionCandidate | None:
        facts = self._facts.get(node.op)
        if facts is None:
            facts = self._facts[node.op] = facts_of(node.op)
        sums = node.op is ADD_N and 2 <= len(node.inputs) <= TERMS_MAX
        if not facts.elementwise and not facts.reduces and not sums:
            return None
        if node.op in LEAVES or not all([is_known(x) for x in (*node.inputs, *node.outputs)]):
            return None
        if facts.elementwise or sums:
            if node.needs_value_check:
                return None
            if facts.dtypes and not any([x.dtype.name in facts.dtypes for x in node.inputs]):
                return None
            shape = shape_of(node.outputs[0])
            return self._candidate(Space(squeezed_shape(shape)),
                                   [self._seen(x, shape) for x in node.inputs],
                                   False)
        space = reduced_space(node, facts)
        if space is None:
            return None
        if space.fold is not None:
            self._folded.add(node.outputs[0])
        return self._candidate(space, [self.views.operand(node.inputs[0])], True)

    def _candidate(self, space: Space, operands: list[Operand], reduces: bool) -> FusionCandidate:
        late = self._folded.intersection([x.source for x in operands]) if self._folded else ()
        return FusionCandidate(space, operands, reduces, frozenset(late))

    def _seen(self, x: Symbol, shape: Shape) -> Operand:
        source, present = self.views.operand(x)
        return Operand(source, broadcast_present(present, shape_of(x), shape))


def extended(candidate: FusionCandidate, homes: list[Group], merged: list[Group], space: Space,
             more: Group) -> Space | None:
    """Return the space of a node, the groups it joins and one more; None if they are incompatible.
    """
    if more.space is None or len(more.members) >= STEPS_MAX:
        return None
    together = joined(space, more.space)
    if together is None or not all(
            [candidate.fits(x, together) for x, g in zip(candidate.operands, homes, strict=True)
             if g is more or g in merged]):
        return None
    return together


def candidates(candidate: FusionCandidate, homes: list[Group],
               among: list[Group]) -> tuple[list[Group], Space]:
    """Return the groups with a space compatible with the node's, groups with rows first, and the
    common space."""
    space, found = candidate.space, list[Group]()
    for group in sorted(among, key=lambda g: g.space is None or g.space.row is None):
        together = None if group in found else extended(candidate, homes, found, space, group)
        if together is not None:
            space = together
            found.append(group)
    return found, space


def rise(homes: list[Group], wanted: list[Group]) -> tuple[int, list[Group]]:
    """Return the level of a node that reads `homes`, and the groups of `wanted` that can rise to
    this level, which the node joins."""
    if not homes:
        return 0, []
    level = max([g.level if g in wanted else g.level + 1 for g in homes])
    while True:
        able = [g for g in wanted if g.ceiling > level]
        least = max([g.level if g in able else g.level + 1 for g in homes])
        if least <= level:
            return level, able
        level = least


def is_step(node: Node) -> bool:
    """Return True if a node of kind "general" computes values and writes no variables."""
    return node.op.kind == "general" and not node.writes and node.op not in LEAVES


def facts_of(op: Op) -> Facts:
    """Return the facts in the record of an op."""
    plain = not op.effect and op.n_out == 1
    return Facts(plain and op.kind == "elementwise" and 0 < op.n_in <= TILE_INPUTS_MAX,
                 frozenset(op.dtypes), frozenset(op.reduces if plain else ()),
                 frozenset(op.folds if plain else ()))


def reduced_space(node: Node, facts: Facts) -> Space | None:
    """Return the space of a reduction: of rows if it reduces trailing dimensions of suitable
    length, else of columns. Return None if its dimensions are not adjacent, or if the sizes or the
    dtype do not suit a cluster."""
    x, y = node.inputs[0], node.outputs[0]
    dtype, shape = x.dtype.name, shape_of(x)
    full, left = squeezed_shape(shape), squeezed_shape(shape_of(y))
    axes = {a % len(shape) for a in node.attr_dict["axes"]}
    reduced = [a in axes for a, d in enumerate(shape) if d != 1]
    if 0 in full or True not in reduced:
        return None
    first = reduced.index(True)
    end = first + sum(reduced)
    if not all(reduced[first:end]):
        return None
    outer, n, inner = prod(full[:first]), prod(full[first:end]), prod(full[end:])
    if inner == 1:
        longest = ROW_MAX if outer >= ROWS_MIN and x.dtype.itemsize > 2 else HALF_ROW_MAX
        if n <= longest:
            return Space(full, left) if dtype in facts.reduces else None
    small = inner > INNER_MAX or (outer > 1 and n * inner < FOLDED_MIN)
    return None if small or dtype not in facts.folds else Space(full, None, (first, end))
