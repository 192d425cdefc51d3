"""Convolutions over one to three dimensions, and their gradients.

The kernels expect channels last; other layouts are transposed before and after.
"""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow._util.arguments import REFUSED, named, shown
from dualflow._util.flags import Switches
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.array.shape import ints, product, reshape, static_shape, transpose
from dualflow.ops.elementwise.complex import complex, imag, real

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from dualflow.ops.types import TensorLike

__all__ = ["Geometry", "atrous_conv2d", "channels_first", "channels_last", "conv1d", "conv2d",
           "conv3d", "conv_backprop_filter", "conv_backprop_input", "convolution", "geometry",
           "image_sizes", "images", "sizes_of"]

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}

Padding: TypeAlias = "str | Sequence[Sequence[int]]"


class Geometry:
    """The placement of windows: the attributes of the op `conv`, and the layout of the caller."""

    def __init__(self, attrs: dict[str, Any], first: bool) -> None:
        self.attrs = attrs
        self.first = first              # channels precede the spatial dimensions


def geometry(op: str, n: int, strides: TensorLike | None, padding: Padding, data_format: str | None,
             dilations: TensorLike | None) -> Geometry:
    """Check the arguments of a convolution over n dimensions and return them as a `Geometry`."""
    known = FORMATS[n]
    data_format = known[0] if data_format is None else data_format
    if data_format not in known:
        raise InvalidArgumentError(f"{op}: data_format is {shown(data_format)}, expected "
                                   f"{known[0]!r} or {known[1]!r}")
    first = data_format == known[1]
    attrs = {"strides": _per_dimension(op, "strides", strides, n, first),
             "dilations": _per_dimension(op, "dilations", dilations, n, first),
             **_padding(op, padding, n, first), "exact": Switches.exact_convolutions}
    return Geometry(attrs, first)


def _spatial(items: Sequence[Any], first: bool) -> tuple[list[Any], list[Any]]:
    """Split entries for all dimensions into the spatial ones and those for batch and channels."""
    inside = items[2:] if first else items[1:-1]
    return list(inside), [items[0], items[1 if first else -1]]


def _per_dimension(op: str, what: str, value: TensorLike | None, n: int, first: bool) -> list[int]:
    listed = [1] if value is None else list(ints(value, f"{op}: {what}"))
    others = [1]
    if len(listed) == 1:
        listed *= n
    elif len(listed) == n + 2:
        listed, others = _spatial(listed, first)
    if len(listed) != n or any(k < 1 for k in listed) or any(k != 1 for k in others):
        raise InvalidArgumentError(f"{op}: {what} is {shown(value)}, expected 1 or more for each "
                                   f"of {n} spatial dimensions and 1 for batch and channels")
    return listed


def _padding(op: str, padding: Padding, n: int, first: bool) -> dict[str, Any]:
    if isinstance(padding, str) and padding.upper() in ("SAME", "VALID"):
        same = padding.upper() == "SAME"
        return {"same": same, "pads": [] if same else [0] * 2 * n}
    pairs: list[Any] = []
    if isinstance(padding, list | tuple) and len(padding) == n + 2:
        pairs = [ints(pair, f"{op}: padding") for pair in padding]
    if not pairs or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise InvalidArgumentError(f"{op}: padding is {shown(padding)}, expected 'SAME', 'VALID' "
                                   f"or a pair (before, after) of 0 or more for each of {n + 2} "
                                   "dimensions")
    inside, others = _spatial(pairs, first)
    if any(pair != (0, 0) for pair in others):
        raise InvalidArgumentError(f"{op}: padding is {shown(padding)}, expected (0, 0) for batch "
                                   "and channels")
    return {"same": False, "pads": [k for pair in inside for k in pair]}


def channels_last(x: TensorBase, given: Geometry) -> TensorBase:
    """Return `x` in the layout of the kernels."""
    return transpose(x, [0, *range(2, x.ndim), 1]) if given.first else x


