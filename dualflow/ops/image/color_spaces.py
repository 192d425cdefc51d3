"""Colour spaces: HSV, YUV and YIQ, and changes of hue and saturation."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import real_hint, shown
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import constant, ones_like, zeros_like
from dualflow.ops.array.join import concat, split
from dualflow.ops.elementwise.arithmetic import abs
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.division import floormod
from dualflow.ops.elementwise.limits import clip_by_value, maximum, minimum
from dualflow.ops.image.color import convert_image_dtype, factor, floats
from dualflow.ops.linalg.einsum import tensordot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["adjust_hue", "adjust_saturation", "hsv_to_rgb", "rgb_to_hsv", "rgb_to_yiq",
           "rgb_to_yuv", "yiq_to_rgb", "yuv_to_rgb"]

# Rows: red, green, blue (or Y and the two differences); the colours of television standards.
RGB_TO_YUV = ((0.299, -0.14714119, 0.61497538), (0.587, -0.28886916, -0.51496512),
              (0.114, 0.43601035, -0.10001026))
YUV_TO_RGB = ((1.0, 1.0, 1.0), (0.0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0.0))
RGB_TO_YIQ = ((0.299, 0.59590059, 0.2115), (0.587, -0.27455667, -0.52273617),
              (0.114, -0.32134392, 0.31119955))
YIQ_TO_RGB = ((1.0, 1.0, 1.0), (0.95598634, -0.27201283, -1.10674021),
              (0.6208248, -0.64720424, 1.70423049))


def _three(op: str, images: TensorLike) -> TensorBase:
    x = as_tensor(images, None, op)
    if x.ndim == 0 or x.shape[-1] != 3:
        raise ShapeError(f"{op}: shape {tuple(x.shape)}, expected 3 channels, the last dimension")
    if not x.dtype.is_floating:
        raise DTypeError(f"{op}: {x.dtype.name}, expected a floating dtype; "
                         f"image.convert_image_dtype scales integers to floats{real_hint(x.dtype)}")
    return x


# --- HSV ---------------------------------------------------------------------------------------


def _hue(x: TensorBase) -> tuple[Tensor, Tensor, Tensor]:
    """Return the hue from 0 to 1, the smallest and the largest channel, each (..., 1)."""
    red, green, blue = split(x, 3, -1)
    high, low = maximum(maximum(red, green), blue), minimum(minimum(red, green), blue)
    colourful = high > low
    sixth = 1 / (6 * where(colourful, high - low, ones_like(high)))
    hue = where(equal(high, red), (green - blue) * sixth,
                where(equal(high, green), (blue - red) * sixth + 2 / 6,
                      (red - green) * sixth + 4 / 6))
    hue = where(colourful, hue, zeros_like(hue))
    return where(hue < 0, hue + 1, hue), low, high


def _shares(hue: Any) -> list[Any]:
    """Return the position of red, green and blue between the smallest and largest channel."""
    sixths = hue * 6
    return [clip_by_value(share, 0, 1) for share in (
        abs(sixths - 3) - 1, 2 - abs(sixths - 2), 2 - abs(sixths - 4))]


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert red, green and blue to hue, saturation and value.

    Parameters
    ----------
    images : Tensor, floating, shape (..., 3)
        Values from 0 to 1.

    Returns
    -------
    Tensor, same shape and dtype
        Hue (0 red, 1/3 green, 2/3 blue; below 1), saturation, and value: the largest channel.

    Raises
    ------
    DTypeError
        If `images` is not floating.
    ShapeError
        If the last dimension is not 3.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.rgb_to_hsv([[0., 0.5, 0.], [0.5, 0.5, 0.5]]).numpy().round(3).tolist()
    [[0.3330000042915344, 1.0, 0.5], [0.0, 0.0, 0.5]]
    """
    hue, low, value = _hue(_three("rgb_to_hsv", images))
    positive = value > 0
    saturation = (value - low) / where(positive, value, ones_like(value))
    return concat([hue, where(positive, saturation, zeros_like(value)), value], -1, name)


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert hue, saturation and value to red, green and blue, the inverse of `rgb_to_hsv`.

    Parameters
    ----------
    images : Tensor, floating, shape (..., 3)
        Values from 0 to 1.

    Returns
    -------
    Tensor, same shape and dtype

    Raises
    ------
    DTypeError
        If `images` is not floating.
    ShapeError
        If the last dimension is not 3.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.hsv_to_rgb([[0.5, 1., 0.5], [0., 0., 0.25]]).tolist()
    [[0.0, 0.5, 0.5], [0.25, 0.25, 0.25]]
    """
    hue, saturation, value = split(_three("hsv_to_rgb", images), 3, -1)
    return concat([value * (1 - saturation + saturation * share) for share in _shares(hue)], -1,
                  name)


def _colours(op: str, image: TensorLike) -> tuple[TensorBase, Any]:
    x, dtype = floats(op, image)
    return _three(op, x), dtype


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Rotate the hues of an image by `delta` of the colour circle.

    Parameters
    ----------
    image : Tensor, shape (..., height, width, 3)
        Integers are scaled to floats from 0 to 1 meanwhile.
    delta : number or scalar Tensor, from -1 to 1

    Returns
    -------
    Tensor, same shape and dtype as `image`

    Raises
    ------
    InvalidArgumentError
        If `delta` is a number outside of -1 to 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.adjust_hue([[[1., 0., 0.]]], 0.5).tolist()
    [[[0.0, 1.0, 1.0]]]
    """
    x, dtype = _colours("adjust_hue", image)
    turn: Any = delta
    if not isinstance(turn, TensorBase) and not -1 <= turn <= 1:
        raise InvalidArgumentError(f"adjust_hue: delta is {shown(delta)}, expected -1 to 1")
    hue, low, high = _hue(x)
    moved = floormod(hue + factor(delta, x.dtype, "adjust_hue", "delta"), 1)
    made = concat([low + (high - low) * share for share in _shares(moved)], -1)
    return convert_image_dtype(made, dtype, saturate=True, name=name)


