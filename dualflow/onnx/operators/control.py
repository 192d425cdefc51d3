"""Branches and loops."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow._core import current_graph
from dualflow.onnx.operators.registry import Node, operator, tensor

ENDLESS = (1 << 63) - 1


@operator("If")
def _(at: Node, test):
    """The scope is kept: what is inside may run later, while a branch is traced."""
    scope = at.scope

    def taken(name: str) -> Any:
        return lambda: [tensor(y) for y in at(name).run([], scope)]
    return df.cond(df.reshape(test, []), taken("then_branch"), taken("else_branch"))


@operator("Loop")
def _(at: Node, times=None, test=None, *carried):
    """Rows are stacked by TensorArrays, of which each round writes one."""
    body, scope, n = at("body"), at.scope, len(carried)
    times = df.constant(ENDLESS, df.int64) if times is None else df.reshape(times, [])
    test = df.constant(True) if test is None else df.reshape(test, [])
    if current_graph() is None:
        return _run(body, scope, times, test, carried)
    rows = [df.TensorArray(body.types[name], 0, dynamic_size=True)
            for name in body.outputs[1 + n:]]

    def more(k: Any, go_on: Any, *state: Any) -> Any:
        return df.logical_and(k < times, go_on)

    def round(k: Any, go_on: Any, *state: Any) -> Any:
        made = body.run([k, go_on, *state[:n]], scope)
        made = [tensor(y) for y in made]
        stacks = [s.write(df.cast(k, df.int32), y)
                  for s, y in zip(state[n:], made[1 + n:], strict=True)]
        return (k + 1, df.reshape(made[0], []), *made[1:1 + n], *stacks)

    start = (df.constant(0, df.int64), test, *[tensor(x) for x in carried], *rows)
    last = df.while_loop(more, round, start)
    return [*last[2:2 + n], *[s.stack() for s in last[2 + n:]]]


def _run(body: Any, scope: Any, times: Any, test: Any, carried: Any) -> list[Any]:
    """The loop, round by round."""
    k, n, state, rows = 0, len(carried), list(carried), []
    while k < times and test:
        made = body.run([df.constant(k, df.int64), test, *state], scope)
        test, state = made[0], made[1:1 + n]
        rows.append(made[1 + n:])
        k += 1
    if not rows:
        return [*state, *[df.zeros([0], body.types[name] or df.float32)
                          for name in body.outputs[1 + n:]]]
    return [*state, *[df.stack([tensor(y) for y in ys]) for ys in zip(*rows, strict=True)]]


@operator("Scan")
def _(at: Node, *inputs):
    if at.version < 9:
        inputs = inputs[1:] if inputs[0] is None else inputs
        raise at.refuse("batches, as before version 9")
    body, scope, n_rows = at("body"), at.scope, at("num_scan_inputs")
    n = len(inputs) - n_rows
    directions = at("scan_input_directions", [0] * n_rows)
    axes = at("scan_input_axes", [0] * n_rows)
    xs = []
    for x, axis, back in zip(inputs[n:], axes, directions, strict=True):
        x = tensor(x)
        axis %= x.ndim
        x = df.transpose(x, [axis, *[k for k in range(x.ndim) if k != axis]])
        xs.append(df.reverse(x, [0]) if back else x)

    def step(state: Any, rows: Any) -> Any:
        made = [tensor(y) for y in body.run([*state, *rows], scope)]
        return made[:n], made[n:]

    last, stacked = df.scan(step, [tensor(x) for x in inputs[:n]], xs)
    m = len(stacked)
    out = []
    for y, axis, back in zip(stacked, at("scan_output_axes", [0] * m),
                             at("scan_output_directions", [0] * m), strict=True):
        y = df.reverse(y, [0]) if back else y
        axis %= y.ndim
        out.append(df.transpose(y, [*range(1, axis + 1), 0, *range(axis + 1, y.ndim)]))
    return [*last, *out]
