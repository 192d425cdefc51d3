"""Arithmetic, reductions and comparisons under the names of TensorFlow 1, with its dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import linalg, math
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.ops import as_tensors, convert, either, wrapped
from dualflow.dtypes import float64, int64

abs: Callable[..., Any] = wrapped(df.abs, "Abs")
accumulate_n: Callable[..., Any] = wrapped(df.add_n, "AccumulateNV2")
acos: Callable[..., Any] = wrapped(df.acos, "Acos")
acosh: Callable[..., Any] = wrapped(df.acosh, "Acosh")
add: Callable[..., Any] = wrapped(df.add, "Add")
add_n: Callable[..., Any] = wrapped(df.add_n, "AddN")
angle: Callable[..., Any] = wrapped(math.angle, "Angle")
argsort: Callable[..., Any] = wrapped(df.argsort, "argsort")
asin: Callable[..., Any] = wrapped(df.asin, "Asin")
asinh: Callable[..., Any] = wrapped(df.asinh, "Asinh")
atan: Callable[..., Any] = wrapped(df.atan, "Atan")
atan2: Callable[..., Any] = wrapped(df.atan2, "Atan2")
atanh: Callable[..., Any] = wrapped(df.atanh, "Atanh")
ceil: Callable[..., Any] = wrapped(math.ceil, "Ceil")
clip_by_norm: Callable[..., Any] = wrapped(df.clip_by_norm, "clip_by_norm")
clip_by_value: Callable[..., Any] = wrapped(df.clip_by_value, "clip_by_value")
complex: Callable[..., Any] = wrapped(df.complex, "Complex")
confusion_matrix: Callable[..., Any] = wrapped(math.confusion_matrix, "confusion_matrix")
conj: Callable[..., Any] = wrapped(math.conj, "Conj")
cos: Callable[..., Any] = wrapped(df.cos, "Cos")
cosh: Callable[..., Any] = wrapped(df.cosh, "Cosh")
count_nonzero: Callable[..., Any] = wrapped(math.count_nonzero, "count_nonzero",
                                            keep_dims="keepdims",
                        reduction_indices="axis")
cumprod: Callable[..., Any] = wrapped(math.cumprod, "Cumprod")
cumsum: Callable[..., Any] = wrapped(df.cumsum, "Cumsum")
digamma: Callable[..., Any] = wrapped(math.digamma, "Digamma")
einsum: Callable[..., Any] = wrapped(df.einsum, "einsum")
equal: Callable[..., Any] = wrapped(df.equal, "Equal")
erf: Callable[..., Any] = wrapped(math.erf, "Erf")
erfc: Callable[..., Any] = wrapped(math.erfc, "Erfc")
exp: Callable[..., Any] = wrapped(df.exp, "Exp")
expm1: Callable[..., Any] = wrapped(math.expm1, "Expm1")
floor: Callable[..., Any] = wrapped(df.floor, "Floor")
div_no_nan: Callable[..., Any] = wrapped(math.divide_no_nan, "div_no_nan")
floor_div: Callable[..., Any] = wrapped(math.floordiv, "FloorDiv")
real: Callable[..., Any] = wrapped(math.real, "Real")
reduce_euclidean_norm: Callable[..., Any] = wrapped(math.reduce_euclidean_norm, "EuclideanNorm")
reduce_std: Callable[..., Any] = wrapped(math.reduce_std, "reduce_std")
reduce_variance: Callable[..., Any] = wrapped(math.reduce_variance, "reduce_variance")
xdivy: Callable[..., Any] = wrapped(math.xdivy, "Xdivy")
xlog1py: Callable[..., Any] = wrapped(math.xlog1py, "Xlog1py")
xlogy: Callable[..., Any] = wrapped(math.xlogy, "Xlogy")
multiply_no_nan: Callable[..., Any] = wrapped(math.multiply_no_nan, "multiply_no_nan")
floordiv: Callable[..., Any] = wrapped(math.floordiv, "floordiv")
floormod: Callable[..., Any] = wrapped(math.floormod, "FloorMod")
global_norm: Callable[..., Any] = wrapped(linalg.global_norm, "global_norm")
greater: Callable[..., Any] = wrapped(df.greater, "Greater")
greater_equal: Callable[..., Any] = wrapped(df.greater_equal, "GreaterEqual")
imag: Callable[..., Any] = wrapped(math.imag, "Imag")
is_finite: Callable[..., Any] = wrapped(math.is_finite, "IsFinite")
is_inf: Callable[..., Any] = wrapped(math.is_inf, "IsInf")
is_nan: Callable[..., Any] = wrapped(math.is_nan, "IsNan")
less: Callable[..., Any] = wrapped(df.less, "Less")
less_equal: Callable[..., Any] = wrapped(df.less_equal, "LessEqual")
lgamma: Callable[..., Any] = wrapped(math.lgamma, "Lgamma")
log: Callable[..., Any] = wrapped(df.log, "Log")
log1p: Callable[..., Any] = wrapped(math.log1p, "Log1p")
log_sigmoid: Callable[..., Any] = wrapped(math.log_sigmoid, "LogSigmoid")
logical_and: Callable[..., Any] = wrapped(df.logical_and, "LogicalAnd")
logical_not: Callable[..., Any] = wrapped(df.logical_not, "LogicalNot")
logical_or: Callable[..., Any] = wrapped(df.logical_or, "LogicalOr")
logical_xor: Callable[..., Any] = wrapped(math.logical_xor, "LogicalXor")
maximum: Callable[..., Any] = wrapped(df.maximum, "Maximum")
minimum: Callable[..., Any] = wrapped(df.minimum, "Minimum")
mod: Callable[..., Any] = wrapped(math.floormod, "FloorMod")
multiply: Callable[..., Any] = wrapped(df.multiply, "Mul")
negative: Callable[..., Any] = wrapped(df.negative, "Neg")
norm: Callable[..., Any] = wrapped(df.norm, "norm", keep_dims="keepdims")
not_equal: Callable[..., Any] = wrapped(df.not_equal, "NotEqual")
pow: Callable[..., Any] = wrapped(df.pow, "Pow")
reciprocal: Callable[..., Any] = wrapped(math.reciprocal, "Reciprocal")
reduce_all: Callable[..., Any] = wrapped(df.reduce_all, "All", keep_dims="keepdims",
                                         reduction_indices="axis")
reduce_any: Callable[..., Any] = wrapped(df.reduce_any, "Any", keep_dims="keepdims",
                                         reduction_indices="axis")
reduce_logsumexp: Callable[..., Any] = wrapped(df.reduce_logsumexp, "LogSumExp",
                                               keep_dims="keepdims",
                           reduction_indices="axis")
reduce_max: Callable[..., Any] = wrapped(df.reduce_max, "Max", keep_dims="keepdims",
                                         reduction_indices="axis")
reduce_min: Callable[..., Any] = wrapped(df.reduce_min, "Min", keep_dims="keepdims",
                                         reduction_indices="axis")
reduce_prod: Callable[..., Any] = wrapped(df.reduce_prod, "Prod", keep_dims="keepdims",
                                          reduction_indices="axis")
reduce_sum: Callable[..., Any] = wrapped(df.reduce_sum, "Sum", keep_dims="keepdims",
                                         reduction_indices="axis")
rint: Callable[..., Any] = wrapped(math.rint, "Rint")
round: Callable[..., Any] = wrapped(df.round, "Round")
rsqrt: Callable[..., Any] = wrapped(math.rsqrt, "Rsqrt")
sigmoid: Callable[..., Any] = wrapped(df.sigmoid, "Sigmoid")
sign: Callable[..., Any] = wrapped(df.sign, "Sign")
sin: Callable[..., Any] = wrapped(df.sin, "Sin")
sinh: Callable[..., Any] = wrapped(df.sinh, "Sinh")
sqrt: Callable[..., Any] = wrapped(df.sqrt, "Sqrt")
square: Callable[..., Any] = wrapped(df.square, "Square")
squared_difference: Callable[..., Any] = wrapped(math.squared_difference, "SquaredDifference")
subtract: Callable[..., Any] = wrapped(df.subtract, "Sub")
tan: Callable[..., Any] = wrapped(df.tan, "Tan")
tanh: Callable[..., Any] = wrapped(df.tanh, "Tanh")
tensordot: Callable[..., Any] = wrapped(df.tensordot, "Tensordot")
trace: Callable[..., Any] = wrapped(linalg.trace, "Trace")
truediv: Callable[..., Any] = wrapped(df.truediv, "truediv")

realdiv: Callable[..., Any] = truediv
divide: Callable[..., Any] = truediv
divide_no_nan = div_no_nan


@recorded
def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False,
           adjoint_a: bool = False, adjoint_b: bool = False, a_is_sparse: bool = False,
           b_is_sparse: bool = False, name: str | None = None) -> Any:
    """Multiply matrices.

    Parameters
    ----------
    a, b : Tensor, shape (..., m, k) and (..., k, n)
    transpose_a, transpose_b, adjoint_a, adjoint_b : bool, default False
    a_is_sparse, b_is_sparse : ignored
    name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.matmul([[1., 2.]], [[3.], [4.]])))
    [[11.]]
    """
    x, y = as_tensors(a, b)
    return df.matmul(x, y, transpose_a or adjoint_a, transpose_b or adjoint_b,
                     name=name or "MatMul")


@recorded
def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool | None = None,
                name: str | None = None, reduction_indices: Any = None,
                keep_dims: bool | None = None) -> Any:
    """Return the mean over dimensions in the dtype of the tensor; integer means are truncated.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run([tf.reduce_mean([1, 2]), tf.reduce_mean([1., 2.])]))
    [np.int32(1), np.float32(1.5)]
    """
    x = convert(input_tensor)
    axis = either(axis, reduction_indices, "'axis' and 'reduction_indices'")
    keep = bool(either(keepdims, keep_dims, "'keepdims' and 'keep_dims'"))
    if x.dtype.is_floating:
        return df.reduce_mean(x, axis, keep, name or "Mean")
    return df.cast(df.reduce_mean(df.cast(x, float64), axis, keep), x.dtype, name or "Mean")


@recorded
def argmax(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None,
           output_type: Any = int64) -> Any:
    """Return the index of the largest element along a dimension, by default 0.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.argmax([[1., 3., 2.]], 1)))
    [1]
    """
    axis = either(axis, dimension, "'axis' and 'dimension'")
    return df.argmax(input, 0 if axis is None else axis, as_dtype(output_type), name or "ArgMax")


@recorded
def argmin(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None,
           output_type: Any = int64) -> Any:
    """Return the index of the smallest element along a dimension, by default 0.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.argmin([[1., 3., 2.]], 1)))
    [0]
    """
    axis = either(axis, dimension, "'axis' and 'dimension'")
    return df.argmin(input, 0 if axis is None else axis, as_dtype(output_type), name or "ArgMin")


def arg_max(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Any:
    """Return `argmax`; the arguments are in an older order.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.arg_max([[1., 3., 2.]], 1)))
    [1]
    """
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Any:
    """Return `argmin`; the arguments are in an older order.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.arg_min([[1., 3., 2.]], 1)))
    [0]
    """
    return argmin(input, dimension, name, output_type=output_type)


@recorded
def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide as in Python 2: integer quotients are rounded down.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run([tf.div(-7, 2), tf.div(7., 2.)]))
    [np.int32(-4), np.float32(3.5)]
    """
    a, b = as_tensors(x, y)
    if a.dtype.is_floating:
        return df.divide(a, b, name or "div")
    return math.floordiv(a, b, name or "div")


