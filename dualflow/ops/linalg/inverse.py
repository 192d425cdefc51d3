"""Inverses and determinants of matrices, the last two dimensions, computed from LU factors."""

from __future__ import annotations

from dualflow._core import Tensor, apply
from dualflow.gradient_registry import gradient
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.linalg.matrices import like, matrices, turned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["det", "inv", "slogdet"]


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
    return like(apply("inv", turned(x) if adjoint else x, name=name), input)


@gradient("inv", saves="output")
def _(g, y, x):
    return -matmul(y, matmul(g, y, transpose_b=True), transpose_a=True)


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
    return like(apply("det", matrices("det", input, True), name=name), input)


@gradient("det", saves="both")
def _(g, y, x):
    return (g * y)[..., None, None] * turned(inv(x))


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
    return like(tuple(apply("slogdet", matrices("slogdet", input, True), name=name)), input)


@gradient("slogdet", saves="inputs")
def _(g, y, x):
    return g[1][..., None, None] * turned(inv(x))
