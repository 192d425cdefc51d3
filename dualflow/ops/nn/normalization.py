"""Layer norm, RMS norm and L2 normalization along axes, and their gradients.

Second-order gradients: z is the normalized row, `rate` the factor applied to x - mean, and
P(v) = v - mean(v) - z mean(v z) is the projection applied by the normalization. The gradient of x
is rate P(g), and P is symmetric.
"""

from __future__ import annotations

from dualflow._core import Tensor, apply, as_tensor
from dualflow._util.arguments import REFUSED, named, shown
from dualflow.dtypes import float32
from dualflow.errors import InvalidArgumentError
from dualflow.gradient_registry import Rule, gradient
from dualflow.ops.array.creation import ones_like, zeros_like
from dualflow.ops.array.shape import ints, transpose
from dualflow.ops.axes import by_axes
from dualflow.ops.elementwise.arithmetic import add, multiply, square
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import greater_equal
from dualflow.ops.elementwise.complex import conj, real
from dualflow.ops.elementwise.exponential import rsqrt
from dualflow.ops.elementwise.limits import maximum
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.reduction.reduce_moments import reduce_mean, reduce_variance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import Axis, TensorLike

__all__ = ["l2_normalize", "l2_normalize_grad", "layer_norm", "layer_norm_grad", "rms_norm",
           "rms_norm_grad"]


def _axes(x: Any, axis: Axis, op: str) -> list[int]:
    """Return the checked dimensions of `x` in `axis`, non-negative and sorted."""
    given = range(x.ndim) if axis is None else ints(axis, f"{op}: axis")
    for a in given:
        if not -x.ndim <= a < x.ndim:
            where = (f"of {x.ndim} dimensions, expected {-x.ndim} to {x.ndim - 1}" if x.ndim
                     else "of a scalar, which has no axes")
            raise InvalidArgumentError(f"{op}: axis {a} {where}")
    axes = sorted(a % x.ndim for a in given)
    if len(set(axes)) < len(axes):
        raise InvalidArgumentError(f"{op}: axis is {shown(axis)}, expected each axis once")
    return axes


def _is_row(parameter: Any, x: Any, axes: list[int]) -> bool:
    """Return True if the op accepts the parameter: its dimensions are `axes`, the last of x."""
    return axes == list(range(x.ndim - len(axes), x.ndim)) and parameter.ndim == len(axes)


def _over(op: str, x: Any, axes: list[int], epsilon: float) -> Tensor:
    """Apply `op` without parameters along any axes, transposing unless they are the last."""
    if axes == list(range(x.ndim - len(axes), x.ndim)):
        return apply(op, x, ndim=len(axes), epsilon=epsilon)
    order = [d for d in range(x.ndim) if d not in axes] + axes
    y = apply(op, transpose(x, order), ndim=len(axes), epsilon=epsilon)
    return transpose(y, sorted(range(x.ndim), key=order.__getitem__))


def in_float(rule: Rule) -> Rule:
    """Wrap a gradient rule of many ops to compute 16-bit floats in float32 and round once."""
    def wide(v):
        return cast(v, float32) if v.dtype.is_reduced_float else v

    def narrowed(to, dtype):
        return lambda: cast(to(), dtype)

    def rounded_once(gg, out, *inputs, **attrs):
        gg = gg if isinstance(gg, tuple) else (gg,)
        back = rule(tuple([wide(v) for v in gg]), out, *[wide(v) for v in inputs], **attrs)
        return tuple([to if wide(x) is x else narrowed(to, x.dtype)
                      for to, x in zip(back, inputs, strict=True)])

    return rounded_once


