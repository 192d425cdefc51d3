"""Sequence masks, and partitioning of rows by index."""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import integer
from dualflow.dtypes import bool_, int32
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array.creation import range as range_
from dualflow.ops.array.shape import expand_dims, same_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, less
from dualflow.ops.indexing.gather import boolean_mask
from dualflow.ops.reduction.reduce import reduce_max

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["dynamic_partition", "sequence_mask"]


def sequence_mask(lengths: TensorLike, maxlen: TensorLike | None = None, dtype: DTypeLike = bool_,
                  name: str | None = None) -> Tensor:
    """Return True at the positions within each length: ``y[..., j] = j < lengths[...]``.

    Parameters
    ----------
    lengths : Tensor, integers, shape (...)
    maxlen : int or Tensor, optional
        By default the largest length.
    dtype : dtype, default bool

    Returns
    -------
    Tensor, of `dtype`, shape (..., maxlen)

    Examples
    --------
    >>> import dualflow as df
    >>> df.sequence_mask([1, 3, 2], 3, df.int32).tolist()
    [[1, 0, 0], [1, 1, 1], [1, 1, 0]]
    """
    n = as_tensor(lengths, None, "sequence_mask")
    if not n.dtype.is_integer:
        raise DTypeError(f"sequence_mask: lengths are {n.dtype}, expected integers")
    longest = reduce_max(n) if maxlen is None else as_tensor(maxlen, n.dtype)
    return cast(less(cast(range_(longest), n.dtype), expand_dims(n, -1)), dtype, name=name)


def dynamic_partition(data: TensorLike, partitions: TensorLike, num_partitions: int,
                      name: str | None = None) -> list[Tensor]:
    """Split `data` by partition index: slices of partition 0, of partition 1, and so on.

    Parameters
    ----------
    data : Tensor, of shape ``partitions.shape + (...)``
    partitions : Tensor, int32
    num_partitions : int

    Returns
    -------
    list of Tensor
        The slices of each partition in their order in `data`.

    Examples
    --------
    >>> import dualflow as df
    >>> [part.tolist() for part in df.dynamic_partition([1, 2, 3], [0, 1, 0], 2)]
    [[1, 3], [2]]
    """
    x, parts = as_tensor(data, None, "dynamic_partition"), as_tensor(partitions, int32)
    if not same_shape(x.shape[:parts.ndim], parts.shape):
        raise ShapeError(f"dynamic_partition: data has shape {tuple(x.shape)} and partitions "
                         f"{tuple(parts.shape)}, expected data to begin with the shape of "
                         "partitions")
    count = integer(num_partitions, "dynamic_partition: num_partitions")
    return [boolean_mask(x, equal(parts, k), name=name) for k in range(count)]
