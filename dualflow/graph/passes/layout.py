"""Transposes from channels last to channels first move behind their readers, until they cancel.

The kernels of convolutions and pooling expect channels last. A program in channels first (NCHW)
therefore transposes before and after each of them:

    relu(transpose(x))                      transpose(relu(x))
    add(transpose(x), transpose(y))         transpose(add(x, y))
    add(transpose(x), bias)                 transpose(add(x, transposed bias))
    concat, split, pad, strided_slice       the same along the dimensions of x
    reshape that splits or merges sizes     the same on x, then a transpose of more dimensions
    reduce_mean(transpose(x))               channel_mean(x), which adds in the same order

`reshapes` then removes a transpose that meets its inverse, and turns the transpose of a bias, which
moves only sizes of 1, into a reshape. A node moves in front of a transpose if the path from its
result leads to an inverse transpose or to a reduction over all sizes, or if it can become the
epilogue of a product. Other reductions stay behind: in the other order of dimensions their sums
have other bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod

from dualflow._core import Op, Symbol, get_op
from dualflow.dtypes import float32
from dualflow.graph.ir import Graph, Node, edit
from dualflow.graph.passes.epilogue import WITH_EPILOGUE
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.reshapes import RESHAPE, RESHAPES, TRANSPOSE, perm
from dualflow.graph.passes.values import is_known, replacement, source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONCAT, SPLIT, PAD = get_op("concat"), get_op("split"), get_op("pad")
SLICE = get_op("strided_slice")
CHANNEL_REDUCTIONS = {get_op(f"reduce_{of}"): get_op(f"channel_{of}")
                      for of in ("sum", "mean", "sum_of_squares", "mean_of_squares", "variance")}
WHOLE = -2**63              # begin and end of a slice without bounds
PLAIN = 0                   # kind of a slice: from begin to end

Order = tuple[int, ...]


def run(graph: Graph, options: Options) -> Graph:
    """Move transposes to channels first behind their readers."""
    if not any([node.op is TRANSPOSE and perm(node) == channels_first(len(perm(node)))
                for node in graph.nodes]):
        return graph
    return edit(graph, _Layout(graph).visit)


def channels_first(n: int) -> Order:
    """Return the permutation of `n` dimensions that makes the last one the second, or ()."""
    return (0, n - 1, *range(1, n - 1)) if n > 2 else ()


def inverse(order: Order) -> Order:
    """Return the inverse of a permutation."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


class _Layout:
    """The state of one walk.

    Attributes
    ----------
    wanted : set of Symbol
        Values on a path to a transpose to channels last.
    uses : dict of Symbol to int
        The number of uses of a value, outputs of the graph included.
    moved : set of Symbol
        The results of transposes that may move behind their readers.
    products : set of Symbol
        The results of products, and of the elementwise nodes that follow them and have moved.
    """

    def __init__(self, graph: Graph) -> None:
        self.uses: dict[Symbol, int] = Counter(graph.outputs)
        self.wanted: set[Symbol] = set()
        self.moved: set[Symbol] = set()
        self.products: set[Symbol] = set()
        for node in reversed(graph.nodes):
            for x in node.inputs:
                self.uses[x] += 1
            if _reads_channels_last(node):
                self.wanted.add(node.inputs[0])
            elif ((node.op.kind == "elementwise" or node.op in RULES)
                    and not self.wanted.isdisjoint(node.outputs)):
                self.wanted.update(node.inputs)

    def visit(self, graph: Graph, node: Node) -> Sequence[Symbol] | None:
        """Return replacements of the outputs of a node on transposed inputs: transposes."""
        if node.op in WITH_EPILOGUE:
            self.products.update(node.outputs)
        if self.moved.isdisjoint(node.inputs):
            if node.op is TRANSPOSE and perm(node) == channels_first(len(perm(node))):
                self.moved.update(node.outputs)
            return None
        if node.op in CHANNEL_REDUCTIONS:
            return _reduced(graph, node)
        rule = _elementwise if node.op.kind == "elementwise" else RULES.get(node.op)
        if rule is None or not self._is_worth_it(node):
            return None
        at = next(i for i, x in enumerate(node.inputs) if x in self.moved)
        order = perm(node.inputs[at].node)
        inputs = [y for x in node.inputs
                  if (y := x.node.inputs[0] if x in self.moved and perm(x.node) == order
                      else _transposed(graph, node, x, order)) is not None]
        made = rule(graph, node, inputs, order) if len(inputs) == len(node.inputs) else None
        if made is None or any([a.known_shape != b.known_shape
                                for a, b in zip(made, node.outputs, strict=True)]):
            return None
        for before, after in zip(node.outputs, made, strict=True):
            self.uses[after] = self.uses[before]
            self.moved.add(after)
            if node.op.kind == "elementwise" and not self.products.isdisjoint(inputs):
                self.products.update(after.node.inputs)
        return made

    def _is_worth_it(self, node: Node) -> bool:
        """Return True if a transpose behind the node may cancel, or if the node can be in the
        epilogue of the product that is transposed, and is the only reader of the transpose."""
        if not self.wanted.isdisjoint(node.outputs):
            return True
        if node.op.kind != "elementwise":
            return False
        large = [x for x in node.inputs if x.known_shape == node.outputs[0].known_shape]
        return bool(large) and all([x in self.moved and self.uses[x] == 1
                                    and x.node.inputs[0] in self.products for x in large])


