"""Matrix factorisations, inverses, determinants and linear solvers, with gradients composed of the
same ops. NumPy and SciPy call LAPACK from Python at run time. Matrices are the last two
dimensions."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dualflow import dtypes
from dualflow._core import Tensor, as_tensor
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.diagonal import band_part
from dualflow.ops.array.shape import same_shape, same_size, transpose
from dualflow.ops.control_flow.registered import register_op
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.types import TensorLike

__all__ = ["cholesky", "det", "inv", "lu", "slogdet", "solve", "triangular_solve"]


def lapack(op: str, function: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function of `numpy.linalg`; its errors name the op."""
    import numpy as np

    try:
        return getattr(np.linalg, function)(*args, **kwargs)
    except np.linalg.LinAlgError as error:
        raise InvalidArgumentError(f"{op}: {str(error)[:1].lower()}{str(error)[1:]}") from None


def scipy(name: str, op: str) -> Any:
    """Import a module of SciPy at first use."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError:
        raise ModuleNotFoundError(f"{op} needs SciPy: pip install dualflow[linalg]") from None


def matrices(op: str, x: TensorLike, square: bool = False) -> Tensor:
    """Check matrices and return them as float32 or float64."""
    a = as_tensor(x, None, op)
    if not a.dtype.is_floating:
        raise DTypeError(f"{op}: {a.dtype.name}, expected a floating dtype")
    if a.ndim < 2 or (square and not same_size(a.shape[-1], a.shape[-2])):
        wanted = "square matrices" if square else "matrices, the last two dimensions"
        raise ShapeError(f"{op}: shape {tuple(a.shape)}, expected {wanted}")
    return cast(a, dtypes.float32) if a.dtype.itemsize == 2 else a


def like(result: Any, x: TensorLike) -> Any:
    """Cast results to the dtype of the input."""
    if isinstance(result, tuple):
        return tuple([like(y, x) for y in result])
    given = as_tensor(x)
    return cast(result, given.dtype) if given.dtype.is_floating else result


def turned(x: Tensor) -> Tensor:
    """Transpose each matrix."""
    n = x.ndim
    return transpose(x, [*range(n - 2), n - 1, n - 2])


def _inner(x: Tensor) -> tuple[Any, ...]:
    return tuple(x.shape[:-2])


# --- factors ---------------------------------------------------------------------------------


def _cholesky_gradient(g: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """I. Murray, "Differentiation of the Cholesky decomposition", 2016, equation 10."""
    product = band_part(matmul(turned(y), g), -1, 0)
    middle = product - 0.5 * band_part(product, 0, 0)
    left = _triangular(y, middle, lower=True, adjoint=True)
    whole = turned(_triangular(y, turned(left), lower=True, adjoint=True))
    return 0.5 * (whole + turned(whole))


_cholesky = register_op("cholesky", lambda x: lapack("cholesky", "cholesky", x.numpy()),
                        gradient=_cholesky_gradient)


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the lower triangular L with ``L @ L.T == input``.

    Parameters
    ----------
    input : Tensor, floating, shape (..., n, n)
        Symmetric and positive definite; only the lower triangle is read.

    Returns
    -------
    Tensor, shape and dtype of `input`

    Raises
    ------
    InvalidArgumentError
        If a matrix is not positive definite.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.cholesky([[4., 2.], [2., 5.]]).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return like(_cholesky(matrices("cholesky", input, True), name=name), input)


def _lu_factors(x: Tensor) -> tuple[Any, Any]:
    import numpy as np

    a = x.numpy()
    factors = np.empty_like(a)
    order = np.empty(a.shape[:-1], "int32")
    lapack_of_scipy = scipy("linalg", "lu")
    for at in np.ndindex(a.shape[:-2]):
        factors[at], swaps = lapack_of_scipy.lu_factor(a[at])
        rows = np.arange(a.shape[-2])
        for i, j in enumerate(swaps):
            rows[[i, j]] = rows[[j, i]]
        order[at] = rows
    return factors, order


_lu = register_op("lu", _lu_factors, infer=lambda x: [x, (x.shape[:-1], dtypes.int32)])


def lu(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the LU factors of `input` with permuted rows.

    Parameters
    ----------
    input : Tensor, floating, shape (..., m, n)

    Returns
    -------
    lu : Tensor, shape and dtype of `input`
        U, and below the diagonal L, whose diagonal of ones is not stored.
    p : Tensor, int32, shape (..., m)
        Row indices such that ``input[p]`` is ``L @ U``.

    Notes
    -----
    Requires SciPy. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> factors, p = df.linalg.lu([[1., 2.], [2., 2.]])
    >>> factors.tolist(), p.tolist()
    ([[2.0, 2.0], [0.5, 1.0]], [1, 0])
    """
    factors, p = _lu(matrices("lu", input), name=name)
    return like(factors, input), p


# --- inverses and determinants ---------------------------------------------------------------

_inv = register_op("inv", lambda x: lapack("inv", "inv", x.numpy()),
                   gradient=lambda g, y, x: -matmul(turned(y), matmul(g, turned(y))))


def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Return the inverses of matrices.

    Parameters
    ----------
    input : Tensor, floating, shape (..., n, n)
    adjoint : bool
        Whether to invert the transposes.

    Returns
    -------
    Tensor, shape and dtype of `input`

    Raises
    ------
    InvalidArgumentError
        If a matrix is singular.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.inv([[2., 0.], [0., 4.]]).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    x = matrices("inv", input, True)
    return like(_inv(turned(x) if adjoint else x, name=name), input)


