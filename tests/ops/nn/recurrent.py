import numpy as np

from tests.ops.case import case, sample

REL = 1e-5      # sums of few terms, over at most five steps that do not amplify errors
T, B, F, H = 4, 3, 2, 5
LENGTHS = np.array([4, 0, 2], dtype="int32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(a, u, bias, h, c):
    i, f, g, o = np.split(a + h @ u, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_after_step(a, u, bias, h):
    az, ar, ah = np.split(a, 3, axis=1)
    bz, br, bh = np.split(h @ u + bias, 3, axis=1)
    z = sigmoid(az + bz)
    return (z * h + (1 - z) * np.tanh(ah + sigmoid(ar + br) * bh),)


def gru_before_step(a, u, bias, h):
    az, ar, ah = np.split(a, 3, axis=1)
    uz, ur, uh = np.split(u, 3, axis=1)
    z, r = sigmoid(az + h @ uz), sigmoid(ar + h @ ur)
    return (z * h + (1 - z) * np.tanh(ah + (r * h) @ uh),)


def tanh_step(a, u, bias, h):
    return (np.tanh(a + h @ u),)


def relu_step(a, u, bias, h):
    return (np.maximum(a + h @ u, 0),)


def layer(step, x, kernel, recurrent, bias, states, lengths, backwards):
    """Return outputs and final states for (batch, time, features), by the definition."""
    steps = x.shape[1]
    lengths = np.full(len(x), steps) if lengths is None else lengths
    bias = np.zeros(kernel.shape[1]) if bias is None else bias
    bias, inner = bias if bias.ndim == 2 else (bias, 0)
    outputs = np.zeros((*x.shape[:2], len(recurrent)))
    for t in range(steps)[::-1] if backwards else range(steps):
        after = step(x[:, t] @ kernel + bias, recurrent, inner, *states)
        runs = (t < lengths)[:, None]
        states = [np.where(runs, new, old) for new, old in zip(after, states, strict=True)]
        outputs[:, t] = np.where(runs, states[0], 0)
    return outputs, states


def reference(step, n_states):
    """Return the layer function of a step on NumPy arrays; it returns a flat list of results."""
    def run(x, kernel, recurrent, bias=None, initial=None, lengths=None, time_major=False,
            bidirectional=False, go_backwards=False, **rest):
        several = isinstance(kernel, list)
        weights = [kernel, recurrent, bias] if several else [[kernel], [recurrent], [bias]]
        weights[2] = weights[2] or [None] * len(weights[0])
        initial = [initial] if n_states == 1 and initial is not None else initial
        x, last = np.swapaxes(x, 0, 1) if time_major else x, []
        for first in range(0, len(weights[0]), 1 + bidirectional):
            outputs = []
            for i in range(first, first + 1 + bidirectional):
                k, u, b = (w[i] for w in weights)
                states = ([np.zeros((len(x), len(u)))] * n_states if initial is None
                          else [s[i] if several else s for s in initial])
                y, states = layer(step, x, k, u, b, states, lengths, go_backwards != (i > first))
                outputs.append(y)
                last.append(states)
            x = np.concatenate(outputs, axis=2)
        last = [np.stack(s) if several else s[0] for s in zip(*last, strict=True)]
        return [np.swapaxes(x, 0, 1) if time_major else x, *last]

    return run


def small(*shape):
    return sample(shape, -1.5, 1.5)


def row(op, step, n_states, gates, args=(), weights=None, **kwargs):
    given = [small(B, T, F)] if not kwargs.get("time_major") else [small(T, B, F)]
    given += weights or [small(F, gates * H), small(H, gates * H)]
    given += args
    floats = tuple(i for i, a in enumerate(given) if callable(a) or isinstance(a, list))
    case(op, args=given, ref=reference(step, n_states), function=f"nn.{op}", kwargs=kwargs,
         rel=REL, grad=floats, signed_zero=False)


row("lstm", lstm_step, 2, 4, [small(4 * H), [small(B, H), small(B, H)], LENGTHS])
row("lstm", lstm_step, 2, 4, [small(4 * H), [small(B, H), small(B, H)], LENGTHS],
    go_backwards=True, time_major=True)
row("lstm", lstm_step, 2, 4)
row("lstm", lstm_step, 2, 4, [None, None, LENGTHS.astype("int64")], bidirectional=True,
    weights=[[small(F, 4 * H)] * 2 + [small(2 * H, 4 * H)] * 2, [small(H, 4 * H)] * 4])
row("gru", gru_after_step, 1, 3, [small(2, 3 * H), small(B, H), LENGTHS])
row("gru", gru_before_step, 1, 3, [small(3 * H), small(B, H), LENGTHS], reset_after=False)
row("gru", gru_after_step, 1, 3, go_backwards=True)
row("gru", gru_before_step, 1, 3, time_major=True, reset_after=False, go_backwards=True)
row("simple_rnn", tanh_step, 1, 1, [small(H), small(B, H), LENGTHS])
row("simple_rnn", relu_step, 1, 1, [small(H)], activation="relu", go_backwards=True)
row("simple_rnn", tanh_step, 1, 1, [[small(H)] * 2, small(2, B, H)],
    weights=[[small(F, H), small(H, H)], [small(H, H)] * 2])