def adjust_saturation(image: TensorLike, saturation_factor: TensorLike,
                      name: str | None = None) -> Tensor:
    """Multiply the saturation of an image in HSV colours, and clip it to 0 to 1.

    Parameters
    ----------
    image : Tensor, shape (..., height, width, 3)
        Integers are scaled to floats from 0 to 1 meanwhile.
    saturation_factor : number or scalar Tensor
        0 removes the colours, 1 changes nothing.

    Returns
    -------
    Tensor, same shape and dtype as `image`

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.adjust_saturation([[[1., 0.5, 0.5]]], 2.).tolist()
    [[[1.0, 0.0, 0.0]]]
    """
    x, dtype = _colours("adjust_saturation", image)
    hue, saturation, value = split(rgb_to_hsv(x), 3, -1)
    scale = factor(saturation_factor, x.dtype, "adjust_saturation", "saturation_factor")
    saturation = clip_by_value(saturation * scale, 0, 1)
    made = hsv_to_rgb(concat([hue, saturation, value], -1))
    return convert_image_dtype(made, dtype, saturate=True, name=name)


# --- linear colour spaces ----------------------------------------------------------------------


def _mixed(op: str, images: TensorLike, weights: Any) -> Tensor:
    x = _three(op, images)
    return tensordot(x, constant(weights, x.dtype), 1)


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Convert red, green and blue, 0 to 1, to luminance and two colour differences (PAL).

    Parameters
    ----------
    images : Tensor, floating, shape (..., 3)

    Returns
    -------
    Tensor, same shape and dtype

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.rgb_to_yuv([1., 0., 0.]).numpy().round(2).tolist()
    [0.30000001192092896, -0.15000000596046448, 0.6100000143051147]
    """
    return _mixed("rgb_to_yuv", images, RGB_TO_YUV)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Return the inverse of `rgb_to_yuv`.

    Parameters
    ----------
    images : Tensor, floating, shape (..., 3)

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.yuv_to_rgb([0.5, 0., 0.]).tolist()
    [0.5, 0.5, 0.5]
    """
    return _mixed("yuv_to_rgb", images, YUV_TO_RGB)


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Convert red, green and blue, 0 to 1, to luminance and two colour differences (NTSC).

    Parameters
    ----------
    images : Tensor, floating, shape (..., 3)

    Returns
    -------
    Tensor, same shape and dtype

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.rgb_to_yiq([1., 0., 0.]).numpy().round(2).tolist()
    [0.30000001192092896, 0.6000000238418579, 0.20999999344348907]
    """
    return _mixed("rgb_to_yiq", images, RGB_TO_YIQ)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Return the inverse of `rgb_to_yiq`.

    Parameters
    ----------
    images : Tensor, floating, shape (..., 3)

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.yiq_to_rgb([0.5, 0., 0.]).tolist()
    [0.5, 0.5, 0.5]
    """
    return _mixed("yiq_to_rgb", images, YIQ_TO_RGB)
