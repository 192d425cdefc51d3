"""Losses composed of other ops: weighted cross entropy and averages over a batch."""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow.dtypes import float32
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import static_shape
from dualflow.ops.elementwise.arithmetic import abs, add
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.elementwise.exponential import exp, log1p
from dualflow.ops.elementwise.relu import relu
from dualflow.ops.reduction.reduce import reduce_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["compute_average_loss", "scale_regularization_loss",
           "weighted_cross_entropy_with_logits"]


def compute_average_loss(per_example_loss: TensorLike, sample_weight: TensorLike | None = None,
                         global_batch_size: TensorLike | None = None) -> Tensor:
    """Sum the losses of examples and divide by the batch size.

    Parameters
    ----------
    per_example_loss : Tensor, floating, shape (batch, ...)
    sample_weight : Tensor, optional
        Factor for each loss.
    global_batch_size : int, optional
        The divisor, by default the first dimension.

    Returns
    -------
    Tensor, shape ()

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.compute_average_loss([1., 2., 3., 6.], global_batch_size=6).item()
    2.0
    """
    losses = as_tensor(per_example_loss, None, "compute_average_loss")
    if losses.ndim == 0:
        raise ShapeError("compute_average_loss: shape (), expected losses of examples")
    if not losses.dtype.is_floating:
        losses = cast(check_real("compute_average_loss", losses, "per_example_loss"), float32)
    if sample_weight is not None:
        weights = check_real("compute_average_loss", sample_weight, "sample_weight")
        losses = losses * cast(weights, losses.dtype)
    size = static_shape(losses)[0] if global_batch_size is None else global_batch_size
    if isinstance(size, float):
        raise InvalidArgumentError(f"compute_average_loss: global_batch_size is {size}, expected "
                                   "an integer")
    made: Tensor = reduce_sum(losses) / cast(size, losses.dtype)
    return made


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Return the sum of `regularization_loss`. TensorFlow divides it by the number of replicas,
    which is 1 here.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.scale_regularization_loss([1., 2.]).item()
    3.0
    """
    losses = as_tensor(regularization_loss, None, "scale_regularization_loss")
    return reduce_sum(check_real("scale_regularization_loss", losses, "regularization_loss"))


def weighted_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike,
                                       pos_weight: TensorLike,
                                       name: str | None = None) -> Tensor:
    """Return the sigmoid cross entropy with positive labels weighted by `pos_weight`.

    Parameters
    ----------
    labels, logits : Tensor, floating, same shape
    pos_weight : number or Tensor that broadcasts to `logits`

    Returns
    -------
    Tensor, the shape of `logits`

    Notes
    -----
    ``labels * pos_weight * -log(sigmoid(x)) + (1 - labels) * -log(1 - sigmoid(x))``, computed
    without overflow.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.weighted_cross_entropy_with_logits([1.], [0.], 2.).numpy().round(4)
    array([1.3863], dtype=float32)
    """
    op = "weighted_cross_entropy_with_logits"
    x = check_real(op, logits, "logits")
    y = as_tensor(labels, x.dtype, op)
    weight = cast(check_real(op, pos_weight, "pos_weight"), x.dtype)
    share = 1 + (weight - 1) * y
    return add((1 - y) * x, share * (log1p(exp(-abs(x))) + relu(-x)), name=name)
