"""The rules that graphs keep."""

from __future__ import annotations

from dualflow._core import Symbol, infer
from dualflow.graph.ir.graph import Graph
from dualflow.graph.ir.node import LEAVES, PARAMETER, Node


class IRError(AssertionError):
    """A pass left a graph that breaks the rules: a fault of dualflow's, not of the caller's."""


def check(graph: Graph) -> None:
    """Raises IRError where the graph breaks a rule.

    Every value is defined once and before it is used; dtypes and shapes are what the op's rule
    says; a version of a variable is written once, and nobody reads it after that; nodes of a wave
    stand in a row, and none needs another.
    """
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
            raise IRError(f"{x!r} is named but not defined, in\n{graph}")
    if any(x.node.op is not PARAMETER for x in graph.inputs):
        raise IRError(f"an input is no parameter, in\n{graph}")
    for x in graph.outputs:
        if x in overwritten:
            raise IRError(f"{x!r} is returned but {overwritten[x].name} overwrites it, in\n{graph}")
    _check_waves(graph)


def _check_waves(graph: Graph) -> None:
    """Those of one wave stand in a row, without effects, and none reads what another makes."""
    begun, wave = {0}, 0
    made: set[Symbol] = set()
    for node in graph.nodes:
        if node.wave != wave:
            wave = node.wave
            made.clear()
            if wave and wave in begun:
                raise IRError(f"{node.name} stands apart from wave {wave}, in\n{graph}")
            begun.add(wave)
        if wave and (node.op.effect or any([x in made for x in node.inputs])):
            raise IRError(f"{node.name} cannot run beside others in wave {wave}, in\n{graph}")
        made.update(node.outputs)


def _check_outputs(graph: Graph, node: Node) -> None:
    if node.op in LEAVES:
        return
    want = [(y.dtype, y.known_shape) for y in infer(node.op, list(node.inputs), node.attrs, graph)]
    want += [(x.dtype, x.known_shape) for x, _ in node.written]
    have = [(y.dtype, y.known_shape) for y in node.outputs]
    if want != have:
        raise IRError(f"{node.name} has outputs {have}, its op says {want}, in\n{graph}")
