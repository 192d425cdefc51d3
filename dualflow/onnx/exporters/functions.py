"""Export rules of activations, special functions, losses, and their gradients."""

from __future__ import annotations

from typing import Any

from dualflow.dtypes import float64
from dualflow.onnx.exporters.registry import direct, formula, rule

direct(relu="Relu", softsign="Softsign")

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805        # of selu
DENSITY, A = 0.3989422804014327, 1.5957691216057308  # of gelu: 1/sqrt(2 pi); A, B as in the op
B = A * 0.044715
BOUND = 1e4


@formula("expm1")
def _(w, node, x):
    """Use sinh near 0, where e**x - 1 would lose digits."""
    near = w.op("Abs", x) < 1
    half = w.where(near, x, 0) * 0.5
    return w.where(near, w.op("Sinh", half) * w.op("Exp", half) * 2, w.op("Exp", x) - 1)


def log1p(w: Any, x: Any) -> Any:
    """Write log(1 + x) by atanh near 0, where 1 + x would lose digits."""
    near = w.op("Abs", x) < 0.5
    part = w.where(near, x, 0)
    return w.where(near, w.op("Atanh", part / (part + 2)) * 2, w.op("Log", x + 1))


@formula("log1p")
def _(w, node, x):
    return log1p(w, x)


def softplus(w: Any, x: Any) -> Any:
    """Write Softplus, or a formula for float64, for which runtimes have no kernel."""
    if x.dtype is not float64:
        return w.op("Softplus", x)
    return w.op("Relu", x) + log1p(w, w.op("Exp", -w.op("Abs", x)))


@formula("softplus")
def _(w, node, x):
    return softplus(w, x)


@formula("log_sigmoid")
def _(w, node, x):
    return -softplus(w, -x)


@formula("xlogy")
def _(w, node, x, y):
    return w.where(x.is_(0), 0, x * w.op("Log", y))


@formula("xlog1py")
def _(w, node, x, y):
    return w.where(x.is_(0), 0, x * log1p(w, y))


@formula("xdivy")
def _(w, node, x, y):
    return w.where(x.is_(0), 0, x / y)


@formula("erfc")
def _(w, node, x):
    """Write 1 - erf(x), which loses digits where the result is small."""
    return 1 - w.op("Erf", x)


@formula("sigmoid_grad")
def _(w, node, g, x):
    return g * w.op("Sigmoid", x) * w.op("Sigmoid", -x)


@formula("tanh_grad")
def _(w, node, g, x):
    """Use sigmoids, since 1 - tanh(x) ** 2 loses digits for large x."""
    x = x * 2
    return g * (w.op("Sigmoid", x) * w.op("Sigmoid", -x) * 4)


@rule("relu_grad")
def _(w, node, g, y):
    return w.where(y > 0, g, 0)


@rule("relu6")
def _(w, node, x):
    return w.op("Min", w.op("Relu", x), x.number(6))


@rule("relu6_grad")
def _(w, node, g, y):
    return w.where(w.op("And", y > 0, y < 6), g, 0)


@rule("leaky_relu")
def _(w, node, x):
    return w.where(x > 0, x, x * node["alpha"])


@formula("leaky_relu_grad")
def _(w, node, g, x):
    return w.where(x > 0, g, g * node["alpha"])


@rule("elu")
def _(w, node, x):
    return w.op("Elu", x, alpha=1.0)


@formula("elu_grad")
def _(w, node, g, x):
    return w.where(x > 0, g, g * w.op("Exp", x))


@rule("selu")
def _(w, node, x):
    return w.op("Selu", x, alpha=ALPHA, gamma=SCALE)


@formula("selu_grad")
def _(w, node, g, x):
    return w.where(x > 0, g * SCALE, g * w.op("Exp", x) * (SCALE * ALPHA))


@rule("gelu")
def _(w, node, x):
    return w.op("Gelu", x, approximate="tanh" if node["approximate"] else "none")


def _bounded(w: Any, x: Any) -> Any:
    """Clip to bounds beyond which sigmoid, erf and exp(-x * x) are constant in every dtype."""
    return w.op("Clip", x, x.number(-BOUND), x.number(BOUND))


@formula("gelu_grad")
def _(w, node, g, x):
    x = _bounded(w, x)
    if node["approximate"]:
        s = w.op("Sigmoid", x * A + x * x * x * B)
        return g * (s + x * s * (1 - s) * (x * x * (3 * B) + A))
    below = (w.op("Erf", x * 0.5 ** 0.5) + 1) * 0.5
    return g * (below + x * w.op("Exp", x * x * -0.5) * DENSITY)


@formula("silu")
def _(w, node, x):
    x = w.op("Max", x, x.number(-BOUND))        # -inf times 0 is NaN
    return x * w.op("Sigmoid", x)


@formula("silu_grad")
def _(w, node, g, x):
    x = _bounded(w, x)
    s = w.op("Sigmoid", x)
    return g * s * (x * (1 - s) + 1)


# --- softmax and losses -----------------------------------------------------------------------


@rule("softmax")
def _(w, node, x):
    return w.op("Softmax", x, axis=node.axis())


@rule("log_softmax")
def _(w, node, x):
    return w.op("LogSoftmax", x, axis=node.axis())


@formula("softmax_grad")
def _(w, node, g, y):
    return y * (g - w.reduce("ReduceSum", g * y, [node.axis()]))


@formula("log_softmax_grad")
def _(w, node, g, y):
    return g - w.op("Exp", y) * w.reduce("ReduceSum", g, [node.axis()])


@formula("softmax_cross_entropy")
def _(w, node, labels, logits):
    terms = labels * w.op("LogSoftmax", logits, axis=node.axis())
    return -w.reduce("ReduceSum", terms, [node.axis()], keepdims=False)


@formula("softmax_cross_entropy_grad")
def _(w, node, labels, logits, g):
    axis = node.axis(of=node.inputs[1].ndim)
    total = w.reduce("ReduceSum", labels, [axis])
    return w.unsqueeze(g, axis) * (w.op("Softmax", logits, axis=axis) * total - labels)


@formula("sparse_softmax_cross_entropy")
def _(w, node, labels, logits):
    last = node.inputs[1].ndim - 1      # some runtimes reject -1 here
    terms = w.op("LogSoftmax", logits, axis=last)
    return -w.squeeze(w.op("GatherElements", terms, w.unsqueeze(labels, last), axis=last), last)


@formula("sparse_softmax_cross_entropy_grad")
def _(w, node, labels, logits, g):
    n = w.size(node.inputs[1], -1)
    hit = w.unsqueeze(labels, -1).is_(w.range(n).cast(labels.dtype)).cast(logits.dtype)
    return w.unsqueeze(g, -1) * (w.op("Softmax", logits, axis=-1) - hit)


@formula("sigmoid_cross_entropy")
def _(w, node, labels, logits):
    return w.op("Relu", logits) - logits * labels + log1p(w, w.op("Exp", -w.op("Abs", logits)))
