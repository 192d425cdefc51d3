"""Measures of images: differences of two images, edges and gradients."""

from __future__ import annotations

import math

from dualflow import dtypes
from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import integer, shown
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import constant
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import reshape, same_size, static_shape
from dualflow.ops.array.slicing import tile
from dualflow.ops.conv.depthwise import depthwise_conv2d
from dualflow.ops.elementwise.arithmetic import abs, square, squared_difference
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.elementwise.exponential import log
from dualflow.ops.image.color import convert_image_dtype, factor
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.reduction.reduce_moments import reduce_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["image_gradients", "psnr", "sobel_edges", "ssim", "total_variation"]


# --- differences of two images -----------------------------------------------------------------


def _two(op: str, a: TensorLike, b: TensorLike, max_val: Any) -> tuple[Any, Any, Any]:
    """Return two images and the range of their values as floats."""
    x, y = check_real(op, a, "the first image"), check_real(op, b, "the second image")
    if x.ndim < 3 or y.ndim < 3 or not all(map(same_size, x.shape[-3:], y.shape[-3:])):
        raise ShapeError(f"{op}: shapes {tuple(x.shape)} and {tuple(y.shape)}, expected (..., "
                         "height, width, channels), the last three equal")
    if x.dtype is not y.dtype:
        raise InvalidArgumentError(f"{op}: dtypes {x.dtype.name} and {y.dtype.name}, expected one "
                                   "dtype")
    top = factor(max_val, x.dtype, op, "max_val")
    if not x.dtype.is_floating or x.dtype.is_reduced_float:
        x, y, top = (convert_image_dtype(t, dtypes.float32) for t in (x, y, top))
    return x, y, top


def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """Return the peak signal-to-noise ratio of two images in decibels:
    ``10 log10(max_val**2 / mean((a - b)**2))``.

    Parameters
    ----------
    a, b : Tensor, same dtype, shape (..., height, width, channels)
    max_val : number
        Range of the values: 255 for uint8, 1 for floats.

    Returns
    -------
    Tensor, floating, shape (...)
        One number per image; infinity if the images are equal.

    Raises
    ------
    ShapeError, InvalidArgumentError
        If shapes or dtypes differ.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.psnr(df.zeros([2, 2, 1]), df.fill([2, 2, 1], 0.1), max_val=1.0).numpy().round(3)
    np.float32(20.0)
    """
    x, y, top = _two("psnr", a, b, max_val)
    error = reduce_mean(squared_difference(x, y), [-3, -2, -1])
    made: Tensor = 20 / math.log(10) * log(top) - 10 / math.log(10) * log(error)
    return made


def ssim(img1: TensorLike, img2: TensorLike, max_val: TensorLike, filter_size: int = 11,
         filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
         return_index_map: bool = False) -> Tensor:
    """Return the structural similarity of two images, at most 1.

    Parameters
    ----------
    img1, img2 : Tensor, same dtype, shape (..., height, width, channels)
    max_val : number
        Range of the values: 255 for uint8, 1 for floats.
    filter_size : int
        Side of the windows; at most height and width.
    filter_sigma : float
        Standard deviation of the Gaussian weights of a window, in pixels.
    k1, k2 : float
        Constants for small means and variances, as parts of `max_val`.
    return_index_map : bool
        Whether to return the similarity of each window instead of the mean.

    Returns
    -------
    Tensor, floating, shape (...), or (..., height - filter_size + 1, width - filter_size + 1)
        The mean over channels and windows, or over channels.

    Raises
    ------
    ShapeError, InvalidArgumentError
        If shapes or dtypes differ, or windows are larger than the images.

    Notes
    -----
    Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, Image quality assessment: from error
    visibility to structural similarity, 2004.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.random.uniform([16, 16, 3], seed=1)
    >>> df.image.ssim(x, x, max_val=1.0).item()
    1.0
    """
    x, y, top = _two("ssim", img1, img2, max_val)
    size = integer(filter_size, "ssim: filter_size")
    if size < 1:
        raise InvalidArgumentError(f"ssim: filter_size is {shown(filter_size)}, expected at "
                                   "least 1")
    mean_x, mean_y = _blurred(x, size, filter_sigma), _blurred(y, size, filter_sigma)
    products, squares = mean_x * mean_y * 2, square(mean_x) + square(mean_y)
    low, high = square(top * k1), square(top * k2)
    light = (products + low) / (squares + low)
    twice = _blurred(x * y, size, filter_sigma) * 2 - products
    spread = _blurred(square(x) + square(y), size, filter_sigma) - squares
    similar = light * ((twice + high) / (spread + high))
    return reduce_mean(similar, [-1] if return_index_map else [-3, -2, -1])


