"""The gradient rule of nodes with bodies: its transpose is a cond on the same predicate, or a loop.

Tapes record a cond or a loop as one application (`own_recorded`). Its rule maps cotangents of the
outputs to cotangents of the inputs: `cond_gradient.py` and `loop_gradient.py` record a backward
pass over each body in a new body, which belongs to a node of the same op. Residuals, values of the
first body that the new one reads, become outputs of the first node; a loop stacks them. As the new
node has the same rule, higher orders need no other code.

Outputs of nodes and carries of loops have separate identities. Accumulators of captured values
are carries; they start from the existing accumulator or from -0.0, the additive identity, so sums
have the order of eager mode. A `MaskedGradient` distinguishes a missing cotangent from zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from dualflow._core import (
    Attrs,
    Dim,
    MaskedGradient,
    Op,
    Symbol,
    Tape,
    as_tensor,
    current_graph,
    filled,
    record_owner,
    symbol,
    tensor_id,
)
from dualflow.autodiff.backward import BodyCotangents, sum_cotangents
from dualflow.autodiff.masked_gradient import clean
from dualflow.dtypes import float32, uint8
from dualflow.graph.ir import (
    COND,
    LOOP,
    NO_LIMIT,
    Node,
    RegionRecord,
    loop_attrs,
    loop_parts,
)
from dualflow.graph.trace.bodies import Body, own, param
from dualflow.graph.trace.cotangents import (
    flag_of,
    is_differentiable,
    is_inside,
    is_packed,
    limited,
    measured,
    n_made,
    row_parts,
    varies,
)
from dualflow.graph.trace.replay_on_tape import replay_on_tape
from dualflow.graph.trace.undefined import undefined
from dualflow.ops.array.shape import identity
from dualflow.ops.elementwise.bitwise import logical_or
from dualflow.ops.reduction.reduce import reduce_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from dualflow.graph.trace.trace import Trace

Cotangents: TypeAlias = "dict[int, Any]"  # value id -> cotangent
TRANSPOSES: dict[Op, Any] = {}           # op of the node -> subclass of Transpose


def own_recorded(trace: Trace, op: Op, attrs: Attrs | None, given: Sequence[Symbol], n_params: int,
                 bodies: Sequence[Body], name: str) -> Node:
    """Append a node that owns bodies (see `own`) and record it on the active tapes."""
    node = own(trace, op, attrs, given, n_params, bodies, name)
    inputs = {tensor_id(x): x for x in node.inputs if is_differentiable(x)}
    inner_value = trace.outliner.inner_value
    sources = [x.node.data.inside for x in map(inner_value, node.inputs) if is_inside(x)]
    made = list(node.outputs[:n_made(node)])
    if inputs:
        inside = symbol(trace, node, -1, float32, ())
        given = [*dict.fromkeys(sources), *inputs.values()]
        rule = BackwardRule(node, given)
        op = record_owner(op.name, rule, given, [inside, *made])
        node.data = RegionRecord(op, tuple(given), inside, len(made), {}, bodies[0].rows,
                                 bodies[0].keeps_identity)
    return node


class BackwardRule:
    """The gradient rule of a node that owns bodies, with the signature of `record_call`'s rules."""

    def __init__(self, node: Node, inputs: Sequence[Symbol]) -> None:
        self.node = node
        self.inputs = inputs

    def __call__(self, gs: list[Any], sums: list[Any], wanted: list[bool]) -> list[Any]:
        node, inputs, trace = self.node, self.inputs, current_graph()
        residuals = self._residuals()
        flows = self._flows(gs)
        # The cotangent of a residual is returned as part of the inside of its node, if wanted.
        inner = {y for x, wants in zip(inputs, wanted, strict=False) if wants
                 for y in residuals.get(x, ())}
        wanted = [wants and not (k < len(inputs) and trace.outliner.inner_value(inputs[k]) in inner)
                  for k, wants in enumerate(wanted)]
        self._want_once(wanted)
        want: dict[int, Symbol] = {}
        accumulated: Cotangents = {}
        owned = self._owned(residuals)
        for x, g, wants in zip(inputs, sums, wanted, strict=False):
            if x not in residuals and g is not None:
                at = self._id(x)
                accumulated[at] = sum_at(x, [g, accumulated[at]]) if at in accumulated else g
            elif g is not None and wants:
                accumulated.update({self._id(y): g for y, g in g.flows.items() if y in owned})
            for y in residuals.get(x, [x]) if wants else ():
                if is_differentiable(y):
                    want[self._id(y)] = trace.outliner.recorded(y)
        found: Cotangents = {}
        if flows and want:
            before = trace.differentiate(node.op.name, node.outputs[0])
            try:
                with trace.outliner.lock, trace.outliner.opened(node):
                    found = TRANSPOSES[node.op](trace, node, flows, accumulated, want).found
            finally:
                trace.differentiate(before, None)
        found = {**accumulated, **found}
        results = [self._result(residuals, owned, found, x, g) if wants else None
                   for x, g, wants in zip(inputs, sums, wanted, strict=False)]
        return results + [g if wants else None
                          for g, wants in zip(gs, wanted[len(inputs):], strict=True)]

    def _id(self, x: Symbol) -> int:
        return tensor_id(current_graph().outliner.recorded(x))

    def _residuals(self) -> dict[Symbol, list[Symbol]]:
        """Return the residuals of other nodes that this node reads, by the `inside` of the other
        node."""
        found: dict[Symbol, list[Symbol]] = {}
        for x in map(current_graph().outliner.inner_value, self.node.inputs):
            data = x.node.data
            if isinstance(data, RegionRecord):
                found.setdefault(data.inside, [])
                if is_inside(x):
                    found[data.inside].append(x)
        return found

    def _want_once(self, wanted: list[bool]) -> None:
        """Keep one of the wanted inputs that are versions of one variable: they have one cotangent.
        """
        seen: set[int] = set()
        for k in sorted(range(len(self.inputs)),
                        key=lambda k: tensor_id(self.inputs[k]) != self._id(self.inputs[k])):
            wanted[k] = wanted[k] and self._id(self.inputs[k]) not in seen
            if wanted[k]:
                seen.add(self._id(self.inputs[k]))

    def _owned(self, residuals: dict[Symbol, list[Symbol]]) -> set[Symbol]:
        """Return the residuals whose cotangents are returned as part of the inside of their nodes.
        Residuals that are versions of one variable share its identity and cotangent, which is
        returned once: for the variable, if it is an input, or else for the first of them."""
        inner = dict.fromkeys([y for found in residuals.values() for y in found])
        inner_value = current_graph().outliner.inner_value
        taken = {self._id(x) for x in self.inputs
                 if x not in residuals and inner_value(x) not in inner}
        owned = set()
        for y in inner:
            if self._id(y) not in taken:
                taken.add(self._id(y))
                owned.add(y)
        return owned

    def _flows(self, gs: Sequence[Any]) -> dict[Symbol, Any]:
        """Return the cotangents of outputs, to which the inside of the node contributes the
        cotangents of residuals."""
        flows = {y: g for y, g in zip(self.node.outputs, gs[1:], strict=False) if g is not None}
        for y, g in gs[0].flows.items() if gs[0] is not None else ():
            flows[y] = sum_at(y, [flows[y], g]) if y in flows else g
        return flows

    def _result(self, residuals: dict[Symbol, list[Symbol]], owned: set[Symbol],
                found: Cotangents, x: Symbol, g: Any) -> Any:
        """Return the accumulator of an input."""
        if x not in residuals:
            return found.get(self._id(x), g)
        flows = dict(g.flows) if g is not None else {}
        flows |= {y: found[self._id(y)] for y in residuals[x]
                  if y in owned and self._id(y) in found}
        return BodyCotangents(flows, sum_at) if flows else None


