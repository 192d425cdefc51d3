"""Matrix factorisations, and functions of singular values."""

from typing import NamedTuple

from dualflow._core import Tensor
from dualflow.array_api.arrays import array
from dualflow.array_api.data_types import finfo
from dualflow.array_api.linear_algebra import matmul, matrix_transpose
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.shape import expand_dims, static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import greater, where
from dualflow.ops.elementwise.complex import conj
from dualflow.ops.linalg import factors, spectral
from dualflow.ops.reduction.reduce import reduce_max, reduce_sum
from dualflow.ops.types import TensorLike

__all__ = ["cholesky", "eigh", "eigvalsh", "matrix_rank", "pinv", "qr", "svd", "svdvals"]


class Eigh(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QR(NamedTuple):
    """The result of `qr`."""

    Q: Tensor
    R: Tensor


class SVD(NamedTuple):
    """The result of `svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: TensorLike, /, *, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of positive definite matrices.

    Parameters
    ----------
    x : array, floating or complex, shape (..., n, n)
    upper : bool
        Whether to return u instead of l: `x` is l times its adjoint, and the adjoint of u times
        u. For real numbers, the adjoint is the transpose.

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
        return factors.cholesky(x)
    return matrix_transpose(factors.cholesky(matrix_transpose(x)))


def eigh(x: TensorLike, /) -> Eigh:
    """Return ascending eigenvalues, and eigenvectors as columns, of symmetric or Hermitian `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.eigh(df.constant([[2., 0.], [0., 1.]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    return Eigh(*spectral.eigh(x))


def eigvalsh(x: TensorLike, /) -> Tensor:
    """Return the ascending eigenvalues of symmetric or Hermitian matrices `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.eigvalsh(df.constant([[2., 0.], [0., 1.]])).tolist()
    [1.0, 2.0]
    """
    return spectral.eigvalsh(x)


def matrix_rank(x: TensorLike, /, *, rtol: TensorLike | None = None) -> Tensor:
    """Return the number of singular values of each matrix that are not close to 0.

    Parameters
    ----------
    x : array, floating or complex, shape (..., m, n)
    rtol : number or array of shape (...), optional
        Singular values above `rtol` times the largest one count; by default the larger of m and n
        times the epsilon of the dtype.

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
    """Return the threshold up to which singular values count as 0."""
    if rtol is None:
        y = array(x, "rtol")
        rtol = max(y.shape[-2:]) * finfo(s.dtype).eps
    elif not isinstance(rtol, int | float):
        rtol = cast(expand_dims(array(rtol, "rtol"), -1), s.dtype)
    return reduce_max(s, -1, True) * rtol if static_shape(s)[-1] else s


def pinv(x: TensorLike, /, *, rtol: TensorLike | None = None) -> Tensor:
    """Return the Moore-Penrose pseudo-inverses of matrices.

    Parameters
    ----------
    x : array, floating or complex, shape (..., m, n)
    rtol : number or array of shape (...), optional
        As in `matrix_rank`: smaller singular values count as 0.

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
    v = conj(matrix_transpose(vh)) * cast(expand_dims(inverse, -2), vh.dtype)
    return matmul(v, conj(matrix_transpose(u)))


def qr(x: TensorLike, /, *, mode: str = "reduced") -> QR:
    """Return orthogonal q and upper triangular r with ``q @ r == x``.

    Parameters
    ----------
    x : array, floating or complex, shape (..., m, n)
    mode : {"reduced", "complete"}
        "complete" returns a square q.

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
        raise InvalidArgumentError(f"qr: mode is {mode!r}, expected 'reduced' or 'complete'")
    return QR(*factors.qr(x, mode == "complete"))


def svd(x: TensorLike, /, *, full_matrices: bool = True) -> SVD:
    """Return singular values and vectors: ``u @ diag(s) @ vh == x``.

    Parameters
    ----------
    x : array, floating or complex, shape (..., m, n)
    full_matrices : bool
        Whether u and vh are square; otherwise they have one vector per singular value.

    Returns
    -------
    U, S, Vh : array, dtype of `x`; singular values in descending order

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.svd(df.constant([[0., 2.], [1., 0.]])).S.tolist()
    [2.0, 1.0]
    """
    s, u, v = spectral.svd(x, full_matrices)
    return SVD(u, s, conj(matrix_transpose(v)))


def svdvals(x: TensorLike, /) -> Tensor:
    """Return the descending singular values of matrices `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.svdvals(df.constant([[0., 2.], [1., 0.]])).tolist()
    [2.0, 1.0]
    """
    return spectral.svd(x, compute_uv=False)
