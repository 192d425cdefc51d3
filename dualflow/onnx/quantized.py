"""Rewrites products between DequantizeLinear and QuantizeLinear as products of integers.

    QuantizeLinear(Conv(DequantizeLinear(x), DequantizeLinear(w), DequantizeLinear(b)))

becomes QLinearConv(x, w, b), and MatMul and Gemm become QLinearMatMul, if x and w are int8 or
uint8, the scales and zero points are constants, the bias has the scale of the product, and nothing
else reads the product. A Relu before QuantizeLinear is omitted if the zero point is the least
integer. The sums are then exact, and rounded once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from dualflow._core import Tensor
from dualflow.dtypes import float32, int8, int32, uint8
from dualflow.onnx.importers.registry import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SAME_SCALE = 1e-5           # relative difference of the scales of a bias and of its product


def integer_products(nodes: list[Node], constants: Mapping[str, Any],
                     kept: Callable[[], Iterator[str]]) -> list[Node]:
    """Return the nodes with products of dequantized integers as products of integers.

    `kept` returns the names that are read other than as inputs of nodes.
    """
    if not any([node.kind == "QuantizeLinear" for node in nodes]):
        return nodes
    finder = _Finder(nodes, constants, kept)
    made = [finder.product_before(node) or node for node in nodes]
    if made == nodes:
        return nodes
    made = [node for node in made if node not in finder.merged]
    read = {x for node in made for x in node.inputs} | set(kept())
    return [node for node in made if node.kind != "DequantizeLinear"
            or not read.isdisjoint(node.outputs)]


class _Finder:
    """Finds products between quantization operators.

    Attributes
    ----------
    merged : set of Node
        The nodes that became part of a product of integers.
    """

    def __init__(self, nodes: list[Node], constants: Mapping[str, Any],
                 kept: Callable[[], Iterator[str]]) -> None:
        self.constants = constants
        self.merged: set[Node] = set()
        self._makers: dict[str, Node] = {y: node for node in nodes for y in node.outputs}
        self._uses = Counter([x for node in nodes for x in node.inputs])
        self._uses.update(kept())

    def product_before(self, last: Node) -> Node | None:
        """Return the product of integers whose result is that of a QuantizeLinear node, or None."""
        if last.kind != "QuantizeLinear" or last("block_size") or not self._is_quantized(last):
            return None
        inside = [self._only_maker(last.inputs[0])]
        if inside[0] is not None and inside[0].kind == "Relu":
            zero = self._value(last.inputs[2])
            if zero.item() != zero.dtype.min:
                return None
            inside.append(self._only_maker(inside[0].inputs[0]))
        node = inside[-1]
        if node is None or node.kind not in ("Conv", "MatMul", "Gemm") or (
                node("transpose_a") or node("transA")
                or node("alpha", 1.0) != 1.0 or node("beta", 1.0) != 1.0):
            return None
        x, w = self._dequantized(node.inputs[0]), self._dequantized(node.inputs[1])
        if x is None or w is None or not self._is_quantized(x) or not self._is_filters(node, w):
            return None
        inputs = [*_three(x), *_three(w), *last.inputs[1:3]]
        if len(node.inputs) > 2 and node.inputs[2]:
            bias = self._bias(node.inputs[2], x, w)
            if bias is None:
                return None
            inputs.append(bias)
        kind, attrs = "QLinearConv", dict(node.attrs)
        if node.kind != "Conv":
            kind, attrs = "QLinearMatMul", {
                "transpose_b": bool(node("transpose_b") or node("transB"))}
        made = Node(kind, attrs, node.version, inputs, last.outputs)
        made.body = node.body
        self.merged.update([each for each in inside if each is not None])
        return made

    def _only_maker(self, name: str) -> Node | None:
        """Return the node that makes a value which has one reader, or None."""
        return self._makers.get(name) if self._uses[name] == 1 else None

    def _dequantized(self, name: str) -> Node | None:
        node = self._makers.get(name)
        return node if node is not None and node.kind == "DequantizeLinear" and not node(
            "block_size") else None

    def _value(self, name: str) -> Any:
        """Return a constant, or None."""
        x = self.constants.get(name)
        if x is None and name in self._makers and self._makers[name].kind == "Constant":
            x = self._makers[name]("value")
        return x if isinstance(x, Tensor) else None

    def _is_quantized(self, node: Node) -> bool:
        """Return True if a quantization operator has one scale and one zero point."""
        if len(node.inputs) < 3:
            return False
        scale, zero = [self._value(x) for x in node.inputs[1:3]]
        return (scale is not None and zero is not None and scale.dtype is float32
                and scale.size == zero.size == 1 and zero.dtype in (int8, uint8))

    def _is_filters(self, product: Node, w: Node) -> bool:
        """Return True if the right operand of a product has one scale, or one for each output."""
        if self._is_quantized(w):
            return True
        scale, stored = self._value(w.inputs[1]), self._value(w.inputs[0])
        zero = self._value(w.inputs[2]) if _three(w)[2] else None
        if scale is None or stored is None or scale.dtype is not float32 or (
                _three(w)[2] and zero is None) or stored.dtype not in (int8, uint8):
            return False
        flipped = product.kind == "Conv" or bool(product("transpose_b") or product("transB"))
        if product.kind != "Conv" and stored.ndim != 2:
            return False
        outputs = 0 if flipped else 1
        shape = (stored.shape[outputs],)
        return scale.size == 1 or (w("axis", 1) % stored.ndim == outputs and scale.shape == shape
                                   and (zero is None or zero.shape == shape))

    def _bias(self, name: str, x: Node, w: Node) -> str | None:
        """Return the name of the int32 bias if it has the scale of the product, or None."""
        node = self._dequantized(name)
        if node is None:
            return None
        b, scale = self._value(node.inputs[0]), self._value(node.inputs[1])
        zero = self._value(node.inputs[2]) if _three(node)[2] else None
        if b is None or scale is None or b.dtype is not int32 or b.ndim != 1 or (
                _three(node)[2] and (zero is None or zero.numpy().any())):
            return None
        of_x, of_w, given = [self._value(node.inputs[1]).numpy().ravel() for node in (x, w, node)]
        product = of_x * of_w
        return node.inputs[0] if given.size in (1, product.size) and bool(
            (abs(given - product) <= SAME_SCALE * product).all()) else None


def _three(node: Node) -> list[str]:
    """Return the names of the quantized tensor, the scale, and the zero point or ""."""
    return [*node.inputs, ""][:3]
