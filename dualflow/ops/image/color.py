"""Dtype and colour of images."""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import DType, as_dtype
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import constant
from dualflow.ops.array.shape import product, static_shape
from dualflow.ops.array.slicing import tile
from dualflow.ops.elementwise.arithmetic import multiply
from dualflow.ops.elementwise.cast import cast, saturate_cast
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.elementwise.exponential import pow, sqrt
from dualflow.ops.elementwise.limits import maximum
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.reduction.reduce_moments import reduce_mean, reduce_variance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["adjust_brightness", "adjust_contrast", "adjust_gamma", "convert_image_dtype",
           "grayscale_to_rgb", "per_image_standardization", "rgb_to_grayscale"]

# ITU-R BT.601, with TensorFlow's digits.
LUMINANCE = (0.2989, 0.5870, 0.1140)


def convert_image_dtype(image: TensorLike, dtype: DTypeLike, saturate: bool = False,
                        name: str | None = None) -> Tensor:
    """Convert an image to another dtype, scaling its values to the range of the dtype: 0 to 1 for
    floats, 0 to the maximum for integers.

    Parameters
    ----------
    image : Tensor
    dtype : dtype
    saturate : bool
        Whether to clip values outside the range instead of converting them as `cast` does.

    Returns
    -------
    Tensor, of `dtype`, same shape

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.convert_image_dtype(df.constant([0, 255], df.uint8), df.float32).tolist()
    [0.0, 1.0]
    >>> df.image.convert_image_dtype([0., 0.5, 1.], df.uint8).tolist()
    [0, 127, 255]
    """
    x, to = as_tensor(image, None, "convert_image_dtype"), as_dtype(dtype)
    if x.dtype is to:
        return as_tensor(x) if isinstance(x, Tensor) else x.value()
    check_real("convert_image_dtype", x, "image")
    change = saturate_cast if saturate else cast
    if x.dtype.is_floating or to.is_floating:
        if x.dtype.is_floating and to.is_floating:
            return cast(x, to, name=name)
        if to.is_floating:
            return multiply(cast(x, to), 1.0 / x.dtype.max, name=name)
        return change(x * (to.max + 0.5), to, name=name)
    return _between_integers(x, to, change, name)


