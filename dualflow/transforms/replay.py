"""A function recorded for one lane, and played for all of them.

The function is traced with what one lane sees, and the nodes are then applied to all lanes at once,
op by op, wherever that happens: eagerly, or into the graph that is being traced, under whatever
tapes are active. So vmap needs no kernels of its own, and its results have gradients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

from dualflow._core import Dim, Symbol, as_tensor, current_graph, current_log, symbol
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
from dualflow.graph.trace.enclosed import row_of
from dualflow.graph.trace.parameters import is_number
from dualflow.graph.trace.trace import Trace
from dualflow.nest import rebuild
from dualflow.ops.array import broadcast_to
from dualflow.ops.indexed_slices import IndexedSlices
from dualflow.ops.scan import map_fn
from dualflow.ops.state import leaves
from dualflow.transforms import registry
from dualflow.transforms.lane import Application, Lane
from dualflow.transforms.loops import uneven
from dualflow.transforms.owners import OWNERS
from dualflow.transforms.rules import shapes  # noqa: F401  fills the registry

Lanes = list[Lane]


class LaneTrace(Trace):
    """The operations of one lane, where nothing else is recorded."""

    def dissolve(self, nodes: Iterable[Node]) -> None:
        """Lets go of all that was recorded at once: nodes and values refer to each other."""
        for node in [*walk(nodes), *self.nodes]:
            node.inputs = node.outputs = node.bodies = ()
            node.data = None
        self.nodes.clear()
        self.captured.clear()


class Replay:
    """What stands for the values of a function that was recorded for one lane.

    Parameters
    ----------
    who : str
        The transform, for messages.
    n : int or Dim
        How many lanes.
    around : Replay, optional
        One whose values the function may read, too: it was recorded there.
    """

    def __init__(self, who: str, n: Any, around: Replay | None = None) -> None:
        self.who = who
        self.n = n
        self.values: dict[Symbol, Lane] = {} if around is None else around.values
        graph = current_graph() if around is None or not around.eager else None
        self.eager: bool = graph is None
        self.first: bool = around is None
        # Calls, branches and loops whose bodies are being played. Those of `around` contain the
        # gradient rule that is mapped here, which may read values inside them.
        self.open: list[Node] = [] if around is None else list(around.open)
        if graph is None:
            graph = LaneTrace(who, None if around is None else around.trace)
            graph.may_create = f"{who}: a Variable is made for one lane; make it outside"
        self.trace: Trace = graph
        # Whether what was played is never asked for again: by a rule of the user's, on a tape.
        self.passes: bool = self.eager and around is None and current_log() is None

    def again(self) -> Replay:
        """For what is recorded later, and reads values of this one."""
        return Replay(self.who, self.n, self)

    def kept(self) -> Replay:
        """The same with the values of now: another iteration of a loop replaces those of this."""
        if not self.open:
            return self
        kept = copy(self)
        kept.open = list(self.open)
        if any([node.op is LOOP for node in self.open]):
            kept.values = dict(self.values)
        return kept

    # --- recording ---

    def map(self, f: Callable[..., Any], args: Sequence[Lane]) -> tuple[Any, Lanes]:
        """What `f` returns for all lanes: the structure, and its tensors."""
        params = {k: self._param(x) for k, x in enumerate(args) if self._needs_param(x)}
        given = [params.get(k, x.value) for k, x in enumerate(args)]
        guards = set(self.trace.guards)

        def lane() -> Any:
            return tensors_of(f(*given))

        with self.trace.enclosed.reading(self.values, self.open):
            body = Body(self.trace, self.who, lane, ())
        decided = [self.trace.guards.pop(key) for key in list(self.trace.guards)
                   if key not in guards]
        for node in walk(body.nodes):
            self._refuse(node)
        if self.first and uneven(body.nodes, [s for s, x in zip(given, args, strict=True)
                                              if x.stacked]):
            return body.result, row_by_row(f, args)
        self.values.update({s: args[k] for k, s in params.items()})
        self.play(body.nodes, self._reads(body) if self.passes else None)
        for guard in decided:
            self._decide(guard)
        made = [self.lane(y) for y in body.outputs]
        if self.passes and isinstance(self.trace, LaneTrace):
            self.trace.dissolve(body.nodes)
        return body.result, made

    def _reads(self, body: Body) -> Counter[Symbol] | None:
        """How often each value is still read, if that can be told: sizes from data are, too."""
        if any([y.sized_by_data for node in body.nodes for y in node.outputs]):
            return None
        return Counter([x for node in body.nodes for x in node.inputs] + body.outputs)

    def _needs_param(self, x: Lane) -> bool:
        """Whether a lane sees something else than the value: a row, or a value of another trace, in
        which a gradient rule of what was played runs."""
        return x.stacked or (type(x.value) is Symbol and x.value.graph is not self.trace)

    def _param(self, lane: Lane) -> Symbol:
        """A parameter like what one lane sees of a tensor."""
        x, skipped = lane.value, int(lane.stacked)
        node = Node(PARAMETER, (), None, (), self.trace.names.unique("lane"), self.trace.line())
        if type(x) is Symbol:
            made = symbol(self.trace, node, 0, x.dtype, x.known_shape[skipped:], x.hints[skipped:])
        else:
            made = symbol(self.trace, node, 0, x.dtype, x.shape[skipped:])
        node.outputs = (made,)
        return made

    def _refuse(self, node: Node) -> None:
        """Raises where a lane does what can be done once only."""
        if not node.op.writes:
            return
        variable = self.trace.variable_of(node.inputs[(node.op.writes & -node.op.writes)
                                                      .bit_length() - 1])
        if variable is None or not getattr(variable, "trainable", True):
            hint = ("; numbers that differ from lane to lane come from random.stateless_*, with a "
                    "seed for each lane")
        else:
            hint = ""
        name = getattr(variable, "name", "a variable")
        raise InvalidArgumentError(
            f"{self.who}: a lane cannot assign {name}, which all lanes share (at {node.line}); "
            f"return the value, and assign it outside{hint}")

    def _decide(self, guard: Any) -> None:
        """Python's decision by a size of one lane, as one by sizes that last."""
        args = [self.number(a) for a in guard.args]
        if any([isinstance(a, Dim) for a in args]):
            self.trace.guard(guard.op, tuple(args), guard.answer)

    # --- values ---

    def lane(self, x: Symbol) -> Lane:
        """What stands for a value in all lanes."""
        found, recorded = self._played(x)
        if found is None:
            value = self._outside(recorded)
            seen = on_tapes(value)
            if seen is not value:       # made in the body that is recorded, for this reader
                return Lane(seen, False)
            found = Lane(value, False)
        self.values[x] = found
        return found

    def _played(self, x: Symbol) -> tuple[Lane | None, Symbol]:
        """What stands for a value that the function made, and the value as it was recorded."""
        found = self.values.get(x)
        while found is None and x in self.trace.enclosed.recorded_as:
            x = self.trace.enclosed.recorded_as[x]      # a call gives it only since then
            found = self.values.get(x)
        return found, x

    def _outside(self, x: Symbol) -> Any:
        """A value that was there before."""
        node = x.node
        if is_number(x):
            return as_tensor(self.number(node.data.dim), x.dtype)
        if node.op is CONSTANT or (self.eager and node.op is VARIABLE):
            return node.data            # a body of the graph may have constants of its own
        return x if self.eager else self.trace.adopt(None, [x])[0]

    def number(self, x: Any) -> Any:
        """A number that may have been computed from sizes of one lane."""
        return dim_now(x, self._leaf) if isinstance(x, Dim) else x

    def _leaf(self, dim: Dim) -> Any:
        x = dim.args[0]
        found = self._played(x)[0] if isinstance(x, Symbol) else None
        if found is not None and dim.kind == "size":
            return found.value.shape[dim.args[1] + found.stacked]
        if found is not None or self.eager:
            raise ShapeError(f"{self.who}: data decides about a size, which may therefore differ "
                             "from lane to lane")
        return dim

    def stacked(self, lane: Lane) -> Any:
        """A value of all lanes."""
        if lane.stacked:
            return lane.value
        x = as_tensor(lane.value)
        return broadcast_to(x, (self.n, *x.shape))

    def operand(self, x: Symbol) -> Lane:
        """What stands for an input of a gradient rule, at the place that is being played."""
        return self.lane(row_of(x, self.open))

    # --- playing ---

    def play(self, nodes: Iterable[Node], reads: Counter[Symbol] | None = None) -> None:
        """Applies nodes to all lanes; forgets values that are not read any more, where `reads` says
        how often they are."""
        for node in nodes:
            if node.op in LEAVES:
                continue
            mark = self.trace.mark
            lanes = [self.lane(x) for x in node.inputs]
            apply = OWNERS[node.op] if node.bodies else Replay._apply
            try:
                if node.bodies:
                    self.open.append(node)
                made = apply(self, node, lanes)
            except DualflowError as error:
                if self.eager and not hasattr(error, "__notes__"):
                    error.add_note(f"in {node.name} of {self.who}, made at {node.line}")
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
        """Has what was recorded for a node stand in the line of that."""
        for made in self.trace.nodes[mark:]:
            if node.line is not None and made.line is not None and made.op not in LEAVES:
                made.line = node.line._replace(place=made.line.place)

    def run(self, graph: Any, lanes: Sequence[Lane]) -> Lanes:
        """What a body makes of its inputs."""
        self.values.update(zip(graph.inputs, lanes, strict=True))
        self.play(graph.nodes)
        return [self.lane(y) for y in graph.outputs]

    def _apply(self, node: Node, lanes: Lanes) -> Lanes:
        run = Application(node, self.n, self.number)
        if not any([x.stacked for x in lanes]):
            return [Lane(y, False) for y in outputs(run(*[x.value for x in lanes]))]
        rule = registry.rule_of(run)
        made = None if rule is None else rule(run, *lanes)
        if made is None and sized_here(node):
            raise ShapeError(f"{self.who}: data decides about the size of what {node.op.name} "
                             f"makes (at {node.line}), so that it may differ from lane to lane")
        if made is None:
            made = one_by_one(run, lanes)
        return [y if isinstance(y, Lane) else Lane(y, True) for y in outputs(made)]


