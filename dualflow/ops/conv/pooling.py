"""Max and average pooling of the windows of an image, with gradients of any order.

The ops expect channels last; the functions transpose images with channels first.
"""

from __future__ import annotations

import math

from dualflow._core import Tensor, TensorBase, apply
from dualflow._util.arguments import shown
from dualflow.dtypes import DType, as_dtype, int8, int16, int32, int64, uint8, uint16, uint32
from dualflow.errors import InvalidArgumentError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import range as numbers
from dualflow.ops.array.shape import reshape, static_shape
from dualflow.ops.conv.windows import (
    SPREAD,
    Attrs,
    Images,
    images,
    paddings,
    per_dimension,
    window_attrs,
)
from dualflow.ops.elementwise.cast import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool", "max_pool1d",
           "max_pool2d", "max_pool3d", "max_pool_with_argmax", "pool"]

_WIDER = {uint8: int32, int8: int32, int16: int32, uint16: int32, uint32: int64}


@gradient("max_pool", saves="output")
def _(g, y, x, window, strides, dilations, paddings, rule, places):
    return max_pool_grad(g[0], y[1], static_shape(x), window, strides, dilations, paddings, rule)


def max_pool_grad(g: TensorLike, places: TensorLike, shape: tuple[int, ...],
                  *windows: Any) -> Tensor:
    """Return the gradient of `max_pool`: each element of `g` added to the pixel of its maximum."""
    return apply("max_pool_grad", g, places, shape=shape, **window_attrs(*windows))


@gradient("max_pool_grad", saves=(1,))
def _(gg, y, g, places, shape, window, strides, dilations, paddings, rule):
    return max_pool_pick(gg, places, window, strides, dilations, paddings, rule), None


def max_pool_pick(x: TensorLike, places: TensorLike, *windows: Any) -> Tensor:
    """Gather the elements of `x` at the pixels of the maxima."""
    return apply("max_pool_pick", x, places, **window_attrs(*windows))


@gradient("max_pool_pick", saves=(1,))
def _(g, y, x, places, window, strides, dilations, paddings, rule):
    return max_pool_grad(g, places, static_shape(x), window, strides, dilations, paddings,
                         rule), None


@gradient("avg_pool", saves="none")
def _(g, y, x, window, strides, dilations, paddings, rule):
    return avg_pool_grad(g, static_shape(x), window, strides, dilations, paddings, rule)


def avg_pool_grad(g: TensorLike, shape: tuple[int, ...], *windows: Any) -> Tensor:
    """Return the gradient of `avg_pool`: each element of `g` divided among its pixels."""
    return apply("avg_pool_grad", g, shape=shape, **window_attrs(*windows))


@gradient("avg_pool_grad", saves="none")
def _(gg, y, g, shape, window, strides, dilations, paddings, rule):
    return apply("avg_pool", gg, **window_attrs(window, strides, dilations, paddings, rule))


def _windows(at: Images, op: str, ksize: TensorLike, strides: TensorLike, padding: Any,
             dilations: TensorLike = 1) -> Attrs:
    rule, amounts = paddings(padding, at, op)
    return window_attrs(per_dimension(ksize, at, f"{op}: ksize"),
                  per_dimension(strides, at, f"{op}: strides"),
                  per_dimension(dilations, at, f"{op}: dilations"), amounts, rule)


