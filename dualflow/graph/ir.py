"""The intermediate representation: nodes in order, and the rules they keep.

A value is a `Symbol`; a node is one application of an op. docs/graph.md draws the whole. Knows no
op by name but the three leaves, which stand for values that no kernel makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from dualflow._core import Attrs, Op, Symbol, Tensor, Variable, infer, leaf_ops, symbol
from dualflow.graph import tile_text

LEAVES = PARAMETER, CONSTANT, VARIABLE = leaf_ops()


class Line(NamedTuple):
    """Where in the user's code a node was made, and of which op it is the gradient, if of one;
    `own_rule`: by a rule that people gave. `place`: how many nodes of its trace were made before.
    """

    file: str
    line: int
    function: str
    gradient_of: str = ""
    own_rule: bool = False
    place: int = 0

    def __str__(self) -> str:
        of = f", in the gradient of {self.gradient_of}" if self.gradient_of else ""
        return f"{self.file}:{self.line}, in {self.function}{of}"


class Node:
    """One application of an op.

    Attributes
    ----------
    op : Op
    inputs : tuple of Symbol
    attrs : Attrs or None
    outputs : tuple of Symbol
        The op's outputs, then the next version of each input it writes.
    name : str
    line : Line or None
    data : object
        Of a leaf: the parameter's path, the constant's Tensor, the Variable.
    """

    __slots__ = ("attrs", "data", "inputs", "line", "name", "op", "outputs")

    def __init__(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None,
                 outputs: Iterable[Symbol] = (), name: str = "", line: Line | None = None,
                 data: Any = None) -> None:
        self.op = op
        self.inputs = tuple(inputs)
        self.attrs = attrs
        self.outputs = tuple(outputs)
        self.name = name
        self.line = line
        self.data = data

    def __repr__(self) -> str:
        return f"<Node {self.name} ({self.op.name})>"

    @property
    def type(self) -> str:
        """The op's name."""
        return self.op.name

    @property
    def written(self) -> list[tuple[Symbol, Symbol]]:
        """(version before, version after) of each input it writes."""
        if not self.op.writes:
            return []
        before = [x for i, x in enumerate(self.inputs) if self.op.writes >> i & 1]
        return list(zip(before, self.outputs[len(self.outputs) - len(before):], strict=True))


class Graph:
    """Nodes, each after those that make its inputs.

    Attributes
    ----------
    name : str
    nodes : list of Node
    inputs : list of Symbol
        Outputs of its parameter nodes, in the order of the call.
    outputs : list of Symbol
        What a run returns. Variables written are not among them.
    numbers : list of number or Computed
        What the function returns besides, Python numbers.
    changes : int
        How many values passes have put others in place of.
    """

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.inputs: list[Symbol] = []
        self.outputs: list[Symbol] = []
        self.numbers: list[Any] = []
        self.changes = 0

    def empty_copy(self) -> Graph:
        """A graph of the same name with nothing in it."""
        return Graph(self.name)

    def add(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None = None, name: str = "",
            line: Line | None = None, data: Any = None) -> Node:
        """Appends a node of an op of the C table and infers its outputs."""
        node = Node(op, inputs, attrs, (), name or op.name, line, data)
        made = infer(op, list(node.inputs), attrs, self)
        if op.writes:
            made += [symbol(self, node, 0, x.dtype, x.shape)
                     for i, x in enumerate(node.inputs) if op.writes >> i & 1]
        for k, y in enumerate(made):
            y.node, y.index = node, k
        node.outputs = tuple(made)
        self.nodes.append(node)
        return node

    def add_leaf(self, op: Op, like: Symbol | Tensor | Variable, name: str = "",
                 line: Line | None = None, data: Any = None,
                 shape: Sequence[int | None] | None = None) -> Symbol:
        """Appends a parameter, constant or variable node with the dtype and shape of `like`."""
        node = Node(op, (), None, (), name or op.name, line, data)
        node.outputs = (symbol(self, node, 0, like.dtype, like.shape if shape is None else shape),)
        self.nodes.append(node)
        return node.outputs[0]

    def constant(self, value: Tensor, name: str = "", line: Line | None = None) -> Symbol:
        """Appends a constant."""
        return self.add_leaf(CONSTANT, value, name, line, value)

    def __str__(self) -> str:
        return to_text(self)


