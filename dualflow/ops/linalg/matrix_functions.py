"""Functions of matrices: pseudo-inverse, rank, exponential, logarithm, square root and others, with
gradients. SciPy and NumPy functions are called at run time."""

from collections.abc import Callable
from typing import Any

from dualflow import dtypes
from dualflow._core import Tensor, as_tensor, larger
from dualflow._util.arguments import NOT_NEGATIVE, number
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import eye, zeros_like
from dualflow.ops.array.diagonal import diag_part
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import static_shape, transpose
from dualflow.ops.array.slicing import roll
from dualflow.ops.control_flow.registered import register_op
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import greater
from dualflow.ops.elementwise.complex import real
from dualflow.ops.elementwise.exponential import log
from dualflow.ops.linalg.factors import cholesky
from dualflow.ops.linalg.lapack import lapack, one_blas_thread, scipy
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.linalg.matrices import like, matrices, turned
from dualflow.ops.linalg.solve import triangular_solve
from dualflow.ops.linalg.spectral import svd
from dualflow.ops.reduction.norm import norm
from dualflow.ops.reduction.reduce import reduce_max, reduce_sum
from dualflow.ops.types import TensorLike

__all__ = ["adjoint", "cholesky_solve", "cross", "expm", "logdet", "logm", "matrix_rank",
           "matrix_transpose", "normalize", "pinv", "sqrtm"]

EPSILON = {"float32": 2.0 ** -23, "float64": 2.0 ** -52}


# --- transposes --------------------------------------------------------------------------------