def channels_first(y: Tensor, given: Geometry) -> Tensor:
    """Return a result of a kernel in the layout of the caller."""
    return transpose(y, [0, y.ndim - 1, *range(1, y.ndim - 1)]) if given.first else y


def images(op: str, what: str, value: TensorLike, n: int, given: Geometry) -> TensorBase:
    """Check the image argument `what` with n spatial dimensions; return it with channels last."""
    x = as_tensor(value, None, op)
    if x.ndim != n + 2:
        raise ShapeError(f"{op}: {what} has shape {x.shape}, expected {n + 2} dimensions")
    return channels_last(x, given)


def sizes_of(op: str, what: str, value: TensorLike, n: int) -> tuple[int, ...]:
    """Check the argument `what`, the shape of filters over n dimensions, and return it."""
    sizes = ints(value, f"{op}: {what}")
    if len(sizes) != n + 2:
        raise ShapeError(f"{op}: {what} is {sizes}, expected {n + 2} sizes")
    return sizes


def image_sizes(op: str, what: str, value: TensorLike, n: int, given: Geometry) -> tuple[int, ...]:
    """Check the argument `what`, an image shape, and return it with channels last."""
    sizes = sizes_of(op, what, value, n)
    return (sizes[0], *sizes[2:], sizes[1]) if given.first else sizes


def convolve(op: str, n: int, input: TensorLike, filters: TensorLike, strides: TensorLike | None,
             padding: Padding, data_format: str | None, dilations: TensorLike | None,
             name: str | None) -> Tensor:
    """Return the convolution over n dimensions; all leading dimensions are batch dimensions."""
    x, w = as_tensor(input, None, op), as_tensor(filters, None, op)
    given = geometry(op, n, strides, padding, data_format, dilations)
    if x.ndim < n + 2 or w.ndim != n + 2:
        raise ShapeError(f"{op}: input has shape {x.shape} and filters {w.shape}, expected {n + 2} "
                         f"or more dimensions, and {n + 2}")
    batch = static_shape(x)[:x.ndim - n - 1]
    if len(batch) > 1:
        x = reshape(x, (product(x.shape[:len(batch)]), *static_shape(x)[len(batch):]))
    try:
        if x.dtype.is_complex or w.dtype.is_complex:
            y = _of_parts(channels_last(x, given), w, given.attrs, name)
        else:
            y = apply("conv", channels_last(x, given), w, name=name, **given.attrs)
    except REFUSED as error:
        raise named(error, op, **({"input": x, "filters": w} if given.first else {})) from None
    y = channels_first(y, given)
    return reshape(y, (*batch, *static_shape(y)[1:])) if len(batch) > 1 else y


def _of_parts(x: TensorBase, w: TensorBase, attrs: dict[str, Any], name: str | None) -> Tensor:
    """Compute a convolution of complex numbers by real ones: 4, or 2 if one operand is real."""
    def conv(x, w):
        return apply("conv", x, w, **attrs)

    if not w.dtype.is_complex:
        return complex(conv(real(x), w), conv(imag(x), w), name)
    if not x.dtype.is_complex:
        return complex(conv(x, real(w)), conv(x, imag(w)), name)
    a, b, c, d = real(x), imag(x), real(w), imag(w)
    return complex(conv(a, c) - conv(b, d), conv(a, d) + conv(b, c), name)


@gradient("conv", saves="inputs")
def _(g, y, x, w, strides, dilations, same, pads, exact):
    at = {"strides": strides, "dilations": dilations, "same": same, "pads": pads,
          "exact": exact}
    return (lambda: conv_backprop_input(static_shape(x), w, g, at),
            lambda: conv_backprop_filter(x, static_shape(w), g, at))


def conv_backprop_input(shape: Sequence[int], filters: TensorLike, g: TensorLike,
                        attrs: dict[str, Any], name: str | None = None) -> Tensor:
    """Return the gradient of a convolution with respect to its input, which has `shape`."""
    return apply("conv_backprop_input", filters, g, name=name, shape=shape, **attrs)


