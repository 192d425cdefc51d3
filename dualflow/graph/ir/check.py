"""The verifier of graphs: the invariants that every pass must preserve (docs/ir.md).

Tests call `check` after each pass; programs do not. A new invariant of the IR belongs here.
"""

from __future__ import annotations

from collections import Counter

from dualflow._core import Symbol
from dualflow.graph.ir import control_flow
from dualflow.graph.ir.graph import Graph, graphs, outputs_of
from dualflow.graph.ir.node import CONSTANT, LEAVES, PARAMETER, Input, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class IRError(AssertionError):
    """A graph breaks an invariant: a bug of dualflow, not of the caller."""


def check(graph: Graph) -> None:
    """Raise IRError if a graph, or a body of a node, breaks an invariant.

    Every value is defined once and before it is used; dtypes and shapes are those that the shape
    rule or the bodies determine; a version of a variable is overwritten at most once and not read
    afterwards; the nodes of a wave are consecutive and independent of each other; bodies are bound
    to their node as described in docs/ir.md.
    """
    for one in graphs(graph):
        _check_values(one)
        for node in one.nodes:
            if node.bodies or node.op.n_bodies:
                _check_facts(one, node)
                for k, body in enumerate(node.bodies):
                    _check_bound(one, node, k, body)


def _check_values(graph: Graph) -> None:
    defined: set[Symbol] = set()
    overwritten: dict[Symbol, Node] = {}
    for node in graph.nodes:
        for x in node.inputs:
            if x not in defined:
                raise IRError(f"{node.name} reads {x!r} before it is defined, in\n{graph}")
            if x in overwritten:
                raise IRError(f"{node.name} reads {x!r}, which {overwritten[x].name} has "
                              f"overwritten, in\n{graph}")
        _check_outputs(graph, node)
        for k, y in enumerate(node.outputs):
            if y in defined or y.node is not node or y.index != k or y.graph is not graph:
                raise IRError(f"output {k} of {node.name} is {y!r}, in\n{graph}")
            defined.add(y)
        for before, _ in node.written:
            overwritten[before] = node
    for x in [*graph.inputs, *graph.outputs]:
        if x not in defined:
            raise IRError(f"{x!r} is an input or output but not defined, in\n{graph}")
    if any(x.node.op is not PARAMETER for x in graph.inputs):
        raise IRError(f"an input is not a parameter, in\n{graph}")
    for x in graph.outputs:
        if x in overwritten:
            raise IRError(f"{x!r} is returned but {overwritten[x].name} overwrites it, in\n{graph}")
    _check_waves(graph)


def _check_waves(graph: Graph) -> None:
    """Check that the nodes of a wave are consecutive, independent and without effects."""
    begun, wave = {0}, 0
    made: set[Symbol] = set()
    for node in graph.nodes:
        if node.wave != wave:
            wave = node.wave
            made.clear()
            if wave and wave in begun:
                raise IRError(f"{node.name} is apart from the rest of wave {wave}, in\n{graph}")
            begun.add(wave)
        if wave and (node.effect or any([x in made for x in node.inputs])):
            raise IRError(f"{node.name} cannot run in parallel in wave {wave}, in\n{graph}")
        made.update(node.outputs)


def _check_outputs(graph: Graph, node: Node) -> None:
    if node.op in LEAVES:
        return
    want = [(y.dtype, y.known_shape) for y in outputs_of(node, graph)]
    have = [(y.dtype, y.known_shape) for y in node.outputs]
    if want != have:
        raise IRError(f"{node.name} has outputs {have}, expected {want}, in\n{graph}")


def _check_bound(graph: Graph, node: Node, k: int, body: Graph) -> None:
    """Check that a body has one parameter per input of its node, and that its last outputs are the
    last versions of the written inputs."""
    def fail(text: str) -> NoReturn:
        raise IRError(f"{text}: body {k} of {node.name}, in\n{graph}")

    if [x.node.data for x in body.inputs] != [Input(i) for i in range(len(node.inputs))]:
        fail("the inputs are not those of the node")
    for x, (dtype, shape) in zip(body.inputs, control_flow.given(node), strict=True):
        if x.dtype is not dtype or not _agree(x.known_shape, shape):
            fail(f"{x!r} is bound to {dtype} {shape}")
    inside = set(body.inputs)
    for leaf in body.nodes:
        if leaf.op in LEAVES and leaf.op is not CONSTANT and leaf.outputs[0] not in inside:
            fail(f"{leaf.name} is neither an input nor a constant")
    written = [x for i, x in enumerate(body.inputs) if node.writes >> i & 1]
    version_of = {x: x for x in written}
    for before, after in [both for at in body.nodes for both in at.written]:
        if before not in version_of:
            fail(f"{after!r} is a version of a value that is not a variable")
        version_of[after] = version_of.pop(before)
    now = {x: version for version, x in version_of.items()}
    last = body.outputs[len(body.outputs) - len(written):]
    if len(last) < len(written) or any(y is not now[x] for x, y in zip(written, last, strict=True)):
        fail("the last outputs are not the last versions of the written inputs")


def _agree(one: control_flow.Shape, other: control_flow.Shape) -> bool:
    """Return True if two shapes have the same rank and no known size differs."""
    return len(one) == len(other) and all(
        [None in (n, m) or n == m for n, m in zip(one, other, strict=True)])


def _check_facts(graph: Graph, node: Node) -> None:
    if len(node.bodies) != node.op.n_bodies and not (node.op.n_bodies < 0 and node.bodies):
        raise IRError(f"{node.name} owns {len(node.bodies)} bodies, expected "
                      f"{node.op.n_bodies}, in\n{graph}")
    fresh = Node(node.op, node.inputs, node.attrs, node.outputs, line=node.line, bodies=node.bodies)
    fresh.own(node.bodies, node.writes)
    if (fresh.writes, fresh.effect, fresh.may_raise) != (node.writes, node.effect,
                                                         node.may_raise):
        raise IRError(f"{node.name} has stale facts: its bodies have changed, in\n{graph}")
    times = Counter(node.inputs)
    for x, _ in node.written:
        if times[x] > 1:
            raise IRError(f"{node.name} writes {x!r}, which is an input twice, in\n{graph}")
