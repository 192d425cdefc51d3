"""Inverses and determinants of matrices, the last two dimensions, computed from LU factors."""

from __future__ import annotations

from dualflow._core import Tensor, apply
from dualflow.gradient_registry import gradient
from dualflow.ops import linalg
from dualflow.ops.control_flow.registered import register_op
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
    if x.dtype.kind == "complex":
        return _complex_inv(x, name=name)
    return like(apply("inv", x, name=name), input)


@gradient("inv", saves="output")
def _inv_gradient(g, y, x):
    return -matmul(y, matmul(g, y, adjoint_b=True), adjoint_a=True)


_complex_inv = register_op("inv", lambda x: linalg.complex_kernels.inv(x.numpy()),
                           gradient=_inv_gradient)


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
    if x.dtype.kind == "complex":
        return _complex_det(x, name=name)
    return like(apply("det", x, name=name), input)


@gradient("det", saves="both")
def _det_gradient(g, y, x):
    return (g * conj(y))[..., None, None] * turned(inv(x))


_complex_det = register_op("det", lambda x: linalg.lapack.lapack("det", "det", x.numpy()),
                           gradient=_det_gradient, infer=lambda x: (x.shape[:-2], x.dtype))


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
    if x.dtype.kind == "complex":
        return _complex_slogdet(x, name=name)
    return like(tuple(apply("slogdet", x, name=name)), input)


@gradient("slogdet", saves="inputs")
def _(g, y, x):
    return g[1][..., None, None] * turned(inv(x))


def _complex_slogdet_gradient(g, ys, x):
    """The real part of ``trace(inv(x) @ dx)`` changes the logarithm, the imaginary part turns the
    sign."""
    return complex(g[1], imag(g[0] * conj(ys[0])))[..., None, None] * turned(inv(x))


_complex_slogdet = register_op(
    "slogdet", lambda x: tuple(linalg.lapack.lapack("slogdet", "slogdet", x.numpy())),
    gradient=_complex_slogdet_gradient,
    infer=lambda x: [(x.shape[:-2], x.dtype), (x.shape[:-2], x.dtype.real_dtype)])