@gradient("conv_backprop_input", saves="inputs")
def _(gg, y, w, g, shape, strides, dilations, same, pads, exact):
    at = {"strides": strides, "dilations": dilations, "same": same, "pads": pads,
          "exact": exact}
    return (lambda: conv_backprop_filter(gg, static_shape(w), g, at),
            lambda: apply("conv", gg, w, **at))


def conv_backprop_filter(input: TensorLike, shape: Sequence[int], g: TensorLike,
                         attrs: dict[str, Any], name: str | None = None) -> Tensor:
    """Return the gradient of a convolution with respect to its filters, which have `shape`."""
    return apply("conv_backprop_filter", input, g, name=name, shape=shape, **attrs)


@gradient("conv_backprop_filter", saves="inputs")
def _(gg, y, x, g, shape, strides, dilations, same, pads, exact):
    at = {"strides": strides, "dilations": dilations, "same": same, "pads": pads,
          "exact": exact}
    return (lambda: conv_backprop_input(static_shape(x), gg, g, at),
            lambda: apply("conv", x, gg, **at))


no_gradient("conv_int32", why="its result is not floating")


def conv1d(input: TensorLike, filters: TensorLike, stride: TensorLike, padding: Padding,
           data_format: str = "NWC", dilations: TensorLike | None = None,
           name: str | None = None) -> Tensor:
    """Convolve `input` with `filters` along one dimension.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (batch..., width, channels)
    filters : Tensor, complex or real, shape (width, channels / groups, outputs)
    stride : int
    padding : "SAME", "VALID" or a pair (zeros before, zeros after) for each of 3 dimensions
    data_format : "NWC" or "NCW"
    dilations : int, optional

    Returns
    -------
    Tensor, shape (batch..., positions, outputs), in `data_format`

    See Also
    --------
    conv2d : describes the arguments.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.constant([1., 2., 4., 7.]), (1, 4, 1))
    >>> df.nn.conv1d(x, df.reshape([-1., 1.], (2, 1, 1)), 1, "VALID").numpy().ravel().tolist()
    [1.0, 2.0, 3.0]
    """
    return convolve("conv1d", 1, input, filters, stride, padding, data_format, dilations, name)


def conv2d(input: TensorLike, filters: TensorLike, strides: TensorLike, padding: Padding,
           data_format: str = "NHWC", dilations: TensorLike | None = None,
           name: str | None = None) -> Tensor:
    """Convolve images with `filters`.

    ``y[b, i, j, m] = sum over k, l, c of x[b, i * stride + k, j * stride + l, c] filters[k, l, c,
    m]``, where x is `input` with zeros around it.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (batch..., height, width, channels)
    filters : Tensor, complex or real, shape (height, width, channels / groups, outputs)
        The number of groups is derived from the channels. Group i of the outputs reads only group
        i of the channels.
    strides : int or ints
        Between windows: one number, one per spatial dimension, or one for each dimension.
    padding : "SAME", "VALID" or a pair (zeros before, zeros after) for each of 4 dimensions
        "SAME" pads with zeros so that there are ceil(size / stride) windows, an odd zero after;
        "VALID" does not pad.
    data_format : "NHWC" or "NCHW"
        Whether channels are the last dimension of images or the second.
    dilations : int or ints, optional
        Step between the input elements that neighbouring filter elements multiply; as strides.

    Returns
    -------
    Tensor, shape (batch..., rows, columns, outputs), in `data_format`

    Raises
    ------
    ShapeError
        If the filters are larger than the padded image, or channels are incompatible.
    InvalidArgumentError
        If a stride or a dilation is less than 1, or the padding is not one of these.

    Notes
    -----
    In float32, 3 x 3 and 5 x 5 filters at stride 1 use Winograd's method where it is faster;
    `df.config.set_exact_convolutions` disables it.

    "NCHW" is transposed to channels last and back. Sums are computed in the dtype, or in float32
    for 16-bit floats, in an order that depends only on the sizes. Complex operands are convolved by
    parts: 4 real convolutions, or 2 if one operand is real. The gradients are
    `conv2d_backprop_input` and `conv2d_backprop_filter`.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(9.), (1, 3, 3, 1))
    >>> df.nn.conv2d(x, df.ones((2, 2, 1, 1)), 1, "VALID")[0, :, :, 0].numpy().tolist()
    [[8.0, 12.0], [20.0, 24.0]]
    """
    return convolve("conv2d", 2, input, filters, strides, padding, data_format, dilations, name)


