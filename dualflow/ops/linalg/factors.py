"""Cholesky, LU and QR factors of matrices, the last two dimensions."""

from __future__ import annotations

from dualflow._core import Tensor, apply, smaller
from dualflow.errors import UnimplementedError
from dualflow.gradient_registry import gradient
from dualflow.ops import linalg
from dualflow.ops.array.creation import ones_like
from dualflow.ops.array.diagonal import band_part, diag_part, set_diag
from dualflow.ops.array.shape import same_size
from dualflow.ops.control_flow.registered import register_op
from dualflow.ops.indexing.gather import gather
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.linalg.matrices import like, matrices, turned
from dualflow.ops.linalg.solve import triangular_solve
from dualflow.ops.sorting.sort import argsort

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["cholesky", "lu", "qr"]


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the lower triangular L for which `input` is L times its adjoint, ``L @ L.T``.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (..., n, n)
        Symmetric or Hermitian, and positive definite; only the lower triangle is read, and only
        the real part of the diagonal.

    Returns
    -------
    Tensor, shape and dtype of `input`

    Raises
    ------
    InvalidArgumentError
        If a matrix is not positive definite.

    Notes
    -----
    The diagonal of L is real and positive. The gradient is symmetric or Hermitian.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.cholesky([[4., 2.], [2., 5.]]).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    x = matrices("cholesky", input, True)
    return like(apply("cholesky", x, name=name), input)


@gradient("cholesky", saves="output")
def _(g, y, x):
    """I. Murray, "Differentiation of the Cholesky decomposition", 2016, equation 10."""
    product = band_part(matmul(y, g, adjoint_a=True), -1, 0)
    middle = product - 0.5 * band_part(product, 0, 0)
    left = triangular_solve(y, middle, adjoint=True)
    whole = turned(triangular_solve(y, turned(left), adjoint=True))
    return 0.5 * (whole + turned(whole))


def lu(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the LU factors of `input` with permuted rows.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (..., m, n)

    Returns
    -------
    lu : Tensor, shape and dtype of `input`
        U, and below the diagonal L, whose diagonal of ones is not stored.
    p : Tensor, int32, shape (..., m)
        Row indices such that ``input[p]`` is ``L @ U``.

    Notes
    -----
    Partial pivoting, by the absolute value, or the sum of those of the parts of complex numbers, as
    in LAPACK. There are gradients for square matrices that are not singular.

    Examples
    --------
    >>> import dualflow as df
    >>> factors, p = df.linalg.lu([[1., 2.], [2., 2.]])
    >>> factors.tolist(), p.tolist()
    ([[2.0, 2.0], [0.5, 1.0]], [1, 0])
    """
    x = matrices("lu", input)
    factors, p = apply("lu", x, name=name)
    return like(factors, input), p


@gradient("lu", saves="output")
def _(g, ys, x):
    """F. de Hoog, R. Anderssen and M. Lukas, "Differentiation of matrix functionals using
    triangular factorization", 2011: P times the gradient is
    ``inv(L.T) @ (tril(L.T @ gL, -1) + triu(gU @ U.T)) @ inv(U.T)``, with adjoints for .T."""
    factors, rows = ys
    if not same_size(*x.shape[-2:]):
        raise UnimplementedError(f"lu: gradients need square matrices; x has shape "
                                 f"{tuple(x.shape)}")
    flow = g[0]
    lower = band_part(factors, -1, 0)
    lower = set_diag(lower, ones_like(diag_part(lower)))
    upper = band_part(factors, 0, -1)
    below = matmul(lower, flow - band_part(flow, 0, -1), adjoint_a=True)
    above = matmul(band_part(flow, 0, -1), upper, adjoint_b=True)
    middle = below - band_part(below, 0, -1) + band_part(above, 0, -1)
    left = triangular_solve(lower, middle, adjoint=True)
    whole = turned(triangular_solve(upper, turned(left), lower=False))
    return gather(whole, argsort(rows), axis=-2, batch_dims=rows.ndim - 1)



def qr(input: TensorLike, full_matrices: bool = False,
       name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return q with orthonormal columns and upper triangular r with ``q @ r == input``.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (..., m, n)
    full_matrices : bool
        Whether q is square; otherwise the number of its columns is the smaller of m and n.

    Returns
    -------
    q, r : Tensor, dtype of `input`

    Notes
    -----
    There are gradients for m >= n without `full_matrices`. The diagonal of r is real, also if
    `input` is complex.

    Examples
    --------
    >>> import dualflow as df
    >>> q, r = df.linalg.qr([[3.], [4.]])
    >>> abs(r.item()), q.shape
    (5.0, (2, 1))
    """
    x = matrices("qr", input)
    full = bool(full_matrices)
    if x.dtype.kind == "complex":
        return _complex_qr(x, full=full, name=name)
    return like(tuple(apply("qr", x, full=full, name=name)), input)


@gradient("qr", saves="output")
def _qr_gradient(g, ys, x, full):
    """M. Seeger et al., "Auto-differentiating linear algebra", 2017, section 4.3. Where r is
    complex, its diagonal stays real: the imaginary part of the diagonal of ``inv(q) @ dx @ inv(r)``
    belongs to q."""
    q, r = ys
    m, n = x.shape[-2:]
    if full or m < n:
        raise UnimplementedError(f"qr: gradients need at least as many rows as columns, and not "
                                 f"full_matrices; x has shape {tuple(x.shape)}")

    def over(a: Tensor) -> Tensor:      # a times the inverse of the adjoint of r
        return turned(triangular_solve(r, turned(a), lower=False))

    flow = matmul(turned(q), g[0])
    inner = flow - turned(flow)
    by_r = matmul(r, turned(g[1]))
    below = band_part(inner + by_r - turned(by_r), -1, 0)
    if x.dtype.is_complex:              # the diagonal is not 0, and imaginary
        below = below - 0.5 * band_part(below, 0, 0)
    return matmul(q, g[1] + over(below)) + over(g[0] - matmul(q, flow))


def _qr_compute(x, full):
    return linalg.lapack.lapack("qr", "qr", x.numpy(), "complete" if full else "reduced")


def _qr_shapes(x, full):
    *batch, m, n = x.shape
    k = m if full else smaller(m, n)
    return [((*batch, m, k), x.dtype), ((*batch, k, n), x.dtype)]


_complex_qr = register_op("qr", _qr_compute, gradient=_qr_gradient, infer=_qr_shapes)
