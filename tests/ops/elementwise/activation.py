import math

import numpy as np

from tests.ops.case import case, normal, sample
from tests.ops.elementwise.special import np_sigmoid

SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
erf = np.vectorize(math.erf, otypes=[float])


def finite(x):
    """Replace infinities by the largest finite values, so that a factor of 0 gives 0."""
    return np.where(np.isinf(x), np.copysign(np.finfo(np.float64).max, x), x)


def np_silu(x):
    return np.where(x < 0, finite(x), x) * np_sigmoid(x)


def np_silu_grad(g, x):
    s = np_sigmoid(x)
    return g * s * (1 + x * (1 - s))


def np_gelu(x, approximate=False):
    if approximate:
        return x * np_sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return np.where(x < 0, finite(x), x) / 2 * (1 + erf(x * math.sqrt(0.5)))


def np_gelu_grad(g, x, approximate=False):
    if approximate:
        slope = 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
        s = np_sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        return g * (s + x * s * (1 - s) * slope)
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return g * ((1 + erf(x * math.sqrt(0.5))) / 2 + x * density)


def activation(op, ulp=0, **rest):
    case(op, args=[normal(3, 4)], function=f"nn.{op}", ulp=ulp, **rest)


def backward(op, ulp=0, low=-3, grad=(0,), edges=False, module="activation", **rest):
    """Add a row without edges: products overflow in float32 that do not in the reference."""
    case(f"{op}_grad", args=[normal(3, 4), sample((3, 4), low, 3)], edges=edges, grad=grad,
         function=f"ops.elementwise.{module}.{op}_grad", ulp=ulp, **rest)


activation("elu", ref=lambda x: np.where(x > 0, x, np.expm1(x)), ulp=2)
backward("elu", ref=lambda g, x: np.where(x > 0, g, g * np.exp(x)), ulp=3, grad=(0, 1))
activation("selu", ref=lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(x)), ulp=4)
backward("selu", ref=lambda g, x: g * SCALE * np.where(x > 0, 1, ALPHA * np.exp(x)), ulp=4,
         grad=(0, 1))
# If the sigmoid is subnormal, so is its error: no edges.
for op in ("silu", "swish"):
    case("silu", args=[normal(3, 4)], ref=np_silu, function=f"nn.{op}", ulp=4, edges=False)
activation("softsign", ref=lambda x: finite(x) / (1 + np.abs(finite(x))), ulp=2)
# Above their minima, where terms do not cancel; tests/ops/elementwise/test_activation.py covers the
# rest.
backward("silu", ref=np_silu_grad, low=-0.5, ulp=5, grad=(0, 1))
for approximate in (False, True):
    attrs = {"approximate": approximate}
    case("gelu", args=[sample((3, 4), -0.5, 3)], ref=np_gelu, kwargs=attrs, function="nn.gelu",
         ulp=5, edges=False)
    # 1 minus a sigmoid near 1 has an error of half an ulp of 1, multiplied by up to ten
    backward("gelu", ref=np_gelu_grad, kwargs=attrs, low=-0.3, ulp=20, grad=(0, 1))
