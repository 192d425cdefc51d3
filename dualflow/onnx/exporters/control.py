"""Export of branches and loops as If and Loop. Their graphs read outer values by name."""

from __future__ import annotations

from dualflow.dtypes import bool_, int64
from dualflow.graph.ir.control_flow import NO_LIMIT, loop_parts
from dualflow.onnx.exporters.registry import rule
from dualflow.onnx.writer import Refused


def _own(w, values):
    """Copy values by Identity nodes: each output of a graph needs its own node."""
    return [w.op("Identity", v) for v in values]


def _branch(w, node, body, inputs, write_nodes):
    """Return one branch as a graph."""
    inside = w.inner()
    inside.values.update(zip(body.inputs, inputs, strict=True))
    write_nodes(inside, body)
    made = _own(inside, [inside.value(y) for y in body.outputs])
    return inside.graph(inside.shared.names.unique(body.name), [], [
        inside.info(v, [None] * y.ndim) for v, y in zip(made, body.outputs, strict=True)])


@rule("cond")
def _(w, node, *inputs, write_nodes):
    """Write If: a bool selects body 1 or 0; an integer selects by index, the last if out of
    range."""
    bodies, dtypes = node.ir_node.bodies, [y.dtype for y in node.outputs]
    graphs = [_branch(w, node, body, inputs, write_nodes) for body in bodies]
    if inputs[0].dtype is bool_:
        return w.ops("If", [inputs[0]], dtypes, then_branch=graphs[1], else_branch=graphs[0])
    rest = graphs[-1]
    for k in range(len(bodies) - 2, -1, -1):
        outer = w if k == 0 else w.inner()
        test = outer.op("Equal", inputs[0], outer.scalar(k, inputs[0].dtype), dtype=bool_)
        made = outer.ops("If", [test], dtypes, then_branch=graphs[k], else_branch=rest)
        if k == 0:
            return made
        rest = outer.graph(outer.shared.names.unique("cond"), [], [
            outer.info(v, [None] * y.ndim) for v, y in zip(made, node.outputs, strict=True)])
    return _own(w, [inputs[0]])                 # unreachable: a single branch


@rule("loop")
def _(w, node, *inputs, write_nodes):
    loop = node.ir_node
    parts, body = loop_parts(loop), loop.bodies[0]
    if parts.packed or loop.writes:
        raise Refused("a loop whose rows change in shape, or that writes a variable")
    times = inputs[0] if not hasattr(parts.times, "hint") and parts.times < 0 else (
        w.number(parts.times))
    carried = list(inputs[parts.carried])
    first = inputs[parts.carried.start - 1] if parts.tested else w.scalar(True, bool_)
    inside = w.inner()
    k, keep_going = inside.named("round", int64), inside.named("keep_going", bool_)
    states = [inside.named("carried", v.dtype) for v in carried]
    count = inside.named("rounds", int64)
    given = dict(zip(range(parts.carried.start, parts.carried.stop), states, strict=True))
    row = k
    if parts.reverse:
        row = inside.op("Sub", inside.op("Sub", times, inside.scalar(1, int64)), k)
    for place in range(parts.sliced.start, parts.sliced.stop):
        if body.inputs[place].ndim != loop.inputs[place].ndim - 1:
            raise Refused("a loop whose rows change in shape")
        given[place] = inside.op("Gather", inputs[place], row, axis=0)
    inside.values.update({x: given.get(p, inputs[p]) for p, x in enumerate(body.inputs)})
    write_nodes(inside, body)
    values = [inside.value(y) for y in body.outputs]
    test = values[0] if parts.tested else keep_going
    n_made = parts.first + parts.n_carried
    made = _own(inside, [test, *values[parts.first:n_made], count + 1, *values[n_made:]])
    shapes = [body.inputs[p].ndim for p in range(parts.carried.start, parts.carried.stop)]
    rows = [y.ndim for y in body.outputs[n_made:]]
    graph = inside.graph(
        inside.shared.names.unique(body.name),
        [inside.info(k, []), inside.info(keep_going, []),
         *[inside.info(s, [None] * n) for s, n in zip(states, shapes, strict=True)],
         inside.info(count, [])],
        [inside.info(made[0], []),
         *[inside.info(v, [None] * n) for v, n in zip(made[1:], [*shapes, 0, *rows],
                                                      strict=True)]])
    limit = None if not hasattr(parts.times, "hint") and parts.times == NO_LIMIT else times
    kinds = [v.dtype for v in (*carried, count, *values[n_made:])]
    last = w.ops("Loop", [limit, first, *carried, w.scalar(0, int64)], kinds, body=graph)
    n = len(carried)
    stacked = [_reversed(w, s) if parts.reverse else s for s in last[n + 1:]]
    return [*last[:n], *[last[n]] * parts.tested, *stacked]


def _reversed(w, x):
    """Return stacked rows in order; the last row was computed first."""
    lowest = -(1 << 63)
    return w.op("Slice", x, w.ints([-1]), w.ints([lowest]), w.ints([0]), w.ints([-1]))


@rule("unbroadcast")
def _(w, node, g, x):
    """Sum over extra dimensions and over dimensions of size 1, which may be unknown."""
    more = node.inputs[0].ndim - node.inputs[1].ndim
    if more:
        g = w.reduce("ReduceSum", g, range(more), keepdims=False)
    shape = w.shape(node.inputs[1])
    ones = w.squeeze(w.op("NonZero", shape.is_(1), dtype=int64), 0)
    return w.op("ReduceSum", g, ones, keepdims=1, noop_with_empty_axes=1)
