"""Cropping and padding of images."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, as_tensor, larger, smaller
from dualflow._util.arguments import Limits, number
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import ints, is_open, one_size, static_shape
from dualflow.ops.array.slicing import slice
from dualflow.ops.image.resize import resize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["central_crop", "crop_to_bounding_box", "pad_to_bounding_box",
           "resize_with_crop_or_pad", "resize_with_pad"]


FRACTION = Limits("a number more than 0 and at most 1", lambda x: 0 < x <= 1)


def image_batch(op: str, image: TensorLike) -> TensorBase:
    """Return an image or a batch of images as a tensor."""
    x = as_tensor(image, None, op)
    if x.ndim not in (3, 4):
        raise ShapeError(f"{op}: shape {tuple(x.shape)}, expected (height, width, channels), or a "
                         "batch of them")
    return x


def crop_to_bounding_box(image: TensorLike, offset_height: int, offset_width: int,
                         target_height: int, target_width: int) -> Tensor:
    """Crop a rectangle out of images.

    Parameters
    ----------
    image : Tensor, shape (height, width, channels) or (batch, height, width, channels)
    offset_height, offset_width : int
        Position of the first row and column.
    target_height, target_width : int
        Size of the crop.

    Returns
    -------
    Tensor, shape (..., target_height, target_width, channels)

    Raises
    ------
    InvalidArgumentError
        If the crop is not inside the image.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(9), [3, 3, 1])
    >>> df.image.crop_to_bounding_box(x, 1, 0, 2, 2)[..., 0].tolist()
    [[3, 4], [6, 7]]
    """
    x = image_batch("crop_to_bounding_box", image)
    offset = ints((offset_height, offset_width), "crop_to_bounding_box: offset")
    size = ints((target_height, target_width), "crop_to_bounding_box: target")
    _inside("crop_to_bounding_box", static_shape(x)[-3:-1], offset, size)
    rest = (0,) * (x.ndim - 3)
    return slice(x, (*rest, *offset, 0), (*[-1 for _ in rest], *size, -1))


def pad_to_bounding_box(image: TensorLike, offset_height: int, offset_width: int,
                        target_height: int, target_width: int) -> Tensor:
    """Pad images with zeros to a larger size, the inverse of `crop_to_bounding_box`.

    Parameters
    ----------
    image : Tensor, shape (height, width, channels) or (batch, height, width, channels)
    offset_height, offset_width : int
        Position of the image in the result.
    target_height, target_width : int
        The size of the result.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.pad_to_bounding_box([[[1.]]], 0, 1, 1, 3)[..., 0].tolist()
    [[0.0, 1.0, 0.0]]
    """
    x = image_batch("pad_to_bounding_box", image)
    height, width = static_shape(x)[-3:-1]
    above, left = ints((offset_height, offset_width), "pad_to_bounding_box: offset")
    rows, columns = ints((target_height, target_width), "pad_to_bounding_box: target")
    _inside("pad_to_bounding_box", (rows, columns), (above, left), (height, width))
    return pad(x, [[0, 0]] * (x.ndim - 3) + [
        [above, rows - above - height], [left, columns - left - width], [0, 0]])


def _inside(op: str, whole: Any, offset: Any, part: Any) -> None:
    for size, start, length in zip(whole, offset, part, strict=True):
        if not any(map(is_open, (size, start, length))) and (
                start < 0 or length < 0 or start + length > size):
            raise InvalidArgumentError(f"{op}: a part of {part[0]} x {part[1]} at {offset[0]}, "
                                       f"{offset[1]} is not inside {whole[0]} x {whole[1]}")


def central_crop(image: TensorLike, central_fraction: float) -> Tensor:
    """Crop the centre of images.

    Parameters
    ----------
    image : Tensor, shape (height, width, channels) or (batch, height, width, channels)
    central_fraction : float, more than 0 and at most 1
        The fraction of the height and of the width to keep.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.central_crop(df.zeros([4, 8, 1]), 0.5).shape
    (2, 4, 1)
    """
    x = image_batch("central_crop", image)
    number(central_fraction, "central_crop: central_fraction", FRACTION)
    start = [int((n - n * central_fraction) / 2) for n in static_shape(x)[-3:-1]]
    made: Tensor = x[..., start[0]:x.shape[-3] - start[0], start[1]:x.shape[-2] - start[1], :]
    return made


def resize_with_pad(image: TensorLike, target_height: int, target_width: int,
                    method: str = "bilinear", antialias: bool = False) -> Tensor:
    """Resize images to fit a size without distortion, and pad with zeros to fill it.

    Parameters
    ----------
    image : Tensor, shape (height, width, channels) or (batch, height, width, channels)
    target_height, target_width : int
    method, antialias
        As in `resize`.

    Returns
    -------
    Tensor, shape (..., target_height, target_width, channels)

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.resize_with_pad(df.ones([2, 1, 1]), 2, 3)[..., 0].tolist()
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    """
    x = image_batch("resize_with_pad", image)
    height, width = static_shape(x)[-3:-1]
    rows = one_size(target_height, "resize_with_pad: target_height")
    columns = one_size(target_width, "resize_with_pad: target_width")
    if rows < 1 or columns < 1:
        raise InvalidArgumentError(f"resize_with_pad: target is {rows} x {columns}, expected at "
                                   "least 1 x 1")
    tall, wide = height * columns, width * rows         # the larger one fills the target
    height, width = larger(height, 1), larger(width, 1)
    size = [larger(smaller(rows, tall // width), 1), larger(smaller(columns, wide // height), 1)]
    above, left = larger((wide - tall) // (2 * width), 0), larger((tall - wide) // (2 * height), 0)
    return pad_to_bounding_box(resize(x, size, method, antialias=antialias), above, left, rows,
                               columns)


def resize_with_crop_or_pad(image: TensorLike, target_height: int, target_width: int) -> Tensor:
    """Bring images to a size by cropping the centre, or by padding with zeros on both sides.

    Parameters
    ----------
    image : Tensor, shape (height, width, channels) or (batch, height, width, channels)
    target_height, target_width : int

    Returns
    -------
    Tensor, shape (..., target_height, target_width, channels)

    Raises
    ------
    InvalidArgumentError
        If a size is not positive.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(4), [4, 1, 1])
    >>> df.image.resize_with_crop_or_pad(x, 2, 3)[..., 0].tolist()
    [[0, 1, 0], [0, 2, 0]]
    """
    op = "resize_with_crop_or_pad"
    x = image_batch(op, image)
    height, width = static_shape(x)[-3:-1]
    rows, columns = (one_size(target_height, f"{op}: target_height"),
                     one_size(target_width, f"{op}: target_width"))
    if rows < 1 or columns < 1:
        raise InvalidArgumentError(f"{op}: target is {rows} x {columns}, expected at least 1 x 1")
    cropped = crop_to_bounding_box(x, larger((height - rows) // 2, 0),
                                   larger((width - columns) // 2, 0), smaller(rows, height),
                                   smaller(columns, width))
    return pad_to_bounding_box(cropped, larger((rows - height) // 2, 0),
                               larger((columns - width) // 2, 0), rows, columns)
