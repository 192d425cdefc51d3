"""Discrete Fourier transforms and their gradients. Complex numbers are pairs of real tensors.

The transforms are SciPy's pocketfft, called from Python at run time."""

from importlib import import_module
from typing import Any

from dualflow import dtypes
from dualflow._core import Tensor, as_tensor
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import range as range_, zeros_like
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import ints, same_shape
from dualflow.ops.control_flow.registered import register_op
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.types import TensorLike

__all__ = ["fft", "fft2d", "ifft", "ifft2d", "irfft", "rfft"]

Pair = tuple[Tensor, Tensor]


def _scipy_fft() -> Any:
    try:
        return import_module("scipy.fft")
    except ImportError:
        raise ModuleNotFoundError("Fourier transforms need SciPy: pip install dualflow[linalg]"
                                  ) from None


def _real(op: str, x: TensorLike, n_axes: int) -> Tensor:
    """Return `x` as float32 or float64, checking that it has at least `n_axes` dimensions."""
    a = as_tensor(x, None, op)
    if not a.dtype.is_floating:
        raise DTypeError(f"{op}: {a.dtype.name}, expected a floating dtype")
    if a.ndim < n_axes:
        raise ShapeError(f"{op}: shape {tuple(a.shape)}, expected at least {n_axes} dimensions")
    return cast(a, dtypes.float32) if a.dtype.itemsize == 2 else a


def _parts(op: str, x: Any, n_axes: int) -> Pair:
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise InvalidArgumentError(f"{op}: expected a pair of tensors, real and imaginary part")
    re, im = (_real(op, part, n_axes) for part in x)
    if re.dtype is not im.dtype or not same_shape(re.shape, im.shape):
        raise ShapeError(f"{op}: parts are {re.dtype.name} {tuple(re.shape)} and "
                         f"{im.dtype.name} {tuple(im.shape)}, expected the same")
    return re, im


def _complex(re: Tensor, im: Tensor) -> Any:
    import numpy as np

    x = np.empty(re.shape, "complex64" if re.dtype is dtypes.float32 else "complex128")
    x.real, x.imag = re.numpy(), im.numpy()
    return x


def _split(y: Any) -> tuple[Any, Any]:
    import numpy as np

    return np.ascontiguousarray(y.real), np.ascontiguousarray(y.imag)


# --- complex to complex ------------------------------------------------------------------------


def _transform(re: Tensor, im: Tensor, n_axes: int, inverse: bool, scaled: bool) -> Any:
    """Compute the transform with SciPy; `scaled` divides by the number of points."""
    if 0 in re.shape:
        return re, im
    module = _scipy_fft()
    x, axes = _complex(re, im), tuple(range(-n_axes, 0))
    if inverse:
        return _split(module.ifftn(x, axes=axes, norm="backward" if scaled else "forward"))
    return _split(module.fftn(x, axes=axes, norm="forward" if scaled else "backward"))


def _transform_gradient(g: Any, ys: Any, re: Tensor, im: Tensor, n_axes: int, inverse: bool,
                        scaled: bool) -> Any:
    """Apply the adjoint: the matrix is symmetric, so this is the transform in reverse."""
    return _fft(*g, n_axes=n_axes, inverse=not inverse, scaled=scaled)


_fft = register_op("fft", _transform, gradient=_transform_gradient,
                   infer=lambda re, im, **_: [re, im])


def fft(input: tuple[TensorLike, TensorLike], name: str | None = None) -> Pair:
    """Return ``y[k] = sum of x[j] exp(-2 pi i j k / n)`` along the last dimension.

    Parameters
    ----------
    input : pair of Tensor, floating, shape (..., n)
        Real and imaginary part.

    Returns
    -------
    pair of Tensor, like `input`

    Notes
    -----
    Requires SciPy. The gradient is the unscaled inverse transform.

    Examples
    --------
    >>> import dualflow as df
    >>> re, im = df.signal.fft(([1., 0., 0., 0.], [0., 0., 0., 0.]))
    >>> re.tolist(), im.tolist()
    ([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0])
    """
    re, im = _fft(*_parts("fft", input, 1), n_axes=1, inverse=False, scaled=False, name=name)
    return re, im


def ifft(input: tuple[TensorLike, TensorLike], name: str | None = None) -> Pair:
    """Return ``x[j] = sum of y[k] exp(2 pi i j k / n) / n`` along the last dimension.

    The inverse of `fft`.

    Parameters and results are as in `fft`.

    Examples
    --------
    >>> import dualflow as df
    >>> re, im = df.signal.ifft(([4., 0., 0., 0.], [0., 0., 0., 0.]))
    >>> re.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    re, im = _fft(*_parts("ifft", input, 1), n_axes=1, inverse=True, scaled=True, name=name)
    return re, im


def fft2d(input: tuple[TensorLike, TensorLike], name: str | None = None) -> Pair:
    """Compute `fft` along the last two dimensions.

    Examples
    --------
    >>> import dualflow as df
    >>> re, im = df.signal.fft2d(([[1., 1.], [1., 1.]], [[0., 0.], [0., 0.]]))
    >>> re.tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    re, im = _fft(*_parts("fft2d", input, 2), n_axes=2, inverse=False, scaled=False, name=name)
    return re, im


