"""Initializers: callables that return the initial value of a variable of a given shape."""

from __future__ import annotations

import math
from typing import Any

from dualflow._core import Tensor
from dualflow.compat.v1 import random_ops
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.ops import convert
from dualflow.dtypes import float32
from dualflow.initializers.functions import TRUNCATED_STDDEV, fans
from dualflow.ops.array.creation import eye, ones, zeros
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import broadcast_to, reshape, transpose
from dualflow.ops.elementwise.exponential import sqrt
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.reduction.reduce import reduce_sum

__all__ = ["constant_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
           "identity_initializer", "ones_initializer", "orthogonal_initializer",
           "random_normal_initializer", "random_uniform_initializer",
           "truncated_normal_initializer", "uniform_unit_scaling_initializer",
           "variance_scaling_initializer", "zeros_initializer"]


class Initializer:
    """Base class: called with a shape and, optionally, a dtype that overrides the initializer's."""

    dtype: Any = float32

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        sizes = shape.as_list() if hasattr(shape, "as_list") else list(shape)
        return recorded(self.make)(sizes, self.dtype if dtype is None else as_dtype(dtype))

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        """Return the initial value."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return dict(vars(self))


class zeros_initializer(Initializer):
    """Initializes with 0.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.zeros_initializer()([2])))
    [0. 0.]
    """

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype: Any = as_dtype(dtype)

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        return zeros(shape, dtype)


class ones_initializer(zeros_initializer):
    """Initializes with 1.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.ones_initializer()([2])))
    [1. 1.]
    """

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        return ones(shape, dtype)


class identity_initializer(Initializer):
    """Initializes with the identity matrix times `gain`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.identity_initializer(2.)([2, 2])).tolist())
    [[2.0, 0.0], [0.0, 2.0]]
    """

    gain: float
    dtype: Any

    def __init__(self, gain: float = 1.0, dtype: Any = float32) -> None:
        self.gain, self.dtype = gain, as_dtype(dtype)

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        return eye(shape[0], shape[1], dtype=dtype) * self.gain


class constant_initializer(Initializer):
    """Initializes with one value, or with an array of values reshaped.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.constant_initializer(0.5)([2])))
    [0.5 0.5]
    """

    value: Any
    dtype: Any

    def __init__(self, value: Any = 0, dtype: Any = float32, verify_shape: bool = False) -> None:
        self.value, self.dtype = value, as_dtype(dtype)

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        value = convert(self.value, dtype)
        return broadcast_to(value, shape) if not value.ndim else reshape(value, shape)


class random_uniform_initializer(Initializer):
    """Initializes with values uniformly distributed over [minval, maxval).

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     abs(sess.run(tf.random_uniform_initializer(-1., 1.)([9]))).max() <= 1
    np.True_
    """

    minval: float
    maxval: float | None
    seed: int | None

    def __init__(self, minval: float = 0, maxval: float | None = None, seed: int | None = None,
                 dtype: Any = float32) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self.dtype: Any = as_dtype(dtype)

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        return random_ops.random_uniform(shape, self.minval, self.maxval, dtype, self.seed)


class random_normal_initializer(Initializer):
    """Initializes with normally distributed values.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.random_normal_initializer(stddev=0.1)([9])).shape
    (9,)
    """

    mean: float
    stddev: float
    seed: int | None
    dtype: Any

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None,
                 dtype: Any = float32) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, as_dtype(dtype)

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        return random_ops.random_normal(shape, self.mean, self.stddev, dtype, self.seed)


class truncated_normal_initializer(random_normal_initializer):
    """Initializes with normally distributed values within two standard deviations.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     abs(sess.run(tf.truncated_normal_initializer()([9]))).max() <= 2
    np.True_
    """

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        return random_ops.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class variance_scaling_initializer(Initializer):
    """Initializes with random values of variance ``scale / fan``.

    Parameters
    ----------
    scale : float, default 1.0
    mode : {"fan_in", "fan_out", "fan_avg"}
    distribution : {"truncated_normal", "untruncated_normal", "normal", "uniform"}
    seed : int, optional
    dtype : dtype, default float32

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.variance_scaling_initializer(2.)([4, 5])).shape
    (4, 5)
    """

    scale: float
    seed: int | None

    def __init__(self, scale: float = 1.0, mode: str = "fan_in",
                 distribution: str = "truncated_normal", seed: int | None = None,
                 dtype: Any = float32) -> None:
        if scale <= 0:
            raise ValueError("Argument `scale` must be a positive float. Received: "
                             f"{scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). "
                             f"Received: {mode}")
        self.scale, self.mode, self.seed = scale, mode, seed
        self.distribution: str = distribution.lower()
        self.dtype: Any = as_dtype(dtype)

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        fan_in, fan_out = fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_ops.random_uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, math.sqrt(variance), dtype, self.seed)
        stddev = math.sqrt(variance) / TRUNCATED_STDDEV
        return random_ops.truncated_normal(shape, 0.0, stddev, dtype, self.seed)


class uniform_unit_scaling_initializer(Initializer):
    """Initializes uniformly so that a linear layer preserves the scale of its inputs.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.uniform_unit_scaling_initializer()([4, 5])).shape
    (4, 5)
    """

    factor: float
    seed: int | None
    dtype: Any

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        self.factor, self.seed, self.dtype = factor, seed, as_dtype(dtype)

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        limit = math.sqrt(3.0 / max(1.0, math.prod(shape[:-1]))) * self.factor
        return random_ops.random_uniform(shape, -limit, limit, dtype, self.seed)


class glorot_uniform_initializer(variance_scaling_initializer):
    """Initializes uniformly with variance 2 / (fan_in + fan_out); the default of `get_variable`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.glorot_uniform_initializer()([4, 5])).shape
    (4, 5)
    """

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class glorot_normal_initializer(variance_scaling_initializer):
    """Initializes normally with variance 2 / (fan_in + fan_out).

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.glorot_normal_initializer()([4, 5])).shape
    (4, 5)
    """

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


class orthogonal_initializer(Initializer):
    """Initializes with `gain` times a matrix of orthonormal columns (or rows), by Gram-Schmidt.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     q = sess.run(tf.orthogonal_initializer()([3, 3]))
    >>> abs(q @ q.T - [[1, 0, 0], [0, 1, 0], [0, 0, 1]]).max() < 1e-5
    np.True_
    """

    gain: float
    seed: int | None
    dtype: Any

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        self.gain, self.seed, self.dtype = gain, seed, as_dtype(dtype)

    def make(self, shape: list[int], dtype: Any) -> Tensor:
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional. Received: "
                             f"shape={shape}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        many, few = max(rows, columns), min(rows, columns)
        vectors = random_ops.random_normal([few, many], dtype=dtype, seed=self.seed)
        return reshape(orthonormal(vectors, few) * self.gain if rows < columns else
                       transpose(orthonormal(vectors, few)) * self.gain, shape)


def orthonormal(vectors: Tensor, count: int) -> Tensor:
    """Orthonormalise `count` rows by the Gram-Schmidt process."""
    made: Any = None
    for k in range(count):
        v = vectors[k:k + 1]
        for _ in range(2 if k else 0):              # two passes suffice (Kahan and Parlett)
            v = v - matmul(matmul(v, made, transpose_b=True), made)
        v = v / sqrt(reduce_sum(v * v))
        made = concat([made, v], 0) if k else v
    return made
