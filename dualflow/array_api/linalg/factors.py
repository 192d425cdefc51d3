"""Factors of matrices, and what follows from singular values."""

from typing import NamedTuple

from dualflow._core import Tensor
from dualflow.array_api.arrays import array
from dualflow.array_api.data_types import finfo
from dualflow.array_api.linear_algebra import matmul, matrix_transpose
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError
from dualflow.ops import linear_algebra, spectral
from dualflow.ops.array import expand_dims, static_shape
from dualflow.ops.cast import cast
from dualflow.ops.compare import greater, where
from dualflow.ops.reduce import reduce_max, reduce_sum
from dualflow.ops.types import TensorLike

__all__ = ["cholesky", "eigh", "eigvalsh", "matrix_rank", "pinv", "qr", "svd", "svdvals"]


class Eigh(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QR(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


class SVD(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: TensorLike, /, *, upper: bool = False) -> Tensor:
    """The triangular factor of positive definite matrices.

    Parameters
    ----------
    x : array, floating, shape (..., n, n)
    upper : bool
        Whether to give u with ``u.T @ u == x`` instead of l with ``l @ l.T == x``.

    Returns
    -------
    array, shape and dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.cholesky(df.constant([[4.]])).tolist()
    [[2.0]]
    """
    if not upper:
        return linear_algebra.cholesky(x)
    return matrix_transpose(linear_algebra.cholesky(matrix_transpose(x)))


def eigh(x: TensorLike, /) -> Eigh:
    """Eigenvalues, ascending, and eigenvectors, the columns, of symmetric matrices `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.eigh(df.constant([[2., 0.], [0., 1.]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    return Eigh(*spectral.eigh(x))


def eigvalsh(x: TensorLike, /) -> Tensor:
    """The eigenvalues, ascending, of symmetric matrices `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.eigvalsh(df.constant([[2., 0.], [0., 1.]])).tolist()
    [1.0, 2.0]
    """
    return spectral.eigvalsh(x)


def matrix_rank(x: TensorLike, /, *, rtol: TensorLike | None = None) -> Tensor:
    """How many singular values of each matrix are not close to 0.

    Parameters
    ----------
    x : array, floating, shape (..., m, n)
    rtol : number or array of shape (...), optional
        Those of more than `rtol` times the largest one count; by default the larger of m and n
        times the distance of 1 to the next number of the dtype.

    Returns
    -------
    array, int64, shape (...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.matrix_rank(df.constant([[1., 2.], [2., 4.]])).item()
    1
    """
    s = svdvals(x)
    return reduce_sum(cast(greater(s, _least(x, s, rtol)), int64), -1)


def _least(x: TensorLike, s: Tensor, rtol: TensorLike | None) -> Tensor:
    """Singular values up to it are taken for 0."""
    if rtol is None:
        y = array(x, "rtol")
        rtol = max(y.shape[-2:]) * finfo(s.dtype).eps
    elif not isinstance(rtol, int | float):
        rtol = cast(expand_dims(array(rtol, "rtol"), -1), s.dtype)
    return reduce_max(s, -1, True) * rtol if static_shape(s)[-1] else s


def pinv(x: TensorLike, /, *, rtol: TensorLike | None = None) -> Tensor:
    """The pseudoinverses of matrices, after Moore and Penrose.

    Parameters
    ----------
    x : array, floating, shape (..., m, n)
    rtol : number or array of shape (...), optional
        As for `matrix_rank`: smaller singular values are taken for 0.

    Returns
    -------
    array, shape (..., n, m)

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.pinv(df.constant([[2.], [0.]])).tolist()
    [[0.5, 0.0]]
    """
    u, s, vh = svd(x, full_matrices=False)
    kept = greater(s, _least(x, s, rtol))
    inverse = where(kept, 1 / where(kept, s, 1), 0)
    return matmul(matrix_transpose(vh) * expand_dims(inverse, -2), matrix_transpose(u))


def qr(x: TensorLike, /, *, mode: str = "reduced") -> QR:
    """Orthogonal q and upper triangular r with ``q @ r == x``.

    Parameters
    ----------
    x : array, floating, shape (..., m, n)
    mode : {"reduced", "complete"}
        "complete" gives a square q.

    Returns
    -------
    Q, R : array, dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.qr(df.constant([[3.], [4.]]), mode="complete").Q.shape
    (2, 2)
    """
    if mode not in ("reduced", "complete"):
        raise InvalidArgumentError(f"qr: mode is {mode!r}, want 'reduced' or 'complete'")
    return QR(*spectral.qr(x, mode == "complete"))


def svd(x: TensorLike, /, *, full_matrices: bool = True) -> SVD:
    """Singular values and vectors: ``u @ diag(s) @ vh == x``.

    Parameters
    ----------
    x : array, floating, shape (..., m, n)
    full_matrices : bool
        Whether u and vh are square; else they have as many vectors as there are values.

    Returns
    -------
    U, S, Vh : array, dtype of `x`; the values descend

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.svd(df.constant([[0., 2.], [1., 0.]])).S.tolist()
    [2.0, 1.0]
    """
    s, u, v = spectral.svd(x, full_matrices)
    return SVD(u, s, matrix_transpose(v))


def svdvals(x: TensorLike, /) -> Tensor:
    """The singular values, descending, of matrices `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.svdvals(df.constant([[0., 2.], [1., 0.]])).tolist()
    [2.0, 1.0]
    """
    return spectral.svd(x, compute_uv=False)
