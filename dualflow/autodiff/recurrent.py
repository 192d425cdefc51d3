"""Second-order gradients of recurrent layers, by tapes over the unrolled steps.

A gradient op computes what a tape over the steps would compute, so its gradient is computed by a
tape around that tape. It runs about ten ops per step; the number of steps must be known while
tracing."""

from __future__ import annotations

from dualflow._core import Tensor
from dualflow.autodiff.tape import GradientTape
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import zeros, zeros_like
from dualflow.ops.array.join import split, stack
from dualflow.ops.array.shape import expand_dims, identity, reshape, transpose
from dualflow.ops.elementwise.compare import greater, where
from dualflow.ops.elementwise.hyperbolic import tanh
from dualflow.ops.elementwise.relu import relu as rectified
from dualflow.ops.elementwise.special import sigmoid
from dualflow.ops.linalg.matmul import matmul

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

__all__: list[str] = []

# (input contribution, states) -> the states after the step
Step: TypeAlias = "Callable[[Tensor, list[Tensor]], list[Tensor]]"


def steps(step: Step, x: Tensor, kernel: Tensor, bias: Tensor, states: Sequence[Tensor],
          lengths: Tensor, reverse: bool, time_major: bool) -> list[Tensor]:
    """Return outputs and last states of a cell, as the ops define them."""
    now = list(states)
    none = zeros((*x.shape[:2], now[0].shape[1]), x.dtype)
    x = x if time_major else transpose(x, [1, 0, 2])
    n, batch, features = x.shape
    z = matmul(reshape(x, (n * batch, features)), kernel) + bias
    z = reshape(z, (n, batch, kernel.shape[1]))
    outputs = [zeros_like(now[0])] * int(n)
    order = range(len(outputs))
    for t in reversed(order) if reverse else order:
        runs = expand_dims(greater(lengths, t), 1)
        after = step(where(runs, z[t], zeros_like(z[t])), now)
        now = [where(runs, new, old) for new, old in zip(after, now, strict=True)]
        outputs[t] = where(runs, now[0], zeros_like(now[0]))
    return [stack(outputs, 0 if time_major else 1) if outputs else none, *now]


def through(forward: Callable[..., list[Tensor]], inputs: Sequence[Tensor], g: Sequence[Tensor],
            gg: Sequence[Tensor], wants_x: bool) -> list[Tensor]:
    """Return the gradients of `g` and of the inputs, given the cotangents `gg` of the gradients
    that forward has for `g`: of all inputs, or of all but the first."""
    first = 0 if wants_x else 1
    with GradientTape() as outer:
        every = [identity(x) for x in (*g, *inputs)]    # a separate identity for each argument
        outer.watch(every)
        g, inputs = every[:len(g)], every[len(g):]
        with GradientTape() as inner:
            inner.watch(inputs)
            y = forward(*inputs)
        d = inner.gradient(y, inputs[first:], output_gradients=g, unconnected_gradients="zero")
    return outer.gradient(d, every, output_gradients=list(gg[first:]),
                          unconnected_gradients="zero")


@gradient("simple_rnn_grad", saves=(0, 1, 2, 3, 4, 5, 6, 7))
def _(gg, y, g_out, g_h, x, kernel, recurrent, bias, h0, lengths, out, reverse, time_major, relu,
      wants_x):
    def forward(x, kernel, w, bias, h0):
        def step(z, states):
            return [activation(z + matmul(states[0], w))]

        return steps(step, x, kernel, bias, [h0], lengths, reverse, time_major)

    activation = rectified if relu else tanh
    inputs = x, kernel, recurrent, bias, h0
    return *through(forward, inputs, (g_out, g_h), gg, wants_x), None, None


@gradient("lstm_grad", saves=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
def _(gg, y, g_out, g_h, g_c, x, kernel, recurrent, bias, h0, c0, lengths, out, residuals, reverse,
      time_major, wants_x):
    def forward(x, kernel, w, bias, h0, c0):
        def step(z, states):
            h, c = states
            i, f, new, o = split(z + matmul(h, w), 4, 1)
            c = sigmoid(f) * c + sigmoid(i) * tanh(new)
            return [sigmoid(o) * tanh(c), c]

        return steps(step, x, kernel, bias, [h0, c0], lengths, reverse, time_major)

    inputs = x, kernel, recurrent, bias, h0, c0
    return *through(forward, inputs, (g_out, g_h, g_c), gg, wants_x), None, None, None


@gradient("gru_grad", saves=(0, 1, 2, 3, 4, 5, 6, 7, 8))
def _(gg, y, g_out, g_h, x, kernel, recurrent, bias, inner_bias, h0, lengths, out, residuals,
      reverse, time_major, reset_after, wants_x):
    def forward(x, kernel, w, bias, inner_bias, h0):
        def step(z, states):
            h, = states
            gates, inner = w[:, :two], w[:, two:]
            keep, reset = split(sigmoid(z[:, :two] + matmul(h, gates)), 2, 1)
            new = (reset * (matmul(h, inner) + inner_bias) if reset_after
                   else matmul(reset * h, inner))
            return [keep * h + (1 - keep) * tanh(z[:, two:] + new)]

        return steps(step, x, kernel, bias, [h0], lengths, reverse, time_major)

    two = 2 * recurrent.shape[0]
    inputs = x, kernel, recurrent, bias, inner_bias, h0
    return *through(forward, inputs, (g_out, g_h), gg, wants_x), None, None, None
