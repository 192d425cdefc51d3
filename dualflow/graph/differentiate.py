"""Gradients through a call of a traced function, for a tape that records around it.

The graph is extended by its gradient and cut in two: a forward graph that also returns what the
backward graph needs, and that backward graph, which is called, and differentiated, in the same way.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from dualflow._core import Symbol, Tensor, Variable, as_tensor, infer, is_recorded, record_function
from dualflow.errors import UnimplementedError
from dualflow.graph.compile import Compiled
from dualflow.graph.gradients import gradients
from dualflow.graph.ir import CONSTANT, LEAVES, PARAMETER, VARIABLE, Graph, copy_node
from dualflow.graph.options import Options
from dualflow.graph.trace import Argument, Trace


class Call:
    """A graph for one set of sizes, called eagerly, perhaps under a tape.

    Parameters
    ----------
    graph : Graph
    options : Options
    compiled : Compiled, optional
        If it is there already.
    """

    def __init__(self, graph: Graph, options: Options, compiled: Compiled | None = None) -> None:
        self.graph = graph
        self.options = options
        self._compiled = compiled
        self._parts: Parts | None = None
        self.sources = [x for x in graph.inputs if isinstance(x.node.data, Argument)
                        and x.dtype.is_floating]
        self.variables = [node.data for node in graph.nodes if node.op is VARIABLE]

    @property
    def compiled(self) -> Compiled:
        """The program without gradients."""
        if self._compiled is None:
            self._compiled = Compiled(self.graph, self.options)
        return self._compiled

    def __call__(self, leaves: Sequence[Any]) -> list[Tensor]:
        """The outputs for the leaves of a call's arguments; recorded where somebody watches."""
        values = [v.value() for v in self.variables]
        inputs = [leaves[x.node.data.leaf] for x in self.sources]
        inputs += [x for x in values if x.dtype.is_floating]
        if not is_recorded(inputs):
            del values, inputs          # so that variables may be written in place
            return self.compiled.run(list(leaves))
        parts = self.parts
        made = parts.forward.compiled.run(list(leaves))
        n, m = len(self.graph.outputs), len(made) - len(self.graph.inputs)
        kept, given = made[n:m], made[m:] + values
        flows = [k for k, y in enumerate(self.graph.outputs) if y.dtype.is_floating]

        def rule(g: Sequence[Any], y: Any, *_: Any) -> list[Any]:
            gs = [as_tensor(g[k]) for k in flows]
            if is_recorded(inputs + gs):            # to be differentiated again
                found = iter(parts.whole([*given, *gs]))
            else:
                found = iter(parts.backward([*kept, *gs]))
            return [next(found) if has else None for has in parts.has_gradient]

        return record_function(self.graph.name, rule, inputs, made[:n])

    @property
    def parts(self) -> Parts:
        """Forward and backward graph."""
        if self._parts is None:
            self._parts = Parts(self)
        return self._parts


class Parts:
    """What a graph is cut into.

    Attributes
    ----------
    forward : Call
        Also returns what `backward` needs, and the graph's inputs as they came.
    backward : Call
        From those and the gradients of floating outputs to the gradients that exist.
    has_gradient : list of bool
        For each floating argument, then for each floating variable.
    """

    def __init__(self, call: Call) -> None:
        graph = call.graph
        self.options = call.options
        self.trace, at = replay(graph)
        n = len(self.trace.nodes)
        self.first = [at[node.outputs[0]] for node in graph.nodes if node.op is VARIABLE]
        ys = [at[y] for y in graph.outputs if y.dtype.is_floating]
        xs = [at[x] for x in call.sources] + [x for x in self.first if x.dtype.is_floating]
        self.inputs = [at[x] for x in graph.inputs]
        with self.trace.recording():
            self.gs = [self.trace.parameter(k, f"gradient {k}", y.dtype, y.shape, y.shape)
                       for k, y in enumerate(ys)]
            found = gradients(ys, xs, self.gs) if ys and xs else [None] * len(xs)
        self.has_gradient = [g is not None for g in found]
        self.wanted = [g for g in found if g is not None]
        head, tail = self.trace.nodes[:n], self.trace.nodes[n:]
        kept = self._crossing(tail)
        self.forward = Call(part(self.trace, head, [], self.inputs, [
            *[at[y] for y in graph.outputs], *kept, *self.inputs]), self.options)
        self.backward = Call(part(self.trace, tail, [*kept, *self.gs], [], self.wanted),
                             self.options)

    def _crossing(self, tail: list[Any]) -> list[Symbol]:
        """Values from before `tail` that it reads, or that are gradients themselves."""
        made = {y for node in tail for y in node.outputs}
        read = [x for node in tail for x in node.inputs] + self.wanted
        return list(dict.fromkeys(x for x in read if x not in made and x.node.op is not CONSTANT))

    @functools.cached_property
    def whole(self) -> Call:
        """Both graphs in one, from inputs, variables' values and gradients of outputs."""
        for node in self.trace.nodes:
            if node.op.effect:
                raise UnimplementedError(
                    f"{self.trace.name}: a gradient of a gradient through a call of a function "
                    f"with effects ({node.op.name}, made at {node.line}); put both tapes inside "
                    "the function")
        return Call(part(self.trace, self.trace.nodes, [*self.inputs, *self.first, *self.gs], [],
                         self.wanted), self.options)


def replay(graph: Graph) -> tuple[Trace, dict[Symbol, Symbol]]:
    """A copy of a graph that records further, and where each value is in it."""
    trace = Trace(graph.name)
    at: dict[Symbol, Symbol] = {}
    for node in graph.nodes:
        y = node.outputs[0] if node.outputs else None
        if node.op in LEAVES:
            assert y is not None
            stands_for = node.data if isinstance(node.data, Variable) else None
            made = trace.leaf(node.op, y, y.shape, y.shape, node.data, stands_for, node.name)
            at[y] = made
            if node.op is PARAMETER:
                trace.inputs.append(made)
            continue
        inputs = [at[x] for x in node.inputs]
        outputs = infer(node.op, inputs, node.attrs, trace)
        trace.record(node.op, inputs, node.attrs, outputs, node.name)
        trace.nodes[-1].line = node.line
        at.update(zip(node.outputs, trace.nodes[-1].outputs, strict=True))
    return trace, at


def part(trace: Trace, nodes: list[Any], parameters: list[Symbol], inputs: list[Symbol],
         outputs: list[Symbol]) -> Graph:
    """Some nodes of a trace as a graph; `parameters` become its inputs, constants come along."""
    graph = Graph(trace.name)
    at: dict[Symbol, Symbol] = {}
    for k, x in enumerate(parameters):
        at[x] = graph.add_leaf(PARAMETER, x, x.node.name, x.node.line, Argument(k, x.node.name))
        graph.inputs.append(at[x])
    for node in nodes:
        if node.outputs and node.outputs[0] in at:
            continue
        for x in node.inputs:
            if x not in at:             # a constant of the other part
                at[x] = copy_node(graph, x.node, ()).outputs[0]
        made = copy_node(graph, node, tuple([at[x] for x in node.inputs]))
        at.update(zip(node.outputs, made.outputs, strict=True))
    for x in outputs:
        if x not in at:
            at[x] = copy_node(graph, x.node, ()).outputs[0]
    graph.inputs += [at[x] for x in inputs]
    graph.outputs = [at[x] for x in outputs]
    return graph


