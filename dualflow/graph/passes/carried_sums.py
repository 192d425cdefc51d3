"""Sums of gradients of rows that a loop reads, in the memory of a carry, for the loops that
`loop_sums` leaves: of unknown length, or with iterations that add nothing.

    total + gather_grad(g, i)       ->   add_rows(total, i, g)
    where(added, total, 0.0)        ->   total, if `added` is False while total is -0.0

An iteration then takes time in proportion to a row: `add_rows` adds to the memory of the carry
(see program/lifetimes.py), also in branches and inner loops that the carry passes through.

Exact for float32 and float64: no part, which is 0.0 + g in its row and 0.0 elsewhere, has an
element -0.0. So the first sum turns each -0.0 of the carry into 0.0, no later sum has a -0.0, and
the carry may start from its start + 0.0. A loop that adds nothing returns its start: after the
loop, where(added, total, start), unless something is certainly added. `added` is a carry of the
loop, if there is one that is False until something is added, or a new one.
"""

from __future__ import annotations

from collections import Counter

from dualflow._core import Symbol, as_tensor, get_op, symbol
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import float32, float64
from dualflow.graph.ir import (
    COND,
    LEAVES,
    LOOP,
    PARAMETER,
    Graph,
    Input,
    LoopParts,
    Node,
    graphs,
    loop_parts,
)
from dualflow.graph.passes import bodies, dead_code, row_parts
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.row_parts import RowPart
from dualflow.graph.passes.values import BROADCAST, is_known, is_zero, number, replacement

ADD, LOGICAL_OR, SCATTER, WHERE = map(
    get_op, ("add", "logical_or", "tensor_scatter_nd_add", "where"))


def run(graph: Graph, options: Options) -> Graph:
    """Rewrite the sums of all loops, outer ones first: sums of inner ones may begin there."""
    readers: dict[Graph, Counter[Symbol]] = {}
    before = graph.changes
    for one in reversed(graphs(graph)):
        for loop in [node for node in one.nodes if node.op is LOOP]:
            for carry in range(loop_parts(loop).n_carried):
                if _Sum(one, loop, carry, readers).run():
                    graph.changes += 1
                    readers.clear()
    if graph.changes == before:
        return graph
    graph = bodies.run(graph, options)
    for one in graphs(graph):
        dead_code.run(one, options)
        for node in one.nodes:
            if node.bodies:
                node.own(node.bodies)
    return graph


class _Path(NamedTuple):
    """The use of a parameter in a graph, up to the output that returns the sum.

    Attributes
    ----------
    place : int
        Index of the parameter.
    flag : Symbol or None
        A bool that must be False at the start of the graph if, and only if, nothing was added to
        the parameter before; None: any.
    adds : bool
        True if the graph adds something in every run.
    exposed : bool
        True if rows may be added to a carry to which no part was added before: elements -0.0 of
        other rows then stay -0.0.
    """

    place: int
    flag: Symbol | None
    adds: bool
    exposed: bool


