"""Mean, variance, standard deviation and euclidean norm over any set of axes, with gradients."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, apply_ordered, as_tensor, get_op, larger
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.arithmetic import abs
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.complex import complex, imag, real
from dualflow.ops.reduction.reduce import axes_or_all, broadcast_over, count_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dualflow.ops.types import Axis, TensorLike

__all__ = ["reduce_euclidean_norm", "reduce_mean", "reduce_std", "reduce_variance"]

REDUCE_MEAN = get_op("reduce_mean")


def reduce_mean(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
                name: str | None = None) -> Tensor:
    """Return the mean of the elements along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, any number dtype or bool
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`; float32 for integers and bools, float64 for int64 and
        uint64

    Notes
    -----
    The mean of no elements is NaN. The gradient is `g` divided by n, repeated along the axes.

    Examples
    --------
    >>> import dualflow as df
    >>> df.reduce_mean([[1., 2.], [3., 6.]]).numpy().item()
    3.0
    """
    return apply_ordered(REDUCE_MEAN, (input_tensor,), (axes_or_all(input_tensor, axis), keepdims),
                         name)


@gradient("reduce_mean", saves="none")
def _(g, y, x, axes, keepdims):
    return broadcast_over(g / larger(count_over(x, axes), 1), x, axes)


def reduce_variance(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
                    name: str | None = None) -> Tensor:
    """Return the mean squared distance from the mean along `axis` (divided by n, not n - 1).

    Parameters
    ----------
    input_tensor : Tensor, floating or complex
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`, or of its parts

    Notes
    -----
    Two passes, the mean first, avoid cancellation. The distance of complex numbers is the absolute
    value of their difference, so the result is real. The gradient is ``g * 2 (x - mean) / n``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.reduce_variance([1., 2., 3., 4.]).numpy().item()
    1.25
    """
    x = input_tensor if isinstance(input_tensor, TensorBase) else as_tensor(input_tensor)
    if x.dtype.is_complex:
        return apply("add", reduce_variance(real(x), axis, keepdims),
                     reduce_variance(imag(x), axis, keepdims), name=name)
    return apply("reduce_variance", x, name=name, axes=axes_or_all(x, axis), keepdims=keepdims)


@gradient("reduce_variance", saves="inputs")
def _(g, y, x, axes, keepdims):
    part = g * (2 / larger(count_over(x, axes), 1))
    return broadcast_over(part, x, axes) * (x - reduce_mean(x, axes, True))


def _over_root(g: Tensor, y: Tensor) -> Tensor:
    """Return g / y, or 0 where the root y is 0, for derivatives of any order."""
    zero = equal(y, 0)
    return where(zero, 0, g / where(zero, 1, y))


def _of_parts(f: Callable[..., Tensor], x: TensorBase, axis: Axis, keepdims: bool,
              name: str | None) -> Tensor:
    """Return the root of f(real(x))**2 + f(imag(x))**2; its gradient is 0 where the root is 0."""
    return abs(complex(f(real(x), axis, keepdims), f(imag(x), axis, keepdims)), name)


def reduce_std(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
               name: str | None = None) -> Tensor:
    """Return the standard deviation along `axis`, the root of the variance.

    Parameters
    ----------
    input_tensor : Tensor, floating or complex
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`, or of its parts

    Notes
    -----
    The gradient is ``g * (x - mean) / (n * std)``, and 0 where the deviation is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.reduce_std([2., 2., 6., 6.]).numpy().item()
    2.0
    """
    x = input_tensor if isinstance(input_tensor, TensorBase) else as_tensor(input_tensor)
    if x.dtype.is_complex:
        return _of_parts(reduce_std, x, axis, keepdims, name)
    return apply("reduce_std", x, name=name, axes=axes_or_all(x, axis), keepdims=keepdims)


@gradient("reduce_std", saves="both")
def _(g, y, x, axes, keepdims):
    part = _over_root(g * (1 / larger(count_over(x, axes), 1)), y)
    return broadcast_over(part, x, axes) * (x - reduce_mean(x, axes, True))


def reduce_euclidean_norm(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False,
                          name: str | None = None) -> Tensor:
    """Return the root of the sum of squared absolute values along `axis`.

    Parameters
    ----------
    input_tensor : Tensor, floating or complex
    axis : int or sequence of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    Tensor, of the dtype of `input_tensor`, or of its parts

    Notes
    -----
    Squares of elements above the root of the largest number overflow. The gradient is
    ``g * x / y``, and 0 where the norm is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.reduce_euclidean_norm([3., 4.]).numpy().item()
    5.0
    """
    x = input_tensor if isinstance(input_tensor, TensorBase) else as_tensor(input_tensor)
    if x.dtype.is_complex:
        return _of_parts(reduce_euclidean_norm, x, axis, keepdims, name)
    return apply("reduce_euclidean_norm", x, name=name, axes=axes_or_all(x, axis),
                 keepdims=keepdims)


@gradient("reduce_euclidean_norm", saves="both")
def _(g, y, x, axes, keepdims):
    return x * broadcast_over(_over_root(g, y), x, axes)