def is_dynamic(x: Symbol) -> bool:
    """Whether a size of a value depends on data, and no hint stands for it."""
    return any([d is None for d in x.shape])        # `in` would ask a Dim, which equals None


def refuses_values(node: Node) -> bool:
    """Whether an elementwise op may refuse the numbers it meets: an integer divisor that is not
    known to be other than 0."""
    op = node.op
    if op.kind != "elementwise":
        return False
    x = node.inputs[op.looks_at]
    return op.refuses(x.dtype) and (x.node.op is not CONSTANT or op.refuses(x.dtype, x.node.data))


def may_refuse(node: Node) -> bool:
    """Whether its kernel may fail for the values it meets: an index, a label, a size.

    What a gradient rule of dualflow's made has passed when it went forward. Memory may run out
    anywhere, and is not counted.
    """
    op = node.op
    if op.effect:
        return not op.writes
    if any([is_dynamic(x) for x in (*node.inputs, *node.outputs)]):
        return True
    if node.line and node.line.gradient_of and not node.line.own_rule:
        return False
    return (op.may_fail and op not in LEAVES) or refuses_values(node)


Edit = Callable[[Graph, Node], "Sequence[Symbol] | None"]


def edit(graph: Graph, visit: Edit) -> Graph:
    """Changes a graph in place, going through its nodes in order once.

    Nodes that stay are the objects they were, and their types are not inferred again, so that a
    pass costs little where it changes nothing.

    Parameters
    ----------
    graph : Graph
    visit : callable (graph, node) -> sequence of Symbol, or None
        Gives what stands for the node's outputs, having added nodes at its place as it likes; None:
        the node stays. The node's inputs are up to date.

    Notes
    -----
    An answer by which a version of a variable would be read after it is overwritten is not taken:
    the node stays. So who visits need not think of versions.
    """
    old, graph.nodes = graph.nodes, []
    stands_for: dict[Symbol, Symbol] = {}
    retyped: set[Symbol] = set()
    versions = _Versions(old, graph.outputs)
    for at, node in enumerate(old):
        outputs = node.outputs
        if stands_for and any([x in stands_for for x in node.inputs]):
            node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
            if retyped and any([x in retyped for x in node.inputs]):
                node = graph.add(node.op, node.inputs, node.attrs, node.name, node.line, node.data)
                graph.nodes.pop()
        start = len(graph.nodes)
        found = visit(graph, node)
        if found is None or not versions.allow(at, outputs, found, graph.nodes[start:]):
            del graph.nodes[start:]
            graph.nodes.append(node)
            found = node.outputs
        if found is outputs:
            continue
        for before, after in zip(outputs, found, strict=True):
            if before is not after:
                stands_for[before] = after
                graph.changes += 1
                versions.rename(before, after)
                if before.known_shape != after.known_shape:
                    retyped.add(after)
    graph.outputs = [stands_for.get(x, x) for x in graph.outputs]
    return graph


class _Versions:
    """Which versions of variables a graph overwrites where, by the place in its list of nodes."""

    def __init__(self, nodes: list[Node], outputs: list[Symbol]) -> None:
        self.nodes = nodes
        self.outputs = outputs
        self.overwritten = {before: at for at, node in enumerate(nodes) if node.op.writes
                            for before, _ in node.written}
        self.last_use: dict[Symbol, int] | None = None

    def rename(self, before: Symbol, after: Symbol) -> None:
        if before in self.overwritten:
            self.overwritten[after] = self.overwritten[before]

    def allow(self, at: int, outputs: Sequence[Symbol], found: Sequence[Symbol],
              added: list[Node]) -> bool:
        """Whether nobody reads late when `found` stands for the outputs of node `at` and `added`
        for the node."""
        if not self.overwritten:
            return True
        if any([self.overwritten.get(x, at) < at for node in added for x in node.inputs]):
            return False
        return all([self._last_use(before, at) <= self.overwritten[after]
                    for before, after in zip(outputs, found, strict=True)
                    if after in self.overwritten and after is not before])

    def _last_use(self, x: Symbol, at: int) -> int:
        """Where `x`, made by node `at`, is read last; nodes before `at` may have changed."""
        if self.last_use is None:
            self.last_use = {y: k for k in range(at, len(self.nodes))
                             for y in self.nodes[k].inputs}
            self.last_use.update((y, len(self.nodes)) for y in self.outputs)
        return self.last_use.get(x, -1)


