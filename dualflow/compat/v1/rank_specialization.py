"""Rank specialisations of a graph for its placeholders of unknown rank.

Shape inference needs ranks. A placeholder of unknown rank is recorded as a scalar, and every
operation or function call that depends on it is logged. When a fed value fixes the ranks, an
edition is built: a graph that continues this one and in which the log is replayed with
placeholders of known ranks. A run takes its program from the edition for the ranks of its feeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dualflow._core import Symbol, TraceContext, apply_ordered, symbol_like
from dualflow._util.locks import reentrant_lock
from dualflow.compat.v1.operation import Operation
from dualflow.compat.v1.value_sizes import elements, numbers_of
from dualflow.errors import DualflowError
from dualflow.graph.ir import PARAMETER

if TYPE_CHECKING:
    from dualflow.compat.v1.graph import Graph

MAX_RANK = 4        # ranks to try if a function rejects scalars
ERRORS = (DualflowError, ValueError, TypeError)


class Call(NamedTuple):
    """A call that depends on a tensor of unknown rank, and its result."""

    function: Callable[..., Any]
    args: Any
    kwargs: Any
    made: Any
    control: tuple[Operation, ...]


class RankSpecializations:
    """The operations of a graph that depend on unknown ranks, and its editions by rank."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.log: list[Call | Operation] = []
        self._depends: set[Operation] = set()
        self._depth = 0
        self._lock = reentrant_lock()       # several threads may need the same new edition
        self._made: dict[tuple[int, ...], Edition] = {}
        self.edition: Edition | None = None         # set if `graph` is the graph of an edition

    # --- while the graph is built ---

    def depends(self, x: Any) -> bool:
        """Return True if a tensor or operation depends on an unknown rank."""
        if isinstance(x, Symbol):
            return x.node in self._depends or x in self.graph.unranked
        return x in self._depends

    def settle(self, x: Any) -> None:
        """Mark a placeholder as ranked. The caller sets its shape, or leaves it a scalar; no
        operation has read it before."""
        if isinstance(x, Symbol) and x in self.graph.unranked:
            del self.graph.unranked[x]
            self._made.clear()

    def note(self, op: Operation) -> None:
        """Log a new operation if it depends on an unknown rank."""
        read = (*op.inputs, *op.control_inputs, *[d.args[0] for d in elements(numbers_of(op))])
        if any(map(self.depends, read)):
            self._depends.add(op)
            if not self._depth:
                self.log.append(op)

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return the result of a function; log the call if it depends on an unknown rank."""
        if self._depth:
            return self.graph.made(function(*args, **kwargs))
        start, self._depth = len(self.graph.operations), 1
        control = self.graph.control_inputs()
        try:
            made = self.graph.made(function(*args, **kwargs))
        except ERRORS as error:
            if not self._any_depends(args, kwargs):
                raise
            made = self._stand_ins(Call(function, args, kwargs, None, control), error)
        finally:
            self._depth = 0
        new = self.graph.operations[start:]
        if any([op in self._depends for op in new]) or (
                new and self._any_depends(args, kwargs)):
            self._depends.update(new)
            self.log.append(Call(function, args, kwargs, made, control))
        return made

    def _any_depends(self, args: Any, kwargs: Any) -> bool:
        return any([isinstance(x, Symbol) and self.depends(x) for x in flat([args, kwargs])])

    def _stand_ins(self, call: Call, error: Exception) -> Any:
        """Return placeholders like the results of a function that rejects scalars; its results are
        taken from the first rank that it accepts."""
        for rank in range(1, MAX_RANK + 1):
            try:
                edition = self.of_rank(rank)
                found = edition.again(call)
            except ERRORS:
                continue
            return mapped(found, lambda x: self._like(x) if isinstance(x, Symbol) else x)
        raise error

    def _like(self, x: Symbol) -> Symbol:
        """Return a tensor like `x` that is computed only in editions."""
        node = self.graph.node(PARAMETER, (), None, x.node.name)
        node.outputs = (symbol_like(self.graph, node, 0, x),)
        self._depends.add(node)
        return node.outputs[0]

    def knows_shape(self, x: Symbol) -> bool:
        """Return True if the shape of a tensor is the same for all ranks up to MAX_RANK."""
        if not self.depends(x):
            return True
        if x in self.graph.unranked:
            return False
        shapes = []
        for rank in range(MAX_RANK + 1):
            try:
                shapes.append(self.of_rank(rank).of(x).known_shape)
            except ERRORS:
                continue
        return len(set(shapes)) == 1

    # --- running ---

    def of_rank(self, rank: int) -> Edition:
        """Return the edition in which all placeholders have one rank."""
        return self._edition((rank,) * len(self.graph.unranked))

    def _edition(self, ranks: tuple[int, ...]) -> Edition:
        with self._lock:
            found = self._made.get(ranks)
            if found is None:
                found = self._made[ranks] = Edition(self, ranks)
            found.keep_going()
        return found

    def fitting(self, wanted: Sequence[Any], fed: Sequence[Symbol],
                shapes: Sequence[Sequence[int]]) -> tuple[Graph, Any, Any]:
        """Return the graph for the ranks of the feeds, and the fetches and feeds in that graph."""
        ranks = {x: len(shape) for x, shape in zip(fed, shapes, strict=True)}
        edition = self._edition(tuple([ranks.get(x, 0) for x in self.graph.unranked]))
        return (edition.graph, tuple(map(edition.of, wanted)), tuple(map(edition.of, fed)))

    def here(self, x: Any) -> Any:
        """Return the counterpart of a tensor in the edition of this graph, if this is an
        edition's."""
        return x if self.edition is None else self.edition.of(x)