class _Sum:
    """A carry of a loop, and the nodes that add to it.

    Attributes
    ----------
    edits : dict of Graph to dict of Node to (int, list of RowPart)
        The nodes to replace by the sum of an input, given by its position, and parts.
    """

    def __init__(self, graph: Graph, loop: Node, carry: int,
                 readers: dict[Graph, Counter[Symbol]]) -> None:
        self.graph = graph
        self.loop = loop
        self.carry = carry
        self.parts: LoopParts = loop_parts(loop)
        self.place: int = self.parts.carried.start + carry
        self.edits: dict[Graph, dict[Node, tuple[int, list[RowPart]]]] = {}
        self.readers = readers
        self.places: dict[Symbol, int] = {}     # of the inputs through which conds and loops pass
        self.flag: int | None = None    # carry that is the flag of this one

    def run(self) -> bool:
        """Rewrite the sum; return False if the carry is none."""
        graph, loop, parts, body = self.graph, self.loop, self.parts, self.loop.bodies[0]
        start, y = loop.inputs[self.place], body.outputs[parts.first + self.carry]
        if (y.dtype not in (float32, float64) or not is_known(y) or not y.ndim
                or start.known_shape != y.known_shape or loop.writes >> self.place & 1):
            return False
        path = self.loop_path(loop, self.carry, None, exposed=False)
        if path is None or not any(self.edits.values()):
            return False
        zero = number(start)
        clean, added = is_zero(zero), None
        if self.flag is not None:
            if (number(loop.inputs[parts.carried.start + self.flag]) is not False
                    or not (clean or is_zero(zero, negative=True))):
                return False
            added = loop.outputs[self.flag]
        elif not clean and not path.adds:
            added = self.added()
        if path.exposed and not clean:
            return False
        if not clean and not path.adds and added is None:
            false = graph.constant(as_tensor(False), loop.name, loop.line)
            _move_before(graph, loop)
            added = self.marked_loop(loop, self.carry, false)
        self.rewrite()
        if not clean:
            self.begin_with_zero(None if path.adds else added)
        return True

    def added(self) -> Symbol | None:
        """Return a carry that is True after the loop if, and only if, something was added."""
        loop, parts, body = self.loop, self.parts, self.loop.bodies[0]
        for k in range(parts.n_carried):
            if number(loop.inputs[parts.carried.start + k]) is False:
                path = self.iteration_path(loop, self.carry, k, exposed=False)
                if path is not None and (
                        path.flag is None or path.flag is body.inputs[parts.carried.start + k]):
                    return loop.outputs[k]
        return None

    # --- the path of the carry ---

    def path(self, body: Graph, y: Symbol, flag: Symbol | None, exposed: bool) -> _Path | None:
        """Return the path to y, which is returned with a flag, from last node to first.

        `exposed`: rows are added to the result while its elements may be -0.0.
        """
        readers = self.readers_of(body)
        adds = False
        while y.node.op not in LEAVES:
            node, found = y.node, None
            if readers[y] != 1:
                return None
            if node.op is COND:
                found = self.branch_paths(node, y.index, flag, exposed)
            elif node.op is LOOP and y.index < loop_parts(node).n_carried:
                found = self.loop_path(node, y.index, flag, exposed)
            else:
                found = self.sum_path(body, node, flag, exposed)
            if found is None:
                return None
            y, flag, adds, exposed = (node.inputs[found.place], found.flag, adds or found.adds,
                                      found.exposed)
        places = [k for k, x in enumerate(body.inputs) if x is y]
        return _Path(places[0], flag, adds, exposed) if places and readers[y] == 1 else None

    def readers_of(self, body: Graph) -> Counter[Symbol]:
        if body not in self.readers:
            found = self.readers[body] = Counter([x for node in body.nodes for x in node.inputs])
            found.update(body.outputs)
        return self.readers[body]

    def sum_path(self, body: Graph, node: Node, flag: Symbol | None,
                 exposed: bool) -> _Path | None:
        """Return the path through a node that adds to one of its inputs."""
        edits = self.edits.setdefault(body, {})
        certain = flag is None or number(flag) is True
        if node.op is WHERE:
            before, x, zero = node.inputs
            if (not certain or before.ndim or not is_zero(number(zero))
                    or x.known_shape != node.outputs[0].known_shape):
                return None
            edits[node] = 1, []
            return _Path(1, before, True, False)
        if node.op is SCATTER:
            exact = certain and not row_parts.is_long_sum(node)
            return _Path(0, None, True, True) if exact else None
        found = row_parts.terms(node)
        if found is None:
            return None
        edits[node] = place, parts = found
        masks = dict.fromkeys([part.mask for part in parts])
        if None in masks:
            return _Path(place, None, True, False) if certain else None
        if flag is None:
            return _Path(place, None, False, exposed)
        if len(masks) > 1 or flag.node.op is not LOGICAL_OR:
            return None
        mask, = masks
        others = [x for x in flag.node.inputs if x is not mask]
        return _Path(place, others[0], False, exposed) if len(others) == 1 else None

    def branch_paths(self, node: Node, k: int, flag: Symbol | None,
                     exposed: bool) -> _Path | None:
        """Return the path through a cond."""
        certain = flag is not None and number(flag) is True
        if flag is not None and not certain and flag.node is not node:
            return None
        paths = []
        for body in node.bodies:
            inside = None if flag is None or certain else body.outputs[flag.index]
            path = self.path(body, body.outputs[k], inside, exposed)
            if path is None or (certain and not path.adds):
                return None
            at = None if path.flag is None else _place(body, path.flag)
            if path.flag is not None and at is None:
                return None
            paths.append(path._replace(flag=None if at is None else node.inputs[at]))
        flags = {path.flag for path in paths} - {None}
        place = paths[0].place
        if (len(flags) > 1 or {path.place for path in paths} != {place} or not place
                or not _alone(node, place)):
            return None
        self.places[node.outputs[k]] = place
        return _Path(place, flags.pop() if flags else None, all([path.adds for path in paths]),
                     any([path.exposed for path in paths]))

    def loop_path(self, node: Node, k: int, flag: Symbol | None, exposed: bool) -> _Path | None:
        """Return the path through the carry k of a loop."""
        parts, body = loop_parts(node), node.bodies[0]
        start, certain = parts.carried.start, _iterates(parts)
        at = None
        if flag is not None and flag.node is node and flag.index < parts.n_carried:
            at = flag.index
        elif flag is not None and not (certain and number(flag) is True):
            return None
        path = self.iteration_path(node, k, at, exposed)
        if path is not None and at is None and path.flag is not None:
            at = (_place(body, path.flag) or 0) - start
            if not 0 <= at < parts.n_carried:
                return None
            path = self.iteration_path(node, k, at, exposed)
        if (path is None or path.place != start + k or not _alone(node, path.place)
                or (flag is not None and flag.node is not node and not path.adds)
                or (path.flag is not None and (
                    at is None or path.flag is not body.inputs[start + at]))):
            return None
        self.flag = at      # in the end, of the loop itself
        self.places[node.outputs[k]] = path.place
        return _Path(path.place, None if at is None else node.inputs[start + at],
                     certain and path.adds, path.exposed or (exposed and not certain))

    def iteration_path(self, node: Node, k: int, flag: int | None, exposed: bool) -> _Path | None:
        """Return the path through an iteration; `flag` is the carry that is the flag."""
        body, first = node.bodies[0], loop_parts(node).first
        return self.path(body, body.outputs[first + k],
                         None if flag is None else body.outputs[first + flag], exposed)

    # --- a new flag ---

    def marked(self, body: Graph, y: Symbol, flag: Symbol) -> Symbol:
        """Return a flag that is True if something was added to y; `flag`: to its parameter."""
        path = []
        while y.node.op not in LEAVES:
            path.append(y)
            y = y.node.inputs[self.places[y] if y in self.places else self.place_in(body, y.node)]
        for y in reversed(path):
            node = y.node
            if node.op is COND:
                flag = self.marked_cond(node, y.index, flag)
            elif node.op is LOOP:
                flag = self.marked_loop(node, y.index, flag)
            else:
                masks = self.masks(body, node)
                if None in masks:
                    flag = body.constant(as_tensor(True), node.name, node.line)
                    body.nodes.insert(0, body.nodes.pop())
                for mask in masks:
                    if mask is not None and None not in masks:
                        flag = replacement(body, node, LOGICAL_OR, flag, mask)
                        _move_before(body, node)
        return flag

    def place_in(self, body: Graph, node: Node) -> int:
        return 0 if node.op is SCATTER else self.edits[body][node][0]

    def masks(self, body: Graph, node: Node) -> list[Symbol | None]:
        """Return the masks of the parts that a node adds; None for parts without."""
        parts = [] if node.op is SCATTER else self.edits[body][node][1]
        return [part.mask for part in parts] or [None]

    def marked_cond(self, node: Node, k: int, flag: Symbol) -> Symbol:
        """Add an output to a cond: the flag of output k."""
        node.inputs = (*node.inputs, flag)
        at = len(node.outputs) - node.writes.bit_count()
        for body in node.bodies:
            y = self.marked(body, body.outputs[k], _parameter(body, flag, node))
            body.outputs.insert(at, y)
        made = symbol(flag.graph, node, at, flag.dtype, ())
        bodies.set_outputs(node, [*node.outputs[:at], made, *node.outputs[at:]])
        return made

    def marked_loop(self, node: Node, k: int, flag: Symbol) -> Symbol:
        """Add a carry to a loop: the flag of carry k."""
        parts, body = loop_parts(node), node.bodies[0]
        n, at, last = parts.n_carried, parts.carried.stop, len(node.inputs)
        y = self.marked(body, body.outputs[parts.first + k], _parameter(body, flag, node))
        body.outputs.insert(parts.first + n, y)
        node.inputs = (*node.inputs, flag)
        bodies.keep_inputs(node, [*range(at), last, *range(at, last)])
        made = symbol(flag.graph, node, n, flag.dtype, ())
        bodies.set_outputs(node, [*node.outputs[:n], made, *node.outputs[n:]])
        bodies.set_counts(node, parts, n_carried=n + 1)
        return made

    # --- rewriting ---

    def rewrite(self) -> None:
        """Replace the nodes of the path."""
        for body, edits in self.edits.items():
            old, body.nodes = body.nodes, []
            stands_for: dict[Symbol, Symbol] = {}
            for node in old:
                node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
                if node not in edits:
                    body.nodes.append(node)
                    continue
                place, parts = edits[node]
                stands_for[node.outputs[0]] = row_parts.summed(body, node, node.inputs[place],
                                                               parts)
            body.outputs = [stands_for.get(x, x) for x in body.outputs]

    def begin_with_zero(self, added: Symbol | None) -> None:
        """Begin the sum with its start + 0.0; after the loop, return the start if nothing was
        added."""
        graph, loop, place = self.graph, self.loop, self.place
        start, y = loop.inputs[place], loop.outputs[self.carry]
        at = graph.nodes.index(loop)
        rest = graph.nodes[at + 1:]
        del graph.nodes[at:]
        zero = graph.constant(as_tensor(0.0, y.dtype), loop.name, loop.line)
        negative = is_zero(number(start), negative=True)
        begin = (replacement(graph, loop, BROADCAST, zero, shape=y.known_shape) if negative
                 else replacement(graph, loop, ADD, start, zero))
        loop.inputs = (*loop.inputs[:place], begin, *loop.inputs[place + 1:])
        graph.nodes.append(loop)
        if added is not None:
            if negative:
                start = graph.constant(as_tensor(-0.0, y.dtype), loop.name, loop.line)
            instead = replacement(graph, loop, WHERE, added, y, start)
            for node in rest:
                node.inputs = tuple([instead if x is y else x for x in node.inputs])
            graph.outputs = [instead if x is y else x for x in graph.outputs]
        graph.nodes += rest
        graph.changes += 1


def _parameter(body: Graph, like: Symbol, node: Node) -> Symbol:
    """Add a parameter to a body, the last one."""
    made = body.add_leaf(PARAMETER, like, node.name, node.line, Input(len(body.inputs)))
    body.inputs.append(made)
    body.nodes.insert(0, body.nodes.pop())
    return made


def _move_before(graph: Graph, node: Node) -> None:
    """Move the last node of a graph to the position before another."""
    last = graph.nodes.pop()
    graph.nodes.insert(graph.nodes.index(node), last)


def _iterates(parts: LoopParts) -> bool:
    """Return True if a loop certainly has an iteration."""
    return not parts.tested and isinstance(parts.times, int) and 0 < parts.times < 1 << 40


def _place(body: Graph, x: Symbol) -> int | None:
    """Return the index of a parameter, or None."""
    return next((k for k, y in enumerate(body.inputs) if y is x), None)


def _alone(node: Node, place: int) -> bool:
    """Return True if a node reads an input once, and does not write it."""
    x = node.inputs[place]
    return sum([z is x for z in node.inputs]) == 1 and not node.writes >> place & 1
