"""Diagonals and bands of matrices, with their gradients. Matrices are the last two dimensions."""

from dualflow._core import Tensor, TensorBase, apply, as_tensor, smaller
from dualflow.errors import ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array import expand_dims, reshape, static_shape
from dualflow.ops.reduce import reduce_sum
from dualflow.ops.slicing import MISSING, SLICE, cut, pad
from dualflow.ops.types import TensorLike

__all__ = ["band_part", "diag", "diag_part", "trace", "tril", "triu"]


def band_part(input: TensorLike, num_lower: int, num_upper: int, name: str | None = None) -> Tensor:
    """`input` with zeros outside a band around the diagonal.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    num_lower, num_upper : int
        Diagonals kept below and above the main one; negative: all.

    Returns
    -------
    Tensor, shape and dtype of `input`

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.band_part([[1, 2], [3, 4]], -1, 0).tolist()
    [[1, 0], [3, 4]]
    """
    return apply("band_part", input, name=name, num_lower=num_lower, num_upper=num_upper)


@gradient("band_part", saves="none")
def _(g, y, x, num_lower, num_upper):
    return band_part(g, num_lower, num_upper)


def tril(input: TensorLike, name: str | None = None) -> Tensor:
    """`input` with zeros above the diagonal of its matrices.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.tril([[1, 2], [3, 4]]).tolist()
    [[1, 0], [3, 4]]
    """
    return band_part(input, -1, 0, name=name)


def triu(input: TensorLike, name: str | None = None) -> Tensor:
    """`input` with zeros below the diagonal of its matrices.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.triu([[1, 2], [3, 4]]).tolist()
    [[1, 2], [0, 4]]
    """
    return band_part(input, 0, -1, name=name)


def diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Matrices with `diagonal` on their diagonal and zeros elsewhere.

    Parameters
    ----------
    diagonal : Tensor, shape (..., n)

    Returns
    -------
    Tensor, shape (..., n, n)

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.diag([1, 2]).tolist()
    [[1, 0], [0, 2]]
    """
    x = diagonal if isinstance(diagonal, TensorBase) else as_tensor(diagonal, None, "diag")
    if x.ndim == 0:
        raise ShapeError(f"diag: {x.dtype} {x.shape}, want 1 dimension or more")
    *batch, n = static_shape(x)
    # An element and n zeros, n times: rows of n + 1 which, read as rows of n, are the matrix.
    rows = pad(expand_dims(x, -1), [[0, 0]] * x.ndim + [[0, n]])
    flat = reshape(rows, (*batch, n * (n + 1)))
    keep = (MISSING,) * len(batch)
    whole = cut(flat, (*keep, 0), (*keep, n * n), (1,) * x.ndim, (SLICE,) * x.ndim)
    return reshape(whole, (*batch, n, n), name=name)


def diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """The diagonals of matrices.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)

    Returns
    -------
    Tensor, shape (..., min(m, n))

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.diag_part([[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, "diag_part")
    if x.ndim < 2:
        raise ShapeError(f"diag_part: {x.dtype} {x.shape}, want 2 dimensions or more")
    *batch, m, n = static_shape(x)
    flat = reshape(x, (*batch, m * n))
    keep = (MISSING,) * len(batch)
    ndim = len(batch) + 1
    return cut(flat, (*keep, 0), (*keep, smaller(m, n) * (n + 1)), (1,) * len(batch) + (n + 1,),
               (SLICE,) * ndim, name=name)


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sums of the diagonals of matrices.

    Parameters
    ----------
    x : Tensor, shape (..., m, n)

    Returns
    -------
    Tensor, dtype of `x`, shape (...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.trace([[1, 2], [3, 4]]).item()
    5
    """
    return reduce_sum(diag_part(x), -1, name=name)
