"""Folds Transpose nodes into MatMul nodes, since dualflow's matmul has transpose flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy

from dualflow.onnx.importers.registry import Node


def fold(nodes: list[Node], kept: Callable[[], Iterator[str]]) -> list[Node]:
    """Return the nodes with transpositions of the factors of products folded into the products.

    `kept` returns the names that are read other than as inputs of nodes. The sums of such a product
    are computed in another order than for matrices that are stored transposed.
    """
    turned = {node.outputs[0]: node.inputs[0] for node in nodes
              if node.kind == "Transpose" and node.outputs and _turns(node.attrs.get("perm"))}
    if not turned:
        return nodes
    made = []
    for node in nodes:
        if node.kind == "MatMul" and not turned.keys().isdisjoint(node.inputs):
            flags = [x in turned for x in node.inputs]
            node = copy(node)
            node.attrs = {"transpose_a": flags[0], "transpose_b": flags[1]}
            node.inputs = [turned.get(x, x) for x in node.inputs]
        made.append(node)
    read = {x for node in made for x in node.inputs} | set(kept())
    return [node for node in made if not node.outputs or node.outputs[0] not in turned
            or node.outputs[0] in read]


def _turns(perm: list[int] | None) -> bool:
    """Return True if a permutation exchanges the last two dimensions and no others."""
    n = len(perm or [])
    return n >= 2 and perm == [*range(n - 2), n - 1, n - 2]