def conv3d(input: TensorLike, filters: TensorLike, strides: TensorLike, padding: Padding,
           data_format: str = "NDHWC", dilations: TensorLike | None = None,
           name: str | None = None) -> Tensor:
    """Convolve volumes with `filters`.

    Parameters
    ----------
    input : Tensor, floating or complex, shape (batch..., depth, height, width, channels)
    filters : Tensor, complex or real, shape (depth, height, width, channels / groups, outputs)
    strides : int or ints
    padding : "SAME", "VALID" or a pair (zeros before, zeros after) for each of 5 dimensions
    data_format : "NDHWC" or "NCDHW"
    dilations : int or ints, optional

    Returns
    -------
    Tensor, shape (batch..., planes, rows, columns, outputs), in `data_format`

    See Also
    --------
    conv2d : describes the arguments.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.conv3d(df.ones((1, 4, 4, 4, 2)), df.ones((3, 3, 3, 2, 5)), 1, "SAME").shape
    (1, 4, 4, 4, 5)
    """
    return convolve("conv3d", 3, input, filters, strides, padding, data_format, dilations, name)


def convolution(input: TensorLike, filters: TensorLike, strides: TensorLike | None = None,
                padding: Padding = "VALID", data_format: str | None = None,
                dilations: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Compute `conv1d`, `conv2d` or `conv3d`, by the rank of `filters`.

    Parameters
    ----------
    input : Tensor, floating, shape (batch..., sizes..., channels)
    filters : Tensor, same dtype, shape (sizes..., channels / groups, outputs)
    strides : int or ints, optional
    padding : "VALID", "SAME" or a pair (zeros before, zeros after) for each dimension
    data_format : str, optional
        As for the function of this rank; channels are last by default.
    dilations : int or ints, optional

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If `filters` do not have 3, 4 or 5 dimensions.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.convolution(df.ones((1, 8, 3)), df.ones((2, 3, 4)), strides=2).shape
    (1, 4, 4)
    """
    w = as_tensor(filters, None, "convolution")
    n = dimensions("convolution", w)
    return convolve("convolution", n, input, w, strides, padding, data_format, dilations, name)


def dimensions(op: str, filters: TensorBase) -> int:
    """Return the number of dimensions that filters move along."""
    if filters.ndim - 2 not in FORMATS:
        raise ShapeError(f"{op}: filters have shape {filters.shape}, expected 3, 4 or 5 dimensions")
    return filters.ndim - 2


def atrous_conv2d(value: TensorLike, filters: TensorLike, rate: int, padding: Padding,
                  name: str | None = None) -> Tensor:
    """Compute `conv2d` of stride 1 with filters dilated by `rate`.

    Parameters
    ----------
    value : Tensor, floating, shape (batch..., height, width, channels)
    filters : Tensor, same dtype, shape (height, width, channels / groups, outputs)
    rate : int
        The dilation of both dimensions.
    padding : "SAME", "VALID" or a pair (zeros before, zeros after) for each of 4 dimensions

    Returns
    -------
    Tensor, shape (batch..., rows, columns, outputs)

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.atrous_conv2d(df.ones((1, 5, 5, 1)), df.ones((2, 2, 1, 1)), 3, "VALID").shape
    (1, 2, 2, 1)
    """
    return convolve("atrous_conv2d", 2, value, filters, 1, padding, None, rate, name)
