"""Singular values and eigenvalues of matrices, computed by LAPACK, and least squares, with
gradients."""

from typing import Any

from dualflow import dtypes
from dualflow._core import AutocastRegion, Tensor, smaller
from dualflow._util.arguments import NOT_NEGATIVE, number
from dualflow.dtypes import DType
from dualflow.errors import DTypeError, ShapeError, UnimplementedError
from dualflow.ops.array.creation import eye, zeros, zeros_like
from dualflow.ops.array.diagonal import band_part, diag, diag_part
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import same_shape, static_shape
from dualflow.ops.control_flow.registered import register_op
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.complex import complex, conj, imag, real
from dualflow.ops.linalg.factors import qr
from dualflow.ops.linalg.lapack import lapack
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.linalg.matrices import like, matrices, turned
from dualflow.ops.linalg.solve import solve, triangular_solve
from dualflow.ops.types import TensorLike

__all__ = ["eig", "eigh", "eigvals", "eigvalsh", "lstsq", "svd"]


def _sizes(x: Any) -> tuple[Any, Any, Any]:
    """Return m, n, and the smaller of the two."""
    m, n = x.shape[-2:]
    return m, n, None if m is None or n is None else smaller(m, n)


# --- svd ---------------------------------------------------------------------------------------


def _svd_shapes(x: Tensor, full: bool, vectors: bool) -> list[Any]:
    m, n, k = _sizes(x)
    batch, sizes = tuple(x.shape[:-2]), x.dtype.real_dtype
    if not vectors:
        return [((*batch, k), sizes)]
    return [((*batch, k), sizes), ((*batch, m, m if full else k), x.dtype),
            ((*batch, n, n if full else k), x.dtype)]


def _svd_compute(x: Tensor, full: bool, vectors: bool) -> Any:
    import numpy as np

    *batch, m, n = x.shape
    if 0 in (m, n):                     # NumPy copies each of the columns or rows, though empty
        return (zeros((*batch, 0), x.dtype.real_dtype), *[
            eye(size, None, batch, x.dtype) if full else zeros((*batch, size, 0), x.dtype)
            for size in (m, n)[:2 * vectors]])
    if not vectors:
        return (lapack("svd", "svd", x.numpy(), compute_uv=False),)
    u, s, vt = lapack("svd", "svd", x.numpy(), full)
    return s, u, np.ascontiguousarray(np.swapaxes(vt, -1, -2).conj())


def _inverse_differences(a: Tensor) -> Tensor:
    """Return 1 / (a[j] - a[i]), and 0 where they are equal."""
    d = a[..., None, :] - a[..., :, None]
    same = equal(d, 0)
    return where(same, 0, 1 / where(same, 1, d))


