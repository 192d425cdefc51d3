"""Elementwise operators: arithmetic, comparisons, casts, activations; softmax."""

from __future__ import annotations

from functools import reduce

import dualflow as df
from dualflow._core import TensorBase
from dualflow.onnx.importers.registry import Node, in_float32, operator, plain, tensor
from dualflow.onnx.narrow import NarrowTensor, NarrowType, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

m, nn, bits = df.math, df.nn, df.bitwise

plain(Add=df.add, Sub=df.subtract, Mul=df.multiply, Neg=df.negative, Abs=df.abs, Sign=df.sign,
      Exp=df.exp, Log=df.log, Sqrt=df.sqrt, Sin=df.sin, Cos=df.cos, Tan=df.tan, Asin=df.asin,
      Acos=df.acos, Atan=df.atan, Sinh=df.sinh, Cosh=df.cosh, Tanh=df.tanh, Asinh=df.asinh,
      Acosh=df.acosh, Atanh=df.atanh, Floor=df.floor, Ceil=m.ceil, Round=df.round, Erf=m.erf,
      Sigmoid=df.sigmoid, Relu=nn.relu, Softplus=nn.softplus, Softsign=nn.softsign,
      And=df.logical_and, Or=df.logical_or, Xor=m.logical_xor, Not=df.logical_not, Equal=df.equal,
      Less=df.less, LessOrEqual=df.less_equal, Greater=df.greater,
      GreaterOrEqual=df.greater_equal, Where=df.where, IsNaN=m.is_nan,
      BitwiseAnd=bits.bitwise_and, BitwiseOr=bits.bitwise_or, BitwiseXor=bits.bitwise_xor,
      BitwiseNot=bits.invert, Det=df.linalg.det)


@operator("Identity")
def _(node: Node, x):
    return df.identity(x) if isinstance(x, TensorBase) else [x]


@operator("Reciprocal")
def _(node: Node, x):
    return 1 / x


@operator("Div")
def _(node: Node, a, b):
    a, b = tensor(a), tensor(b)
    if a.dtype.is_floating:
        return df.divide(a, b)
    whole, rest = m.floordiv(a, b), m.floormod(a, b)    # integers are rounded towards zero
    if a.dtype.is_unsigned:
        return whole
    down = df.logical_and(df.not_equal(rest, 0), df.less(a, 0) != df.less(b, 0))
    return whole + df.cast(down, a.dtype)


@operator("Mod")
def _(node: Node, a, b):
    a, b = tensor(a), tensor(b)
    if node("fmod", 0) and a.dtype.is_floating:
        return m.floormod(a, _with_sign_of(a, b))
    r = m.floormod(a, b)
    if not node("fmod", 0):
        return r
    other = df.logical_and(df.not_equal(r, 0), df.less(a, 0) != df.less(b, 0))
    return df.where(other, r - b, r)                    # has the sign of a


SIGNED = {2: df.int16, 4: df.int32, 8: df.int64}          # integers by the item size of a float


def _with_sign_of(a: Any, b: Any) -> Any:
    """Return |b| with the sign of a; zeros have signs as well."""
    size = df.abs(b)
    return df.where(df.bitcast(a, SIGNED[a.dtype.itemsize]) < 0, -size, size)


@operator("Pow")
def _(node: Node, a, b):
    a, b = tensor(a), tensor(b)
    if a.dtype is b.dtype:
        return df.pow(a, b)
    if b.dtype.is_floating and not a.dtype.is_floating:
        return df.cast(df.pow(df.cast(a, b.dtype), b), a.dtype)
    return df.pow(a, df.cast(b, a.dtype))


@operator("Max")
def _(node: Node, *xs):
    return reduce(df.maximum, xs) if len(xs) > 1 else df.identity(xs[0])


@operator("Min")
def _(node: Node, *xs):
    return reduce(df.minimum, xs) if len(xs) > 1 else df.identity(xs[0])


@operator("Sum")
@in_float32
def _(node: Node, *xs):
    return reduce(df.add, xs) if len(xs) > 1 else df.identity(xs[0])


@operator("Mean")
@in_float32
def _(node: Node, *xs):
    return reduce(df.add, xs) / tensor(xs[0]).dtype.as_numpy_dtype.type(len(xs))


@operator("Clip")
def _(node: Node, x, low=None, high=None):
    low, high = node("min") if low is None else low, node("max") if high is None else high
    x = df.identity(x)
    x = x if low is None else df.maximum(x, low)
    return x if high is None else df.minimum(x, high)


@operator("BitShift")
def _(node: Node, x, n):
    return (bits.left_shift if node("direction") == "LEFT" else bits.right_shift)(x, n)