class Transpose:
    """The transpose of a node with bodies.

    Attributes
    ----------
    found : dict of int to gradient
        The cotangents of values around the node, by their ids.
    """

    def __init__(self, trace: Trace, node: Node, flows: dict[Symbol, Any], accumulated: Cotangents,
                 want: dict[int, Symbol]) -> None:
        self.trace = trace
        self.node = node
        self.flows = flows
        self.accumulated = accumulated
        self.want = want
        self.outliner: Any = trace.outliner
        self.inputs: list[Symbol] = [self.outliner.recorded(x) for x in node.inputs]
        self.name: str = f"{node.name}/gradient"
        self.found: Cotangents = {}

    def declared(self) -> list[tuple[int, Any]]:
        """Return the cotangents of the outputs that the node had when it was recorded, the last
        first, under new identities."""
        n = self.node.data.n_outputs
        made = list(enumerate(self.node.outputs[:n]))
        return [(k, self.flows[y] if is_packed(y) else with_fresh_id(self.flows[y]))
                for k, y in reversed(made) if y in self.flows]

    def inside(self) -> list[tuple[int, Any]]:
        """Return the cotangents of residuals."""
        made = self.node.outputs[self.node.data.n_outputs:n_made(self.node)]
        return [(k, self.flows[y]) for k, y in enumerate(made, self.node.data.n_outputs)
                if y in self.flows]

    def id_of(self, y: Symbol) -> int:
        """Return the id that tapes use for a value of a body."""
        y = self.outliner.inner_value(y)        # a residual of a node that is inside a call
        return tensor_id(y if isinstance(y.node.data, RegionRecord) else self.outliner.recorded(y))

    def tape(self, nodes: Iterable[Node], watched: Iterable[Symbol]) -> Tape:
        """Return the records of a tape that watched `watched` while `nodes` ran."""
        tape = Tape(False)
        for x in watched:
            tape.watch(x)
        replay_on_tape(tape, nodes, self.outliner)
        return tape

    def read(self, body: Body, inside: Sequence[Node]) -> list[Symbol]:
        """Return the residuals of a body: the values inside the node that it reads, or whose
        data-dependent sizes it reads."""
        own = set(inside)
        sized = [x for x in map(self.outliner.size_source, measured(body.nodes)) if x is not None]
        return [x for x in dict.fromkeys([*body.reads(), *sized]) if x.node in own]

    def add_output(self, k: int, x: Symbol) -> Symbol:
        """Return the output of the node for `x`, a value of body k; add the output if needed."""
        node, data = self.node, self.node.data
        if x not in data.outside:
            at = n_made(node)
            for i, body in enumerate(node.bodies):
                value = x if i == k else undefined(self.trace, node, body, x)
                body.outputs.insert(len(body.outputs) - node.writes.bit_count(), value)
            y = self._output_like(x, at)
            node.outputs = (*node.outputs[:at], y, *node.outputs[at:])
            for i, out in enumerate(node.outputs):
                out.index = i
            data.outside[x] = y
            if node.op is COND:
                self.outliner.recorded_as[y] = x
        return data.outside[x]

    def _output_like(self, x: Symbol, at: int) -> Symbol:
        shape, hints = x.known_shape, x.hints
        if self.node.op is LOOP:
            parts = loop_parts(self.node)
            if varies(x):
                bit = 1 << (at - parts.stacked.start)
                self.node.attrs = loop_attrs(parts.times, parts.n_carried,
                                             parts.sliced.stop - parts.sliced.start, parts.tested,
                                             parts.reverse, parts.packed | bit,
                                             parts.recompute)
                return symbol(x.graph, self.node, at, uint8, (None,), (None,), row=x)
            rows = None if parts.tested or limited(parts) else parts.times
            hint = int(rows.hint) if isinstance(rows, Dim) else rows
            shape, hints = (None if isinstance(rows, Dim) else rows, *shape), (hint, *hints)
        return symbol(x.graph, self.node, at, x.dtype, shape, hints,
                      row=x if self.node.op is LOOP else x.row)


