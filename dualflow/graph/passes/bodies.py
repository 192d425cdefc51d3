"""Simplification of the inputs and outputs of nodes with bodies.

    constant input                  a constant in the body, where other passes see it
    repeated input                  one input
    input that no body reads        removed
    carry that never changes        a captured input; readers of the output read the input
    output that is not read         removed, and also a carry that only its own update reads
    branch that is always taken     replaces its node

Exact: no node is added or changed, only nodes of branches that are never taken disappear. The
predicate of a cond, and trip limit, condition and carries of a loop, are removed by no rule for
inputs. `loop_sums`, `recompute`, `residuals` and `packing` call functions of this file.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import Symbol, symbol
from dualflow.dtypes import uint8
from dualflow.graph.ir import (
    CALL,
    COND,
    CONSTANT,
    LOOP,
    Graph,
    Input,
    LoopParts,
    Node,
    graphs,
    loop_attrs,
    loop_parts,
)
from dualflow.graph.passes import dead_code, inline, versions
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import constant_of


def run(graph: Graph, options: Options) -> Graph:
    """Simplify all nodes with bodies, outer ones first: the inner ones read the parameters."""
    taken = 0
    for one in reversed(graphs(graph)):
        before = one.changes
        _Owners(one, options).run()
        taken += sum([node.op is CALL for node in one.nodes])
        if one is not graph:
            graph.changes += one.changes - before
            one.changes = before
    for one in graphs(graph):               # inner graphs first: facts derive from inner facts
        for node in one.nodes:
            if node.bodies:
                node.own(node.bodies)
    return versions.run(inline.run(graph, options), options) if taken else graph


class _Owners:
    """The nodes with bodies of one graph."""

    def __init__(self, graph: Graph, options: Options) -> None:
        self.graph = graph
        self.options = options
        self.stands_for: dict[Symbol, Symbol] = {}
        self.overwritten = {before for node in graph.nodes for before, _ in node.written}

    def run(self) -> None:
        """Drop unread outputs in a backward pass over the nodes, then simplify inputs in a forward
        pass, which also replaces outputs of removed carries."""
        if not any([node.bodies for node in self.graph.nodes]):
            return
        read = set(self.graph.outputs)
        for node in reversed(self.graph.nodes):
            if node.bodies:
                _drop_outputs(self.graph, node, read, self.options)
            read.update(node.inputs)
        for node in self.graph.nodes:
            node.inputs = tuple([self.stands_for.get(x, x) for x in node.inputs])
            if node.op is LOOP:
                self.free_unchanged(node)
            if node.op in (LOOP, COND):
                tidy_inputs(self.graph, node)
            if node.op is COND:
                self.choose(node)
        self.graph.outputs = [self.stands_for.get(x, x) for x in self.graph.outputs]

    def free_unchanged(self, node: Node) -> None:
        """Turn carries that the body returns unchanged into captured inputs."""
        parts, body = loop_parts(node), node.bodies[0]
        same = [c for c in range(parts.n_carried)
                if body.outputs[parts.first + c] is body.inputs[parts.carried.start + c]
                and node.inputs[parts.carried.start + c] not in self.overwritten
                and node.inputs[parts.carried.start + c].known_shape == node.outputs[c].known_shape]
        if not same:
            return
        for c in same:
            self.stands_for[node.outputs[c]] = node.inputs[parts.carried.start + c]
        places = [parts.carried.start + c for c in same]
        rest = [k for k in range(len(node.inputs)) if k not in set(places)]
        keep_inputs(node, [*rest[:parts.captured.start - len(same)], *places,
                            *rest[parts.captured.start - len(same):]])
        keep_outputs(node, parts, set(same))
        self.graph.changes += len(same)

    def choose(self, node: Node) -> None:
        """If the index is constant, replace the cond by a call, which `run` inlines."""
        index = constant_of(node.inputs[0])
        if index is None:
            return
        k, n = int(index.item()), len(node.bodies)
        body = node.bodies[k if 0 <= k < n else n - 1]
        made = [(y.dtype, y.known_shape) for y in body.outputs]
        if made != [(y.dtype, y.known_shape) for y in node.outputs]:
            return
        node.op, node.attrs = CALL, None
        node.own([body])
        self.graph.changes += 1


# --- outputs ---

def _drop_outputs(graph: Graph, node: Node, read: set[Symbol], options: Options) -> None:
    """Drop outputs that are not read, except for versions."""
    n = len(node.outputs) - len(node.written)
    unread = {k for k in range(n) if node.outputs[k] not in read}
    if node.op is LOOP:
        parts = loop_parts(node)
        unread = _unneeded(node, parts, unread)
        if unread:
            places = [parts.carried.start + c for c in unread if c < parts.n_carried]
            keep_outputs(node, parts, unread)
            dead_code.run(node.bodies[0], options)
            keep_inputs(node, [k for k in range(len(node.inputs)) if k not in places])
    elif node.op is COND and unread:
        for body in node.bodies:
            body.outputs = [y for k, y in enumerate(body.outputs) if k not in unread]
        set_outputs(node, [y for k, y in enumerate(node.outputs) if k not in unread])
    else:
        return
    graph.changes += len(unread)


def _unneeded(node: Node, parts: LoopParts, unread: set[int]) -> set[int]:
    """Return the outputs of a loop that are not read outside and, if carried, contribute to no
    other output."""
    body, first = node.bodies[0], parts.first
    carried = {body.inputs[parts.carried.start + c]: c for c in range(parts.n_carried)}
    wanted = set(body.outputs[:first])
    wanted.update(body.outputs[len(body.outputs) - len(node.written):] if node.written else ())
    needed = {k for k in range(len(node.outputs) - len(node.written)) if k not in unread}
    if parts.tested:
        needed.add(parts.n_carried)             # the trip count
    while True:
        for k in needed:
            if k < parts.n_carried:
                wanted.add(body.outputs[first + k])
            elif k >= parts.stacked.start:
                wanted.add(body.outputs[k])
        for inner in reversed(body.nodes):
            if inner.effect or inner.may_raise or not wanted.isdisjoint(inner.outputs):
                wanted.update(inner.inputs)
        more = {c for x, c in carried.items() if x in wanted} - needed
        if not more:
            return unread - needed
        needed |= more


def keep_outputs(node: Node, parts: LoopParts, dropped: set[int]) -> None:
    """Drop outputs of a loop. The caller has moved or removes the inputs of dropped carries."""
    body = node.bodies[0]
    gone = {k + parts.first if k < parts.n_carried else k for k in dropped}
    body.outputs = [y for k, y in enumerate(body.outputs) if k not in gone]
    set_outputs(node, [y for k, y in enumerate(node.outputs) if k not in dropped])
    carried = sum([k < parts.n_carried for k in dropped])
    stacked = [k for k in range(parts.stacked.start, parts.stacked.stop) if k not in dropped]
    packed = sum([(parts.packed >> k - parts.stacked.start & 1) << n
                  for n, k in enumerate(stacked)])
    set_counts(node, parts, n_carried=parts.n_carried - carried, packed=packed)


def stack(graph: Graph, loop: Node, x: Symbol) -> Symbol:
    """Return the output of a loop that stacks a value of its body; add the output if needed."""
    parts, body = loop_parts(loop), loop.bodies[0]
    for k in range(parts.stacked.start, parts.stacked.stop):
        if body.outputs[k] is x:
            return loop.outputs[k]
    at, packed = parts.stacked.stop, None in x.known_shape
    rows = None if parts.tested or parts.times < 0 else parts.times
    made = symbol(graph, loop, at, uint8 if packed else x.dtype,
                  (None,) if packed else (rows, *x.known_shape))
    body.outputs.insert(at, x)
    set_outputs(loop, [*loop.outputs[:at], made, *loop.outputs[at:]])
    set_counts(loop, parts, packed=parts.packed | packed << (at - parts.stacked.start))
    return made


def set_outputs(node: Node, outputs: Sequence[Symbol]) -> None:
    """Set the outputs of a node."""
    for k, y in enumerate(outputs):
        y.index = k
    node.outputs = tuple(outputs)


def set_counts(node: Node, parts: LoopParts, n_carried: int | None = None,
               n_sliced: int | None = None, packed: int | None = None) -> None:
    """Set attributes of a loop; None leaves an attribute unchanged."""
    node.attrs = loop_attrs(
        parts.times, parts.n_carried if n_carried is None else n_carried,
        parts.sliced.stop - parts.sliced.start if n_sliced is None else n_sliced,
        parts.tested, parts.reverse, parts.packed if packed is None else packed, parts.recompute)


# --- inputs ---

def tidy_inputs(graph: Graph, node: Node) -> None:
    """Move constants into the bodies; merge repeated inputs; drop inputs that no body reads."""
    parts = loop_parts(node) if node.op is LOOP else None
    start = parts.captured.start if parts else 1
    first: dict[Symbol, int] = {}
    instead: list[dict[Symbol, Symbol]] = [{} for _ in node.bodies]
    keep = list(range(start))
    written = node.writes
    read = [{x for inner in body.nodes for x in inner.inputs} | set(body.outputs)
            for body in node.bodies]
    for k in range(start, len(node.inputs)):
        x = node.inputs[k]
        if written >> k & 1:
            keep.append(k)
        elif not any([body.inputs[k] in seen for body, seen in zip(node.bodies, read,
                                                                     strict=True)]):
            continue
        elif x.node.op is CONSTANT:
            for body, inside in zip(node.bodies, instead, strict=True):
                inside[body.inputs[k]] = _constant(body, x)
        elif x in first:
            for body, inside in zip(node.bodies, instead, strict=True):
                inside[body.inputs[k]] = body.inputs[first[x]]
        else:
            first[x] = k
            keep.append(k)
    if parts is not None and not written & (1 << start) - 1:
        unread = [k for k in range(parts.sliced.start, parts.sliced.stop)
                  if node.bodies[0].inputs[k] not in read[0]]
        if unread and (parts.times >= 0 or len(unread) < parts.sliced.stop - parts.sliced.start):
            keep = [k for k in keep if k not in unread]
            set_counts(node, parts, n_sliced=parts.sliced.stop - parts.sliced.start - len(unread))
    for body, inside in zip(node.bodies, instead, strict=True):
        _substitute(body, inside)
    if len(keep) < len(node.inputs):
        graph.changes += len(node.inputs) - len(keep)
        keep_inputs(node, keep)


def keep_inputs(node: Node, keep: Sequence[int]) -> None:
    """Select the inputs of a node by index, in the given order."""
    node.inputs = tuple([node.inputs[k] for k in keep])
    for body in node.bodies:
        inputs = [body.inputs[k] for k in keep]
        gone = {x.node for x in body.inputs} - {x.node for x in inputs}
        body.inputs = inputs
        for k, x in enumerate(inputs):
            x.node.data = Input(k)
        if gone:
            body.nodes = [inner for inner in body.nodes if inner not in gone]
    node.writes = _moved(node.writes, keep)


def _moved(writes: int, keep: Sequence[int]) -> int:
    return sum([(writes >> k & 1) << place for place, k in enumerate(keep)])


def _constant(body: Graph, x: Symbol) -> Symbol:
    """Add a constant at the beginning of a body."""
    made = body.constant(x.node.data, x.node.name, x.node.line)
    body.nodes.insert(0, body.nodes.pop())
    return made


def _substitute(body: Graph, instead: dict[Symbol, Symbol]) -> None:
    if not instead:
        return
    for inner in body.nodes:
        inner.inputs = tuple([instead.get(x, x) for x in inner.inputs])
    body.outputs = [instead.get(y, y) for y in body.outputs]
