"""Activation functions."""

from typing import Any

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, floating


def relu(x: Any) -> Any:
    return df.nn.relu(convert_to_tensor(x))


def relu6(x: Any) -> Any:
    return df.nn.relu6(convert_to_tensor(x))


def sigmoid(x: Any) -> Any:
    return df.sigmoid(floating(x))


def log_sigmoid(x: Any) -> Any:
    return df.math.log_sigmoid(floating(x))


def tanh(x: Any) -> Any:
    return df.tanh(floating(x))


def tanh_shrink(x: Any) -> Any:
    x = floating(x)
    return x - df.tanh(x)


def softplus(x: Any) -> Any:
    return df.math.softplus(floating(x))


def softsign(x: Any) -> Any:
    return df.nn.softsign(floating(x))


def silu(x: Any) -> Any:
    return df.nn.silu(floating(x))


def squareplus(x: Any, b: Any = 4) -> Any:
    x = floating(x)
    return (x + df.sqrt(x * x + convert_to_tensor(b, x.dtype))) / 2


def leaky_relu(x: Any, negative_slope: Any = 0.2) -> Any:
    return df.nn.leaky_relu(floating(x), negative_slope)


def hard_sigmoid(x: Any) -> Any:
    return df.nn.relu6(floating(x) + 3) / 6


def hard_silu(x: Any) -> Any:
    x = floating(x)
    return x * hard_sigmoid(x)


def elu(x: Any, alpha: Any = 1.0) -> Any:
    x = floating(x)
    if alpha == 1:
        return df.nn.elu(x)
    return df.where(x > 0, x, df.math.expm1(df.minimum(x, 0.0)) * alpha)


def celu(x: Any, alpha: Any = 1.0) -> Any:
    x = floating(x)
    return df.maximum(x, 0.0) + alpha * df.math.expm1(df.minimum(x, 0.0) / alpha)


def selu(x: Any) -> Any:
    return df.nn.selu(floating(x))


def gelu(x: Any, approximate: Any = True) -> Any:
    return df.nn.gelu(floating(x), bool(approximate))


def glu(x: Any, axis: Any = -1) -> Any:
    x = floating(x)
    if x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={x.shape} with "
                         f"axis={axis}")
    first, second = df.split(x, 2, axis)
    return first * df.sigmoid(second)


def hard_tanh(x: Any) -> Any:
    return df.clip_by_value(floating(x), -1.0, 1.0)


def hard_shrink(x: Any, threshold: Any = 0.5) -> Any:
    x = floating(x)
    return df.where(df.abs(x) > threshold, x, df.zeros_like(x))


def soft_shrink(x: Any, threshold: Any = 0.5) -> Any:
    x = floating(x)
    low = df.where(x < -threshold, x + threshold, df.zeros_like(x))
    return df.where(x > threshold, x - threshold, low)


def threshold(x: Any, threshold: Any, default_value: Any) -> Any:
    x = convert_to_tensor(x)
    return df.where(x > threshold, x, convert_to_tensor(default_value, x.dtype))


def sparse_plus(x: Any) -> Any:
    x = floating(x)
    return df.where(x <= -1, df.zeros_like(x), df.where(x < 1, (x + 1) ** 2 / 4, x))


def sparse_sigmoid(x: Any) -> Any:
    return df.clip_by_value(floating(x), -1.0, 1.0) / 2 + 0.5


def softmax(x: Any, axis: Any = -1) -> Any:
    return _along(df.nn.softmax, floating(x), axis)


def log_softmax(x: Any, axis: Any = -1) -> Any:
    return _along(df.nn.log_softmax, floating(x), axis)


def _along(op: Any, x: df.Tensor, axis: Any) -> df.Tensor:
    if axis is None:
        return df.reshape(op(df.reshape(x, (-1,))), x.shape)
    return op(x, axis)


def sparsemax(x: Any, axis: Any = -1) -> Any:
    x = floating(x)
    ordered = df.sort(x, axis, "DESCENDING")
    so_far = df.cumsum(ordered, axis)
    sizes = [1] * x.ndim
    sizes[axis] = -1
    rank = df.reshape(df.cast(df.range(1, x.shape[axis] + 1), x.dtype), sizes)
    inside = 1 + rank * ordered > so_far
    count = df.reduce_sum(df.cast(inside, x.dtype), axis, True)
    total = df.reduce_sum(df.where(inside, ordered, df.zeros_like(x)), axis, True)
    return df.maximum(x - (total - 1) / count, 0.0)


