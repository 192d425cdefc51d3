"""Traces a function for one example and interprets the trace for a batch.

The nodes of the trace are applied to all examples at once, op by op, in the current context: in
eager mode or in the graph that is being traced, with the active tapes recording. vmap therefore
needs no kernels, and its results have gradients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

from dualflow._core import (
    AutocastRegion,
    Dim,
    Symbol,
    as_tensor,
    current_graph,
    current_tape,
    symbol,
)
from dualflow.errors import DualflowError, InvalidArgumentError, ShapeError
from dualflow.graph.ir import (
    CALL,
    CONSTANT,
    LEAVES,
    LOOP,
    PARAMETER,
    VARIABLE,
    Node,
    walk,
)
from dualflow.graph.trace.bodies import Body
from dualflow.graph.trace.control_gradient import on_tapes
from dualflow.graph.trace.dims import dim_now
from dualflow.graph.trace.outlining import row_of
from dualflow.graph.trace.parameters import is_number
from dualflow.graph.trace.trace import Trace
from dualflow.nest import rebuild
from dualflow.ops.array.shape import broadcast_to
from dualflow.ops.control_flow.scan import map_fn
from dualflow.ops.control_flow.state import leaves
from dualflow.ops.indexing.indexed_slices import IndexedSlices
from dualflow.transforms import registry
from dualflow.transforms.batched_value import Application, BatchedValue
from dualflow.transforms.control_flow import OWNERS
from dualflow.transforms.loops import uneven
from dualflow.transforms.rules import shapes  # noqa: F401  fills the registry

BatchedValues = list[BatchedValue]


class BatchTrace(Trace):
    """The trace of one example in eager mode."""

    def dissolve(self, nodes: Iterable[Node]) -> None:
        """Break the reference cycles between nodes and values of a finished trace."""
        for node in [*walk(nodes), *self.nodes]:
            node.inputs = node.outputs = node.bodies = ()
            node.data = None
        self.nodes.clear()
        self.captured.clear()


class BatchInterpreter:
    """An interpreter of the trace of one example.

    Parameters
    ----------
    caller : str
        The name of the transform, for messages.
    n : int or Dim
        The batch size.
    around : BatchInterpreter, optional
        An interpreter whose values the function may read, because it was recorded within it.
    """

    def __init__(self, caller: str, n: Any, around: BatchInterpreter | None = None) -> None:
        self.caller = caller
        self.n = n
        self.values: dict[Symbol, BatchedValue] = {} if around is None else around.values
        graph = current_graph() if around is None or not around.eager else None
        self.eager: bool = graph is None
        self.first: bool = around is None
        # Calls, branches and loops whose bodies are being interpreted. The bodies open in `around`
        # contain the gradient rule that is mapped here, which may read values in them.
        self.open: list[Node] = [] if around is None else list(around.open)
        if graph is None:
            graph = BatchTrace(caller, None if around is None else around.trace)
            graph.may_create = f"{caller}: a Variable is created for one example; create it outside"
        self.trace: Trace = graph
        # True if values are never read again; a gradient rule of the user on a tape may read them.
        self.passes: bool = self.eager and around is None and current_tape() is None

    def again(self) -> BatchInterpreter:
        """Return an interpreter for later recordings that read values of this one."""
        return BatchInterpreter(self.caller, self.n, self)

    def snapshot(self) -> BatchInterpreter:
        """Return a copy with the current values, which the next iteration of a loop replaces."""
        if not self.open:
            return self
        snapshot = copy(self)
        snapshot.open = list(self.open)
        if any([node.op is LOOP for node in self.open]):
            snapshot.values = dict(self.values)
        return snapshot

    # --- recording ---

    def map(self, f: Callable[..., Any], args: Sequence[BatchedValue]) -> tuple[Any, BatchedValues]:
        """Return the structure that `f` returns and its batched tensors."""
        params = {k: self._param(x) for k, x in enumerate(args) if self._needs_param(x)}
        given = [params.get(k, x.value) for k, x in enumerate(args)]
        guards = set(self.trace.guards)

        def example() -> Any:
            return tensors_of(f(*given))

        with self.trace.outliner.lock, self.trace.outliner.reading(self.values, self.open):
            body = Body(self.trace, self.caller, example, ())
        decided = [self.trace.guards.pop(key) for key in list(self.trace.guards)
                   if key not in guards]
        for node in walk(body.nodes):
            self._refuse(node)
        if self.first and uneven(body.nodes, [s for s, x in zip(given, args, strict=True)
                                              if x.batched]):
            return body.result, row_by_row(f, args)
        self.values.update({s: args[k] for k, s in params.items()})
        self.play(body.nodes, self._reads(body) if self.passes else None)
        for guard in decided:
            self._decide(guard)
        made = [self.value_of(y) for y in body.outputs]
        if self.passes and isinstance(self.trace, BatchTrace):
            self.trace.dissolve(body.nodes)
        return body.result, made

    def _reads(self, body: Body) -> Counter[Symbol] | None:
        """Return the number of reads of each value, or None if sizes depend on data, which read
        values too."""
        if any([y.data_dependent_shape for node in body.nodes for y in node.outputs]):
            return None
        return Counter([x for node in body.nodes for x in node.inputs] + body.outputs)

    def _needs_param(self, x: BatchedValue) -> bool:
        """Return True if the function sees another value: one row, or a parameter for a value of a
        different trace, in which a gradient rule runs."""
        return x.batched or (type(x.value) is Symbol and x.value.graph is not self.trace)

    def _param(self, operand: BatchedValue) -> Symbol:
        """Return a parameter with the type of a tensor for one example."""
        x, skipped = operand.value, int(operand.batched)
        node = Node(PARAMETER, (), None, (), self.trace.names.unique("lane"), self.trace.line())
        if type(x) is Symbol:
            made = symbol(self.trace, node, 0, x.dtype, x.known_shape[skipped:], x.hints[skipped:])
        else:
            made = symbol(self.trace, node, 0, x.dtype, x.shape[skipped:])
        node.outputs = (made,)
        return made

    def _refuse(self, node: Node) -> None:
        """Raise if the function writes a variable, which is possible only once."""
        if not node.op.writes:
            return
        variable = self.trace.variable_of(node.inputs[(node.op.writes & -node.op.writes)
                                                      .bit_length() - 1])
        if variable is None or not getattr(variable, "trainable", True):
            hint = ("; for numbers that differ between examples use random.stateless_*, with a "
                    "seed for each example")
        else:
            hint = ""
        name = getattr(variable, "name", "a variable")
        raise InvalidArgumentError(
            f"{self.caller}: an example cannot assign {name}, which all examples share (at "
            f"{node.line}); return the value, and assign it outside{hint}")

    def _decide(self, guard: Any) -> None:
        """Record a decision on a size of one example as a guard on sizes of the outer trace."""
        args = [self.number(a) for a in guard.args]
        if any([isinstance(a, Dim) for a in args]):
            self.trace.guard(guard.op, tuple(args), guard.answer)

    # --- values ---

    def value_of(self, x: Symbol) -> BatchedValue:
        """Return the batched or shared value of a symbol."""
        found, recorded = self._played(x)
        if found is None:
            value = self._outside(recorded)
            seen = on_tapes(value)
            if seen is not value:       # created in the current body, only for this reader
                return BatchedValue(seen, False)
            found = BatchedValue(value, False)
        self.values[x] = found
        return found

    def _played(self, x: Symbol) -> tuple[BatchedValue | None, Symbol]:
        """Return the value of a symbol of the function, and the symbol as originally recorded."""
        found = self.values.get(x)
        while found is None and x in self.trace.outliner.recorded_as:
            x = self.trace.outliner.recorded_as[x]      # outlined into a call after recording
            found = self.values.get(x)
        return found, x

    def _outside(self, x: Symbol) -> Any:
        """Return the value of a symbol from outside the function."""
        node = x.node
        if is_number(x):
            return as_tensor(self.number(node.data.dim), x.dtype)
        if node.op is CONSTANT or (self.eager and node.op is VARIABLE):
            return node.data            # a body of the graph may have its own constants
        return x if self.eager else self.trace.to_symbols(None, [x])[0]

    def number(self, x: Any) -> Any:
        """Return a number, evaluated if it was computed from sizes of one example."""
        return dim_now(x, self._leaf) if isinstance(x, Dim) else x

    def _leaf(self, dim: Dim) -> Any:
        x = dim.args[0]
        found = self._played(x)[0] if isinstance(x, Symbol) else None
        if found is not None and dim.kind == "size":
            return found.value.shape[dim.args[1] + found.batched]
        if found is not None or self.eager:
            raise ShapeError(f"{self.caller}: a size depends on data and may therefore differ "
                             "between examples")
        return dim

    def batched(self, operand: BatchedValue) -> Any:
        """Return the batched form of a value."""
        if operand.batched:
            return operand.value
        x = as_tensor(operand.value)
        return broadcast_to(x, (self.n, *x.shape))

    def operand(self, x: Symbol) -> BatchedValue:
        """Return an input of a gradient rule at the position that is being interpreted."""
        return self.value_of(row_of(x, self.open))

    # --- interpreting ---

    def play(self, nodes: Iterable[Node], reads: Counter[Symbol] | None = None) -> None:
        """Apply nodes to the batch; drop values after their last read if `reads` has the counts."""
        with AutocastRegion():          # the nodes contain the casts
            self._play(nodes, reads)

    def _play(self, nodes: Iterable[Node], reads: Counter[Symbol] | None) -> None:
        for node in nodes:
            if node.op in LEAVES:
                continue
            mark = self.trace.mark
            operands = [self.value_of(x) for x in node.inputs]
            apply = OWNERS[node.op] if node.bodies else BatchInterpreter._apply
            try:
                if node.bodies:
                    self.open.append(node)
                made = apply(self, node, operands)
            except DualflowError as error:
                if self.eager and not hasattr(error, "__notes__"):
                    error.add_note(f"in {node.name} of {self.caller}, made at {node.line}")
                raise
            finally:
                if node.bodies:
                    self.open.pop()
            self.values.update(zip(node.outputs, made, strict=False))
            if not self.eager and node.op is not CALL:
                self._place(node, mark)
            if reads is not None:
                reads.subtract(node.inputs)
                for x in node.inputs:
                    if reads[x] <= 0:
                        self.values.pop(x, None)

    def _place(self, node: Node, mark: int) -> None:
        """Give the nodes recorded for a node its source line."""
        for made in self.trace.nodes[mark:]:
            if node.line is not None and made.line is not None and made.op not in LEAVES:
                made.line = node.line._replace(place=made.line.place)

    def run(self, graph: Any, operands: Sequence[BatchedValue]) -> BatchedValues:
        """Interpret a body and return its outputs."""
        self.values.update(zip(graph.inputs, operands, strict=True))
        self.play(graph.nodes)
        return [self.value_of(y) for y in graph.outputs]

    def _apply(self, node: Node, operands: BatchedValues) -> BatchedValues:
        run = Application(node, self.n, self.number)
        if not any([x.batched for x in operands]):
            return [BatchedValue(y, False) for y in outputs(run(*[x.value for x in operands]))]
        rule = registry.rule_of(run)
        made = None if rule is None else rule(run, *operands)
        if made is None and sized_here(node):
            raise ShapeError(f"{self.caller}: the size of the result of {node.op.name} (at "
                             f"{node.line}) depends on data and may differ between examples")
        if made is None:
            made = loop_fallback(run, operands)
        return [y if isinstance(y, BatchedValue) else BatchedValue(y, True) for y in outputs(made)]


def sized_here(node: Node) -> bool:
    """Return True if an output size depends on the data that an op reads. Sizes from attributes
    are excluded, because they were determined earlier."""
    from_attributes = node.attrs is not None and node.attrs.symbolic
    return (any([y.data_dependent_shape for y in node.outputs]) and not from_attributes
            and not any([x.data_dependent_shape for x in node.inputs]))


def outputs(made: Any) -> Sequence[Any]:
    """Return the results of an op as a sequence."""
    if isinstance(made, BatchedValue):
        return [made]
    return () if made is None else made if isinstance(made, tuple) else (made,)


def tensors_of(structure: Any) -> Any:
    """Convert the results of a function to tensors."""
    return rebuild(structure, lambda x: None if x is None else as_tensor(x),
                   lambda x: isinstance(x, IndexedSlices))


def row_by_row(f: Callable[..., Any], args: Sequence[BatchedValue]) -> BatchedValues:
    """Run a function for one example after the other and stack the results."""
    def row(rows: list[Any]) -> list[Any]:
        left = iter(rows)
        return leaves(tensors_of(f(*[next(left) if x.batched else x.value for x in args])))

    return [BatchedValue(y, True) for y in map_fn(row, [x.value for x in args if x.batched])]


def loop_fallback(run: Application, operands: BatchedValues) -> Any:
    """Apply an op to one example after the other, which works for every op."""
    def example(rows: list[Any]) -> list[Any]:
        left = iter(rows)
        made = run(*[next(left) if x.batched else x.value for x in operands])
        return list(outputs(made))

    return tuple(map_fn(example, [x.value for x in operands if x.batched]))


