"""Bodies recorded while Python is traced: what it did for one branch or one round.

Python runs the branch or the round once, and what it records goes into the trace like everything
else. Then the nodes are taken out again and become a body. What they read from around them becomes
an input of the owner by itself, a variable they write goes on with the version that the owner
makes, and leaves stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._core import Attrs, Op, Symbol, Variable, as_tensor, symbol
from dualflow.graph.ir import LEAVES, PARAMETER, Graph, Input, Node, owners
from dualflow.graph.trace.enclosed import is_number
from dualflow.nest import flatten

if TYPE_CHECKING:
    from dualflow.graph.trace.trace import Trace


class Body:
    """What was recorded for one branch or round.

    Attributes
    ----------
    nodes : list of Node
        Those that compute.
    params : list of Symbol
        What Python was given.
    result : object
        What Python returned, nested.
    outputs : list of Symbol
        The tensors in it.
    written : dict of Variable to (Symbol, Symbol)
        Variables it writes: the versions before and after.
    """

    def __init__(self, trace: Trace, name: str, f: Callable[..., Any],
                 params: Sequence[Symbol]) -> None:
        self.name = name
        self.params = list(params)
        mark, before = trace.mark, dict(trace.variables)
        with trace.recording():
            self.result = f(*params)
            self.outputs = trace.adopt(None, [as_tensor(x) for x in flatten(self.result)
                                              if x is not None])
        added = trace.nodes[mark:]
        self.nodes = [node for node in added if node.op not in LEAVES]
        trace.nodes[mark:] = [node for node in added if node.op in LEAVES]
        now, self.written = trace.variables, {}
        for variable, after in now.items():
            first = before.get(variable)
            if first is None:
                first = _first_version(added, variable)
            if after is not first:
                self.written[variable] = first, after
        trace.variables = {v: self.written[v][0] if v in self.written else x
                           for v, x in now.items()}

    def reads(self) -> list[Symbol]:
        """Values around it that it reads or returns, each once."""
        made = {y for node in self.nodes for y in node.outputs}
        made.update(self.params)
        read = [x for node in self.nodes for x in node.inputs] + self.outputs
        read += [before for before, _ in self.written.values()]
        return [x for x in dict.fromkeys(read) if x not in made and not is_number(x)]


def _first_version(nodes: Sequence[Node], variable: Variable) -> Symbol:
    return next(node.outputs[0] for node in nodes if node.data is variable)


def own(trace: Trace, op: Op, attrs: Attrs | None, given: Sequence[Symbol], n_params: int,
        bodies: Sequence[Body], name: str) -> Node:
    """A node that owns bodies, at the end of a trace.

    `given` are its first inputs; the bodies see the last `n_params` of them as their params, and
    what they read from around them follows.
    """
    written: dict[Variable, Symbol] = {}
    for body in bodies:
        written.update({v: before for v, (before, _) in body.written.items()})
    inputs = list(given)
    read = [x for body in bodies for x in body.reads()]
    inputs += dict.fromkeys([*read, *written.values()])
    place = {x: k for k, x in enumerate(inputs)}
    in_order = sorted(written, key=lambda v: place[written[v]])
    graphs = [_graph(body, inputs, range(len(given) - n_params, len(given)),
                     [(v, written[v]) for v in in_order]) for body in bodies]
    node = Node(op, inputs, attrs, (), trace.names.unique(name), trace.line(), bodies=graphs)
    made = [symbol(trace, node, k, dtype, shape)
            for k, (dtype, shape) in enumerate(owners.made(node))]
    for v, y in zip(in_order, made[len(made) - len(in_order):], strict=True):
        made[y.index] = trace.version_of(v, node, y.index)
    node.outputs = tuple(made)
    trace.nodes.append(node)
    trace.enclosed.keep_inside(node)
    return node


def _graph(body: Body, inputs: Sequence[Symbol], params: range,
           written: Sequence[tuple[Variable, Symbol]]) -> Graph:
    """The graph of a body whose owner has the given inputs; `params`: which of them Python saw as
    what it was given, and what follows them it read by itself."""
    graph = Graph(body.name)
    stands_for: dict[Symbol, Symbol] = {}
    for k, x in enumerate(inputs):
        if k in params:
            made = body.params[k - params.start]
            made.node.data = Input(k)
            graph.nodes.append(made.node)
        else:
            made = graph.add_leaf(PARAMETER, x, data=Input(k), shape=x.known_shape)
        graph.inputs.append(made)
        if k >= params.stop:
            stands_for[x] = made
    for node in body.nodes:
        node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
    graph.nodes += body.nodes
    last = {v: after for v, (_, after) in body.written.items()}
    returned = [*body.outputs, *[last.get(v, before) for v, before in written]]
    graph.outputs = [stands_for.get(x, x) for x in returned]
    return graph
