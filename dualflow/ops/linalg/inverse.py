"""Inverses and determinants of matrices, the last two dimensions, computed from LU factors."""

from __future__ import annotations

from dualflow._core import Tensor, apply
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.complex import complex, conj, imag
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
    input : Tensor, floating or complex, shape (..., n, n)
    adjoint : bool
        Whether to invert the adjoints, the conjugates of the transposes.

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
    x = turned(x) if adjoint else x
    return like(apply("inv", x, name=name), input)


@gradient("inv", saves="output")
def _(g, y, x):
    return -matmul(y, matmul(g, y, adjoint_b=True), adjoint_a=True)


def det(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the determinants of matrices.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (..., n, n)

    Returns
    -------
    Tensor, shape (...), dtype of `input`

    Notes
    -----
    The gradient requires the inverse and raises if a matrix is singular. It is ``g`` times the
    adjoint of ``det(x) * inv(x)``; TensorFlow's gradient lacks the conjugate of a complex
    determinant.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.det([[2., 0.], [0., 4.]]).item()
    8.0
    """
    x = matrices("det", input, True)
    return like(apply("det", x, name=name), input)


@gradient("det", saves="both")
def _(g, y, x):
    return (g * conj(y))[..., None, None] * turned(inv(x))


def slogdet(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return signs and logarithms of the absolute values of determinants.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (..., n, n)

    Returns
    -------
    sign : Tensor, shape (...), dtype of `input`
        The determinant divided by its absolute value; 0 for a singular matrix.
    log_abs_determinant : Tensor, shape (...), the real dtype of `input`
        -inf for a singular matrix.

    Examples
    --------
    >>> import dualflow as df
    >>> sign, log_abs = df.linalg.slogdet([[-2., 0.], [0., 4.]])
    >>> sign.item(), round(log_abs.item(), 4)
    (-1.0, 2.0794)
    """
    x = matrices("slogdet", input, True)
    return like(tuple(apply("slogdet", x, name=name)), input)


@gradient("slogdet", saves="both")
def _(g, ys, x):
    """The real part of ``trace(inv(x) @ dx)`` changes the logarithm, the imaginary part turns the
    sign."""
    slope = g[1]
    if x.dtype.is_complex:
        slope = complex(slope, imag(g[0] * conj(ys[0])))
    return slope[..., None, None] * turned(inv(x))
