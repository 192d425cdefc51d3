"""Recording of branches and loop iterations as bodies of `cond` and `loop` nodes.

`control`, `open` and the gradients use it. Python runs the branch or one iteration; its nodes are
appended to the trace, then moved into a `Body`. `own` creates the node: outer values that bodies
read become its inputs, and variables that they write continue with its outputs. Leaves stay in the
trace, so a body never contains one that the trace may reuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dualflow._core import Attrs, Dim, Op, Symbol, Variable, as_tensor, symbol, symbol_like
from dualflow.dtypes import DType, int64, uint8
from dualflow.graph.ir import COND, LEAVES, PARAMETER, Graph, Input, Node, control_flow
from dualflow.graph.trace.cotangents import measured
from dualflow.graph.trace.parameters import is_number
from dualflow.ops.control_flow.state import leaves, traced_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.graph.trace.trace import Trace

# The dtype, shape, hints, identity and row of a Symbol.
Typed = tuple[DType, control_flow.Shape, control_flow.Shape, None, Symbol | None]


class Body:
    """The nodes recorded for one branch or loop iteration.

    A variable may have a different value in each iteration, while a tensor read from it before the
    loop keeps its value. So an iteration reads a variable through a parameter, not as the version
    around the loop.

    Parameters
    ----------
    trace : Trace
    name : str
    f : callable
    params : sequence of Symbol
        The arguments of `f`.
    rounds : bool
        Whether the body may run many times.

    Attributes
    ----------
    nodes : list of Node
        The nodes other than leaves.
    params : list of Symbol
        The arguments of `f`.
    result : object
        The nested result of `f`.
    outputs : list of Symbol
        The tensors of the result.
    written : dict of Variable to (Symbol, Symbol)
        The versions of each written variable before and after the body.
    placeholders : dict of Variable to Symbol
        In a loop: the parameter for the version of a variable at the start of an iteration.
    rows : dict of Symbol to Symbol
        In the gradient of a loop: from a value of the loop to the parameter for its row.
    keeps_identity : bool
        See Owned.
    """

    def __init__(self, trace: Trace, name: str, f: Callable[..., Any],
                 params: Sequence[Symbol], rounds: bool = False) -> None:
        self.name = name
        self.params: list[Symbol] = list(params)
        self.rounds = rounds
        self.keeps_identity = False
        self.rows: dict[Symbol, Symbol] = {}
        self.outputs: list[Symbol] = []
        self._enter(trace)
        try:
            with trace.recording():     # hides the tapes of enclosing contexts
                self.result: Any = traced_text(f(*params))
                self.outputs = trace.to_symbols(None, [as_tensor(x) for x in leaves(self.result)])
        finally:
            self._cut_out(trace)

    def _enter(self, trace: Trace) -> None:
        """Open the body: variables get the versions that are read inside it."""
        self._mark = trace.mark
        self._around: dict[Variable, Symbol] = {}
        self.placeholders: dict[Variable, Symbol] = {}
        for variable, version in trace.variables.items():
            trace.variables[variable] = self.first_read(trace, variable, version)
        trace.bodies.append(self)

    def first_read(self, trace: Trace, variable: Variable, around: Symbol) -> Symbol:
        """Return the version of a variable to read inside, given the version around the body."""
        self._around[variable] = around
        if not self.rounds:
            return around
        self.placeholders[variable] = made = placeholder_version(trace, variable, around)
        return made

    def _cut_out(self, trace: Trace) -> None:
        """Close the body: move the nodes recorded since it was opened out of the trace, except for
        leaves, and restore the versions of variables around it."""
        trace.bodies.remove(self)
        added = trace.nodes[self._mark:]
        self.nodes: list[Node] = [node for node in added if node.op not in LEAVES]
        trace.nodes[self._mark:] = [node for node in added if node.op in LEAVES]
        self.written: dict[Variable, tuple[Symbol, Symbol]] = {}
        same = {}
        for variable, after in trace.variables.items():
            around = self._around[variable]
            first = self.placeholders.get(variable, around)
            if after is not first:
                self.written[variable] = first, after
            elif first is not around:
                same[first] = trace.outliner.recorded_as[first] = around
                trace.outliner.replaced[first] = around
        if self.placeholders:
            for node in self.nodes:
                node.inputs = tuple([same.get(x, x) for x in node.inputs])
            self.outputs = [same.get(x, x) for x in self.outputs]
        trace.variables = self._around

    def replace(self, values: Mapping[Symbol, Symbol]) -> None:
        """Replace values that the body reads or returns."""
        for node in self.nodes:
            node.inputs = tuple([values.get(x, x) for x in node.inputs])
        self.outputs = [values.get(x, x) for x in self.outputs]

    def reads(self) -> list[Symbol]:
        """Return the outer values that the body reads or returns, each once."""
        made = {y for node in self.nodes for y in node.outputs}
        made.update(self.params, self.placeholders.values())
        read = [x for node in self.nodes for x in node.inputs] + self.outputs
        read += [before for before, _ in self.written.values()]
        return [x for x in dict.fromkeys(read)
                if x not in made and x not in self.rows and not is_number(x)]


def param(trace: Trace, x: Symbol, name: str, skipped: int = 0,
          shape: Sequence[int | None] | None = None) -> Symbol:
    """Return a parameter of a body like `x`, without the first `skipped` dimensions or of the given
    shape."""
    node = Node(PARAMETER, (), None, (), trace.names.unique(name), trace.line())
    if shape is not None:
        made = symbol(trace, node, 0, x.dtype, shape, shape, row=x.row)
    elif skipped or x.data_dependent_shape:
        made = symbol(trace, node, 0, x.dtype, x.known_shape[skipped:], x.hints[skipped:],
                      row=None if skipped else x.row)
    else:
        made = symbol_like(trace, node, 0, x)
    node.outputs = (made,)
    return made


def placeholder_version(trace: Trace, variable: Variable, around: Symbol) -> Symbol:
    """Return the parameter of a loop body for the version of a variable at the start of an
    iteration; `around` is the version around the loop."""
    node = Node(PARAMETER, (), None, (), trace.names.unique(around.node.name), around.node.line)
    made = symbol(trace, node, 0, around.dtype, around.shape, stands_for=variable)
    node.outputs = (made,)
    trace.versions[made] = variable
    return made


def own(trace: Trace, op: Op, attrs: Attrs | None, given: Sequence[Symbol], n_params: int,
        bodies: Sequence[Body], name: str) -> Node:
    """Append a node that owns `bodies` to a trace.

    `given` are its first inputs; the last `n_params` of these are bound to the params of the
    bodies. The outer values that the bodies read follow.
    """
    inputs = list(given)
    inputs += dict.fromkeys([x for body in bodies
                             for x in (*body.reads(), *size_sources(trace, body))])
    place = {x: k for k, x in enumerate(inputs)}
    written: dict[Variable, int] = {}
    for body in bodies:
        for v in body.written:
            if v in body.placeholders:
                written[v] = len(inputs)
                inputs.append(trace.variables[v])
            else:
                written[v] = place[body.written[v][0]]
    in_order = sorted(written, key=written.__getitem__)
    graphs = [_graph(trace, body, inputs, range(len(given) - n_params, len(given)),
                     {v: written[v] for v in in_order}) for body in bodies]
    node = trace.node(op, inputs, attrs, name)
    node.own(graphs)
    made = [symbol(trace, node, k, *like) for k, like in enumerate(_made(node, bodies))]
    made += [trace.version_of(v, node, k) for k, v in enumerate(in_order, len(made))]
    node.outputs = tuple(made)
    trace.nodes.append(node)
    trace.outliner.keep_inside(node)
    return node


def size_sources(trace: Trace, body: Body) -> list[Symbol]:
    """Return the outputs of other branches whose data-dependent sizes a body reads.

    Gradient rules compute with the sizes of recorded values. If such a value is inside a branch
    that is not open, its residual must be an input of the body, which takes the size from this
    input when it runs. Sizes of values around the body need no input.
    """
    made = {y for node in body.nodes for y in node.outputs}
    outliner = trace.outliner
    found = [outliner.size_source(x) for x in dict.fromkeys(measured(body.nodes))
             if outliner.is_enclosed(x)]
    return [y for y in found if y is not None and y not in made and not outliner.is_enclosed(y)]


def _made(node: Node, bodies: Sequence[Body]) -> list[Typed]:
    """Return the types of the outputs of a node, without versions of variables."""
    if node.op is COND:
        return [_merged(ys) for ys in zip(*[body.outputs for body in bodies], strict=True)]
    parts, body = control_flow.loop_parts(node), bodies[0]
    rows, hint = parts.times, parts.times
    if isinstance(rows, Dim):
        rows, hint = None, int(hint.hint)
    elif parts.tested or rows < 0 or rows == control_flow.NO_LIMIT:
        rows = hint = None
    found: list[Typed] = [(x.dtype, x.known_shape, x.hints, None, x.row)
                          for x in body.params[:parts.n_carried]]
    found += [(int64, (), (), None, None)] * parts.tested
    found += [(uint8, (None,), (None,), None, y) if parts.packed >> k & 1
              else (y.dtype, (rows, *y.known_shape), (hint, *y.hints), None, y)
              for k, y in enumerate(body.outputs[parts.first + parts.n_carried:])]
    return found


def _merged(ys: Sequence[Symbol]) -> Typed:
    """Return the type of one of several values. A size in which they differ depends on data."""
    dims = zip(*[zip(y.known_shape, y.hints, strict=True) for y in ys], strict=True)
    found = [at[0] if at.count(at[0]) == len(at) else (None, None) for at in dims]
    return (ys[0].dtype, tuple([n for n, _ in found]), tuple([hint for _, hint in found]), None,
            next((y.row for y in ys if y.row is not None), None))


def _graph(trace: Trace, body: Body, inputs: Sequence[Symbol], params: range,
           written: Mapping[Variable, int]) -> Graph:
    """Return the graph of a body whose owner has the given inputs. `params` are the indices of the
    inputs bound to `body.params`, `written` the indices of written variables; the other inputs are
    outer values that the body reads."""
    graph = Graph(body.name)
    stands_for: dict[Symbol, Symbol] = dict(body.rows)
    inside = dict(zip(params, body.params, strict=True))
    inside.update({k: body.placeholders[v] for v, k in written.items() if v in body.placeholders})
    for k, x in enumerate(inputs):
        if k in inside:
            made = inside[k]
            made.node.data = Input(k)
            graph.nodes.append(made.node)
        else:
            made = trace.outliner.parameter(graph, k, x)
        if k not in inside and k >= params.stop:
            stands_for[x] = made
        graph.inputs.append(made)
    for node in body.nodes:
        node.inputs = tuple([stands_for.get(x, x) for x in node.inputs])
    graph.nodes += body.nodes
    last = {v: after for v, (_, after) in body.written.items()}
    versions = [last.get(v, graph.inputs[k]) for v, k in written.items()]
    graph.outputs = [stands_for.get(x, x) for x in [*body.outputs, *versions]]
    return graph