def on_tapes(y: Any) -> Any:
    """Return a value under an identity that active tapes track, if it is a residual of a loop: it
    became an output after the tapes had recorded the loop. Other values are returned as they are.
    """
    trace = current_graph()
    if trace is None or type(y) is not Symbol:
        return y
    x = trace.outliner.inner_value(y)
    if x.node.op is not LOOP or not is_inside(x) or not y.dtype.is_inexact:
        return y
    made = identity(y)
    record_owner("residual", partial(residual_rule, x), [x.node.data.inside], [made])
    return made


def residual_rule(y: Symbol, gs: list[Any], sums: list[Any], wanted: list[bool]) -> list[Any]:
    """The gradient rule of a residual: its input is the `inside` of the node."""
    g, before = gs[0], sums[0]
    inside = None if g is None else BodyCotangents({y: g}, sum_at)
    if before is not None:
        inside = before if inside is None else sum_cotangents([before, inside])
    return [inside if wanted[0] else None, g if wanted[1] else None]


# --- packed rows ---

def sum_at(y: Symbol, gs: list[Any]) -> Any:
    """Return the sum of cotangents of a residual, which may be packed."""
    return per_row(y, gs, lambda rows: sum_at(y.row, rows)) if is_packed(y) else sum_cotangents(gs)


