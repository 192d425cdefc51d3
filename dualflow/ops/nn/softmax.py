"""Softmax and cross entropies of logits, and their gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply, apply_binary, apply_ordered, get_op
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import ones_like
from dualflow.ops.array.shape import expand_dims
from dualflow.ops.elementwise.exponential import exp
from dualflow.ops.elementwise.special import sigmoid
from dualflow.ops.indexing.gather import gather
from dualflow.ops.reduction.reduce import reduce_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "log_softmax",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
]

SPARSE_CROSS_ENTROPY = get_op("sparse_softmax_cross_entropy")


def softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """Return e^x divided by the sum of e^x along `axis`.

    Parameters
    ----------
    logits : Tensor, floating
    axis : int, optional
        By default the last.

    Returns
    -------
    Tensor, same shape and dtype as `logits`; sums to 1 along `axis`

    Notes
    -----
    The maximum is subtracted first, so that nothing overflows. The gradient is
    ``y * (g - sum(g * y))``, computed by one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.softmax([1000., 1000.]).numpy().tolist()
    [0.5, 0.5]
    """
    return apply("softmax", logits, name=name, axis=-1 if axis is None else axis)


@gradient("softmax", saves="output")
def _(g, y, x, axis):
    return softmax_grad(g, y, axis)


def softmax_grad(g: TensorLike, y: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """Return y * (g - sum(g * y)) along `axis`: the gradient of y = softmax(x).

    Parameters
    ----------
    g, y : Tensor, floating, same shape
    axis : int

    Returns
    -------
    Tensor, of the promoted dtype and the same shape

    Notes
    -----
    The gradient to g is this op again.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.nn.softmax.softmax_grad([1., 0.], [0.5, 0.5]).numpy().tolist()
    [0.25, -0.25]
    """
    return apply("softmax_grad", g, y, name=name, axis=axis)


@gradient("softmax_grad", saves="inputs")
def _(gg, out, g, y, axis):
    def to_y():
        dots = reduce_sum(g * y, axis, True), reduce_sum(gg * y, axis, True)
        return gg * (g - dots[0]) - g * dots[1]

    return lambda: softmax_grad(gg, y, axis), to_y


def log_softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """Return the logarithm of the softmax, x - log(sum(e^x)) along `axis`.

    Parameters
    ----------
    logits : Tensor, floating
    axis : int, optional
        By default the last.

    Returns
    -------
    Tensor, same shape and dtype as `logits`

    Notes
    -----
    Accurate where the softmax would round to 0. The gradient is ``g - e^y * sum(g)``, computed by
    one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.log_softmax([0., 1000.]).numpy().tolist()
    [-1000.0, 0.0]
    """
    return apply("log_softmax", logits, name=name, axis=-1 if axis is None else axis)


@gradient("log_softmax", saves="output")
def _(g, y, x, axis):
    return log_softmax_grad(g, y, axis)


def log_softmax_grad(g: TensorLike, y: TensorLike, axis: int = -1,
                     name: str | None = None) -> Tensor:
    """Return g - e^y * sum(g) along `axis`: the gradient of y = log_softmax(x).

    Parameters
    ----------
    g, y : Tensor, floating, same shape
    axis : int

    Returns
    -------
    Tensor, of the promoted dtype and the same shape

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.nn.softmax.log_softmax_grad([1., 1.], [0., -1000.]).numpy().tolist()
    [-1.0, 1.0]
    """
    return apply("log_softmax_grad", g, y, name=name, axis=axis)


@gradient("log_softmax_grad", saves="inputs")
def _(gg, out, g, y, axis):
    return (lambda: gg - reduce_sum(gg * exp(y), axis, True),
            lambda: -gg * exp(y) * reduce_sum(g, axis, True))


def softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, axis: int = -1,
                                      name: str | None = None) -> Tensor:
    """Return the cross entropy of class probabilities `labels` and the softmax of `logits`.

    Parameters
    ----------
    labels : Tensor, floating
        Probabilities that sum to 1 along `axis`, which is not checked.
    logits : Tensor, floating, same shape
    axis : int
        The dimension of classes.

    Returns
    -------
    Tensor, the shape without `axis`

    Raises
    ------
    ShapeError
        If the shapes differ.

    Notes
    -----
    ``-sum(labels * log_softmax(logits))``. The gradients are ``g * (sum(labels) * softmax(logits) -
    labels)`` to the logits, one op, and ``-g * log_softmax(logits)`` to the labels.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.softmax_cross_entropy_with_logits([[0., 1.]], [[0., 0.]]).numpy().round(4).tolist()
    [0.6930999755859375]
    """
    return apply("softmax_cross_entropy", labels, logits, name=name, axis=axis)


@gradient("softmax_cross_entropy", saves="inputs")
def _(g, y, labels, logits, axis):
    return (lambda: expand_dims(-g, axis) * log_softmax(logits, axis),
            lambda: cross_entropy_grad(labels, logits, g, axis))


def cross_entropy_grad(labels: TensorLike, logits: TensorLike, g: TensorLike,
                       axis: int = -1) -> Tensor:
    """Return g * (sum(labels) * softmax(logits) - labels): the gradient of the cross entropy."""
    return apply("softmax_cross_entropy_grad", labels, logits, g, axis=axis)


@gradient("softmax_cross_entropy_grad", saves="inputs")
def _(gg, y, labels, logits, g, axis):
    def to_labels():
        return wide * (reduce_sum(gg * softmax(logits, axis), axis, True) - gg)

    def to_logits():
        total = reduce_sum(labels, axis, True)
        return softmax_grad(wide * total * gg, softmax(logits, axis), axis)

    def to_g():
        return reduce_sum(gg * cross_entropy_grad(labels, logits, ones_like(g), axis), axis)

    wide = expand_dims(g, axis)
    return to_labels, to_logits, to_g


def sparse_softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike,
                                             name: str | None = None) -> Tensor:
    """Return the cross entropy of class indices `labels` and the softmax of `logits`.

    Parameters
    ----------
    labels : Tensor, int32 or int64, shape (...)
    logits : Tensor, floating, shape (..., number of classes)

    Returns
    -------
    Tensor, shape (...), dtype of `logits`

    Raises
    ------
    OutOfRangeError
        If a label is not in 0 to number of classes - 1.

    Notes
    -----
    ``log(sum(e^x)) - x[label]``. The gradient is ``g * (softmax(x) - [label])``, computed in one
    pass over the logits.

    Examples
    --------
    >>> import dualflow as df
    >>> x = [[0., 0.], [0., 1000.]]
    >>> df.nn.sparse_softmax_cross_entropy_with_logits([1, 1], x).numpy().round(4).tolist()
    [0.6930999755859375, 0.0]
    """
    return apply_ordered(SPARSE_CROSS_ENTROPY, (labels, logits), (), name)


@gradient("sparse_softmax_cross_entropy", saves="inputs")
def _(g, y, labels, logits):
    return None, lambda: sparse_grad(labels, logits, g)


def sparse_grad(labels: TensorLike, logits: TensorLike, g: TensorLike) -> Tensor:
    """Return g * (softmax(logits) - [label]): the gradient of the sparse cross entropy."""
    return apply("sparse_softmax_cross_entropy_grad", labels, logits, g)


@gradient("sparse_softmax_cross_entropy_grad", saves="inputs")
def _(gg, y, labels, logits, g):
    p = softmax(logits)
    mean = reduce_sum(gg * p, -1, keepdims=True)
    picked = gather(gg, labels, axis=-1, batch_dims=len(labels.shape))
    return (None,
            lambda: expand_dims(g, -1) * p * (gg - mean),
            lambda: reduce_sum(gg * p, -1) - picked)


def sigmoid_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike,
                                      name: str | None = None) -> Tensor:
    """Return the cross entropy of probabilities `labels` and the sigmoid of `logits`, elementwise.

    Parameters
    ----------
    labels : Tensor, floating, between 0 and 1
    logits : Tensor, floating, same shape

    Returns
    -------
    Tensor, the same shape

    Notes
    -----
    ``max(x, 0) - x * z + log(1 + e^-|x|)``, which does not overflow. The gradients are
    ``g * (sigmoid(x) - z)`` to the logits x, without cancellation where z is 0 or 1, and
    ``-g * x`` to the labels z.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.sigmoid_cross_entropy_with_logits([1., 0.], [1000., 1000.]).numpy().tolist()
    [0.0, 1000.0]
    """
    return apply_binary("sigmoid_cross_entropy", labels, logits, name)


@gradient("sigmoid_cross_entropy", saves="inputs")
def _(g, y, labels, logits):
    return lambda: -g * logits, lambda: g * (
        (1 - labels) * sigmoid(logits) - labels * sigmoid(-logits))
