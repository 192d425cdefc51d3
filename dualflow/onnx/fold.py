"""Nodes that are one op here: products of transposed matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy

from dualflow.onnx.operators.registry import Node


def fold(nodes: list[Node], kept: Callable[[], Iterator[str]]) -> list[Node]:
    """The nodes without transpositions that only turn the factors of products.

    `kept` are the names that are read besides the nodes' own inputs. A product of turned matrices
    adds in another order than one of matrices that lie turned in memory.
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
    """Whether the last two dimensions change places and no other one."""
    n = len(perm or [])
    return n >= 2 and perm == [*range(n - 2), n - 1, n - 2]