def per_row(y: Symbol, gs: Sequence[Any], f: Callable[[list[Any]], Any],
            make: Callable[..., Node] = own_recorded) -> Any:
    """Apply ``f([g, ...])`` to each row of cotangents packed like `y`, and pack the results."""
    trace = current_graph()
    x, node = y.row, y.node
    params: list[Symbol] = []
    rows: list[Any] = []
    for g in gs:
        row = param(trace, x, x.node.name)
        params.append(row)
        rows.append(row)
        if isinstance(g, MaskedGradient):
            flag = flag_row(trace, g.flag) if g.flag.ndim else g.flag
            params += [flag] if g.flag.ndim else []
            rows[-1] = MaskedGradient(row, flag, g.clean)
    made: Any = None

    def round(*_: Symbol) -> list[Any]:
        nonlocal made
        made = f(rows)
        return [clean(made), made.flag] if isinstance(made, MaskedGradient) else [made]

    body = Body(trace, f"{node.name}/rows", round, params, rounds=True)
    packed = sum([1 << k for k, y in enumerate(body.outputs) if varies(y)])
    attrs = loop_attrs(NO_LIMIT, 0, len(params), False, False, packed)
    given = trace.to_symbols(None, [part for g in gs for part in row_parts(g)])
    outputs = make(trace, LOOP, attrs, given, len(params), [body], body.name).outputs
    return (MaskedGradient(outputs[0], outputs[1], True) if isinstance(made, MaskedGradient)
            else outputs[0])


def any_flag(flag: Any) -> Any:
    """Return whether any flag holds, as a bool of shape (). Flags may be packed."""
    if flag.dtype is not uint8:
        return reduce_any(flag) if flag.ndim else flag
    trace = current_graph()
    start = trace.to_symbols(None, [as_tensor(False)])
    params = [param(trace, start[0], "any"), param(trace, flag.row, "flag")]
    body = Body(trace, "any", lambda any, flag: [logical_or(any, any_flag(flag))], params,
                rounds=True)
    attrs = loop_attrs(NO_LIMIT, 1, 1, False, False)
    return own(trace, LOOP, attrs, [*start, flag], 2, [body], body.name).outputs[0]


def flag_row(trace: Trace, flag: Symbol) -> Symbol:
    """Return the parameter of a loop body for a row of flags."""
    return param(trace, flag, "flag", 1) if flag.row is None else param(trace, flag.row, "flag")


# --- gradients ---

def with_fresh_id(g: Any) -> Any:
    """Return a gradient under a new identity."""
    if isinstance(g, MaskedGradient):
        return MaskedGradient(identity(g.value), g.flag, g.clean)
    return identity(as_tensor(g))


def accum(flows: Cotangents, to: int, g: Any) -> None:
    """Add to the cotangent of a value."""
    flows[to] = sum_cotangents([flows[to], g]) if to in flows else g


def nothing(x: Symbol) -> Any:
    """Return -0.0 in the shape of `x`, for a missing cotangent: x + -0.0 is x. `x` may be packed.
    """
    return per_row(x, [x], lambda rows: nothing(rows[0]), own) if is_packed(x) else filled(-0.0, x)


def value_of(g: Any, x: Symbol) -> Any:
    """Return the value of a gradient, with -0.0 for a missing cotangent."""
    return nothing(x) if g is None else clean(g) if isinstance(g, MaskedGradient) else as_tensor(g)


def one_flag(g: Any) -> Any:
    """Return whether a cotangent exists, as one flag."""
    return any_flag(flag_of(g))
