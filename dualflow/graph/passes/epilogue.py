"""Epilogue fusion: elementwise nodes on a product run while the product's blocks are in cache.

    matmul -> add bias -> relu      becomes one matmul_cluster
    conv -> add bias -> relu        becomes one conv_cluster

An epilogue consists of elementwise nodes that depend on the product and have its shape. It has at
most two outputs: an activation, and a residual for its gradient (the product or a value in
between). The other operands may have any shape that broadcasts to the product's. Sums over the rows
of outputs, such as gradients of biases, are formed from the same blocks.
"""

from __future__ import annotations

import heapq
from math import prod

from dualflow._core import Op, Symbol, get_op, make_attrs
from dualflow._util.named_tuple import NamedTuple
from dualflow.graph.ir import Graph, Node
from dualflow.graph.ir.tile_code import FOLD, FULL, Code, Step, assemble, words
from dualflow.graph.passes.operands import shape_of
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.partition import Facts, facts_of, reduced_space
from dualflow.graph.passes.values import count_in_loops

WITH_EPILOGUE = {get_op(name): get_op(f"{name}_cluster")
                 for name in ("matmul", "matmul_packed", "matmul_int32", "conv", "conv_transformed",
                              "conv_packed", "conv_scaled", "conv_int32")}
# Products of 16-bit floats that round block by block. Others round the complete product.
ROUNDS_PIECES = {get_op("matmul"), get_op("matmul_packed")}
SUMS_ROWS = ROUNDS_PIECES       # their blocks begin at the rows where chunks of sums begin
CAST, RESHAPE = get_op("cast"), get_op("reshape")
INPUTS_MAX = 64          # MAX_INPUTS of csrc/ops/epilogue.c
OUTPUTS_MAX = 2
NODES_MAX = 64           # in one epilogue, so that chains of products take linear time


class Chain(NamedTuple):
    """A product, the nodes of its epilogue, the outputs (the result of the last node last), and the
    nodes that sum rows of outputs."""

    product: Node
    nodes: list[Node]
    outputs: list[Symbol]
    folds: list[Node]


def run(graph: Graph, options: Options) -> Graph:
    """Merge products with their epilogues."""
    if not any([node.op in WITH_EPILOGUE for node in graph.nodes]):
        return graph
    chains = Finder(graph).chains()
    if not chains:
        return graph
    inside = {node for chain in chains.values()
              for node in (chain.product, *chain.nodes, *chain.folds)}
    stands_for: dict[Symbol, Symbol] = {}
    old, graph.nodes = graph.nodes, []
    for node in old:
        if node in chains:
            chain = chains[node]
            came = [*chain.outputs, *[fold.outputs[0] for fold in chain.folds]]
            for x, made in zip(came, write(graph, chain, stands_for), strict=True):
                if made.known_shape != x.known_shape:
                    attrs = make_attrs(RESHAPE, shape=x.known_shape)
                    made = graph.add(RESHAPE, [made], attrs).outputs[0]
                stands_for[x] = made
            graph.changes += len(chain.nodes) + len(chain.folds)
        elif node not in inside:
            node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
            graph.nodes.append(node)
    graph.outputs = [stands_for.get(x, x) for x in graph.outputs]
    return graph


def write(graph: Graph, chain: Chain, stands_for: dict[Symbol, Symbol]) -> tuple[Symbol, ...]:
    """Append the node that replaces a chain; return its outputs."""
    product = chain.product.outputs[0]
    number = {product: 0}
    results = {node.outputs[0] for node in chain.nodes}
    more = list(dict.fromkeys([x for node in chain.nodes for x in node.inputs
                               if x not in results and x not in number]))
    for x in (*more, *[node.outputs[0] for node in chain.nodes]):
        number[x] = len(number)
    steps = [Step(node.op, FULL, tuple([number[x] for x in node.inputs]),
                  words(node.attrs.values) if node.attrs is not None else ())
             for node in chain.nodes]
    if any([x is product for x in chain.outputs]):  # an output must be the result of a step
        steps.append(Step(CAST, FULL, (0,), (product.dtype.index,)))
        number[product] = len(number)
    came = [number[x] for x in chain.outputs]
    rows = prod(shape_of(product)[:-1])
    for node in chain.folds:
        steps.append(Step(node.op, FOLD, (number[node.inputs[0]],), (1, rows)))
        came.append(len(more) + len(steps))
    last = chain.nodes[-1]
    code = assemble(Code(1, tuple(steps), tuple(came)))
    inputs = [stands_for.get(x, x) for x in (*chain.product.inputs, *more)]
    op = WITH_EPILOGUE[chain.product.op]
    attrs = make_attrs(op, **chain.product.attr_dict, code=code)
    return graph.add(op, inputs, attrs, last.name, last.line).outputs


def is_final(product: Node) -> bool:
    """Return True if the blocks of the kernel hold final values: some products of 16-bit floats are
    computed in float32 and rounded as a whole."""
    return product.outputs[0].dtype.itemsize > 2 or product.op in ROUNDS_PIECES