_det = register_op("det", lambda x: lapack("det", "det", x.numpy()),
                   gradient=lambda g, y, x: (g * y)[..., None, None] * turned(_inv(x)),
                   infer=lambda x: (_inner(x), x.dtype))


def det(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the determinants of matrices.

    Parameters
    ----------
    input : Tensor, floating, shape (..., n, n)

    Returns
    -------
    Tensor, shape (...), dtype of `input`

    Notes
    -----
    The gradient requires the inverse and raises if a matrix is singular.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.det([[2., 0.], [0., 4.]]).item()
    8.0
    """
    return like(_det(matrices("det", input, True), name=name), input)


_slogdet = register_op("slogdet", lambda x: tuple(lapack("slogdet", "slogdet", x.numpy())),
                       gradient=lambda g, ys, x: g[1][..., None, None] * turned(_inv(x)),
                       infer=lambda x: [(_inner(x), x.dtype)] * 2)


def slogdet(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return signs and logarithms of the absolute values of determinants.

    Parameters
    ----------
    input : Tensor, floating, shape (..., n, n)

    Returns
    -------
    sign, log_abs_determinant : Tensor, shape (...), dtype of `input`
        0 and -inf for a singular matrix.

    Examples
    --------
    >>> import dualflow as df
    >>> sign, log_abs = df.linalg.slogdet([[-2., 0.], [0., 4.]])
    >>> sign.item(), round(log_abs.item(), 4)
    (-1.0, 2.0794)
    """
    return like(_slogdet(matrices("slogdet", input, True), name=name), input)


# --- equations -------------------------------------------------------------------------------


def _pair(op: str, matrix: TensorLike, rhs: TensorLike) -> tuple[Tensor, Tensor]:
    a, b = matrices(op, matrix, True), matrices(op, rhs)
    if a.dtype is not b.dtype:
        raise DTypeError(f"{op}: matrix is {a.dtype.name} and rhs {b.dtype.name}, expected the "
                         "same")
    if not same_shape(a.shape[:-1], b.shape[:-1]):
        raise ShapeError(f"{op}: matrix has shape {tuple(a.shape)} and rhs {tuple(b.shape)}, "
                         "expected equal shapes except for the last dimension")
    return a, b


def _solve_gradient(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Any, Any]:
    back = _solve(turned(a), g)
    return -matmul(back, turned(y)), back


_solve = register_op("solve", lambda a, b: lapack("solve", "solve", a.numpy(), b.numpy()),
                     gradient=_solve_gradient, infer=lambda a, b: b)


def solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False,
          name: str | None = None) -> Tensor:
    """Solve ``matrix @ x == rhs`` for x.

    Parameters
    ----------
    matrix : Tensor, floating, shape (..., n, n)
    rhs : Tensor, shape (..., n, k)
    adjoint : bool
        Whether to solve with the transposes.

    Returns
    -------
    Tensor, shape and dtype of `rhs`

    Raises
    ------
    InvalidArgumentError
        If a matrix is singular.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.solve([[2., 0.], [0., 4.]], [[2.], [2.]]).tolist()
    [[1.0], [0.5]]
    """
    a, b = _pair("solve", matrix, rhs)
    return like(_solve(turned(a) if adjoint else a, b, name=name), rhs)


def _solve_triangles(a: Tensor, b: Tensor, lower: bool, adjoint: bool) -> Any:
    import numpy as np

    matrix, rhs = a.numpy(), b.numpy()
    made = np.empty_like(rhs)
    solver: Callable[..., Any] = scipy("linalg", "triangular_solve").solve_triangular
    for at in np.ndindex(matrix.shape[:-2]):
        try:
            made[at] = solver(matrix[at], rhs[at], trans=int(adjoint), lower=lower,
                              check_finite=False)
        except np.linalg.LinAlgError as error:
            raise InvalidArgumentError(f"triangular_solve: {error}") from None
    return made


def _triangular_gradient(g: Tensor, y: Tensor, a: Tensor, b: Tensor, lower: bool,
                         adjoint: bool) -> tuple[Any, Any]:
    back = _triangular(a, g, lower=lower, adjoint=not adjoint)
    slope = matmul(y, turned(back)) if adjoint else matmul(back, turned(y))
    return -(band_part(slope, -1, 0) if lower else band_part(slope, 0, -1)), back


_triangular = register_op("triangular_solve", _solve_triangles, gradient=_triangular_gradient,
                          infer=lambda a, b, lower, adjoint: b)


def triangular_solve(matrix: TensorLike, rhs: TensorLike, lower: bool = True,
                     adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solve ``matrix @ x == rhs`` for x with triangular matrices.

    Parameters
    ----------
    matrix : Tensor, floating, shape (..., n, n)
        The other triangle is ignored.
    rhs : Tensor, shape (..., n, k)
    lower : bool
    adjoint : bool
        Whether to solve with the transposes.

    Returns
    -------
    Tensor, shape and dtype of `rhs`

    Raises
    ------
    InvalidArgumentError
        If a diagonal element is 0.

    Notes
    -----
    Requires SciPy.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.triangular_solve([[2., 9.], [1., 4.]], [[2.], [3.]]).tolist()
    [[1.0], [0.5]]
    """
    a, b = _pair("triangular_solve", matrix, rhs)
    made = _triangular(a, b, lower=bool(lower), adjoint=bool(adjoint), name=name)
    return like(made, rhs)