def _largest(x: TensorBase, attrs: Attrs, places: DType,
             name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the maximum of each window and its pixel index: within the image as int32, within the
    window as uint8."""
    if x.dtype not in _WIDER:
        return apply("max_pool", x, name=name, places=places, **attrs)
    y, at = apply("max_pool", cast(x, _WIDER[x.dtype]), name=name, places=places, **attrs)
    return cast(y, x.dtype), at


def _compact(attrs: Attrs) -> DType:
    """Return the smallest dtype for pixel indices that only the gradient reads."""
    bytes_do = attrs["rule"] != SPREAD and math.prod(attrs["window"]) <= 256
    return uint8 if bytes_do else int32


def pooled(at: Images, op: str, attrs: Attrs, name: str | None) -> Tensor:
    """Apply `op`, max_pool or avg_pool, to images in any format."""
    inner = None if at.channels_first else name
    if op == "max_pool":
        y = _largest(at.x, attrs, _compact(attrs), inner)[0]
    else:
        y = apply("avg_pool", at.x, name=inner, **attrs)
    return at.restore(y)


def max_pool(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: Any,
             data_format: str | None = None, name: str | None = None) -> Tensor:
    """Return the maximum of each window of an image, channel by channel.

    Parameters
    ----------
    input : Tensor, any number dtype but uint64, shape (batch, space..., channels), with 1 to 3
        spatial dimensions
    ksize : int or ints
        Size of the window: one int for all spatial dimensions, one for each, or one for each
        dimension of `input` with 1 for batch and channels.
    strides : int or ints
        Step between windows, in the same form.
    padding : "VALID", "SAME" or pairs of ints, one per dimension of `input`
        "VALID": windows lie within the image. "SAME": ceil(size / stride) windows. Pairs are the
        padding before and after each dimension, each less than the window.
    data_format : str, optional
        "NWC", "NHWC" or "NDHWC" (default), or with channels first "NCW", "NCHW" or "NCDHW".

    Returns
    -------
    Tensor, dtype of `input`, shape (batch, number of windows..., channels)

    Raises
    ------
    ShapeError
        If a window is larger than the padded image.

    Notes
    -----
    Padding is ignored. NaN counts as the maximum. The gradient goes to the first maximal pixel of a
    window, whose index is stored. Tensors with channels first are transposed, which is faster than
    pooling them directly. A window without pixels (a dilated window over an image smaller than the
    dilation) gives the lowest value of the dtype.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(16.), [1, 4, 4, 1])
    >>> df.nn.max_pool(x, 2, 2, "VALID").numpy().ravel().tolist()
    [5.0, 7.0, 13.0, 15.0]
    """
    at = images(input, data_format, "max_pool")
    return pooled(at, "max_pool", _windows(at, "max_pool", ksize, strides, padding), name)


def max_pool1d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: Any,
               data_format: str = "NWC", name: str | None = None) -> Tensor:
    """Compute `max_pool` with one spatial dimension. `data_format` is "NWC" or "NCW"; `input`,
    `ksize`, `strides` and `padding` are as in `max_pool`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.max_pool1d([[[1.], [3.], [2.]]], 2, 1, "VALID").numpy().ravel().tolist()
    [3.0, 3.0]
    """
    at = images(input, data_format, "max_pool1d", 1)
    return pooled(at, "max_pool", _windows(at, "max_pool1d", ksize, strides, padding), name)


def max_pool2d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: Any,
               data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Compute `max_pool` with two spatial dimensions. `data_format` is "NHWC" or "NCHW"; `input`,
    `ksize`, `strides` and `padding` are as in `max_pool`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.max_pool2d(df.ones([1, 6, 8, 3]), 3, 2, "SAME").shape
    (1, 3, 4, 3)
    """
    at = images(input, data_format, "max_pool2d", 2)
    return pooled(at, "max_pool", _windows(at, "max_pool2d", ksize, strides, padding), name)


def max_pool3d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: Any,
               data_format: str = "NDHWC", name: str | None = None) -> Tensor:
    """Compute `max_pool` with three spatial dimensions. `data_format` is "NDHWC" or "NCDHW";
    `input`, `ksize`, `strides` and `padding` are as in `max_pool`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.max_pool3d(df.ones([1, 4, 4, 4, 2]), 2, 2, "VALID").shape
    (1, 2, 2, 2, 2)
    """
    at = images(input, data_format, "max_pool3d", 3)
    return pooled(at, "max_pool", _windows(at, "max_pool3d", ksize, strides, padding), name)


def max_pool_with_argmax(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: Any,
                         data_format: str = "NHWC", output_dtype: DTypeLike = int64,
                         include_batch_in_index: bool = False,
                         name: str | None = None) -> tuple[Tensor, Tensor]:
    """Compute `max_pool2d` and the index of each maximum in the image.

    Parameters
    ----------
    input : Tensor, any number dtype but uint64, shape (batch, height, width, channels)
    ksize, strides, padding
        As in `max_pool`.
    data_format : "NHWC"
    output_dtype : DType, int64 or int32
    include_batch_in_index : bool

    Returns
    -------
    output : Tensor
    argmax : Tensor, `output_dtype`, shape of `output`
        ``(y * width + x) * channels + c`` of the maximum, plus
        ``b * height * width * channels`` if `include_batch_in_index`.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape([1., 5., 2., 3.], [1, 2, 2, 1])
    >>> y, argmax = df.nn.max_pool_with_argmax(x, 2, 2, "VALID")
    >>> y.item(), argmax.item()
    (5.0, 1)
    """
    op = "max_pool_with_argmax"
    at = images(input, data_format, op, 2)
    dtype = as_dtype(output_dtype)
    if at.channels_first or dtype not in (int32, int64):
        raise InvalidArgumentError(f"{op}: data_format is {shown(data_format)} and output_dtype "
                                   f"{dtype}, expected 'NHWC' and int64 or int32")
    y, places = _largest(at.x, _windows(at, op, ksize, strides, padding), int32, name)
    return y, _flat_index(at.x, places, dtype, include_batch_in_index)