def _reads_channels_last(node: Node) -> bool:
    """Return True for a transpose to channels last, and a reduction of all sizes."""
    if node.op is TRANSPOSE:
        return perm(node) == inverse(channels_first(len(perm(node))))
    return node.op in CHANNEL_REDUCTIONS and _channel_reduction(node) is not None


def _channel_reduction(node: Node) -> dict[str, bool] | None:
    """Return the attributes of the op that reduces all sizes of an input in channels last, and
    possibly the batch; None for a reduction of other dimensions or dtypes."""
    x, attrs = node.inputs[0], node.attr_dict
    axes = {axis % x.ndim for axis in attrs["axes"]} if x.ndim > 2 else set()
    if axes - {0} != set(range(2, x.ndim)) or not axes or x.dtype is not float32:
        return None
    return {"over_batch": 0 in axes, "keepdims": attrs["keepdims"]}


def _reduced(graph: Graph, node: Node) -> list[Symbol] | None:
    """Return the reduction of the tensor before the transpose, which has the same bits."""
    attrs = _channel_reduction(node)
    x = node.inputs[0]
    if attrs is None or perm(x.node) != channels_first(x.ndim):
        return None
    return [replacement(graph, node, CHANNEL_REDUCTIONS[node.op], x.node.inputs[0], **attrs)]


def _transposed(graph: Graph, node: Node, x: Symbol, order: Order) -> Symbol | None:
    """Return an operand that broadcasts against dimensions in the order before the transpose."""
    x = source(x)
    shape = x.known_shape
    if not shape:
        return x
    if len(shape) < len(order):
        if not is_known(x):
            return None
        shape = (1,) * (len(order) - len(shape)) + shape
        x = replacement(graph, node, RESHAPE, x, shape=shape)
    return None if len(shape) > len(order) else replacement(graph, node, TRANSPOSE, x,
                                                            perm=inverse(order))


def _behind(graph: Graph, node: Node, made: Node, order: Order) -> list[Symbol]:
    """Return the transposed outputs of `made`."""
    return [replacement(graph, node, TRANSPOSE, y, perm=order) for y in made.outputs]


def _on(graph: Graph, node: Node, inputs: Sequence[Symbol], order: Order,
        **attrs: Any) -> list[Symbol]:
    """Return the transposed outputs of the op of the node on other inputs and attributes."""
    made = replacement(graph, node, node.op, *inputs, **node.attr_dict | attrs)
    return _behind(graph, node, made.node, order)


def _elementwise(graph: Graph, node: Node, inputs: Sequence[Symbol],
                 order: Order) -> list[Symbol] | None:
    made = graph.add(node.op, inputs, node.attrs, node.name, node.line)
    return _behind(graph, node, made, order) if made.outputs[0].ndim == len(order) else None


