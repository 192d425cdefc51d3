"""Solutions of linear equations. Matrices are the last two dimensions."""

from __future__ import annotations

from dualflow._core import Tensor, apply
from dualflow.errors import DTypeError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops import linalg
from dualflow.ops.array.diagonal import band_part
from dualflow.ops.array.shape import same_shape
from dualflow.ops.control_flow.registered import register_op
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.linalg.matrices import like, matrices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["solve", "triangular_solve"]


def _pair(op: str, matrix: TensorLike, rhs: TensorLike) -> tuple[Tensor, Tensor]:
    a, b = matrices(op, matrix, True), matrices(op, rhs)
    if a.dtype is not b.dtype:
        raise DTypeError(f"{op}: matrix is {a.dtype.name} and rhs {b.dtype.name}, expected the "
                         "same")
    return a, b


def _check_shapes(op: str, a: Tensor, b: Tensor) -> None:
    """Check the shapes of complex equations; those of real ones are checked in C."""
    if not same_shape(a.shape[:-1], b.shape[:-1]):
        raise ShapeError(f"{op}: matrix has shape {tuple(a.shape)} and rhs {tuple(b.shape)}, "
                         "expected equal shapes except for the last dimension")


def solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False,
          name: str | None = None) -> Tensor:
    """Solve ``matrix @ x == rhs`` for x.

    Parameters
    ----------
    matrix : Tensor, floating or complex, shape (..., n, n)
    rhs : Tensor, dtype of `matrix`, shape (..., n, k)
    adjoint : bool
        Whether to solve with the adjoints, the conjugates of the transposes.

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
    if a.dtype.kind == "complex":
        _check_shapes("solve", a, b)
        return _complex_solve(a, b, adjoint=bool(adjoint), name=name)
    factors, p = apply("lu", a)
    return like(apply("solve", a, factors, p, b, adjoint=bool(adjoint), name=name), rhs)


@gradient("solve", saves=(0, 1, 2, "output"))
def _(g, y, a, factors, p, b, adjoint):
    """The factors are computed from the matrix, whose gradient is complete without theirs."""
    back = apply("solve", a, factors, p, g, adjoint=not adjoint)
    return lambda: _slope(back, y, adjoint), None, None, back


def _complex_solve_gradient(g, y, a, b, adjoint):
    back = _complex_solve(a, g, adjoint=not adjoint)
    return lambda: _slope(back, y, adjoint), back


_complex_solve = register_op(
    "solve", lambda a, b, adjoint: linalg.complex_kernels.solve(a.numpy(), b.numpy(), adjoint),
    gradient=_complex_solve_gradient, infer=lambda a, b, adjoint: b)


def triangular_solve(matrix: TensorLike, rhs: TensorLike, lower: bool = True,
                     adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solve ``matrix @ x == rhs`` for x with triangular matrices.

    Parameters
    ----------
    matrix : Tensor, floating or complex, shape (..., n, n)
        The other triangle is ignored.
    rhs : Tensor, dtype of `matrix`, shape (..., n, k)
    lower : bool
    adjoint : bool
        Whether to solve with the adjoints, the conjugates of the transposes.

    Returns
    -------
    Tensor, shape and dtype of `rhs`

    Raises
    ------
    InvalidArgumentError
        If a diagonal element is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.triangular_solve([[2., 9.], [1., 4.]], [[2.], [3.]]).tolist()
    [[1.0], [0.5]]
    """
    a, b = _pair("triangular_solve", matrix, rhs)
    return like(_substitute(a, b, bool(lower), bool(adjoint), name), rhs)


def _substitute(a: Tensor, b: Tensor, lower: bool, adjoint: bool,
                name: str | None = None) -> Tensor:
    if a.dtype.kind == "complex":
        _check_shapes("triangular_solve", a, b)
        return _complex_triangular_solve(a, b, lower=lower, adjoint=adjoint, name=name)
    return apply("triangular_solve", a, b, lower=lower, adjoint=adjoint, name=name)


@gradient("triangular_solve", saves=(0, "output"))
def _triangular_solve_gradient(g, y, a, b, lower, adjoint):
    back = _substitute(a, g, lower, not adjoint)

    def of_matrix() -> Tensor:
        slope = _slope(back, y, adjoint)
        return band_part(slope, -1, 0) if lower else band_part(slope, 0, -1)

    return of_matrix, back


_complex_triangular_solve = register_op(
    "triangular_solve", lambda a, b, lower, adjoint: linalg.complex_kernels.triangular_solve(
        a.numpy(), b.numpy(), lower, adjoint),
    gradient=_triangular_solve_gradient, infer=lambda a, b, lower, adjoint: b)


def _slope(back: Tensor, y: Tensor, adjoint: bool) -> Tensor:
    """Return the gradient of a matrix, from that of the right-hand side and the solution."""
    return -(matmul(y, back, adjoint_b=True) if adjoint else matmul(back, y, adjoint_b=True))