def _between_integers(x: TensorBase, to: DType, change: Any, name: str | None) -> Tensor:
    """Multiply or divide by the ratio of the ranges, a power of 2."""
    if x.dtype.max > to.max:
        return change(x // ((x.dtype.max + 1) // (to.max + 1)), to, name=name)
    return multiply(change(x, to), (to.max + 1) // (x.dtype.max + 1), name=name)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Return the luminance: 0.2989 red + 0.587 green + 0.114 blue.

    Parameters
    ----------
    images : Tensor, shape (..., 3)

    Returns
    -------
    Tensor, shape (..., 1), dtype of `images`

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.rgb_to_grayscale([[[1., 1., 1.]]]).numpy().round(3).tolist()
    [[[1.0]]]
    """
    x = as_tensor(images, None, "rgb_to_grayscale")
    if x.ndim == 0 or x.shape[-1] != 3:
        raise ShapeError(f"rgb_to_grayscale: shape {tuple(x.shape)}, expected 3 channels, the last "
                         "dimension")
    check_real("rgb_to_grayscale", x, "images")
    numbers = convert_image_dtype(x, dtypes.float32 if not x.dtype.is_floating else x.dtype)
    gray = reduce_sum(numbers * constant(LUMINANCE, numbers.dtype), -1, True)
    return convert_image_dtype(gray, x.dtype, name=name)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Repeat the single channel of `images` three times.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.grayscale_to_rgb([[[0.5]]]).tolist()
    [[[0.5, 0.5, 0.5]]]
    """
    x = as_tensor(images, None, "grayscale_to_rgb")
    if x.ndim == 0 or x.shape[-1] != 1:
        raise ShapeError(f"grayscale_to_rgb: shape {tuple(x.shape)}, expected 1 channel, the last "
                         "dimension")
    return tile(x, [1] * (x.ndim - 1) + [3], name=name)


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Add `delta` to all values of an image; for integers as a fraction of their range.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.adjust_brightness(df.constant([0, 100], df.uint8), 0.5).tolist()
    [127, 227]
    """
    op = "adjust_brightness"
    x = check_real(op, image, "image")
    if x.dtype.is_floating:
        made: Tensor = x + factor(delta, x.dtype, op, "delta")
        return made
    numbers = convert_image_dtype(x, dtypes.float32) + factor(delta, dtypes.float32, op, "delta")
    return convert_image_dtype(numbers, x.dtype, saturate=True)


def factor(value: TensorLike, dtype: DType, op: str, argument: str) -> Tensor:
    """Return a real parameter as a tensor of `dtype`; a number is not rounded to float32 first."""
    if isinstance(value, TensorBase):
        return cast(check_real(op, value, argument), dtype)
    return constant(value, dtype)


def floats(op: str, image: TensorLike) -> tuple[TensorBase, DType]:
    """Return images with at least 3 dimensions as floats, integers scaled to 0 to 1, and their
    own dtype."""
    x = check_real(op, image, "image")
    if x.ndim < 3:
        raise ShapeError(f"{op}: shape {tuple(x.shape)}, expected (..., height, width, channels)")
    return (x if x.dtype.is_floating else convert_image_dtype(x, dtypes.float32)), x.dtype


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Multiply the distance of each value to the mean of its channel:
    ``(x - mean) * contrast_factor + mean``.

    Parameters
    ----------
    images : Tensor, shape (..., height, width, channels)
        Integers are scaled to floats from 0 to 1 meanwhile, and the result saturates.
    contrast_factor : number or scalar Tensor

    Returns
    -------
    Tensor, same shape and dtype as `images`

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.adjust_contrast([[[1.], [3.]]], 2.).tolist()
    [[[0.0], [4.0]]]
    """
    x, dtype = floats("adjust_contrast", images)
    mean = reduce_mean(x, [-3, -2], True)
    scale = factor(contrast_factor, x.dtype, "adjust_contrast", "contrast_factor")
    made = (x - mean) * scale + mean
    return convert_image_dtype(made, dtype, saturate=True)


def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Tensor:
    """Correct the brightness curve of an image: ``gain * image ** gamma``.

    Parameters
    ----------
    image : Tensor
        Integers are scaled to floats from 0 to 1 meanwhile, and the result saturates.
    gamma : number or scalar Tensor, not negative
    gain : number or scalar Tensor

    Returns
    -------
    Tensor, same shape and dtype as `image`

    Raises
    ------
    InvalidArgumentError
        If `gamma` is a negative number.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.adjust_gamma([0.5, 1.], 2., gain=2.).tolist()
    [0.5, 2.0]
    """
    op = "adjust_gamma"
    x = check_real(op, image, "image")
    exponent: Any = gamma
    if not isinstance(exponent, TensorBase) and exponent < 0:
        raise InvalidArgumentError(f"adjust_gamma: gamma is {shown(gamma)}, expected 0 or more")
    y = x if x.dtype.is_floating else convert_image_dtype(x, dtypes.float32)
    power = pow(y, factor(gamma, y.dtype, op, "gamma"))
    made = factor(gain, y.dtype, op, "gain") * power
    return convert_image_dtype(made, x.dtype, saturate=True)


def per_image_standardization(image: TensorLike) -> Tensor:
    """Scale each image to mean 0 and variance 1.

    Parameters
    ----------
    image : Tensor, shape (..., height, width, channels)

    Returns
    -------
    Tensor, the floating dtype of `image`, else float32, same shape

    Notes
    -----
    The divisor is at least ``1 / sqrt(n)`` for images of n values, so images of one colour become
    zeros.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.per_image_standardization([[[1.], [3.]]]).tolist()
    [[[-1.0], [1.0]]]
    """
    x = as_tensor(image, None, "per_image_standardization")
    if x.ndim < 3:
        raise ShapeError(f"per_image_standardization: shape {tuple(x.shape)}, expected (..., "
                         "height, width, channels)")
    if not x.dtype.is_floating:
        x = cast(check_real("per_image_standardization", x, "image"), dtypes.float32)
    axes = [-3, -2, -1]
    least = 1.0 / maximum(cast(product(static_shape(x)[-3:]), x.dtype), 1)
    made: Tensor = (x - reduce_mean(x, axes, True)) / sqrt(
        maximum(reduce_variance(x, axes, True), least))
    return made