def _along_axis(graph: Graph, node: Node, inputs: Sequence[Symbol],
                order: Order) -> list[Symbol]:
    """Concat and split: the axis is a dimension of the result, or of the only input."""
    return _on(graph, node, inputs, order, axis=order[node.attr_dict["axis"] % len(order)])


def _pad(graph: Graph, node: Node, inputs: Sequence[Symbol], order: Order) -> list[Symbol] | None:
    if node.inputs[1].known_shape:
        return None
    paddings = node.attr_dict["paddings"]
    moved = [n for d in inverse(order) for n in paddings[2 * d:2 * d + 2]]
    return _on(graph, node, inputs, order, paddings=moved)


def _strided_slice(graph: Graph, node: Node, inputs: Sequence[Symbol],
                   order: Order) -> list[Symbol] | None:
    attrs = node.attr_dict
    if len(inputs) > 1 or any([kind != PLAIN for kind in attrs["kind"]]):
        return None
    back = inverse(order)
    for name, whole in (("begin", WHOLE), ("end", WHOLE), ("strides", 1), ("kind", PLAIN)):
        given = attrs[name]
        attrs[name] = [given[d] if d < len(given) else whole for d in back]
    return _on(graph, node, inputs, order, **attrs)


def _transpose(graph: Graph, node: Node, inputs: Sequence[Symbol], order: Order) -> list[Symbol]:
    composed = tuple([order[p] for p in perm(node)])
    return [replacement(graph, node, TRANSPOSE, inputs[0], perm=composed)]


def _reshape(graph: Graph, node: Node, inputs: Sequence[Symbol],
             order: Order) -> list[Symbol] | None:
    """Reshape x, whose transpose the node reshapes. If the dimensions that the node merges are not
    adjacent in x, x is transposed first, provided that the result has its channels last again."""
    x, y = inputs[0], node.outputs[0]
    if not (is_known(x) and is_known(y)):
        return None
    merges = groups([x.known_shape[p] for p in order], y.known_shape)
    if merges is None:
        return None
    merges.sort(key=lambda merge: min([order[d] for d in merge[0]]))
    adjacent = tuple([order[d] for before, _ in merges for d in before])
    after = tuple([d for _, to in merges for d in to])
    if adjacent != tuple(sorted(adjacent)):
        if inverse(after) != channels_first(len(after)):
            return None
        x = replacement(graph, node, TRANSPOSE, x, perm=adjacent)
    x = replacement(graph, node, RESHAPE, x, shape=[y.known_shape[d] for d in after])
    return [replacement(graph, node, TRANSPOSE, x, perm=inverse(after))]


def groups(before: Sequence[Any], after: Sequence[Any]) -> list[tuple[list[int], list[int]]] | None:
    """Return the dimensions of a shape and those of its reshape that hold the same elements, in the
    smallest groups; None if a group would have no dimension of `before`, or a size is 0.

    Examples
    --------
    >>> from dualflow.graph.passes.layout import groups
    >>> groups([2, 6, 4, 5], [2, 3, 2, 20])
    [([0], [0]), ([1], [1, 2]), ([2, 3], [3])]
    """
    if 0 in before or 0 in after:
        return None
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before):
        a, b = [i], list[int]()
        if before[i] == 1 and j < len(after) and after[j] == 1:
            b.append(j)                 # a batch of 1 stays the batch
            j += 1
        i += 1
        while (size := prod([before[d] for d in a])) != (made := prod([after[d] for d in b])):
            if made < size and j < len(after):
                b.append(j)
                j += 1
            elif made > size and i < len(before):
                a.append(i)
                i += 1
            else:
                return None
        found.append((a, b))
    if j < len(after):                  # sizes of 1 at the end
        found[-1][1].extend(range(j, len(after)))
    return found


Rule = Callable[[Graph, Node, Sequence[Symbol], Order], "list[Symbol] | None"]
RULES: dict[Op, Rule] = {
    CONCAT: _along_axis, SPLIT: _along_axis, PAD: _pad, SLICE: _strided_slice,
    TRANSPOSE: _transpose, **dict.fromkeys(RESHAPES, _reshape)}
