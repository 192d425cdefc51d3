"""Discrete Fourier transforms of complex numbers and their gradients."""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow._util.arguments import shown
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import ints
from dualflow.ops.array.slicing import roll
from dualflow.ops.elementwise.cast import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["fft", "fft2d", "fft3d", "fftnd", "fftshift", "ifft", "ifft2d", "ifft3d", "ifftnd",
           "ifftshift"]

_DIVISORS = {"none": 0, "n": 1, "root": 2}      # the attribute `norm` of the op
_NORMS = {None: ("none", "n"), "backward": ("none", "n"), "ortho": ("root", "root"),
          "forward": ("n", "none")}             # of the transform and of its inverse


def transform(x: Tensor, axis: int, inverse: bool, norm: str | None = None,
              name: str | None = None) -> Tensor:
    """Transform a complex tensor along one axis."""
    return apply("fft", x, axis=axis, inverse=inverse, norm=_DIVISORS[_NORMS[norm][inverse]],
                 name=name)


@gradient("fft", saves="none")
def _(g, y, x, axis, inverse, norm):
    # The adjoint: the matrix is symmetric, so its conjugate transpose is its conjugate.
    return apply("fft", g, axis=axis, inverse=not inverse, norm=norm)


def real_transform(x: Tensor, n: Any, inverse: bool, norm: str | None = None,
                   name: str | None = None) -> Tensor:
    """Transform n real numbers along the last dimension to ``n // 2 + 1`` results, or back."""
    return apply("rfft", x, n=n, inverse=inverse, norm=_DIVISORS[_NORMS[norm][inverse]],
                 adjoint=False, name=name)


@gradient("rfft", saves="none")
def _(g, y, x, n, inverse, norm, adjoint):
    return apply("rfft", g, n=n, inverse=not inverse, norm=norm, adjoint=not adjoint)


# --- arguments ---------------------------------------------------------------------------------


def _tensor(op: str, x: Any) -> Tensor:
    return x if isinstance(x, TensorBase) else as_tensor(x, None, op)  # type: ignore[return-value]


def complex_input(op: str, x: TensorLike, n_axes: int = 1) -> Tensor:
    """Return `x` as a complex tensor, checking that it has at least `n_axes` dimensions."""
    a = _tensor(op, x)
    if a.ndim < n_axes:
        raise ShapeError(f"{op}: shape {tuple(a.shape)}, expected at least {n_axes} dimensions")
    if a.dtype.is_complex:
        return a
    return cast(a, dtypes.complex128 if a.dtype is dtypes.float64 else dtypes.complex64)


def axes_and_lengths(op: str, x: Tensor, fft_length: Any, axes: Any) -> list[tuple[int, Any]]:
    """Return the axes of a transform as positive numbers, each with its length or None."""
    lengths = None if fft_length is None else ints(fft_length, f"{op}: fft_length")
    if axes is None:
        found = tuple(range(0 if lengths is None else x.ndim - len(lengths), x.ndim))
    else:
        found = ints(axes, f"{op}: axes")
    if any([not -x.ndim <= a < x.ndim for a in found]):
        raise InvalidArgumentError(f"{op}: axes are {list(found)}, the input has {x.ndim} "
                                   "dimensions")
    which = [a % x.ndim for a in found]
    if len(set(which)) < len(which):
        raise InvalidArgumentError(f"{op}: axes are {list(found)}, expected each axis once")
    if lengths is None:
        return [(a, None) for a in which]
    if len(lengths) != len(which):
        raise InvalidArgumentError(f"{op}: fft_length has {len(lengths)} numbers for {len(which)} "
                                   "axes, expected one for each")
    for n in lengths:
        at_least_one(op, n)
    return list(zip(which, lengths, strict=True))


def at_least_one(op: str, n: Any) -> Any:
    if not n >= 1:
        raise InvalidArgumentError(f"{op}: fft_length is {n}, expected at least 1")
    return n


def checked_norm(op: str, norm: str | None) -> str | None:
    if norm not in _NORMS:
        raise InvalidArgumentError(f"{op}: norm is {shown(norm)}, expected None, 'backward', "
                                   "'ortho' or 'forward'")
    return norm


def of_length(x: Tensor, axis: int, n: Any) -> Tensor:
    """Truncate a dimension to n elements or pad it with zeros."""
    have = x.shape[axis]
    known = type(have) is type(n) is int
    if n is None or have is n or (known and have == n):
        return x
    if not known or have > n:
        x = x[(*[slice(None)] * axis, slice(None, n))]
    if known and have > n:
        return x
    return pad(x, [[0, n - x.shape[axis] if d == axis else 0] for d in range(x.ndim)])


def along(op: str, x: Tensor, where: Sequence[tuple[int, Any]], inverse: bool,
          norm: str | None = None, name: str | None = None) -> Tensor:
    """Transform along several axes, the last one first."""
    for axis, n in reversed(where):
        x = transform(of_length(x, axis, n), axis, inverse, norm, name)
    return x


def _of_last(op: str, x: TensorLike, n_axes: int, inverse: bool, name: str | None) -> Tensor:
    made = complex_input(op, x, n_axes)
    for axis in range(-1, -1 - n_axes, -1):
        made = transform(made, axis, inverse, None, name)
    return made