def _blurred(x: TensorBase, size: int, sigma: float) -> Tensor:
    """Return the mean of each window with Gaussian weights, along rows, then columns."""
    weights = [math.exp(-(((k - (size - 1) / 2) / sigma) ** 2) / 2) for k in range(size)]
    row = constant([w / sum(weights) for w in weights], x.dtype)
    height, width, channels = static_shape(x)[-3:]
    y: Any = reshape(x, (-1, height, width, channels))
    for shape in ((size, 1, 1, 1), (1, size, 1, 1)):
        y = depthwise_conv2d(y, tile(reshape(row, shape), [1, 1, channels, 1]), 1, "VALID")
    return reshape(y, (*static_shape(x)[:-3], *static_shape(y)[1:]))


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Return the sum of the absolute differences of neighbouring pixels.

    Parameters
    ----------
    images : Tensor, shape (height, width, channels) or (batch, height, width, channels)

    Returns
    -------
    Tensor, the floating dtype of `images`, else float32, shape () or (batch,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.total_variation([[[1.], [4.]], [[1.], [2.]]]).item()
    6.0
    """
    x = _floats("total_variation", images, (3, 4))
    down, right = abs(x[..., 1:, :, :] - x[..., :-1, :, :]), abs(x[..., 1:, :] - x[..., :-1, :])
    made: Tensor = reduce_sum(down, [-3, -2, -1]) + reduce_sum(right, [-3, -2, -1])
    return made


# --- edges -------------------------------------------------------------------------------------


def _floats(op: str, images: TensorLike, ranks: tuple[int, ...] = (4,)) -> Any:
    x = as_tensor(images, None, op)
    if x.ndim not in ranks:
        raise ShapeError(f"{op}: shape {tuple(x.shape)}, expected (batch, height, width, channels)"
                         + ", or one image" * (3 in ranks))
    return x if x.dtype.is_floating else cast(check_real(op, x, "image"), dtypes.float32)


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Return the differences of each pixel to the next along rows and columns.

    Parameters
    ----------
    image : Tensor, shape (batch, height, width, channels)

    Returns
    -------
    dy, dx : Tensor, same shape and dtype
        ``dy[:, h, w] = image[:, h + 1, w] - image[:, h, w]``; the last row of dy and the last
        column of dx are 0.

    Examples
    --------
    >>> import dualflow as df
    >>> dy, dx = df.image.image_gradients([[[[1.], [4.]], [[2.], [3.]]]])
    >>> dy[0, :, :, 0].tolist(), dx[0, :, :, 0].tolist()
    ([[1.0, -1.0], [0.0, 0.0]], [[3.0, 0.0], [1.0, 0.0]])
    """
    x: Any = as_tensor(image, None, "image_gradients")
    if x.ndim != 4:
        raise ShapeError(f"image_gradients: shape {tuple(x.shape)}, expected (batch, height, "
                         "width, channels)")
    return (pad(x[:, 1:] - x[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]]),
            pad(x[:, :, 1:] - x[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]]))


def sobel_edges(image: TensorLike) -> Tensor:
    """Return the Sobel derivatives of images; the border is mirrored.

    Parameters
    ----------
    image : Tensor, shape (batch, height, width, channels)
        Height and width are at least 2.

    Returns
    -------
    Tensor, the floating dtype of `image`, else float32, shape (batch, height, width, channels, 2)
        The derivatives along rows (dy), then along columns (dx).

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(9.), [1, 3, 3, 1])
    >>> df.image.sobel_edges(x)[0, 1, 1, 0].tolist()
    [24.0, 8.0]
    """
    x = _floats("sobel_edges", image)
    n, height, width, channels = static_shape(x)
    rows = [[-1.0, -2.0, -1.0], [0.0, 0.0, 0.0], [1.0, 2.0, 1.0]]
    kernels = [[[rows[i][j], rows[j][i]] for j in range(3)] for i in range(3)]
    kernel = tile(constant(kernels, x.dtype)[:, :, None], [1, 1, channels, 1])
    bordered = pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    return reshape(depthwise_conv2d(bordered, kernel, 1, "VALID"), (n, height, width, channels, 2))