def _flat_index(x: TensorBase, places: TensorBase, dtype: DType, with_batch: bool) -> Tensor:
    batch, height, width, channels = x.shape
    flat = cast(places, dtype) * channels + numbers(channels, dtype=dtype)
    if not with_batch:
        return flat
    return flat + reshape(numbers(batch, dtype=dtype), (-1, 1, 1, 1)) * (height * width * channels)


def avg_pool(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: Any,
             data_format: str | None = None, name: str | None = None) -> Tensor:
    """Return the mean of each window of an image, channel by channel.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, space..., channels), 1 to 3 spatial dimensions
    ksize, strides, padding, data_format
        As in `max_pool`.

    Returns
    -------
    Tensor, dtype of `input`, shape (batch, number of windows..., channels)

    Notes
    -----
    Padding is ignored: the mean is over the pixels of a window within the image.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(4.), [1, 2, 2, 1])
    >>> df.nn.avg_pool(x, 2, 1, "SAME").numpy().ravel().tolist()
    [1.5, 2.0, 2.5, 3.0]
    """
    at = images(input, data_format, "avg_pool")
    return pooled(at, "avg_pool", _windows(at, "avg_pool", ksize, strides, padding), name)


def avg_pool1d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: Any,
               data_format: str = "NWC", name: str | None = None) -> Tensor:
    """Compute `avg_pool` with one spatial dimension. `data_format` is "NWC" or "NCW"; `input`,
    `ksize`, `strides` and `padding` are as in `avg_pool`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.avg_pool1d([[[1.], [3.], [2.]]], 2, 1, "VALID").numpy().ravel().tolist()
    [2.0, 2.5]
    """
    at = images(input, data_format, "avg_pool1d", 1)
    return pooled(at, "avg_pool", _windows(at, "avg_pool1d", ksize, strides, padding), name)


def avg_pool2d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: Any,
               data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Compute `avg_pool` with two spatial dimensions. `data_format` is "NHWC" or "NCHW"; `input`,
    `ksize`, `strides` and `padding` are as in `avg_pool`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.avg_pool2d(df.ones([1, 6, 8, 3]), 3, 2, "SAME").shape
    (1, 3, 4, 3)
    """
    at = images(input, data_format, "avg_pool2d", 2)
    return pooled(at, "avg_pool", _windows(at, "avg_pool2d", ksize, strides, padding), name)


def avg_pool3d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: Any,
               data_format: str = "NDHWC", name: str | None = None) -> Tensor:
    """Compute `avg_pool` with three spatial dimensions. `data_format` is "NDHWC" or "NCDHW";
    `input`, `ksize`, `strides` and `padding` are as in `avg_pool`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.avg_pool3d(df.ones([1, 4, 4, 4, 2]), 2, 2, "VALID").shape
    (1, 2, 2, 2, 2)
    """
    at = images(input, data_format, "avg_pool3d", 3)
    return pooled(at, "avg_pool", _windows(at, "avg_pool3d", ksize, strides, padding), name)


def pool(input: TensorLike, window_shape: TensorLike, pooling_type: str,
         strides: TensorLike = 1, padding: Any = "VALID", data_format: str | None = None,
         dilations: TensorLike = 1, name: str | None = None) -> Tensor:
    """Apply max or average pooling with optionally dilated windows.

    Parameters
    ----------
    input : Tensor, shape (batch, space..., channels), 1 to 3 spatial dimensions
    window_shape : int or ints
    pooling_type : "MAX" or "AVG"
    strides : int or ints
    padding, data_format
        As in `max_pool`.
    dilations : int or ints
        Step between the pixels of a window.

    Returns
    -------
    Tensor, dtype of `input`

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(5.), [1, 5, 1])
    >>> df.nn.pool(x, 2, "AVG", dilations=3).numpy().ravel().tolist()
    [1.5, 2.5]
    """
    kinds = {"MAX": "max_pool", "AVG": "avg_pool"}
    if pooling_type not in kinds:
        raise InvalidArgumentError(f"pool: pooling_type is {shown(pooling_type)}, expected 'MAX' "
                                   "or 'AVG'")
    at = images(input, data_format, "pool")
    attrs = _windows(at, "pool", window_shape, 1 if strides is None else strides, padding,
                     1 if dilations is None else dilations)
    return pooled(at, kinds[pooling_type], attrs, name)
