"""Running parts of a graph: what is asked for, what that needs, and programs kept for later."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from dualflow._core import Dim, Symbol, Tensor, as_tensor
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.graph.calls.arguments import TensorLeaf
from dualflow.graph.ir import Node, walk
from dualflow.graph.passes.options import Options
from dualflow.graph.program.compile import Compiled, compile_trace
from dualflow.graph.trace.parameters import Argument, Feed, Number
from dualflow.graph.trace.specialize import leaves
from dualflow.graph.trace.trace import Trace, suspended

MAX_PROGRAMS = 64          # of one graph; the least recently used is dropped


class Session:
    """Runs parts of a graph, which may grow between runs, and keeps their programs."""

    def __init__(self, trace: Trace, options: Options) -> None:
        self.trace = trace
        self.options = options
        self._programs: OrderedDict[Any, Compiled] = OrderedDict()

    def run(self, fetches: Sequence[Symbol | Node], feeds: Mapping[Symbol, Any]) -> list[Any]:
        """Values of tensors; None for nodes, which are run.

        Parameters
        ----------
        fetches : sequence of Symbol or Node
        feeds : dict of Symbol to Tensor
            Values of placeholders.
        """
        fed = {x: self._fit(x, value) for x, value in feeds.items()}
        shapes = {x.node.data.leaf: value.shape for x, value in fed.items()}
        key = (tuple(fetches), tuple(sorted(shapes.items())))
        compiled = self._programs.get(key)
        if compiled is None:
            compiled = self._programs[key] = self._compile(fetches, fed, shapes)
            if len(self._programs) > MAX_PROGRAMS:
                self._programs.popitem(last=False)
        self._programs.move_to_end(key)
        values: list[Any] = [None] * len(self.trace.inputs)
        for x, value in fed.items():
            values[x.node.data.leaf] = value
        with suspended():
            made = iter(compiled.run(values))
        return [next(made) if isinstance(x, Symbol) else None for x in fetches]

    def _fit(self, x: Symbol, value: Any) -> Tensor:
        """A value for a placeholder, of its dtype and a shape it admits."""
        if x.graph is not self.trace or not isinstance(x.node.data, Argument):
            raise InvalidArgumentError(f"run: {x.name} is no placeholder of {self.trace.name}")
        with suspended():
            tensor = as_tensor(value, None if isinstance(value, Tensor) else x.dtype, x.name)
        wanted, given = TensorLeaf(x.dtype, x.known_shape), TensorLeaf(tensor.dtype, tensor.shape)
        if not wanted.admits(given):
            raise ShapeError(f"run: {x.name} is fed {given}, want {wanted}")
        return tensor

    def _compile(self, fetches: Sequence[Symbol | Node], fed: Mapping[Symbol, Tensor],
                 shapes: Mapping[int, Sequence[int]]) -> Compiled:
        part = part_for(self.trace, fetches)
        missing = [x for x in part.inputs if isinstance(x.node.data, Argument) and x not in fed]
        if missing:
            names = ", ".join(x.name for x in missing)
            raise InvalidArgumentError(f"run: what is asked for needs values of {names}; feed them")
        compiled = compile_trace(part, shapes, self.options)
        if compiled is None:
            raise InvalidArgumentError(
                f"run: while {self.trace.name} was built, Python decided by a size that is another "
                "for what is fed; build it with placeholders of known shape")
        return compiled


def part_for(trace: Trace, fetches: Sequence[Symbol | Node]) -> Trace:
    """The nodes that fetches need, with what decides about them."""
    needed = needed_for(x.node if isinstance(x, Symbol) else x for x in fetches)
    return trace.part([node for node in trace.nodes if node in needed],
                      [x for x in trace.inputs if x.node in needed],
                      [x for x in fetches if isinstance(x, Symbol)],
                      {key: guard for key, guard in trace.guards.items()
                       if all(node in needed for node in sized_by(guard.args))})


def needed_for(nodes: Any) -> set[Node]:
    """Nodes and all that their inputs, and the sizes in their attributes, are computed from."""
    needed: set[Node] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node in needed:
            continue
        pending.extend(x.node for x in node.inputs)
        for inside in walk([node]):
            needed.add(inside)
            if inside.attrs is not None and inside.attrs.symbolic:
                for value in inside.attrs.values:
                    pending.extend(sized_by(value if isinstance(value, tuple) else (value,)))
        if isinstance(node.data, Number):
            pending.extend(sized_by((node.data.dim,)))
        elif isinstance(node.data, Feed):
            pending.extend(sized_by(node.data.args))
    return needed


def sized_by(values: Sequence[Any]) -> list[Node]:
    """Nodes whose outputs' sizes or elements the Dims among values are computed from."""
    return [d.args[0].node for value in values if isinstance(value, Dim)
            for d in leaves(value) if isinstance(d.args[0], Symbol)]
