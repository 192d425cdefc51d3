"""Solutions of linear equations. Matrices are the last two dimensions."""

from __future__ import annotations

from dualflow._core import Tensor, apply
from dualflow.errors import DTypeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.diagonal import band_part
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
    factors, p = apply("lu", a)
    return like(apply("solve", a, factors, p, b, adjoint=bool(adjoint), name=name), rhs)


@gradient("solve", saves=(0, 1, 2, "output"))
def _(g, y, a, factors, p, b, adjoint):
    """The factors are computed from the matrix, whose gradient is complete without theirs."""
    back = apply("solve", a, factors, p, g, adjoint=not adjoint)
    return lambda: _slope(back, y, adjoint), None, None, back


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
    return like(apply("triangular_solve", a, b, lower=bool(lower), adjoint=bool(adjoint),
                      name=name), rhs)


@gradient("triangular_solve", saves=(0, "output"))
def _(g, y, a, b, lower, adjoint):
    back = apply("triangular_solve", a, g, lower=lower, adjoint=not adjoint)

    def of_matrix() -> Tensor:
        slope = _slope(back, y, adjoint)
        return band_part(slope, -1, 0) if lower else band_part(slope, 0, -1)

    return of_matrix, back


def _slope(back: Tensor, y: Tensor, adjoint: bool) -> Tensor:
    """Return the gradient of a matrix, from that of the right-hand side and the solution."""
    return -(matmul(y, back, adjoint_b=True) if adjoint else matmul(back, y, adjoint_b=True))