def matrix_transpose(a: TensorLike, name: str | None = None, conjugate: bool = False) -> Tensor:
    """Swap the last two dimensions.

    Parameters
    ----------
    a : Tensor, shape (..., m, n)
    conjugate : bool
        Whether to return the complex conjugates of the elements.

    Returns
    -------
    Tensor, shape (..., n, m), dtype of `a`

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.matrix_transpose([[1, 2, 3]]).tolist()
    [[1], [2], [3]]
    """
    x = as_tensor(a, None, "matrix_transpose")
    n = x.ndim
    if n < 2:
        raise ShapeError(f"matrix_transpose: shape {tuple(x.shape)}, expected 2 dimensions or more")
    return transpose(x, [*range(n - 2), n - 1, n - 2], conjugate, name)


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Swap the last two dimensions of `matrix` and return the complex conjugates of its elements.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.adjoint([[1j, 2+3j]]).numpy()
    array([[0.-1.j],
           [2.-3.j]])
    """
    return matrix_transpose(matrix, name, conjugate=True)


# --- by factorisation --------------------------------------------------------------------------


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithms of determinants of matrices for which `cholesky` exists.

    Parameters
    ----------
    matrix : Tensor, floating or complex, shape (..., n, n)

    Returns
    -------
    Tensor, shape (...), the real dtype of `matrix`

    Raises
    ------
    InvalidArgumentError
        If a matrix is not positive definite.

    Examples
    --------
    >>> import dualflow as df
    >>> round(df.linalg.logdet([[2., 0.], [0., 4.]]).item(), 4)
    2.0794
    """
    return 2 * reduce_sum(log(real(diag_part(cholesky(matrix)))), -1, name=name)


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solve ``chol @ adjoint(chol) @ x == rhs`` for x.

    Parameters
    ----------
    chol : Tensor, floating or complex, shape (..., n, n)
        The result of `cholesky`.
    rhs : Tensor, shape (..., n, k)

    Returns
    -------
    Tensor, shape and dtype of `rhs`

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.cholesky_solve([[2., 0.], [0., 1.]], [[4.], [3.]]).tolist()
    [[1.0], [3.0]]
    """
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True, name=name)


def matrix_rank(a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False,
                name: str | None = None) -> Tensor:
    """Return the number of singular values larger than `tol`.

    Parameters
    ----------
    a : Tensor, floating or complex, shape (..., m, n)
    tol : number or Tensor, shape (...), optional
        By default the largest singular value times the larger of m and n times the dtype's epsilon.
    validate_args : bool
        Ignored: arguments are always checked.

    Returns
    -------
    Tensor, int32, shape (...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.matrix_rank([[1., 2.], [2., 4.]]).item()
    1
    """
    x = matrices("matrix_rank", a)
    m, n = static_shape(x)[-2:]
    sizes = svd(x, compute_uv=False)
    if tol is None:
        tol = reduce_max(sizes, -1, keepdims=True) * (
            cast(larger(m, n), sizes.dtype) * EPSILON[sizes.dtype.name])
    else:
        tol = as_tensor(tol, sizes.dtype)[..., None]
    return reduce_sum(cast(greater(sizes, tol), dtypes.int32), -1, name=name)


def _pinv_gradient(g: Tensor, y: Tensor, x: Tensor, rcond: float) -> Tensor:
    """G. Golub and V. Pereyra, "The differentiation of pseudo-inverses", 1973, equation 4.12."""
    m, n = static_shape(x)[-2:]
    back, flow = turned(y), turned(g)
    outside = eye(m, dtype=x.dtype) - matmul(x, y)
    inside = eye(n, dtype=x.dtype) - matmul(y, x)
    return (matmul(matmul(outside, flow), matmul(y, back))
            + matmul(matmul(back, y), matmul(flow, inside)) - matmul(back, matmul(g, back)))


_pinv = register_op(
    "pinv", lambda x, rcond: lapack("pinv", "pinv", x.numpy(), rcond), gradient=_pinv_gradient,
    infer=lambda x, rcond: ((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype))


def pinv(a: TensorLike, rcond: float | None = None, validate_args: bool = False,
         name: str | None = None) -> Tensor:
    """Return the Moore-Penrose pseudo-inverses of matrices.

    Parameters
    ----------
    a : Tensor, floating or complex, shape (..., m, n)
    rcond : float, optional
        Singular values below this fraction of the largest count as 0. By default 10 times the
        larger of m and n times the dtype's epsilon.
    validate_args : bool
        Ignored: arguments are always checked.

    Returns
    -------
    Tensor, shape (..., n, m), dtype of `a`

    Notes
    -----
    The gradient is valid where the rank is locally constant.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.pinv([[2., 0.], [0., 0.], [0., 4.]]).numpy().round(4).tolist()
    [[0.5, 0.0, 0.0], [0.0, 0.0, 0.25]]
    """
    x = matrices("pinv", a)
    number(rcond, "pinv: rcond", NOT_NEGATIVE.or_none())
    if rcond is None:
        rcond = 10.0 * int(larger(x.shape[-2], x.shape[-1])) * EPSILON[x.dtype.real_dtype.name]
    return like(_pinv(x, rcond=float(rcond), name=name), a)


# --- functions of matrices -----------------------------------------------------------------------


def _matrix_function(op: str, compute: Callable[[Any], Any]) -> Any:
    """Register an op for a function of square matrices with a power series.

    Its derivative at A in direction G is the upper right block of the function of [[A, G], [0, A]],
    and its adjoint is the derivative at the adjoint of A (N. Higham, "Functions of Matrices", 2008,
    theorem 3.6), so one rule serves all functions and orders.
    """
    made: Any = None

    def back(g: Tensor, y: Tensor, x: Tensor) -> Tensor:
        a, n = turned(x), static_shape(x)[-1]
        block = concat([concat([a, g], -1), concat([zeros_like(a), a], -1)], -2)
        return made(block)[..., :n, n:]

    made = register_op(op, compute, gradient=back)
    return made


def _scipy_linalg(op: str, function: str, a: Any) -> Any:
    """Call a function of `scipy.linalg` on one thread."""
    compute = getattr(scipy("linalg", op), function)
    with one_blas_thread("scipy.linalg._flapack"):
        return compute(a)


def _each(op: str, function: str, x: Tensor) -> Any:
    """Apply a SciPy function to each matrix; raise if a result is not finite, or not real but the
    matrix is."""
    import numpy as np

    a = x.numpy()
    made = np.empty_like(a)
    for at in np.ndindex(a.shape[:-2]):
        result = _scipy_linalg(op, function, a[at])
        scale, kind = np.abs(result).max(initial=0.0), "" if x.dtype.is_complex else "real and "
        if not np.isfinite(scale) or (
                kind and np.abs(result.imag).max(initial=0.0) > 1e-5 * scale):
            raise InvalidArgumentError(f"{op}: {f'matrix {at}' if at else 'the matrix'} has no "
                                       f"{kind}finite result")
        made[at] = result.real if kind else result
    return made


_expm = _matrix_function("expm", lambda x: _scipy_linalg("expm", "expm", x.numpy()))
_logm = _matrix_function("logm", lambda x: _each("logm", "logm", x))
_sqrtm = _matrix_function("sqrtm", lambda x: _each("sqrtm", "sqrtm", x))


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the exponentials of matrices, the sums of ``input ** k / k!`` as matrix powers.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (..., n, n)

    Returns
    -------
    Tensor, shape and dtype of `input`

    Notes
    -----
    Requires SciPy.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.expm([[0., 1.], [0., 0.]]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return like(_expm(matrices("expm", input, True), name=name), input)


def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the principal logarithms of matrices, the inverse of `expm`.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (..., n, n)

    Returns
    -------
    Tensor, shape and dtype of `input`

    Raises
    ------
    InvalidArgumentError
        If a logarithm is not real but `input` is: an eigenvalue is negative.

    Notes
    -----
    Requires SciPy.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.logm([[1., 1.], [0., 1.]]).numpy().round(4).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return like(_logm(matrices("logm", input, True), name=name), input)


def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the principal square roots of matrices: ``sqrtm(a) @ sqrtm(a) == a``.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (..., n, n)

    Returns
    -------
    Tensor, shape and dtype of `input`

    Raises
    ------
    InvalidArgumentError
        If a root is not finite, or not real but `input` is: an eigenvalue is negative.

    Notes
    -----
    Requires SciPy.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.sqrtm([[4., 0.], [0., 9.]]).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return like(_sqrtm(matrices("sqrtm", input, True), name=name), input)


# --- vectors -------------------------------------------------------------------------------------


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Return the cross products of vectors of three elements.

    Parameters
    ----------
    a, b : Tensor, any number dtype, shape (..., 3)

    Returns
    -------
    Tensor, shape (..., 3)

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.cross([1., 0., 0.], [0., 1., 0.]).tolist()
    [0.0, 0.0, 1.0]
    """
    x, y = as_tensor(a, None, "cross"), as_tensor(b, None, "cross")
    if not (x.ndim and y.ndim and x.shape[-1] == 3 and y.shape[-1] == 3):
        raise ShapeError(f"cross: shapes {tuple(x.shape)} and {tuple(y.shape)}, expected 3 numbers "
                         "in the last dimension")
    made: Tensor = roll(x, -1, -1) * roll(y, -2, -1) - roll(x, -2, -1) * roll(y, -1, -1)
    return made


def normalize(tensor: TensorLike, ord: str | float = "euclidean", axis: Any = None,
              name: str | None = None) -> tuple[Tensor, Tensor]:
    """Divide `tensor` by its norm; return the quotient and the norm.

    Parameters
    ----------
    tensor : Tensor, floating or complex
    ord, axis
        As in `norm`.

    Returns
    -------
    normalized : Tensor, like `tensor`
    norm : Tensor, with the reduced dimensions kept with size 1

    Examples
    --------
    >>> import dualflow as df
    >>> unit, length = df.linalg.normalize([3., 4.])
    >>> unit.numpy(), length.tolist()
    (array([0.6, 0.8], dtype=float32), [5.0])
    """
    x = as_tensor(tensor, None, "normalize")
    length = norm(x, ord, axis, True)
    made: Tensor = x / length
    return made, length