@recorded
def truncatediv(x: Any, y: Any, name: str | None = None) -> Any:
    """Divide integers and round towards zero.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.truncatediv(-7, 2)))
    -3
    """
    a, b = as_tensors(x, y)
    return df.sign(a) * df.sign(b) * math.floordiv(df.abs(a), df.abs(b), name or "TruncateDiv")


@recorded
def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None,
                        name: str | None = None) -> Any:
    """Scale tensors so that their global norm is at most `clip_norm`; return them and that norm.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     clipped, norm = tf.clip_by_global_norm([tf.constant([3., 4.])], 1.)
    ...     print(sess.run(norm))
    5.0
    """
    return df.clip_by_global_norm(t_list, clip_norm, use_norm, name)


@recorded
def lin_space(start: Any, stop: Any, num: int, name: str | None = None) -> Any:
    """Return `num` evenly spaced values from start to stop.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.lin_space(0., 1., 3)))
    [0.  0.5 1. ]
    """
    return df.linspace(start, stop, num, name or "LinSpace")


linspace = lin_space


@recorded
def truncatemod(x: Any, y: Any, name: str | None = None) -> Any:
    """Return the remainder of `truncatediv`; it has the sign of x.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.truncatemod(-7, 3)))
    -1
    """
    a, b = as_tensors(x, y)
    return df.multiply(df.sign(a), math.floormod(df.abs(a), df.abs(b)), name or "TruncateMod")