def ifft2d(input: tuple[TensorLike, TensorLike], name: str | None = None) -> Pair:
    """Compute `ifft` along the last two dimensions, the inverse of `fft2d`.

    Examples
    --------
    >>> import dualflow as df
    >>> re, im = df.signal.ifft2d(([[4., 0.], [0., 0.]], [[0., 0.], [0., 0.]]))
    >>> re.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    re, im = _fft(*_parts("ifft2d", input, 2), n_axes=2, inverse=True, scaled=True, name=name)
    return re, im


# --- real transforms ---------------------------------------------------------------------------


def _points(op: str, fft_length: Any, otherwise: Any) -> Any:
    if fft_length is None:
        n = otherwise
    else:
        n, = ints(fft_length, f"{op}: fft_length")
    if not n >= 1:
        raise InvalidArgumentError(f"{op}: fft_length is {n}, expected at least 1")
    return n


def _of_length(x: Tensor, n: Any) -> Tensor:
    """Cut or zero-pad the last dimension to n elements."""
    x = x[..., :n]
    return pad(x, [[0, 0]] * (x.ndim - 1) + [[0, n - x.shape[-1]]])


def _rfft_gradient(g: Any, ys: Any, x: Tensor) -> Tensor:
    n = x.shape[-1]
    re, im = (_of_length(part, n) for part in g)
    return _fft(re, im, n_axes=1, inverse=True, scaled=False)[0]


_rfft = register_op(
    "rfft", lambda x: _split(_scipy_fft().rfft(x.numpy())), gradient=_rfft_gradient,
    infer=lambda x: [((*x.shape[:-1], x.shape[-1] // 2 + 1), x.dtype)] * 2)


def rfft(input_tensor: TensorLike, fft_length: TensorLike | None = None,
         name: str | None = None) -> Pair:
    """Return the first half of the `fft` of real numbers; the second half is its conjugate.

    Parameters
    ----------
    input_tensor : Tensor, floating, shape (..., n)
    fft_length : int, optional
        Number of points; the input is cut or zero-padded to it. By default n.

    Returns
    -------
    pair of Tensor, shape (..., fft_length // 2 + 1)
        Real and imaginary part.

    Notes
    -----
    Requires SciPy.

    Examples
    --------
    >>> import dualflow as df
    >>> re, im = df.signal.rfft([0., 1., 0., 0.])
    >>> re.tolist(), im.tolist()
    ([1.0, 0.0, -1.0], [0.0, -1.0, 0.0])
    """
    x = _real("rfft", input_tensor, 1)
    n = _points("rfft", fft_length, x.shape[-1])
    re, im = _rfft(_of_length(x, n), name=name)
    return re, im


def _irfft_compute(re: Tensor, im: Tensor, n: int) -> Any:
    return _scipy_fft().irfft(_complex(re, im), n)


def _irfft_gradient(g: Tensor, y: Tensor, re: Tensor, im: Tensor, n: Any) -> Any:
    """Double all points except the first and, if n is even, the last, for their conjugates."""
    slopes = _rfft(g)
    k = range_(re.shape[-1], dtype=dtypes.int64)
    once = equal(k, 0) | equal(k * 2, n)
    share = where(once, 1.0, 2.0) / cast(zeros_like(k[:1]) + n, dtypes.float64)
    share = cast(share, re.dtype)
    return slopes[0] * share, where(once, 0.0, slopes[1] * share)


_irfft = register_op("irfft", _irfft_compute, gradient=_irfft_gradient,
                     infer=lambda re, im, n: ((*re.shape[:-1], n), re.dtype))


def irfft(input_tensor: tuple[TensorLike, TensorLike], fft_length: TensorLike | None = None,
          name: str | None = None) -> Tensor:
    """Return the real numbers whose `rfft` is `input_tensor`.

    Parameters
    ----------
    input_tensor : pair of Tensor, floating, shape (..., k)
        Real and imaginary part. The imaginary part of the first point and, if `fft_length` is even,
        of the last is ignored.
    fft_length : int, optional
        Number of results, by default ``2 * (k - 1)``.

    Returns
    -------
    Tensor, shape (..., fft_length)

    Notes
    -----
    Requires SciPy.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.irfft(([1., 0., -1.], [0., -1., 0.])).tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    re, im = _parts("irfft", input_tensor, 1)
    n = _points("irfft", fft_length, 2 * (re.shape[-1] - 1))
    made: Tensor = _irfft(_of_length(re, n // 2 + 1), _of_length(im, n // 2 + 1), n=n, name=name)
    return made
