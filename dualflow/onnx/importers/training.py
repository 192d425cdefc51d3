"""The training domain of the standard (preview): gradients and optimizer steps."""

from __future__ import annotations

from collections.abc import Callable

import dualflow as df
from dualflow.onnx.importers.registry import Node, operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DOMAIN = "ai.onnx.preview.training"


@operator(f"{DOMAIN}:Gradient")
def _(node: Node, *inputs):
    """Return the gradients of y, recomputed from xs by the preceding nodes of the graph."""
    xs = list(inputs[:len(node("xs"))])
    given = dict(zip([*node("xs"), *node("zs", [])], inputs, strict=True))
    with df.GradientTape() as tape:
        tape.watch(xs)
        y = node.body.value_of(node("y"), given, node.scope)
    return tape.gradient(y, xs, unconnected_gradients="zero")


def _steps(n: int, inputs: Any, step: Callable[..., list[Any]]) -> list[Any]:
    """Apply one step to each of several tensors. The inputs are n groups: the first value of all
    tensors, then the second of all, and so on."""
    many = len(inputs) // n
    made = [step(*inputs[k::many]) for k in range(many)]
    return [y for ys in zip(*made, strict=True) for y in ys]


@operator(f"{DOMAIN}:Adagrad")
def _(node: Node, rate, count, *inputs):
    rate = rate / (1 + df.cast(count, rate.dtype) * node("decay_factor", 0.0))

    def step(x: Any, g: Any, h: Any) -> list[Any]:
        g = x * node("norm_coefficient", 0.0) + g
        h = h + df.square(g)
        return [x - rate * g / (df.sqrt(h) + node("epsilon", 1e-6)), h]
    return _steps(3, inputs, step)


@operator(f"{DOMAIN}:Adam")
def _(node: Node, rate, count, *inputs):
    alpha, beta = node("alpha", 0.9), node("beta", 0.999)
    t = df.cast(count, rate.dtype)
    unbiased = df.sqrt(1 - df.pow(df.ones_like(rate) * beta, t)) / (
        1 - df.pow(df.ones_like(rate) * alpha, t))
    rate = df.where(t > 0, rate * unbiased, rate)

    def step(x: Any, g: Any, v: Any, h: Any) -> list[Any]:
        g = x * node("norm_coefficient", 0.0) + g
        v, h = v * alpha + g * (1 - alpha), h * beta + df.square(g) * (1 - beta)
        new = x - rate * v / (df.sqrt(h) + node("epsilon", 1e-6))
        return [new * (1 - node("norm_coefficient_post", 0.0)), v, h]
    return _steps(4, inputs, step)


@operator(f"{DOMAIN}:Momentum")
def _(node: Node, rate, count, *inputs):
    alpha = node("alpha")
    share = df.where(df.cast(count, rate.dtype) > 0, df.ones_like(rate) * node("beta"),
                     df.ones_like(rate))

    def step(x: Any, g: Any, v: Any) -> list[Any]:
        g = x * node("norm_coefficient") + g
        v = v * alpha + share * g
        return [x - rate * (g + v * alpha if node("mode") == "nesterov" else v), v]
    return _steps(3, inputs, step)