def sized_here(node: Node) -> bool:
    """Whether data that an op reads decides about a size of what it makes; where attributes do,
    they say whose data that is."""
    told = node.attrs is not None and node.attrs.symbolic
    return (any([y.sized_by_data for y in node.outputs]) and not told
            and not any([x.sized_by_data for x in node.inputs]))


def outputs(made: Any) -> Sequence[Any]:
    """What an op returned, as a list."""
    if isinstance(made, Lane):
        return [made]
    return () if made is None else made if isinstance(made, tuple) else (made,)


def tensors_of(structure: Any) -> Any:
    """What a lane returned, as tensors."""
    return rebuild(structure, lambda x: None if x is None else as_tensor(x),
                   lambda x: isinstance(x, IndexedSlices))


def row_by_row(f: Callable[..., Any], args: Sequence[Lane]) -> Lanes:
    """What a function returns for one lane after the other."""
    def row(rows: list[Any]) -> list[Any]:
        left = iter(rows)
        return leaves(tensors_of(f(*[next(left) if x.stacked else x.value for x in args])))

    return [Lane(y, True) for y in map_fn(row, [x.value for x in args if x.stacked])]


def one_by_one(run: Application, lanes: Lanes) -> Any:
    """An op applied to one lane after the other, which is right for every op."""
    def lane(rows: list[Any]) -> list[Any]:
        left = iter(rows)
        made = run(*[next(left) if x.stacked else x.value for x in lanes])
        return list(outputs(made))

    return tuple(map_fn(lane, [x.value for x in lanes if x.stacked]))


