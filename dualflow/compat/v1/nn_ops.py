"""Functions of neural networks with the names and arguments of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import math, nn
from dualflow.compat.v1 import random_ops
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.ops import as_tensors, convert, either, wrapped

atrous_conv2d: Callable[..., Any] = wrapped(nn.atrous_conv2d, "convolution")
batch_normalization: Callable[..., Any] = wrapped(nn.batch_normalization, "batchnorm/add_1")
bias_add: Callable[..., Any] = wrapped(nn.bias_add, "BiasAdd")
depth_to_space: Callable[..., Any] = wrapped(nn.depth_to_space, "DepthToSpace")
elu: Callable[..., Any] = wrapped(nn.elu, "Elu")
fused_batch_norm: Callable[..., Any] = wrapped(nn.fused_batch_norm, "FusedBatchNorm")
l2_loss: Callable[..., Any] = wrapped(nn.l2_loss, "L2Loss")
leaky_relu: Callable[..., Any] = wrapped(nn.leaky_relu, "LeakyRelu")
local_response_normalization: Callable[..., Any] = wrapped(nn.local_response_normalization, "LRN")
log_softmax: Callable[..., Any] = wrapped(nn.log_softmax, "LogSoftmax", dim="axis")
relu: Callable[..., Any] = wrapped(nn.relu, "Relu")
relu6: Callable[..., Any] = wrapped(nn.relu6, "Relu6")
selu: Callable[..., Any] = wrapped(nn.selu, "Selu")
separable_conv2d: Callable[..., Any] = wrapped(nn.separable_conv2d, "separable_conv2d")
softmax: Callable[..., Any] = wrapped(nn.softmax, "Softmax", dim="axis")
softplus: Callable[..., Any] = wrapped(nn.softplus, "Softplus")
softsign: Callable[..., Any] = wrapped(nn.softsign, "Softsign")
space_to_depth: Callable[..., Any] = wrapped(nn.space_to_depth, "SpaceToDepth")
swish: Callable[..., Any] = wrapped(nn.swish, "swish")
top_k: Callable[..., Any] = wrapped(nn.top_k, "TopKV2")
zero_fraction: Callable[..., Any] = wrapped(nn.zero_fraction, "zero_fraction/fraction")
lrn = local_response_normalization

depthwise_conv2d: Callable[..., Any] = wrapped(nn.depthwise_conv2d, "depthwise")


def only_named(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    """Raise ValueError if labels and logits, which are easily swapped, are not passed by name."""
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., "
                         "...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


@recorded
def softmax_cross_entropy_with_logits_v2(labels: Any, logits: Any, axis: int | None = None,
                                         name: str | None = None, dim: int | None = None) -> Any:
    """Return the cross entropy of labels and softmax(logits) per row, differentiable in both.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[1., 0.]], logits=[[0., 0.]])
    ...     print(sess.run(loss).round(4))
    [0.6931]
    """
    axis = either(axis, dim, "'axis' and 'dim'")
    y, x = as_tensors(labels, logits)
    return nn.softmax_cross_entropy_with_logits(
        df.cast(y, x.dtype) if y.dtype is not x.dtype else y, x, -1 if axis is None else axis,
        name or "softmax_cross_entropy_with_logits")


@recorded
def softmax_cross_entropy_with_logits(_sentinel: Any = None, labels: Any = None,
                                      logits: Any = None, dim: int = -1, name: str | None = None,
                                      axis: int | None = None) -> Any:
    """Return the cross entropy of labels and softmax(logits) per row; labels get no gradient.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss = tf.nn.softmax_cross_entropy_with_logits(labels=[[1., 0.]], logits=[[0., 0.]])
    ...     print(sess.run(loss).round(4))
    [0.6931]
    """
    only_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    y, x = as_tensors(labels, logits)
    return softmax_cross_entropy_with_logits_v2(df.stop_gradient(y), x,
                                                dim if axis is None else axis, name)


@recorded
def sparse_softmax_cross_entropy_with_logits(_sentinel: Any = None, labels: Any = None,
                                             logits: Any = None, name: str | None = None) -> Any:
    """Return minus the log softmax(logits) at the class index, per row.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[0., 0.]])
    ...     print(sess.run(loss).round(4))
    [0.6931]
    """
    only_named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    return nn.sparse_softmax_cross_entropy_with_logits(
        convert(labels), convert(logits), name or "SparseSoftmaxCrossEntropyWithLogits")


@recorded
def sigmoid_cross_entropy_with_logits(_sentinel: Any = None, labels: Any = None,
                                      logits: Any = None, name: str | None = None) -> Any:
    """Return the cross entropy of labels and sigmoid(logits), element by element.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.], logits=[0.])
    ...     print(sess.run(loss).round(4))
    [0.6931]
    """
    only_named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    y, x = as_tensors(labels, logits)
    return nn.sigmoid_cross_entropy_with_logits(y, x, name or "logistic_loss")


@recorded
def weighted_cross_entropy_with_logits(labels: Any = None, logits: Any = None,
                                       pos_weight: Any = None, name: str | None = None,
                                       targets: Any = None) -> Any:
    """Return sigmoid cross entropy with positive labels weighted by `pos_weight`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss = tf.nn.weighted_cross_entropy_with_logits([1.], [0.], 2.)
    ...     print(sess.run(loss).round(4))
    [1.3863]
    """
    y, x, weight = as_tensors(either(labels, targets, "labels and targets"), logits, pos_weight)
    share = 1 + (weight - 1) * y
    return df.add((1 - y) * x, share * (math.log1p(df.exp(-df.abs(x))) + nn.relu(-x)),
                  name or "logistic_loss")


@recorded
def conv2d(input: Any, filter: Any = None, strides: Any = None, padding: Any = None,
           use_cudnn_on_gpu: bool = True, data_format: str = "NHWC", dilations: Any = None,
           name: str | None = None, filters: Any = None) -> Any:
    """Convolve images with filters.

    Parameters
    ----------
    input : Tensor, shape (batch, height, width, channels)
    filter : Tensor, shape (height, width, channels, out channels)
    strides : list of 4 int, or 1 or 2
    padding : {"SAME", "VALID"} or list of pairs
    use_cudnn_on_gpu : ignored
    data_format : {"NHWC", "NCHW"}
    dilations : list of 4 int, or 1 or 2, optional
    name : str, optional
    filters : Tensor
        Newer name of `filter`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x, w = tf.ones([1, 4, 4, 1]), tf.ones([3, 3, 1, 1])
    ...     print(sess.run(tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID")).ravel())
    [9. 9. 9. 9.]
    """
    x, w = as_tensors(input, either(filter, filters, "'filter' and 'filters'"))
    return nn.conv2d(x, w, strides, padding, data_format, dilations, name or "Conv2D")


@recorded
def conv2d_transpose(value: Any = None, filter: Any = None, output_shape: Any = None,
                     strides: Any = None, padding: str = "SAME", data_format: str = "NHWC",
                     name: str | None = None, input: Any = None, filters: Any = None,
                     dilations: Any = None) -> Any:
    """Return the transpose of a convolution: its gradient with respect to the images.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x, w = tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 1])
    ...     y = tf.nn.conv2d_transpose(x, w, [1, 4, 4, 1], [1, 2, 2, 1])
    ...     print(sess.run(y).shape)
    (1, 4, 4, 1)
    """
    x, w = as_tensors(either(value, input, "'value' and 'input'"),
                 either(filter, filters, "'filter' and 'filters'"))
    return nn.conv2d_transpose(x, w, output_shape, strides, padding, data_format, dilations,
                               name or "conv2d_transpose")


@recorded
def max_pool(value: Any, ksize: Any = None, strides: Any = None, padding: str | None = None,
             data_format: str = "NHWC", name: str | None = None, input: Any = None) -> Any:
    """Return the largest element of each window.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.ones([1, 4, 4, 1])
    ...     y = tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    ...     print(sess.run(y).shape)
    (1, 2, 2, 1)
    """
    x = convert(either(value, input, "'value' and 'input'"))
    return nn.max_pool(x, ksize, strides, padding, data_format, name or "MaxPool")


@recorded
def avg_pool(value: Any, ksize: Any = None, strides: Any = None, padding: str | None = None,
             data_format: str = "NHWC", name: str | None = None, input: Any = None) -> Any:
    """Return the mean of each window.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.ones([1, 4, 4, 1])
    ...     y = tf.nn.avg_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    ...     print(sess.run(y).shape)
    (1, 2, 2, 1)
    """
    x = convert(either(value, input, "'value' and 'input'"))
    return nn.avg_pool(x, ksize, strides, padding, data_format, name or "AvgPool")


@recorded
def dropout(x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: int | None = None,
            name: str | None = None, rate: Any = None) -> Any:
    """Keep elements with probability `keep_prob` and divide them by it; set the others to 0.

    Parameters
    ----------
    x : Tensor, floating
    keep_prob : float or Tensor
    noise_shape : sequence of int, optional
        Shape of the random mask, broadcast to x.
    seed : int, optional
    name : str, optional
    rate : float or Tensor
        Alternative to `keep_prob`: 1 - keep_prob.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sorted(set(sess.run(tf.nn.dropout(tf.ones([1000]), 0.5)).tolist()))
    [0.0, 2.0]
    """
    found = convert(x)
    if not found.dtype.is_floating:
        raise ValueError("x has to be a floating point tensor since it's going to be scaled. Got "
                         f"a {found.dtype.name} tensor instead.")
    if rate is None and keep_prob is None:
        raise ValueError("You must provide a rate to dropout.")
    keep = either(None if rate is None else 1 - rate, keep_prob, "`rate` and `keep_prob`")
    if isinstance(keep, int | float):
        if not 0 < keep <= 1:
            raise ValueError(f"`keep_prob` must be a scalar tensor or a float in the range (0, 1], "
                             f"got {keep:g}")
        if keep == 1:
            return found
    keep = df.reshape(convert(keep, found.dtype), [])       # its rank may be unknown
    shape = found.shape if noise_shape is None else noise_shape
    drawn = random_ops.random_uniform(shape, dtype=found.dtype, seed=seed,
                                      name=f"{name or 'dropout'}/random_uniform")
    return df.multiply(found / keep, df.cast(df.less(drawn, keep), found.dtype),
                       name or "dropout/mul")


@recorded
def embedding_lookup(params: Any, ids: Any, partition_strategy: str = "mod",
                     name: str | None = None, validate_indices: bool = True,
                     max_norm: float | None = None) -> Any:
    """Return rows of a matrix at the given indices; a list is a matrix partitioned by rows.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     rows = tf.constant([[1., 2.], [3., 4.]])
    ...     print(sess.run(tf.nn.embedding_lookup(rows, [1, 0])))
    [[3. 4.]
     [1. 2.]]
    """
    parts = params if isinstance(params, list | tuple) else [params]
    n, wanted = len(parts), convert(ids)
    if n == 1:
        rows = df.gather(convert(parts[0]), wanted, name=name or "embedding_lookup")
    elif partition_strategy == "mod":       # row k is row k // n of part k % n
        tables = [convert(p) for p in parts]
        offsets = [0]
        for table in tables:
            offsets.append(offsets[-1] + table.shape[0])
        first = df.gather(df.constant(offsets[:-1], wanted.dtype), math.floormod(wanted, n))
        rows = df.gather(df.concat(tables, 0), first + math.floordiv(wanted, n),
                         name=name or "embedding_lookup")
    else:
        rows = df.gather(df.concat([convert(p) for p in parts], 0), wanted,
                         name=name or "embedding_lookup")
    if max_norm is None:
        return rows
    norm = df.norm(rows, axis=-1, keepdims=True)
    return rows * (max_norm / df.maximum(norm, max_norm))


@recorded
def in_top_k(predictions: Any, targets: Any, k: int, name: str | None = None) -> Any:
    """Return True for each target among the k largest predictions of its row.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.nn.in_top_k([[0.1, 0.9]], [1], 1)))
    [ True]
    """
    return nn.in_top_k(convert(targets), convert(predictions), k, name or "InTopKV2")


@recorded
def moments(x: Any, axes: Any, shift: Any = None, name: str | None = None,
            keep_dims: bool | None = None, keepdims: bool | None = None) -> Any:
    """Return mean and variance over dimensions.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.nn.moments(tf.constant([1., 3.]), [0])))
    (np.float32(2.0), np.float32(1.0))
    """
    keep = bool(either(keepdims, keep_dims, "'keepdims' and 'keep_dims'"))
    return nn.moments(convert(x), axes, None, keep, name or "moments")


@recorded
def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None,
                 dim: Any = None) -> Any:
    """Divide a tensor by its norm over dimensions.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.nn.l2_normalize([3., 4.], 0)))
    [0.6 0.8]
    """
    return nn.l2_normalize(convert(x), either(axis, dim, "'axis' and 'dim'"), epsilon,
                           name or "l2_normalize")


@recorded
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Return x @ weights + biases.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.nn.xw_plus_b([[1., 2.]], [[3.], [4.]], [5.])))
    [[16.]]
    """
    a, w, b = as_tensors(x, weights, biases)
    return nn.bias_add(df.matmul(a, w), b, name=name or "xw_plus_b")
