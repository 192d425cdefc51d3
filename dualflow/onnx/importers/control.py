"""Operators If, Loop and Scan."""

from __future__ import annotations

import dualflow as df
from dualflow._core import Dim, Symbol, Variable, current_graph
from dualflow.onnx.importers.registry import Node, operator, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NO_LIMIT = (1 << 63) - 1
UNROLLED = 32                       # loops of at most this trip count are unrolled while tracing


@operator("If")
def _(node: Node, test):
    """Run one branch, or trace both. The branches run later, so they capture `node.scope` now."""
    scope = node.scope
    if fixed(test):
        return node("then_branch" if bool(test) else "else_branch").run([], scope)

    def taken(name: str) -> Any:
        return lambda: [tensor(y) for y in node(name).run([], scope)]
    return df.cond(df.reshape(test, []), taken("then_branch"), taken("else_branch"))


def fixed(x: Any) -> bool:
    """Return True if a tensor is the same in all runs."""
    return not isinstance(x, Symbol | Variable)


def _scalar(x: Any) -> Any:
    """Return a one-element tensor as a scalar; records no op if it is fixed."""
    return df.constant(x.item(), x.dtype) if fixed(x) else df.reshape(x, [])


@operator("Loop")
def _(node: Node, times=None, test=None, *carried):
    body, scope = node("body"), node.scope
    times = df.constant(NO_LIMIT, df.int64) if times is None else _scalar(times)
    test = df.constant(True) if test is None else _scalar(test)
    made = None
    if current_graph() is None or (fixed(times) and fixed(test) and int(times) <= UNROLLED):
        made = _run(body, scope, int(times), test, carried)
    return made if made is not None else _traced(body, scope, times, test, carried)


def _traced(body: Any, scope: Any, times: Any, test: Any, carried: Any) -> list[Any]:
    """Trace the loop; a TensorArray stacks the rows that each iteration writes."""
    n = len(carried)
    dtypes = [body.types[name] for name in body.outputs[1 + n:]]
    if None in dtypes:                  # the file may omit them: trace an unused iteration
        made = body.run([df.constant(0, df.int64), test, *carried], scope)
        dtypes = [tensor(y).dtype for y in made[1 + n:]]
    rows = [df.TensorArray(dtype, 0, dynamic_size=True) for dtype in dtypes]

    def more(k: Any, keep_going: Any, *state: Any) -> Any:
        return df.logical_and(k < times, keep_going)

    def round(k: Any, keep_going: Any, *state: Any) -> Any:
        made = body.run([k, keep_going, *state[:n]], scope)
        made = [tensor(y) for y in made]
        stacks = [s.write(df.cast(k, df.int32), y)
                  for s, y in zip(state[n:], made[1 + n:], strict=True)]
        return (k + 1, df.reshape(made[0], []), *made[1:1 + n], *stacks)

    start = (df.constant(0, df.int64), test, *[tensor(x) for x in carried], *rows)
    last = df.while_loop(more, round, start)
    return [*last[2:2 + n], *[s.stack() for s in last[2 + n:]]]


def _run(body: Any, scope: Any, times: int, test: Any, carried: Any) -> list[Any] | None:
    """Run or unroll the loop; return None if the condition depends on a traced value."""
    k, n, state, rows = 0, len(carried), list(carried), []
    while k < times and test:
        made = body.run([df.constant(k, df.int64), test, *state], scope)
        test, state = made[0], made[1:1 + n]
        rows.append(made[1 + n:])
        k += 1
        if not fixed(test):
            return None
    if not rows:
        return [*state, *[df.zeros([0], body.types[name] or df.float32)
                          for name in body.outputs[1 + n:]]]
    return [*state, *[df.stack([tensor(y) for y in ys]) for ys in zip(*rows, strict=True)]]


@operator("Scan")
def _(node: Node, *inputs):
    if node.version < 9:
        return _batches(node, *inputs)
    n_rows = node("num_scan_inputs")
    directions = node("scan_input_directions", [0] * n_rows)
    axes = node("scan_input_axes", [0] * n_rows)
    first = inputs[:len(inputs) - n_rows]
    xs = []
    for x, axis, back in zip(inputs[len(first):], axes, directions, strict=True):
        x = tensor(x)
        axis %= x.ndim
        x = df.transpose(x, [axis, *[k for k in range(x.ndim) if k != axis]])
        xs.append(df.reverse(x, [0]) if back else x)
    last, stacked = _rows(node, first, xs)
    m = len(stacked)
    out = []
    for y, axis, back in zip(stacked, node("scan_output_axes", [0] * m),
                             node("scan_output_directions", [0] * m), strict=True):
        y = df.reverse(y, [0]) if back else y
        axis %= y.ndim
        out.append(df.transpose(y, [*range(1, axis + 1), 0, *range(axis + 1, y.ndim)]))
    return [*last, *out]


def _rows(node: Node, first: Any, xs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the last states and the stacked outputs of the body for the rows of `xs`."""
    body, scope, n = node("body"), node.scope, len(first)

    def step(state: Any, rows: Any) -> Any:
        made = [tensor(y) for y in body.run([*state, *rows], scope)]
        return made[:n], made[n:]

    last, stacked = df.scan(step, [tensor(x) for x in first], xs)
    return list(last), list(stacked)


def _batches(node: Node, lengths: Any, *inputs: Any) -> list[Any]:
    """Scan before version 9: a batch of sequences; shorter ones are padded with zeros."""
    n_rows = node("num_scan_inputs")
    directions = node("directions", [0] * n_rows)
    many, size = inputs[-1].shape[:2]
    if isinstance(many, Dim) or not (lengths is None or fixed(lengths)):
        raise node.refuse("before version 9: the batch size or the lengths of sequences are "
                          "unknown")
    ends = [size] * many if lengths is None else lengths.tolist()
    made = []
    for k, end in enumerate(ends):
        states, xs = inputs[:-n_rows], [x[k, :end] for x in inputs[-n_rows:]]
        last, stacked = _rows(node, [x[k] for x in states], [
            df.reverse(x, [0]) if back else x for x, back in zip(xs, directions, strict=True)])
        made.append([*last, *[df.pad(y, [[0, size - end]] + [[0, 0]] * (y.ndim - 1))
                              for y in stacked]])
    return [df.stack(list(ys)) for ys in zip(*made, strict=True)]