@recorded
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Multiply a tensor or IndexedSlices by a scalar.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.scalar_mul(2., tf.constant([1., 2.]))))
    [2. 4.]
    """
    if hasattr(x, "indices"):
        return x * scalar
    a = convert(x)
    factor = convert(scalar, a.dtype)
    if factor.ndim:
        raise ValueError(f"The input scalar must be a 0-D value. Received: shape={factor.shape}")
    return df.multiply(factor, a, name or "Mul")


@recorded
def cumulative_logsumexp(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False,
                         name: str | None = None) -> Any:
    """Return log(exp(x[0]) + ... + exp(x[k])) for each k along a dimension.

    Parameters
    ----------
    x : Tensor, floating
    axis : int, default 0
    exclusive : bool, default False
        Whether to exclude element k.
    reverse : bool, default False
        Whether to sum from the end.

    Notes
    -----
    The memory use is quadratic in the size of the dimension.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.math.cumulative_logsumexp([0., 0.])).round(4))
    [0.     0.6931]
    """
    a = convert(x)
    axis %= a.ndim
    order = [*[k for k in range(a.ndim) if k != axis], axis]
    rows = df.transpose(a, order)
    k = df.range(df.shape(rows)[-1])
    if reverse:
        before, after = df.expand_dims(k, 1), k
    else:
        before, after = k, df.expand_dims(k, 1)
    counts = df.less(before, after) if exclusive else df.less_equal(before, after)
    terms = df.where(counts, df.expand_dims(rows, -2), df.constant(-float("inf"), a.dtype))
    found = df.reduce_logsumexp(terms, -1)
    return df.transpose(found, [order.index(k) for k in range(a.ndim)],
                        name=name or "CumulativeLogsumexp")


@recorded
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Scale a tensor so that its norm divided by its number of elements is at most `clip_norm`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.clip_by_average_norm([3., 4.], 0.5)))
    [0.6 0.8]
    """
    x = convert(t)
    n = df.cast(df.size(x), x.dtype)
    inverse = math.rsqrt(df.reduce_sum(df.square(x)))
    limit = convert(clip_norm, x.dtype)
    return df.multiply(x, limit * df.minimum(n * inverse, 1.0 / limit), name or "average_norm")