@operator("IsInf")
def _(node: Node, x):
    up, down = node("detect_positive", 1), node("detect_negative", 1)
    found = m.is_inf(x)
    if up and down:
        return found
    side = df.greater(x, 0) if up else df.less(x, 0)
    return df.logical_and(found, side) if up or down else df.zeros_like(found)


@operator("Cast")
def _(node: Node, x):
    dtype: Any = node.dtype("to")
    return cast(x, dtype, bool(node("saturate", 1)), node("round_mode", "up"))


@operator("CastLike")
def _(node: Node, x, like):
    return cast(x, like.dtype, bool(node("saturate", 1)), node("round_mode", "up"))


@operator("BitCast")
def _(node: Node, x):
    dtype: Any = node.dtype("to")
    if isinstance(x, NarrowTensor) or isinstance(dtype, NarrowType):
        raise node.refuse(f"the bits of {x.dtype} as {dtype}")
    if x.dtype.is_bool or dtype.is_bool:        # a bool is a byte of 0 or 1
        return df.cast(x, dtype)
    return df.bitcast(x, dtype)


# --- activations ------------------------------------------------------------------------------


@operator("LeakyRelu")
def _(node: Node, x):
    return nn.leaky_relu(x, node("alpha", 0.01))


@operator("PRelu")
def _(node: Node, x, slope):
    x, slope = tensor(x), tensor(slope)
    if node.version < 7 and slope.ndim == 1:            # one per channel
        slope = df.reshape(slope, [-1] + [1] * (x.ndim - 2))
    return df.where(df.less(x, 0), x * slope, x)


@operator("Elu")
def _(node: Node, x):
    alpha = node("alpha", 1.0)
    return nn.elu(x) if alpha == 1 else df.where(df.less(x, 0), m.expm1(x) * alpha, x)


@operator("Celu")
def _(node: Node, x):
    alpha = node("alpha", 1.0)
    return df.maximum(x, 0.) + df.minimum(m.expm1(x / alpha) * alpha, 0.)


SELU = 1.67326319217681884765625, 1.05070102214813232421875      # rounded to float32


@operator("Selu")
def _(node: Node, x):
    alpha, gamma = node("alpha", SELU[0]), node("gamma", SELU[1])
    if (alpha, gamma) == SELU:
        return nn.selu(x)
    return df.where(df.greater(x, 0), x, m.expm1(x) * alpha) * gamma


@operator("Gelu")
def _(node: Node, x):
    return nn.gelu(x, node("approximate", "none") == "tanh")


@operator("Swish")
def _(node: Node, x):
    return x * df.sigmoid(x * node("alpha", 1.0))


@operator("Mish")
def _(node: Node, x):
    return x * df.tanh(nn.softplus(x))


@operator("HardSigmoid")
def _(node: Node, x):
    return df.clip_by_value(x * node("alpha", 0.2) + node("beta", 0.5), 0., 1.)


@operator("HardSwish")
def _(node: Node, x):
    return x * df.clip_by_value(x / 6. + 0.5, 0., 1.)


@operator("ThresholdedRelu")
def _(node: Node, x):
    return df.where(df.greater(x, node("alpha", 1.0)), x, df.zeros_like(x))


@operator("Shrink")
def _(node: Node, x):
    x, bias, limit = tensor(x), node("bias", 0.0), node("lambd", 0.5)
    y = df.cast(x, df.float64) if x.dtype.is_integer else x
    zero = df.zeros_like(y)
    y = df.where(df.less(y, -limit), y + bias, df.where(df.greater(y, limit), y - bias, zero))
    return df.cast(y, x.dtype)


def _as_matrix(x: Any, axis: int) -> Any:
    """Merge the dimensions before an axis, and those from it on."""
    axis %= x.ndim
    n = reduce(lambda a, b: a * b, x.shape[:axis], 1)
    return df.reshape(x, [n, -1])


def _along(node: Node, x: Any, function: Any) -> Any:
    """Apply softmax and the like; before version 13 to all dimensions from the axis on."""
    if node.version >= 13:
        return function(x, node("axis", -1))
    return df.reshape(function(_as_matrix(x, node("axis", 1)), -1), list(x.shape))


@operator("Softmax")
def _(node: Node, x):
    return _along(node, tensor(x), nn.softmax)


@operator("LogSoftmax")
def _(node: Node, x):
    return _along(node, tensor(x), nn.log_softmax)


@operator("Hardmax")
def _(node: Node, x):
    def largest(x: Any, axis: int) -> Any:
        return df.one_hot(df.argmax(x, axis), x.shape[axis], axis=axis, dtype=x.dtype)
    return _along(node, tensor(x), largest)
