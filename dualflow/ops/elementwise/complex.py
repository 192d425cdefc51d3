"""Complex numbers: construction from parts, the parts, conjugates and angles.

Gradients follow TensorFlow's convention: the gradient of a real loss L with respect to z = x + iy
is dL/dx + i dL/dy. A rule of a holomorphic function f therefore multiplies by conj(f'(z)).
"""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, apply_binary, apply_unary, as_tensor, filled
from dualflow._util.arguments import real_hint
from dualflow.errors import DTypeError
from dualflow.gradient_registry import gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "angle",
    "complex",
    "conj",
    "imag",
    "polar",
    "real",
]


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Return real + i imag, elementwise.

    Parameters
    ----------
    real, imag : Tensor, float32 or float64, shapes that broadcast

    Returns
    -------
    Tensor, complex64 or complex128, of the broadcast shape

    Raises
    ------
    DTypeError
        If the parts are not float32 or float64.

    Notes
    -----
    The gradient is the real part of ``g`` to `real` and its imaginary part to `imag`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.complex([1., 2.], [3., -4.]).numpy()
    array([1.+3.j, 2.-4.j], dtype=complex64)
    """
    return apply_binary("complex", real, imag, name)


@gradient("complex", saves="none")
def _(g, y, re, im):
    return lambda: real(g), lambda: imag(g)


def polar(magnitude: TensorLike, angle: TensorLike, name: str | None = None) -> Tensor:
    """Return the complex numbers magnitude * e**(i angle), elementwise.

    Parameters
    ----------
    magnitude, angle : Tensor, float32 or float64, shapes that broadcast
        Angles are in radians.

    Returns
    -------
    Tensor, complex64 or complex128, of the broadcast shape

    Notes
    -----
    The parts are ``magnitude * cos(angle)`` and ``magnitude * sin(angle)``; a negative magnitude
    counts as its size at the opposite angle.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.polar([1., 2.], [0., 1.5707964]).numpy().round(4)
    array([ 1.+0.j, -0.+2.j], dtype=complex64)
    """
    magnitude, angle = _tensor(magnitude), _tensor(angle)
    re = apply("multiply", magnitude, apply_unary("cos", angle))
    im = apply("multiply", magnitude, apply_unary("sin", angle))
    return apply("complex", re, im, name=name)


def _tensor(x):
    return x if isinstance(x, TensorBase) else as_tensor(x)


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the real parts, elementwise; real numbers unchanged.

    Parameters
    ----------
    input : Tensor, any number dtype

    Returns
    -------
    Tensor, of the dtype of the parts

    Notes
    -----
    The gradient is ``g``, as a complex number.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.real([1+3j, 2-4j]).numpy()
    array([1., 2.])
    """
    x = _tensor(input)
    return apply_unary("real", x, name) if x.dtype.is_complex else x


@gradient("real", saves="none")
def _(g, y, x):
    return apply("cast", g, dtype=x.dtype)


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the imaginary parts, elementwise; zeros for real numbers.

    Parameters
    ----------
    input : Tensor, any number dtype

    Returns
    -------
    Tensor, of the dtype of the parts

    Notes
    -----
    The gradient is ``g i``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.imag([1+3j, 2-4j]).numpy()
    array([ 3., -4.])
    """
    x = _tensor(input)
    return apply_unary("imag", x, name) if x.dtype.is_complex else filled(0, x)


@gradient("imag", saves="none")
def _(g, y, x):
    return complex(filled(0, g), g)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the complex conjugates, elementwise; real numbers unchanged.

    Parameters
    ----------
    x : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    The gradient is ``conj(g)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.conj([1+3j, 2-4j]).numpy()
    array([1.-3.j, 2.+4.j])
    """
    if type(x) is Tensor and not x.dtype.is_complex:    # most calls: gradient rules of real ops
        return x
    value = _tensor(x)
    return apply_unary("conj", value, name) if value.dtype.is_complex else value


@gradient("conj", saves="none")
def _(g, y, x):
    return conj(g)


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the angles of complex numbers in radians, from -pi to pi, elementwise.

    Parameters
    ----------
    input : Tensor, floating or complex
        The angle of a negative real number is pi, of any other 0.

    Returns
    -------
    Tensor, of the dtype of the parts

    Notes
    -----
    ``atan2(imag(z), real(z))``. The gradient is ``g i z / |z|**2``; at 0, NaN.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.angle([1j, -1+0j]).numpy().round(4)
    array([1.5708, 3.1416])
    """
    x = _tensor(input)
    if x.dtype.is_complex:
        return apply_unary("angle", x, name)
    return apply("atan2", filled(0, x), x, name=name)


@gradient("angle", saves="inputs")
def _(g, y, x):
    # i / conj(z) = i z / |z|**2
    return apply("divide", complex(filled(0, g), g), conj(x))


def check_real(op: str, x: TensorLike, argument: str = "x") -> TensorBase:
    """Return a tensor of real numbers; raise if it is complex."""
    tensor = x if isinstance(x, TensorBase) else as_tensor(x, None, op)
    if tensor.dtype.is_complex:
        raise DTypeError(f"{op}: {argument} is {tensor.dtype} {tensor.shape}, expected real "
                         f"numbers{real_hint(tensor.dtype)}")
    return tensor
