"""Multiplication by index, with its gradient. The other scatter ops are in gather.py."""

from __future__ import annotations

from dualflow._core import Tensor, apply
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import ones_like
from dualflow.ops.array.shape import static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.complex import conj
from dualflow.ops.indexing.gather import gather_nd, scatter_nd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["tensor_scatter_nd_mul"]


def tensor_scatter_nd_mul(tensor: TensorLike, indices: TensorLike, updates: TensorLike,
                          name: str | None = None) -> Tensor:
    """Multiply `tensor` by `updates`: ``y[tuple(indices[j])] *= updates[j]``.

    Parameters
    ----------
    tensor : Tensor, any number dtype
    indices : Tensor, int32 or int64, shape (..., depth)
    updates : Tensor, shape ``indices.shape[:-1] + tensor.shape[depth:]``

    Returns
    -------
    Tensor, of the shape of `tensor`

    Raises
    ------
    OutOfRangeError
        If an index is out of range.

    Notes
    -----
    Updates are multiplied in the order of the indices. The gradient of a factor is g times the
    product of the other factors, also for factors of 0; second derivatives require nonzero factors.

    Examples
    --------
    >>> import dualflow as df
    >>> df.tensor_scatter_nd_mul([1, 2, 3], [[0], [2], [0]], [5, 6, 7]).numpy().tolist()
    [35, 2, 18]
    """
    return apply("tensor_scatter_nd_mul", tensor, indices, updates, name=name)


@gradient("tensor_scatter_nd_mul", saves="inputs")
def _(g, y, tensor, indices, updates):
    def into_updates():
        # The product of nonzero factors, divided by the factor; and the number of zeros.
        tensor_zero, zero = equal(tensor, 0), equal(updates, 0)
        product = tensor_scatter_nd_mul(where(tensor_zero, 1, tensor), indices,
                                        where(zero, 1, updates))
        zeros = cast(tensor_zero, g.dtype) + scatter_nd(indices, cast(zero, g.dtype),
                                                        static_shape(tensor))
        others = gather_nd(zeros, indices) - cast(zero, g.dtype)
        share = gather_nd(g * conj(product), indices) / conj(where(zero, 1, updates))
        return where(equal(others, 0), share, 0)

    return (lambda: g * conj(tensor_scatter_nd_mul(ones_like(tensor), indices, updates)), None,
            into_updates)