def copy(graph: Graph) -> Graph:
    """The same graph with nodes and values of its own, for somebody who goes on to change it."""
    new = graph.empty_copy()
    stands_for: dict[Symbol, Symbol] = {}
    for node in graph.nodes:
        made = Node(node.op, [stands_for[x] for x in node.inputs], node.attrs, (), node.name,
                    node.line, node.data)
        made.outputs = tuple([symbol(new, made, k, y.dtype, y.known_shape)
                              for k, y in enumerate(node.outputs)])
        stands_for.update(zip(node.outputs, made.outputs, strict=True))
        new.nodes.append(made)
    new.inputs = [stands_for[x] for x in graph.inputs]
    new.outputs = [stands_for[x] for x in graph.outputs]
    return new


# --- the rules ----------------------------------------------------------------------------------

class IRError(AssertionError):
    """A pass left a graph that breaks the rules: a fault of dualflow's, not of the caller's."""


def check(graph: Graph) -> None:
    """Raises IRError where the graph breaks a rule.

    Every value is defined once and before it is used; dtypes and shapes are what the op's rule
    says; a version of a variable is written once, and nobody reads it after that.
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


def _check_outputs(graph: Graph, node: Node) -> None:
    if node.op in LEAVES:
        return
    want = [(y.dtype, y.known_shape) for y in infer(node.op, list(node.inputs), node.attrs, graph)]
    want += [(x.dtype, x.known_shape) for x, _ in node.written]
    have = [(y.dtype, y.known_shape) for y in node.outputs]
    if want != have:
        raise IRError(f"{node.name} has outputs {have}, its op says {want}, in\n{graph}")


# --- text ---------------------------------------------------------------------------------------

def to_text(graph: Graph, lines: bool = True) -> str:
    """The graph, a line per node: values, op, attributes, types and the user's line."""
    number: dict[Symbol, int] = {}
    for node in graph.nodes:
        for y in node.outputs:
            number[y] = len(number)
    body = [_node_text(node, number, lines) for node in graph.nodes]
    returned = ", ".join(_value_text(x, number) for x in graph.outputs)
    return "\n".join([f"graph {graph.name}:", *body, f"  return {returned}".rstrip()])


def type_text(x: Symbol | Tensor) -> str:
    """`float32 (2, ?)`"""
    shape = x.known_shape if isinstance(x, Symbol) else x.shape
    dims = ", ".join("?" if d is None else str(d) for d in shape)
    return f"{x.dtype} ({dims}{',' if len(shape) == 1 else ''})"


def data_text(node: Node) -> str:
    """What a leaf stands for."""
    if node.op is CONSTANT:
        return str(node.data.tolist()) if node.data.size <= 4 else "..."
    return repr(getattr(node.data, "name", node.data))


def attrs_text(node: Node) -> str:
    """`axes=(0,), keepdims=False`; long lists are cut, tile code is read out."""
    if node.attrs is None:
        return ""
    parts = []
    for (key, value), kind in zip(node.attrs.as_dict().items(), node.op.attr_types, strict=True):
        if key == tile_text.CODE:
            # Value 0 of a product's code is the product, which stands for its two operands.
            n_in = len(node.inputs) - ("shape" not in node.op.attrs)
            parts.append(tile_text.listing(value, n_in))
            continue
        text = tile_text.value_text(kind, value)
        parts.append(f"{key}={text if len(text) <= 60 else text[:56] + ' ...'}")
    return ", ".join(parts)


def _value_text(x: Symbol, number: dict[Symbol, int]) -> str:
    """`%3`; the name of a value that no node of the graph makes, which breaks the rules."""
    return f"%{number[x]}" if x in number else f"<{x.name}>"


def _node_text(node: Node, number: dict[Symbol, int], lines: bool) -> str:
    made = ", ".join(f"%{number[y]}" for y in node.outputs)
    if node.op in LEAVES:
        inside = data_text(node)
    else:
        reads = ", ".join(_value_text(x, number) for x in node.inputs)
        inside = ", ".join(part for part in (reads, attrs_text(node)) if part)
    types = ", ".join(type_text(y) for y in node.outputs)
    text = f"  {made + ' = ' if made else ''}{node.op.name}({inside})"
    if types:
        text += f" : {types}"
    return f"{text}    # {node.line}" if lines and node.line else text