def _svd_gradient(g: Any, ys: Any, x: Tensor, full: bool, vectors: bool) -> Tensor:
    """J. Townsend, "Differentiating the singular value decomposition", 2016. Of complex vectors, a
    common phase of column i of u and of v is arbitrary; an imaginary part of element i of the
    diagonal of ``u.T @ dx @ v`` turns them apart: by half of it divided by s[i] each."""
    if full:
        raise UnimplementedError("svd: gradients need full_matrices=False")
    s, u, v = ys if vectors else _svd(x, full=False, vectors=True)
    total = matmul(u * g[0][..., None, :], turned(v))
    if not vectors:
        return total
    f, inverse = _inverse_differences(s * s), where(equal(s, 0), 0, 1 / where(equal(s, 0), 1, s))

    def side(w: Tensor, gw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the components of the gradient inside and outside the span of the vectors, and
        the products of the vectors and their gradients."""
        flow = matmul(turned(w), gw)
        return f * (flow - turned(flow)), (gw - matmul(w, flow)) * inverse[..., None, :], flow

    (within_u, beside_u, by_u), (within_v, beside_v, by_v) = side(u, g[1]), side(v, g[2])
    middle = within_u * s[..., None, :] + s[..., :, None] * within_v
    if x.dtype.is_complex:
        phases = 0.5 * imag(diag_part(by_u) - diag_part(by_v)) * inverse
        middle = middle + diag(complex(zeros_like(phases), phases))
    total = total + matmul(matmul(u, middle) + beside_u, turned(v))
    return total + matmul(u, turned(beside_v))


_svd = register_op("svd", _svd_compute, gradient=_svd_gradient, infer=_svd_shapes)


def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True,
        name: str | None = None) -> Any:
    """Return singular values and vectors: `tensor` is u times ``diag(s)`` times the adjoint of v.

    Parameters
    ----------
    tensor : Tensor, floating or complex, shape (..., m, n)
    full_matrices : bool
        Whether u and v are square; otherwise they have k columns, k the smaller of m and n.
    compute_uv : bool
        Whether to return the vectors.

    Returns
    -------
    s : Tensor, the real dtype of `tensor`, shape (..., k), descending
    u : Tensor, shape (..., m, k), if `compute_uv`
    v : Tensor, shape (..., n, k), if `compute_uv`

    Notes
    -----
    For real tensors, ``u @ diag(s) @ v.T == tensor``. There are gradients without `full_matrices`;
    they ignore rotations among vectors of equal singular values. Complex u[:, i] and v[:, i] are
    determined except for a common factor of absolute value 1, so the gradient of a function that
    depends on this factor is undefined.

    Examples
    --------
    >>> import dualflow as df
    >>> s, u, v = df.linalg.svd([[0., 2.], [1., 0.]])
    >>> s.tolist()
    [2.0, 1.0]
    """
    x = matrices("svd", tensor)
    made = _svd(x, full=bool(full_matrices) and compute_uv, vectors=bool(compute_uv), name=name)
    return like(made if compute_uv else made[0], tensor)


# --- eigenvalues -------------------------------------------------------------------------------


def _eigh_gradient(g: Any, ys: Any, x: Tensor) -> Tensor:
    """M. Giles, "An extended collection of matrix derivative results", 2008, section 3.1; folded
    into the lower triangle, the only one that is read, and into the real part of its diagonal."""
    e, v = ys
    inner = diag(g[0]) + _inverse_differences(e) * matmul(turned(v), g[1])
    whole = matmul(v, matmul(inner, turned(v)))
    both = whole + turned(whole)
    return band_part(both, -1, 0) - 0.5 * band_part(both, 0, 0)


_eigh = register_op("eigh", lambda x: tuple(lapack("eigh", "eigh", x.numpy())),
                    gradient=_eigh_gradient,
                    infer=lambda x: [(x.shape[:-1], x.dtype.real_dtype), x])


def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Parameters
    ----------
    tensor : Tensor, floating or complex, shape (..., n, n)
        Only the lower triangle is read, and only the real part of the diagonal.

    Returns
    -------
    e : Tensor, the real dtype of `tensor`, shape (..., n), ascending
    v : Tensor, shape (..., n, n)
        The columns are the eigenvectors.

    Notes
    -----
    The gradient ignores rotations among vectors of equal eigenvalues. Complex vectors are
    determined except for a factor of absolute value 1, so the gradient of a function that depends
    on this factor is undefined. Eigenvalues of complex matrices are complex in TensorFlow.

    Examples
    --------
    >>> import dualflow as df
    >>> e, v = df.linalg.eigh([[2., 0.], [0., 1.]])
    >>> e.tolist()
    [1.0, 2.0]
    """
    return like(_eigh(matrices("eigh", tensor, True), name=name), tensor)


def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return eigenvalues of symmetric or Hermitian matrices, the first result of ``eigh(tensor)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.eigvalsh([[2., 0.], [0., 1.]]).tolist()
    [1.0, 2.0]
    """
    return eigh(tensor, name)[0]


def _complex(dtype: DType) -> DType:
    """Return the complex dtype of a real or complex dtype."""
    return dtypes.complex128 if dtype.real_dtype is dtypes.float64 else dtypes.complex64


def _eig_gradient(g: Any, ys: Any, x: Tensor) -> Tensor:
    """C. Boeddeker et al., "On the computation of complex-valued gradients with application to
    statistically optimum beamforming", 2017, equation 4.77, for vectors of length 1."""
    e, v = ys
    back = turned(v)
    flow = matmul(back, g[1])
    lengths = matmul(back, v) * real(diag_part(flow))[..., None, :]
    inner = diag(g[0]) + conj(_inverse_differences(e)) * (flow - lengths)
    whole = solve(back, matmul(inner, back))
    return whole if x.dtype.is_complex else real(whole)


def _eig_compute(x: Tensor) -> Any:
    e, v = lapack("eig", "eig", x.numpy())
    dtype = _complex(x.dtype).name          # NumPy's are real if all eigenvalues are
    return e.astype(dtype, copy=False), v.astype(dtype, copy=False)


def _eig_shapes(x: Tensor) -> list[Any]:
    dtype = _complex(x.dtype)
    return [(x.shape[:-1], dtype), (x.shape, dtype)]


_eig = register_op("eig", _eig_compute, gradient=_eig_gradient, infer=_eig_shapes)


def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors of matrices.

    Parameters
    ----------
    tensor : Tensor, floating or complex, shape (..., n, n)

    Returns
    -------
    e : Tensor, complex, shape (..., n), unordered
    v : Tensor, complex, shape (..., n, n)
        The columns are the eigenvectors, of length 1.

    Notes
    -----
    The results are complex also for real matrices with real eigenvalues. The gradient exists if
    the vectors are linearly independent; it is real for real matrices and ignores rotations among
    vectors of equal eigenvalues. Vectors are determined except for a factor of absolute value 1, so
    the gradient of a function that depends on this factor is undefined.

    Examples
    --------
    >>> import dualflow as df
    >>> e, v = df.linalg.eig([[0., 1.], [-1., 0.]])
    >>> e.numpy()
    array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    made: tuple[Tensor, Tensor] = _eig(matrices("eig", tensor, True), name=name)
    return made


def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return eigenvalues of matrices, complex: the first result of ``eig(tensor)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.eigvals([[2., 1.], [0., 1.]]).numpy()
    array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    return eig(tensor, name)[0]


# --- least squares -----------------------------------------------------------------------------


def lstsq(matrix: TensorLike, rhs: TensorLike, l2_regularizer: float = 0.0, fast: bool = True,
          name: str | None = None) -> Tensor:
    """Return x that minimises the sum of the squared absolute values of ``matrix @ x - rhs``.

    Parameters
    ----------
    matrix : Tensor, floating or complex, shape (..., m, n), of full rank
    rhs : Tensor, dtype of `matrix`, shape (..., m, k)
    l2_regularizer : float
        Weight of the sum of the squares of x.
    fast : bool
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    Tensor, dtype of `rhs`, shape (..., n, k); the smallest x if there are many

    Notes
    -----
    Computed by `qr`, which has a gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.lstsq([[1.], [1.]], [[1.], [3.]]).numpy().round(4).tolist()
    [[2.0]]
    """
    a, b = matrices("lstsq", matrix), matrices("lstsq", rhs)
    if a.dtype.is_complex is not b.dtype.is_complex:
        raise DTypeError(f"lstsq: matrix is {a.dtype} and rhs {b.dtype}, expected the same")
    if not same_shape(a.shape[:-1], b.shape[:-1]):
        raise ShapeError(f"lstsq: matrix has shape {tuple(a.shape)} and rhs {tuple(b.shape)}, "
                         "expected equal shapes except for the last dimension")
    if number(l2_regularizer, "lstsq: l2_regularizer", NOT_NEGATIVE):
        *batch, _, n = static_shape(a)
        a = concat([a, l2_regularizer**0.5 * eye(n, batch_shape=batch, dtype=a.dtype)], -2)
        b = concat([b, zeros([*batch, n, static_shape(b)[-1]], b.dtype)], -2)
    m, n, _ = _sizes(a)
    with AutocastRegion():              # the products have the dtype of the factors
        if m >= n:
            q, r = qr(a)
            made = triangular_solve(r, matmul(turned(q), b), lower=False)
        else:
            q, r = qr(turned(a))
            made = matmul(q, triangular_solve(r, b, lower=False, adjoint=True))
    return like(made, rhs)
