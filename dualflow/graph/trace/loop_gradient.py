"""The gradient of a loop: a loop with the same trip count that visits the iterations in reverse.

`control_gradient.BackwardRule` creates it by `TRANSPOSES`. Sums of cotangents must be formed in the
order of eager mode, also for values that are both stacked and carried.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import MaskedGradient, Symbol, as_tensor, tensor_id
from dualflow.autodiff.backward import backward, sum_cotangents
from dualflow.autodiff.masked_gradient import clean, flag_of, zeroed
from dualflow.graph.ir import LOOP, LoopParts, Node, loop_attrs, loop_parts
from dualflow.graph.trace.bodies import Body, param
from dualflow.graph.trace.control_gradient import (
    TRANSPOSES,
    Cotangents,
    Transpose,
    accum,
    flag_row,
    one_flag,
    own_recorded,
    value_of,
)
from dualflow.graph.trace.cotangents import (
    delayed,
    dense,
    is_differentiable,
    is_inside,
    is_packed,
    limited,
    row_parts,
    trip_counts,
    varies,
)
from dualflow.ops.array import creation
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import reshape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.graph.trace.trace import Trace


class LoopTranspose(Transpose):
    """The transpose of a loop: a loop with the same trip count that visits the iterations in
    reverse.

    Its carries are the accumulators of captured values and the cotangents of carries. Its sliced
    inputs are the cotangents of stacked outputs, the residuals, and the accumulators of sliced
    inputs. It stacks the cotangents of sliced inputs.
    """

    outs: list[tuple[int, Any]]
    more: list[tuple[int, Any]]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        node, body = self.node, self.node.bodies[0]
        self.parts: LoopParts = loop_parts(node)
        parts = self.parts
        self.always: bool = not parts.tested and type(parts.times) is int and parts.times > 0
        self.body = body
        self.carried: list[Symbol] = body.inputs[parts.carried]
        self.sliced: list[Symbol] = body.inputs[parts.sliced]
        self.next: list[Symbol] = body.outputs[parts.first:parts.first + parts.n_carried]
        self.captured: dict[int, Symbol] = {tensor_id(x): x for x in self.inputs[parts.captured]
                                            if tensor_id(x) in self.want}
        self.rows: list[int] = self._wanted_rows()
        self.watched: list[int] = self._watched()
        self.outs, self.more = self.declared(), self.inside()
        self.flags: dict[Any, Symbol] = {}
        self._begin()
        self._infer_carry_kinds()

    def _wanted_rows(self) -> list[int]:
        """Return the sliced inputs whose cotangents are wanted. Residuals that are versions of one
        variable have one cotangent, which one of them gets, or the variable if it is captured."""
        seen, rows = set(self.captured), []
        for k, x in enumerate(self.inputs[self.parts.sliced]):
            if tensor_id(x) in self.want and self.id_of(self.sliced[k]) not in seen:
                seen.add(self.id_of(self.sliced[k]))
                rows.append(k)
        return rows

    def _watched(self) -> list[int]:
        """Return the carries that depend on a wanted value (a fixpoint over the iteration)."""
        given = self.inputs[self.parts.carried]
        found = {k for k, x in enumerate(given) if tensor_id(x) in self.want}
        while True:
            watched = [*[self.carried[k] for k in found], *self.captured.values(),
                       *[self.outliner.recorded(self.sliced[k]) for k in self.rows]]
            tape = self.tape(self.body.nodes, watched)
            more = {k for k, y in enumerate(self.next) if is_differentiable(y)
                    and tape.tracks(self.outliner.recorded(y))}
            if more <= found:
                return sorted(found)
            found |= more

    def _begin(self) -> None:
        """Set the initial carries, by ("sum", id) and ("carried", position)."""
        self.start: dict[Any, Any] = {}
        self.like: dict[Any, Symbol] = {}
        outs = dict(self.outs)
        for i, x in self.captured.items():
            self.start["sum", i] = dense(self.accumulated.get(i))
            self.like["sum", i] = x
        for k in reversed(self.watched):
            self.start["carried", k] = outs.get(k)
            self.like["carried", k] = self.node.outputs[k]
        self.sliced_in: list[tuple[str, int, Any]] = []     # sliced cotangents and accumulators
        stacked = self._shift_carried_rows([*self.more, *[(k, g) for k, g in self.outs
                                                          if k >= self.parts.stacked.start]])
        given = self.inputs[self.parts.sliced]
        for kind, flows in (("row", [(k, self.accumulated[tensor_id(given[k])]) for k in self.rows
                                     if tensor_id(given[k]) in self.accumulated]),
                            ("out", stacked)):
            self.sliced_in += [(kind, k, g) for k, g in flows]

    def _shift_carried_rows(self, stacked: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
        """Return `stacked` without the cotangents of values that are also carried to the next
        iteration. They are shifted to the carry of that iteration, since eager mode adds them
        before the cotangents of the uses there."""
        if not self.node.data.keeps_identity:
            return list(stacked)
        rest = []
        places = {x: k for k, x in reversed([*enumerate(self.next)]) if k in self.watched}
        for at, g in stacked:
            k = places.get(self.body.outputs[at])
            if k is None or self.body.outputs[at] is self.carried[k] or varies(self.carried[k]):
                rest.append((at, g))
                continue
            g, at = dense(g), k
            for _ in self.next:         # the body may pass the value through several carries
                g = self._later(g, k)
                at = places.get(self.carried[k], k)
                if at == k:
                    break
                k = at
            self.sliced_in.append(("given", k, g))
        return rest

    def _later(self, g: Any, k: int) -> Any:
        """Return the rows of a cotangent shifted to carry k of the next iteration; the last row
        is added to the cotangent of the loop's output. Python's own loops, which keep identities,
        are never reversed."""
        rows, last = delayed(g)
        if self.always and not isinstance(g, MaskedGradient):
            last = last.value
        before = self.start["carried", k]
        self.start["carried", k] = last if before is None else sum_cotangents([before, last])
        return rows

    def _infer_carry_kinds(self) -> None:
        """Record the iteration until the kinds of its carries are a fixpoint. In the first
        iteration of the backward loop, fewer values may have cotangents than in later ones."""
        now, guards = dict(self.start), self.trace.guards
        while True:
            self.trace.guards = dict(guards)        # without the decisions of failed attempts
            iteration = _Iteration(self, now)
            after = {key: _joined(now[key], iteration.result[key]) for key in now}
            if all([_kind(after[key]) == _kind(now[key]) for key in now]):
                break
            now = after
        self._join(iteration)

    def _join(self, iteration: _Iteration) -> None:
        parts = self.parts
        ends = iteration.result if self.always else {
            key: _joined(self.start[key], iteration.result[key]) for key in iteration.params}
        body, keep = iteration.body, iteration.chosen(ends)
        for key in list(keep):
            if key[0] == "sum" and iteration.result[key] is iteration.params[key]:
                keep.remove(key)
        start = [self._first(key) for key in keep]
        body.outputs = ([iteration.outputs[key] for key in keep]
                        + [y for _, _, ys in iteration.stacked for y in ys])
        given_rows = [part for _, _, g in self.sliced_in for part in row_parts(g)]
        body.params = [iteration.given[key] for key in keep] + iteration.row_params
        for x in self.read(body, self.body.nodes):
            given_rows.append(self._residual(x))
            made = param(self.trace, x, x.node.name)
            body.params.append(made)
            body.rows[x] = body.rows[self.outliner.recorded(x)] = made
            self.outliner.recorded_as[made] = x
        limit = trip_counts(self.trace, self.node)
        packed = sum([1 << k for k, y in enumerate(body.outputs[len(keep):]) if varies(y)])
        attrs = loop_attrs(-1 if limit else parts.times, len(keep), len(given_rows), False,
                           not parts.reverse, packed, parts.recompute)
        given = [*limit, *self.trace.to_symbols(None, [*start, *given_rows])]
        node = own_recorded(self.trace, LOOP, attrs, given, len(body.params), [body], self.name)
        self._take(node, iteration, keep, ends)

    def _first(self, key: Any) -> Any:
        if key[0] == "flag":
            return one_flag(self.start[key[1]])
        return value_of(self.start[key], self.like[key])

    def _residual(self, x: Symbol) -> Symbol:
        """Return the stacked values of `x` in all iterations."""
        at = {y: k for k, y in enumerate(self.sliced)}
        return self.inputs[self.parts.sliced][at[x]] if x in at else self.add_output(0, x)

    def _take(self, node: Node, iteration: _Iteration, keep: Sequence[Any],
              ends: dict[Any, Any]) -> None:
        made = dict(zip(keep, node.outputs, strict=False))

        def gradient(key: Any) -> Any:
            if key not in made or ends[key] is None:
                return None
            if not isinstance(ends[key], MaskedGradient):
                return made[key]
            return MaskedGradient(made[key], made["flag", key], True)

        for i in self.captured:
            g = gradient(("sum", i))
            if g is not None:
                self.found[i] = g
            elif i in self.accumulated:
                self.found[i] = self.accumulated[i]
        at = len(keep)
        for k, maybe, _ in iteration.stacked:
            x = self.inputs[self.parts.sliced][k]
            g = (MaskedGradient(node.outputs[at], node.outputs[at + 1], True) if maybe
                 else node.outputs[at])
            at += 1 + maybe
            self.found[tensor_id(x)] = self._whole(x, g) if self._may_end_early(x) else g
        for k in reversed(self.watched):
            i = tensor_id(self.inputs[self.parts.carried][k])
            g = gradient(("carried", k))
            if i in self.want and g is not None:
                self._accum(i, g)

    def _accum(self, i: int, g: Any) -> None:
        """Add to the cotangent of a value around the loop."""
        if i not in self.found and i in self.accumulated:
            self.found[i] = self.accumulated[i]
        accum(self.found, i, g)

    def _may_end_early(self, x: Symbol) -> bool:
        """Return True if a sliced input may have more rows than the loop has iterations. A residual
        has one row for each iteration."""
        return ((self.parts.tested or limited(self.parts))
                and not is_packed(x) and not is_inside(x))

    def _whole(self, x: Symbol, g: Any) -> Any:
        """Return the cotangent of a sliced input, with zeros for rows that no iteration read."""
        value = zeroed(g) if isinstance(g, MaskedGradient) else g
        n = x.shape[0]
        if x.ndim > 1:          # without iterations, the shape of a row is unknown
            value = reshape(value, [value.shape[0], *x.shape[1:]])
        made = reshape(concat([value, creation.zeros_like(x)], 0)[:n], x.shape)
        return MaskedGradient(made, flag_of(g)) if isinstance(g, MaskedGradient) else made


def _kind(g: Any) -> str:
    return "nothing" if g is None else "maybe" if isinstance(g, MaskedGradient) else "something"


def _joined(a: Any, b: Any) -> Any:
    """Return a gradient of the kind that covers `a` and `b`: a Maybe if their kinds differ."""
    if _kind(a) == _kind(b):
        return a
    return MaskedGradient(None, None)


class _Iteration:
    """One attempt to record the backward pass through an iteration.

    Attributes
    ----------
    params : dict
        The carried cotangents and accumulators at the start of the iteration, by key.
    given : dict
        The carried params of the body: values by their keys, flags by ("flag", key).
    result, outputs : dict
        `params` and `given` after the iteration.
    stacked : list of (int, bool, list of Symbol)
        Sliced inputs with a cotangent: position, whether it is a Maybe, value and flag.
    """

    def __init__(self, loop: LoopTranspose, now: dict[Any, Any]) -> None:
        self.loop = loop
        self.params: dict[Any, Any] = {}
        self.given: dict[Any, Symbol] = {}
        self.result: dict[Any, Any] = {}
        self.outputs: dict[Any, Symbol] = {}
        self.stacked: list[tuple[int, bool, list[Symbol]]] = []
        trace = loop.trace
        for key, g in now.items():
            if g is None:
                continue
            like = loop.like[key] if key[0] == "sum" else loop.carried[key[1]]
            self.given[key] = self.params[key] = param(trace, like, loop.name)
            if isinstance(g, MaskedGradient):
                flag = self.given["flag", key] = param(trace, as_symbol(trace, True), loop.name)
                self.params[key] = MaskedGradient(self.given[key], flag, True)
        self.row_params: list[Symbol] = []
        self.rows: list[tuple[str, int, Any]] = []
        for kind, k, g in loop.sliced_in:
            made: Any = self._row(self._inside(kind, k), 0)
            if isinstance(g, MaskedGradient):
                flag = g.flag
                if flag.ndim:
                    flag = flag_row(trace, flag)
                    self.row_params.append(flag)
                made = MaskedGradient(made, flag, True)
            self.rows.append((kind, k, made))
        self.body = Body(trace, f"{loop.name}/body", self._record, ())

    def _row(self, x: Symbol, skipped: int) -> Symbol:
        made = param(self.loop.trace, x, self.loop.name, skipped)
        self.row_params.append(made)
        return made

    def _record(self) -> list[Any]:
        loop = self.loop
        flows: Cotangents = {}
        for kind, k, g in self.rows:
            accum(flows, loop.id_of(self._inside(kind, k)), g)
        for key, g in self.params.items():
            if key[0] == "sum":
                first = flows.get(key[1])
                flows[key[1]] = g if first is None else sum_cotangents([g, first])
        for key, g in self.params.items():
            if key[0] == "carried":
                accum(flows, loop.id_of(loop.next[key[1]]), g)
        watched = [*[loop.carried[k] for k in loop.watched], *loop.captured.values(),
                   *[loop.outliner.recorded(loop.sliced[k]) for k in loop.rows]]
        tape = loop.tape(loop.body.nodes, watched)
        found = backward(tape, flows, [tensor_id(x) for x in watched], free=True, maybe=True)
        return self._returned(found)

    def _inside(self, kind: str, k: int) -> Symbol:
        """Return the value of the loop body whose rows a sliced input holds."""
        loop = self.loop
        return {"row": loop.sliced, "given": loop.carried, "out": loop.body.outputs}[kind][k]

    def _returned(self, found: Cotangents) -> list[Any]:
        loop = self.loop
        returned: list[Any] = []
        for key in [*[("sum", i) for i in loop.captured],
                    *[("carried", k) for k in reversed(loop.watched)]]:
            i = key[1] if key[0] == "sum" else tensor_id(loop.carried[key[1]])
            g = self.result[key] = dense(found.get(i))
            if key in self.given:
                like = loop.like[key] if key[0] == "sum" else loop.carried[key[1]]
                self.outputs[key] = value_of(g, like)
                if ("flag", key) in self.given:
                    self.outputs["flag", key] = one_flag(g)
        rows = []
        for k in reversed(loop.rows):
            g = dense(found.get(loop.id_of(loop.sliced[k])))
            if g is not None:
                parts = [g] if not isinstance(g, MaskedGradient) else [clean(g), g.flag]
                rows.append((k, isinstance(g, MaskedGradient), parts))
        trace = loop.trace
        for key, y in self.outputs.items():
            self.outputs[key] = as_symbol(trace, y)
        self.stacked = [(k, maybe, [as_symbol(trace, y) for y in parts])
                        for k, maybe, parts in rows]
        returned += [*self.outputs.values(), *[y for _, _, ys in self.stacked for y in ys]]
        return returned

    def chosen(self, ends: dict[Any, Any]) -> list[Any]:
        """Return the keys of the carries to keep: a flag only if it is read or returned."""
        read = {x for node in self.body.nodes for x in node.inputs}
        read |= {y for _, _, ys in self.stacked for y in ys}
        keep = {key for key in self.given if key[0] != "flag"}
        keep |= {("flag", key) for key, g in ends.items() if isinstance(g, MaskedGradient)}
        while True:
            more = {key for key, x in self.given.items() if key not in keep and (
                x in read or any([self.outputs[other] is x for other in keep]))}
            if not more:
                return [key for key in self.given if key in keep]
            keep |= more


def as_symbol(trace: Trace, x: Any) -> Symbol:
    """Return a value as a Symbol of a trace."""
    return trace.to_symbols(None, [as_tensor(x)])[0]


TRANSPOSES[LOOP] = LoopTranspose