def layer_norm(x: TensorLike, scale: TensorLike | None = None, offset: TensorLike | None = None,
               epsilon: float = 1e-5, axis: Axis = -1, name: str | None = None) -> Tensor:
    """Normalize `x` to mean 0 and variance 1 along `axis`, then multiply by `scale`, add `offset`.

    Parameters
    ----------
    x : Tensor, floating
    scale, offset : Tensor or None
        Shapes that broadcast with `x`; None omits the term.
    epsilon : float
        Added to the variance.
    axis : int or sequence of int

    Returns
    -------
    Tensor, shape of `x`

    Raises
    ------
    InvalidArgumentError
        If an axis does not exist or is repeated.
    ShapeError
        If `scale` or `offset` does not broadcast with `x`.

    Notes
    -----
    The variance is computed around the mean in a second pass, which avoids cancellation. One op if
    `axis` are the last dimensions and `scale` and `offset` have the same rank; the gradients are
    then one op as well. Source: Ba, Kiros and Hinton, Layer Normalization (2016).

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.layer_norm([[1., 3.], [2., 6.]], epsilon=0.).numpy().tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
    x = as_tensor(x)
    chosen = by_axes(axis, x.ndim, "layer_norm",
                     lambda a: layer_norm(x, scale, offset, axis=a, epsilon=epsilon, name=name))
    if chosen is not None:
        return chosen
    axes = _axes(x, axis, "layer_norm")
    given = [as_tensor(p) for p in (scale, offset) if p is not None]
    if given and all([_is_row(p, x, axes) for p in given]):
        scale = ones_like(given[0]) if scale is None else given[0]
        offset = zeros_like(given[0]) if offset is None else given[-1]
        return apply("layer_norm", x, scale, offset, name=name, ndim=len(axes), epsilon=epsilon)
    y = _over("layer_norm", x, axes, epsilon)
    try:
        if scale is not None:
            y = multiply(y, scale)
        return y if offset is None else add(y, offset, name)
    except REFUSED as error:
        raise named(error, "layer_norm") from None


@gradient("layer_norm", saves=(0, 1))
def _(g, y, x, *parameters, ndim, epsilon):
    return layer_norm_grad(g, x, *parameters[:1], ndim=ndim, epsilon=epsilon)


def layer_norm_grad(g: TensorLike, x: TensorLike, *scale: TensorLike, ndim: int = 1,
                    epsilon: float = 1e-5) -> tuple[Tensor, ...]:
    """Return the gradients of the layer norm of the last `ndim` dimensions of x, given g.

    Parameters
    ----------
    g, x : Tensor, floating, same shape
    scale : Tensor, optional
        Shape of the last `ndim` dimensions of x.

    Returns
    -------
    tuple of Tensor
        The gradient of x; if there is a scale, also the gradients of scale and offset: the sums of
        ``g * z`` and of ``g`` over rows, in an order that depends only on the shape.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.nn.normalization import layer_norm_grad
    >>> [d.numpy().tolist() for d in layer_norm_grad([[1., 0.]], [[1., 3.]], [1., 1.], epsilon=0.)]
    [[[0.0, 0.0]], [-1.0, 0.0], [1.0, 0.0]]
    """
    return apply("layer_norm_grad", g, x, *scale, ndim=ndim, epsilon=epsilon)


@gradient("layer_norm_grad", saves="inputs")
@in_float
def _(gg, out, g, x, *scale, ndim, epsilon):
    z = apply("layer_norm", x, ndim=ndim, epsilon=epsilon)
    rate = rsqrt(reduce_variance(x, tuple(range(-ndim, 0)), True) + epsilon)

    def back(v):
        return layer_norm_grad(v, x, ndim=ndim, epsilon=epsilon)[0]

    return second_order(back, gg, g, z, rate, scale, tuple(range(-ndim, 0)))


def second_order(back: Any, gg: Any, g: Any, z: Any, rate: Any, scale: Any, axes: Any,
                 centred: bool = True) -> Any:
    """Return the gradients to g, x and scale of <h, rate P(g scale)> + <to_scale, g z> +
    <to_offset, g>, where gg = (h, to_scale, to_offset) and back(v) = rate P(v). The gradient of
    scale is not yet summed over rows."""
    def mean(v):
        return reduce_mean(v, axes, True)

    def to_g():
        flow = back(h)
        if scale:
            flow = flow * scale[0] + gg[1] * z
        return flow + gg[2] if len(gg) > 2 else flow

    def to_x():
        gs = g * scale[0] if scale else g
        a, b = mean(h * z), mean(gs * z)
        q = mean(h * gs) - a * b
        if centred:
            q = q - mean(h) * mean(gs)
        inner = -rate * (b * h + a * gs)
        return back(g * gg[1] + inner if scale else inner) - square(rate) * z * q

    h = gg[0]
    return to_g, to_x, *([lambda: g * back(h)] if scale else [])


def rms_norm(x: TensorLike, scale: TensorLike | None = None, epsilon: float = 1e-6,
             axis: Axis = -1, name: str | None = None) -> Tensor:
    """Divide `x` by the root of its mean square along `axis`, then multiply by `scale`.

    Parameters
    ----------
    x : Tensor, floating
    scale : Tensor or None
        A shape that broadcasts with `x`; None omits the factor.
    epsilon : float
        Added to the mean square.
    axis : int or sequence of int

    Returns
    -------
    Tensor, shape of `x`

    Raises
    ------
    InvalidArgumentError
        If an axis does not exist or is repeated.
    ShapeError
        If `scale` does not broadcast with `x`.

    Notes
    -----
    One op with one gradient op, under the conditions of `layer_norm`. Source: Zhang and Sennrich,
    Root Mean Square Layer Normalization (2019).

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.rms_norm([[3., 4., 0., 0.]], epsilon=0.).numpy().round(3).tolist()
    [[1.2000000476837158, 1.600000023841858, 0.0, 0.0]]
    """
    x = as_tensor(x)
    chosen = by_axes(axis, x.ndim, "rms_norm",
                     lambda a: rms_norm(x, scale, axis=a, epsilon=epsilon, name=name))
    if chosen is not None:
        return chosen
    axes = _axes(x, axis, "rms_norm")
    if scale is not None and _is_row(as_tensor(scale), x, axes):
        return apply("rms_norm", x, scale, name=name, ndim=len(axes), epsilon=epsilon)
    y = _over("rms_norm", x, axes, epsilon)
    try:
        return y if scale is None else multiply(y, scale, name)
    except REFUSED as error:
        raise named(error, "rms_norm") from None


@gradient("rms_norm", saves="inputs")
def _(g, y, x, *scale, ndim, epsilon):
    return rms_norm_grad(g, x, *scale, ndim=ndim, epsilon=epsilon)


def rms_norm_grad(g: TensorLike, x: TensorLike, *scale: TensorLike, ndim: int = 1,
                  epsilon: float = 1e-6) -> tuple[Tensor, ...]:
    """Return the gradients of the RMS norm of the last `ndim` dimensions of x, given g.

    Parameters
    ----------
    g, x : Tensor, floating, same shape
    scale : Tensor, optional
        Shape of the last `ndim` dimensions of x.

    Returns
    -------
    tuple of Tensor
        The gradient of x and, if there is a scale, of scale.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.nn.normalization import rms_norm_grad
    >>> [d.numpy().tolist() for d in rms_norm_grad([[1., 1.]], [[2., -2.]], [1., 1.], epsilon=0.)]
    [[[0.5, 0.5]], [1.0, -1.0]]
    """
    return apply("rms_norm_grad", g, x, *scale, ndim=ndim, epsilon=epsilon)


@gradient("rms_norm_grad", saves="inputs")
@in_float
def _(gg, out, g, x, *scale, ndim, epsilon):
    z = apply("rms_norm", x, ndim=ndim, epsilon=epsilon)
    rate = rsqrt(reduce_mean(square(x), tuple(range(-ndim, 0)), True) + epsilon)

    def back(v):
        return rms_norm_grad(v, x, ndim=ndim, epsilon=epsilon)[0]

    return second_order(back, gg, g, z, rate, scale, tuple(range(-ndim, 0)), centred=False)


def l2_normalize(x: TensorLike, axis: Axis = None, epsilon: float = 1e-12,
                 name: str | None = None) -> Tensor:
    """Divide `x` by its euclidean norm along `axis`.

    Parameters
    ----------
    x : Tensor, floating or complex
    axis : int or sequence of int, optional
        By default all axes.
    epsilon : float
        Lower bound for the square of the norm.

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Raises
    ------
    InvalidArgumentError
        If an axis does not exist or is repeated.

    Notes
    -----
    One op with one gradient op if `x` is real and `axis` are the last dimensions.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.l2_normalize([3., 4.]).numpy().round(3).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    x = as_tensor(x)
    chosen = by_axes(axis, x.ndim, "l2_normalize",
                     lambda a: l2_normalize(x, axis=a, epsilon=epsilon, name=name))
    if chosen is not None:
        return chosen
    axes = _axes(x, axis, "l2_normalize")
    if x.dtype.is_complex:
        squares = real(x * conj(x))
        return multiply(x, rsqrt(maximum(reduce_sum(squares, axes, True), epsilon)), name)
    if axes == list(range(x.ndim - len(axes), x.ndim)):
        return apply("l2_normalize", x, name=name, ndim=len(axes), epsilon=epsilon)
    return multiply(x, rsqrt(maximum(reduce_sum(square(x), axes, True), epsilon)), name)