class Edition:
    """A graph that continues another graph, with known ranks for its placeholders.

    Attributes
    ----------
    graph : Graph
    """

    specializations: RankSpecializations

    def __init__(self, specializations: RankSpecializations, ranks: Sequence[int]) -> None:
        base = specializations.graph
        self.specializations, self._done = specializations, 0
        self.graph: Graph = type(base)(base.name, base)
        self.graph.specializations.edition = self
        self.graph.variables, self.graph.versions = base.variables, base.versions
        self.graph.variable_store, self.graph.seed = base.variable_store, base.seed
        self._stands_for: dict[Any, Any] = {}
        self._failed: dict[Any, Exception] = {}
        self._ranks = ranks
        self._place()

    def _place(self) -> None:
        """Create the placeholders of known rank."""
        for x, rank in zip(self.specializations.graph.unranked, self._ranks, strict=True):
            self._stands_for[x] = self.graph.placeholder([None] * rank, x.dtype, f"{x.op.name}/")
            self.graph.unranked.pop(x, None)

    def of(self, x: Any) -> Any:
        """Return the counterpart of a tensor or operation of the base graph."""
        if isinstance(x, Symbol | Operation) and x.graph is not self.graph:
            if x in self._stands_for:
                return self._stands_for[x]
            if x in self._failed:
                raise self._failed[x]
            if (isinstance(x, Operation)
                and any(map(self.specializations.depends, x.control_inputs))):
                found = self._stands_for[x] = self.graph.outside_op(x.type, f"{x.name}/")
                found.control_inputs = tuple(map(self.of, x.control_inputs))
                return found
        return x

    def keep_going(self) -> None:
        """Replay the log entries added since the last call."""
        log = self.specializations.log
        while self._done < len(log):
            entry = log[self._done]
            self._done += 1
            made = entry.made if isinstance(entry, Call) else (entry, entry.outputs)
            try:
                found = self.again(entry)
            except ERRORS as error:
                self._failed.update(dict.fromkeys(graph_elements(made), error))
                continue
            self._stands_for.update(zip(graph_elements(made), graph_elements(found), strict=True))

    def again(self, entry: Call | Operation) -> Any:
        """Replay one log entry: call the function or apply the op on the counterparts of its
        inputs."""
        graph = self.graph
        if isinstance(entry, Call):
            args, kwargs = mapped((entry.args, entry.kwargs), self.of)
            with graph.control_dependencies(map(self.of, entry.control)), TraceContext(graph):
                return graph.made(entry.function(*args, **kwargs))
        inputs = tuple(map(self.of, entry.inputs))
        attrs = () if entry.attrs is None else entry.attrs.values
        with graph.control_dependencies(map(self.of, entry.control_inputs)), TraceContext(graph):
            apply_ordered(entry.op, inputs, attrs, f"{entry.name}/")
        node = graph.nodes[-1]
        return node, node.outputs


def mapped(structure: Any, f: Callable[[Any], Any]) -> Any:
    """Return nested lists, tuples and dicts with `f` applied to tensors and operations."""
    if isinstance(structure, Symbol | Operation):
        return f(structure)
    if isinstance(structure, list):
        return [mapped(x, f) for x in structure]
    if isinstance(structure, tuple):
        items = [mapped(x, f) for x in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    if isinstance(structure, Mapping) and type(structure) is dict:
        return {key: mapped(x, f) for key, x in structure.items()}
    return structure


def flat(structure: Any) -> list[Any]:
    """Return the leaves of nested lists, tuples and dicts."""
    found: list[Any] = []
    pending = [structure]
    while pending:
        x = pending.pop()
        if isinstance(x, list | tuple):
            pending += reversed(x)
        elif type(x) is dict:
            pending += reversed(x.values())
        else:
            found.append(x)
    return found


def graph_elements(structure: Any) -> list[Any]:
    """Return the tensors and operations of a structure, then the operations of the tensors."""
    found = [x for x in flat(structure) if isinstance(x, Symbol | Operation)]
    return found + [x.node for x in found if isinstance(x, Symbol)]