class Finder:
    """Finds the epilogues of the products of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = graph.nodes
        self.tiny: int = count_in_loops(graph)
        self.readers: dict[Symbol, list[int]] = {}
        self.overwritten: dict[Symbol, int] = {}
        self.returned: set[Symbol] = set(graph.outputs)
        self.taken: set[int] = set()
        self.facts: dict[Op, Facts] = {}
        for at, node in enumerate(graph.nodes):
            for x in dict.fromkeys(node.inputs):
                self.readers.setdefault(x, []).append(at)
            for before, _ in node.written:
                self.overwritten[before] = at

    def chains(self) -> dict[Node, Chain]:
        """Return the chains by their last node. Later products choose first, so that nodes on a sum
        of two products become the epilogue of the product that is computed last."""
        found = {}
        for at in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[at]
            if (node.op in WITH_EPILOGUE and None not in node.outputs[0].known_shape
                    and is_final(node)
                    and not (self.tiny and node.outputs[0].size <= self.tiny)):
                places, outputs = self._behind(node)
                if places:
                    self.taken.update(places)
                    folds = self._folds(outputs) if node.op in SUMS_ROWS else []
                    chain = Chain(node, [self.nodes[k] for k in places], outputs, folds)
                    found[chain.nodes[-1]] = chain
        return found

    def _folds(self, outputs: list[Symbol]) -> list[Node]:
        """Return the nodes that reduce all dimensions but the last of an output."""
        found = []
        for x in outputs:
            for at in dict.fromkeys(self.readers.get(x, ())):
                node = self.nodes[at]
                facts = self._facts(node.op)
                shape = x.known_shape
                if at in self.taken or x.dtype.name not in facts.folds or 1 in shape:
                    continue
                space = reduced_space(node, facts)
                if space is not None and space.fold == (0, len(shape) - 1):
                    self.taken.add(at)
                    found.append(node)
        return found

    def _behind(self, product: Node) -> tuple[list[int], list[Symbol]]:
        """Return the positions of the nodes of the longest epilogue, and its outputs.

        Readers are visited in the order of the graph. `waiting` holds the values of the epilogue
        that have readers which were not visited. Only these are read outside, so if there are few,
        they may be the outputs. An outside reader of an output must not precede the last node, as
        the merged node takes the position of the last node.
        """
        y = product.outputs[0]
        waiting = {y: self._count(y)}
        queue = list(self.readers.get(y, ()))
        heapq.heapify(queue)
        inputs, inside = set(product.inputs), list[int]()
        seen: set[int] = set()
        read_before = set[Symbol]()        # values that outside nodes have read
        best, outputs = 0, list[Symbol]()
        while queue and len(inside) < NODES_MAX:
            at = heapq.heappop(queue)
            if at in seen:
                continue
            seen.add(at)
            node = self.nodes[at]
            if not self._may_follow(at, y):
                if len(waiting) == 1:
                    break
                read_before.update(node.inputs)
                continue
            inside.append(at)
            for x in dict.fromkeys(node.inputs):
                if x not in waiting:
                    inputs.add(x)
                    continue
                waiting[x] -= 1
                if not waiting[x]:
                    del waiting[x]
            result = node.outputs[0]
            waiting[result] = self._count(result)
            for reader in self.readers.get(result, ()):
                heapq.heappush(queue, reader)
            if len(inputs) > INPUTS_MAX or any(
                    [self.overwritten.get(x, at) < at for x in inputs]):
                break
            if len(waiting) == 1 or (len(waiting) <= OUTPUTS_MAX and self._ends(result)
                                     and read_before.isdisjoint(waiting)):
                best, outputs = len(inside), list(waiting)
        return inside[:best], outputs

    def _ends(self, x: Symbol) -> bool:
        """Return True if no cluster can read a value. A cluster could compute it from another
        output instead, which saves writing and reading the value."""
        readers = [self._facts(self.nodes[at].op) for at in self.readers.get(x, ())]
        return not any([facts.elementwise or facts.reduces for facts in readers])

    def _facts(self, op: Op) -> Facts:
        facts = self.facts.get(op)
        if facts is None:
            facts = self.facts[op] = facts_of(op)
        return facts

    def _count(self, x: Symbol) -> int:
        """Return the number of readers of a value, including the caller of the graph."""
        return max(len(self.readers.get(x, ())) + (x in self.returned), 1)

    def _may_follow(self, at: int, product: Symbol) -> bool:
        node = self.nodes[at]
        facts = self._facts(node.op)
        if at in self.taken or not facts.elementwise or node.needs_value_check:
            return False
        if facts.dtypes and not any([x.dtype.name in facts.dtypes for x in node.inputs]):
            return False
        return (node.outputs[0].known_shape == product.known_shape
                and not any([None in x.known_shape for x in node.inputs]))
