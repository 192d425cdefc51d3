"""Rewrites of the nodes of a graph that loading does once.

Transpose nodes become flags of MatMul nodes, since dualflow's matmul has such flags. Constant
filters and biases of convolutions are stored as dualflow reads them, so that no call moves them.
Constant matrices of products become weights, of which programs store only the packed matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy

from dualflow._core import Tensor
from dualflow.dtypes import float32
from dualflow.graph.ir import Weight
from dualflow.onnx.importers.registry import Node
from dualflow.ops.array.shape import reshape, transpose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILTERS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3}       # positions of inputs


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


def lay_out(nodes: list[Node], constants: dict[str, Any],
            kept: Callable[[], Iterator[str]]) -> list[Node]:
    """Return the nodes for constant filters and biases of convolutions in dualflow's layout, to
    which the constants are changed. Matrices of one product become a `Weight`.

    `kept` returns the names that are read other than as inputs of nodes.
    """
    uses = Counter([x for node in nodes for x in node.inputs])
    uses.update(kept())

    def constant(node: Node, k: int) -> Any:
        """Return an input that is a constant of this node alone, or None."""
        name = node.inputs[k] if k < len(node.inputs) else ""
        x = constants.get(name) if uses[name] == 1 else None
        return x if isinstance(x, Tensor) else None

    made = []
    for node in nodes:
        at = FILTERS.get(node.kind)
        filters = None if at is None else constant(node, at)
        if at is not None and filters is not None and 3 <= filters.ndim <= 5:
            node = copy(node)
            node.attrs = {**node.attrs, "filters_last": True}
            constants[node.inputs[at]] = transpose(filters, [*range(2, filters.ndim), 1, 0])
            bias = constant(node, 2) if node.kind == "Conv" else None
            if bias is not None and bias.ndim == 1:
                node.attrs["bias_first"] = True
                constants[node.inputs[2]] = reshape(bias, [-1] + [1] * (filters.ndim - 2))
        matrix = constant(node, 1) if node.kind in ("MatMul", "Gemm") else None
        if (matrix is not None and matrix.ndim == 2 and matrix.dtype is float32
                and 1 << 16 < matrix.nbytes < 1 << 33):
            constants[node.inputs[1]] = Weight(matrix)
        made.append(node)
    return made