def _of_axes(op: str, x: TensorLike, fft_length: Any, axes: Any, norm: str | None, inverse: bool,
             name: str | None) -> Tensor:
    made = complex_input(op, x, 0)
    where = axes_and_lengths(op, made, fft_length, axes)
    return along(op, made, where, inverse, checked_norm(op, norm), name)


# --- transforms --------------------------------------------------------------------------------


def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """Return ``y[k] = sum of x[j] exp(-2 pi i j k / n)`` along the last dimension.

    Parameters
    ----------
    input : Tensor, complex, shape (..., n)
        Real numbers are cast: float64 to complex128, other dtypes to complex64.

    Returns
    -------
    Tensor, complex, same shape as `input`

    Raises
    ------
    ShapeError
        If `input` is a scalar.

    Notes
    -----
    Any n takes O(n log n) operations; lengths without prime factors above 31 are fastest. The
    gradient is the inverse transform of ``g`` without its factor 1 / n.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.fft([1j, 0, 0, 0]).numpy()
    array([0.+1.j, 0.+1.j, 0.+1.j, 0.+1.j])
    """
    return _of_last("fft", input, 1, False, name)


def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x[j] = sum of y[k] exp(2 pi i j k / n) / n`` along the last dimension.

    The inverse of `fft`. Parameters and results are as in `fft`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.ifft(df.signal.fft([1j, 2, 3, 4])).numpy()
    array([0.+1.j, 2.+0.j, 3.+0.j, 4.+0.j])
    """
    return _of_last("ifft", input, 1, True, name)


def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute `fft` along the last two dimensions.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.fft2d(df.ones([2, 2])).numpy()
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _of_last("fft2d", input, 2, False, name)


def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute `ifft` along the last two dimensions, the inverse of `fft2d`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.ifft2d([[4., 0.], [0., 0.]]).numpy()
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _of_last("ifft2d", input, 2, True, name)


def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute `fft` along the last three dimensions.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.fft3d(df.ones([2, 2, 2]))[0, 0].numpy()
    array([8.+0.j, 0.+0.j], dtype=complex64)
    """
    return _of_last("fft3d", input, 3, False, name)


def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute `ifft` along the last three dimensions, the inverse of `fft3d`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.ifft3d(df.ones([2, 2, 2]))[0, 0].numpy()
    array([1.+0.j, 0.+0.j], dtype=complex64)
    """
    return _of_last("ifft3d", input, 3, True, name)


def fftnd(input_tensor: TensorLike, fft_length: TensorLike | None = None,
          axes: TensorLike | None = None, norm: str | None = None,
          name: str | None = None) -> Tensor:
    """Compute `fft` along several dimensions.

    Parameters
    ----------
    input_tensor : Tensor, complex
        Real numbers are cast as in `fft`.
    fft_length : ints, optional
        Number of points along each axis; the input is truncated or padded with zeros.
    axes : ints, optional
        By default all, or the last ones, as many as `fft_length` has numbers.
    norm : {None, "backward", "ortho", "forward"}
        Which transform is divided by the number of points: the inverse ("backward", the default)
        or this one ("forward"); "ortho" divides both by the square root.

    Returns
    -------
    Tensor, complex

    Raises
    ------
    InvalidArgumentError
        If an axis does not exist or occurs twice, or if a length is below 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.fftnd(df.ones([2, 3]), [4], [0]).shape
    (4, 3)
    """
    return _of_axes("fftnd", input_tensor, fft_length, axes, norm, False, name)


def ifftnd(input_tensor: TensorLike, fft_length: TensorLike | None = None,
           axes: TensorLike | None = None, norm: str | None = None,
           name: str | None = None) -> Tensor:
    """Compute `ifft` along several dimensions, the inverse of `fftnd`.

    Parameters are as in `fftnd`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.ifftnd(df.signal.fftnd(df.ones([2, 2]))).numpy()
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _of_axes("ifftnd", input_tensor, fft_length, axes, norm, True, name)


# --- order of the frequencies ------------------------------------------------------------------


def _rolled(op: str, x: TensorLike, axes: Any, sign: int, name: str | None) -> Tensor:
    a = _tensor(op, x)
    which = [axis for axis, _ in axes_and_lengths(op, a, None, axes)]
    half = [(a.shape[axis] + (sign < 0)) // 2 for axis in which]
    return roll(a, half, which, name)


def fftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Move frequency 0 from the start of each axis to its centre.

    Parameters
    ----------
    x : Tensor
    axes : int or ints, optional
        By default all.

    Returns
    -------
    Tensor, shape and dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.fftshift([0, 1, 2, -2, -1]).tolist()
    [-2, -1, 0, 1, 2]
    """
    return _rolled("fftshift", x, axes, 1, name)


def ifftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Move frequency 0 from the centre of each axis to its start, the inverse of `fftshift`.

    Parameters are as in `fftshift`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.ifftshift([-2, -1, 0, 1, 2]).tolist()
    [0, 1, 2, -2, -1]
    """
    return _rolled("ifftshift", x, axes, -1, name)
