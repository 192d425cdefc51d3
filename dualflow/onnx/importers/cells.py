"""Recurrent layers step by step, by the formulas of the standard, for activations, clips and
peepholes that no kernel supports."""

from __future__ import annotations

from collections.abc import Callable

import dualflow as df
from dualflow.onnx.importers.registry import Node, limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

nn = df.nn

# By lower-case name: function of x, alpha and beta, and their defaults; None if not a parameter.
ACTIVATIONS: dict[str, tuple[Callable[..., Any], float | None, float | None]] = {
    "relu": (lambda x: nn.relu(x), None, None),
    "tanh": (lambda x: df.tanh(x), None, None),
    "sigmoid": (lambda x: df.sigmoid(x), None, None),
    "softsign": (lambda x: nn.softsign(x), None, None),
    "softplus": (lambda x: nn.softplus(x), None, None),
    "leakyrelu": (lambda x, a: nn.leaky_relu(x, a), 0.01, None),
    "thresholdedrelu": (lambda x, a: df.where(x > a, x, df.zeros_like(x)), 1.0, None),
    "elu": (lambda x, a: df.where(x < 0., df.math.expm1(x) * a, x), 1.0, None),
    "affine": (lambda x, a, b: x * a + b, 1.0, 0.0),
    "scaledtanh": (lambda x, a, b: df.tanh(x * b) * a, 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: df.clip_by_value(x * a + b, 0., 1.), 0.2, 0.5),
}


@limit("RNN", "LSTM", "GRU")
def _(node: Node) -> str | None:
    unknown = [name for name in node("activations", []) if name.lower() not in ACTIVATIONS]
    return f"with {unknown[0]}" if unknown else None


def activations(node: Node, names: list[str]) -> list[Callable[[Any], Any]]:
    """Return activations by name; each takes the next given alpha and beta, if it has them."""
    alphas, betas = list(node("activation_alpha", [])), list(node("activation_beta", []))
    clip, made = node("clip"), []
    for name in names:
        function, alpha, beta = ACTIVATIONS[name.lower()]
        options = [(given.pop(0) if given else usual)
                   for given, usual in ((alphas, alpha), (betas, beta)) if usual is not None]
        made.append(_clipped(function, options, clip))
    return made


def _clipped(function: Callable[..., Any], options: list[float],
             clip: float | None) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        return function(x if clip is None else df.clip_by_value(x, -clip, clip), *options)
    return run


def _rnn(node: Node, functions: Any, r: Any, b: Any, p: Any) -> Any:
    f, = functions

    def step(x: Any, h: Any) -> list[Any]:
        return [f(x + df.matmul(h, r, transpose_b=True) + b)]
    return step


def _lstm(node: Node, functions: Any, r: Any, b: Any, p: Any) -> Any:
    f, g, last = functions
    first, after, before = [0., 0., 0.] if p is None else df.split(p, 3, 0)    # i, o, f

    def step(x: Any, h: Any, c: Any) -> list[Any]:
        i, o, forget, new = df.split(x + df.matmul(h, r, transpose_b=True) + b, 4, -1)
        i = f(i + first * c)
        keep = 1 - i if node("input_forget", 0) else f(forget + before * c)
        c = keep * c + i * g(new)
        return [f(o + after * c) * last(c), c]
    return step


def _gru(node: Node, functions: Any, r: Any, b: Any, p: Any) -> Any:
    f, g = functions
    units = r.shape[-1]
    r_gates, r_new = df.split(r, [2 * units, units], 0)
    b_gates, b_new = df.split(b, [2 * units, units], 0)

    def step(x: Any, h: Any) -> list[Any]:
        gates, new = df.split(x, [2 * units, units], -1)
        z, reset = df.split(f(gates + df.matmul(h, r_gates, transpose_b=True) + b_gates), 2, -1)
        if node("linear_before_reset", 0):
            new = new + reset * (df.matmul(h, r_new, transpose_b=True) + b_new)
        else:
            new = new + df.matmul(reset * h, r_new, transpose_b=True) + b_new
        return [(1 - z) * g(new) + z * h]
    return step


CELLS = {"RNN": _rnn, "LSTM": _lstm, "GRU": _gru}


def layer(node: Node, names: list[str], x: Any, w: Any, r: Any, b: Any, p: Any, states: list[Any],
          lengths: Any, back: bool) -> list[Any]:
    """Return the outputs (time, batch, units) and last states, for x of shape (time, batch, n)."""
    time = x.shape[0]
    steps = df.range(time, dtype=df.int64)
    ends = (df.ones([x.shape[1]], df.int64) * time if lengths is None
            else df.cast(lengths, df.int64))
    first, second = df.split(df.zeros([2 * w.shape[0]], w.dtype) if b is None else b, 2, 0)
    cell = CELLS[node.kind](node, activations(node, names), r, second, p)
    inputs = df.matmul(x, w, transpose_b=True) + first

    def step(state: Any, rows: Any) -> Any:
        row, k = rows
        there = df.expand_dims(k < ends, 1)
        new = [df.where(there, a, b) for a, b in zip(cell(row, *state), state, strict=True)]
        return new, df.where(there, new[0], df.zeros_like(new[0]))

    turned = _turned(inputs, steps, ends) if back else inputs
    last, y = df.scan(step, list(states), [turned, steps])
    return [_turned(y, steps, ends) if back else y, *last]


def _turned(x: Any, steps: Any, ends: Any) -> Any:
    """Reverse the rows before the end of each sequence."""
    steps = df.expand_dims(steps, 1)
    places = df.transpose(df.where(steps < ends, ends - 1 - steps, steps))
    y = df.gather(df.transpose(x, [1, 0, 2]), places, axis=1, batch_dims=1)
    return df.transpose(y, [1, 0, 2])
