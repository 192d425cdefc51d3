"""RNN, LSTM and GRU: by kernels for whole sequences, or step by step."""

from __future__ import annotations

import dualflow as df
from dualflow.onnx.importers import cells
from dualflow.onnx.importers.registry import Node, operator, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# dualflow's order of gates, as indices into the standard's order.
GATES = {"RNN": [0], "LSTM": [0, 2, 3, 1], "GRU": [0, 1, 2]}
PLAIN = {"RNN": ["Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}


def _weights(kind: str, x: Any) -> Any:
    """Convert (gates * units, n) to (n, gates * units) in dualflow's order of gates."""
    parts = df.split(x, len(GATES[kind]), 0)
    return df.transpose(df.concat([parts[k] for k in GATES[kind]], 0))


@operator("RNN", "LSTM", "GRU")
def _(node: Node, x, w, r, b=None, lengths=None, h=None, c=None, peepholes=None):
    kind, x, w, r = node.kind, tensor(x), tensor(w), tensor(r)
    directions, units = w.shape[0], r.shape[-1]
    given = [a.capitalize() for a in node("activations", PLAIN[kind] * directions)]
    relu = kind == "RNN" and set(given) == {"Relu"}
    by_steps = (given != PLAIN[kind] * directions and not relu) or node("clip") or (
        peepholes is not None or node("input_forget", 0))
    time = 1 if node("layout", 0) else 0
    batch = x.shape[1 - time]
    states = [_state(s, node, directions, batch, units, x) for s in ((h, c) if kind == "LSTM"
                                                                     else (h,))]
    outputs, last = [], []
    for d in range(directions):
        back = node("direction", "forward") == "reverse" or d == 1
        bias = None if b is None else b[d]
        if by_steps:
            made = _by_steps(node, d, x, w, r, bias, peepholes, [s[d] for s in states], lengths,
                             back)
        else:
            made = _layer(node, x, w[d], r[d], bias, [s[d] for s in states], lengths, back, relu)
        outputs.append(made[0])
        last.append(made[1:])
    y = df.stack(outputs, 2 if time else 1)
    return [y, *[df.stack(list(s), 1 if time else 0) for s in zip(*last, strict=True)]]


def _by_steps(node: Node, d: int, x: Any, w: Any, r: Any, b: Any, peepholes: Any, states: list[Any],
              lengths: Any, back: bool) -> list[Any]:
    many = len(PLAIN[node.kind])
    names = node("activations", PLAIN[node.kind] * w.shape[0])[d * many:(d + 1) * many]
    batch_first = bool(node("layout", 0))
    y, *last = cells.layer(node, names, df.transpose(x, [1, 0, 2]) if batch_first else x, w[d],
                           r[d],
                           b, None if peepholes is None else peepholes[d], states, lengths, back)
    return [df.transpose(y, [1, 0, 2]) if batch_first else y, *last]


def _state(state: Any, node: Node, directions: Any, batch: Any, units: Any, x: Any) -> Any:
    """Return a state of shape (directions, batch, units)."""
    if state is None:
        return df.zeros([directions, batch, units], x.dtype)
    return df.transpose(state, [1, 0, 2]) if node("layout", 0) else state


def _layer(node: Node, x: Any, w: Any, r: Any, b: Any, states: Any, lengths: Any, back: bool,
           relu: bool) -> list[Any]:
    kind = node.kind
    kernel, recurrent = _weights(kind, w), _weights(kind, r)
    options = {"lengths": lengths, "go_backwards": back, "time_major": not node("layout", 0)}
    if b is None:
        b = df.zeros([2 * w.shape[0]], w.dtype)
    first, second = [_weights(kind, df.reshape(p, [-1, 1]))[0] for p in df.split(b, 2, 0)]
    if kind == "LSTM":
        y, (h, c) = df.nn.lstm(x, kernel, recurrent, first + second, tuple(states), **options)
        return [y, h, c]
    if kind == "RNN":
        return list(df.nn.simple_rnn(x, kernel, recurrent, first + second, states[0],
                                     activation="relu" if relu else "tanh", **options))
    after = bool(node("linear_before_reset", 0))
    bias = df.stack([first, second]) if after else first + second
    return list(df.nn.gru(x, kernel, recurrent, bias, states[0], reset_after=after, **options))