@gradient("l2_normalize", saves="inputs")
def _(g, y, x, ndim, epsilon):
    return l2_normalize_grad(g, x, ndim, epsilon)


def l2_normalize_grad(g: TensorLike, x: TensorLike, ndim: int = 1,
                      epsilon: float = 1e-12) -> Tensor:
    """Return the gradient of z = x / norm over the last `ndim` dimensions, (g - z * sum(g * z)) /
    norm, or g / sqrt(epsilon) where the square of the norm is below epsilon.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.nn.normalization.l2_normalize_grad([1., 1.], [0., 2.]).numpy().tolist()
    [0.5, 0.0]
    """
    return apply("l2_normalize_grad", g, x, ndim=ndim, epsilon=epsilon)


@gradient("l2_normalize_grad", saves="inputs")
@in_float
def _(gg, out, g, x, ndim, epsilon):
    gg = gg[0]

    def total(v):
        return reduce_sum(v, tuple(range(-ndim, 0)), True)

    def to_x():
        norm = total(square(x))
        above = cast(greater_equal(norm, epsilon), x.dtype)
        rate = rsqrt(maximum(norm, epsilon))
        z = x * rate
        a, b = total(gg * z), total(g * z)
        turned = l2_normalize_grad(b * gg + a * g, x, ndim, epsilon)
        return -above * rate * (rate * z * (total(gg * g) - a * b) + turned)

    return lambda: l2_normalize_grad(gg, x, ndim, epsilon), to_x
