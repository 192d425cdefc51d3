"""Lifetimes of values, and values that may share memory, for the planner and the peak estimate.
Time k is the execution of node k."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping

from dualflow._core import Symbol, get_op, view_offset
from dualflow.graph.ir import COND, LEAVES, LOOP, Graph, Node, is_dynamic, loop_parts
from dualflow.graph.program.arena import ALIGNMENT

ASSIGN = get_op("assign")
Readers = dict[Graph, "Counter[Symbol]"]       # of each graph, the number of uses of its values


def nbytes(x: Symbol) -> int:
    """Return the bytes of a value of known size."""
    return x.size * x.dtype.itemsize


def wave_spans(graph: Graph) -> list[tuple[int, int]]:
    """Return the first and last time at which each node may run: the span of its wave, if any."""
    spans = [(k, k) for k in range(len(graph.nodes))]
    members: dict[int, list[int]] = {}
    for k, node in enumerate(graph.nodes):
        if node.wave:
            members.setdefault(node.wave, []).append(k)
    for places in members.values():
        for k in places:
            spans[k] = places[0], places[-1]
    return spans


def last_uses(graph: Graph, spans: list[tuple[int, int]]) -> dict[Symbol, int]:
    """Return the last time at which each value, or a view of it, is read; -1: never."""
    n = len(graph.nodes)
    last = {y: -1 for node in graph.nodes for y in node.outputs}
    last.update((x, n) for x in graph.outputs)
    for k in range(n - 1, -1, -1):
        node = graph.nodes[k]
        for i, x in enumerate(node.inputs):
            if not (node.op.shape_only >> i & 1 or (node.op is ASSIGN and i == 0)):
                last[x] = max(last[x], spans[k][1])
        if node.op.kind == "view":
            last[node.inputs[0]] = max(last[node.inputs[0]], last[node.outputs[0]])
        if node.op.async_role == "wait":
            last.update((x, max(last[x], last[y]))
                        for x, y in zip(node.inputs[1:], node.outputs, strict=False))
    return last


def carry_chains(graph: Graph, carried: Mapping[int, Symbol]) -> dict[Symbol, Symbol]:
    """Return, for outputs of a body that may be in the memory of a parameter (`carried`), the
    parameter, if ops may compute one from the other there; and for each value between, the one
    before it.

    A value between has no other reader, so that the last op of a chain can always continue in the
    memory: only then may the first op overwrite the parameter.
    """
    before: dict[Symbol, Symbol] = {}
    readers: Readers = {}
    for k, x in carried.items():
        y = graph.outputs[k]
        before[y] = x
        after = _ancestors(graph, y, readers)
        following = after.get(x)
        while following is not None:
            before[following], x = x, following
            following = after[x]
    return before


def shared_inputs(node: Node) -> dict[int, int]:
    """Return, for outputs of a cond or loop that its bodies may compute in the memory of an input,
    the input."""
    found: dict[int, int] = {}
    readers: Readers = {}
    for k in range(len(node.outputs) - node.writes.bit_count()):
        place = _shared_input(node, k, readers)
        if place is not None and place not in found.values():
            found[k] = place
    return found


def _shared_input(node: Node, k: int, readers: Readers) -> int | None:
    y = node.outputs[k]
    if is_dynamic(y) or not y.ndim:
        return None
    if node.op is LOOP:
        parts, body = loop_parts(node), node.bodies[0]
        place = parts.carried.start + k
        held = k < parts.n_carried and body.inputs[place] in _ancestors(
            body, body.outputs[parts.first + k], readers)
        return place if held and _is_like(node.inputs[place], y) else None
    if node.op is not COND:
        return None
    places = [i for i, x in enumerate(node.inputs) if i and _is_like(x, y)]
    for body in node.bodies if places else ():
        after = _ancestors(body, body.outputs[k], readers)
        places = [i for i in places if body.inputs[i] in after]
    return places[0] if places else None


def _ancestors(graph: Graph, y: Symbol, readers: Readers) -> dict[Symbol, Symbol | None]:
    """Return the values from which ops may compute y in place, each with the next value."""
    counts = readers.get(graph)
    if counts is None:
        counts = readers[graph] = Counter([x for node in graph.nodes for x in node.inputs])
        counts.update(graph.outputs)
    after: dict[Symbol, Symbol | None] = {y: None}
    waiting = [y]
    while waiting:
        y = waiting.pop()
        if counts[y] == 1:
            found = [x for x in _may_hold(y, readers) if x not in after]
            after.update([(x, y) for x in found])
            waiting += reversed(found)
    return after


def _may_hold(y: Symbol, readers: Readers) -> list[Symbol]:
    """Return the inputs in whose memory the op of y may compute y."""
    node = y.node
    if node.op in LEAVES or node.op.kind == "view" or node.wave or is_dynamic(y):
        return []
    if node.bodies:
        place = _shared_input(node, y.index, readers)
        return [] if place is None else [node.inputs[place]]
    if len(node.outputs) > 1 or any(map(is_dynamic, node.inputs)):
        return []
    return [x for i, x in enumerate(node.inputs)
            if node.op.may_alias >> min(i, 31) & 1 and _is_like(x, y)]


def _is_like(x: Symbol, y: Symbol) -> bool:
    return (not is_dynamic(x) and x.shape == y.shape
            and x.dtype.itemsize == y.dtype.itemsize)


# --- values that are computed in the memory of a concat or stack ---

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
    assert node.attrs is not None
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
