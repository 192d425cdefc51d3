"""Cropping, padding and random flips of images."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, as_tensor, larger, smaller
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import expand_dims, ints, is_open, one_size, static_shape
from dualflow.ops.array.slicing import slice
from dualflow.ops.elementwise.compare import where
from dualflow.ops.image.resize import flip_left_right, flip_up_down, resize
from dualflow.ops.random.random_samples import uniform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["central_crop", "crop_to_bounding_box", "pad_to_bounding_box", "random_flip_left_right",
           "random_flip_up_down", "resize_with_pad"]


def _image(op: str, image: TensorLike) -> TensorBase:
    x = as_tensor(image, None, op)
    if x.ndim not in (3, 4):
        raise ShapeError(f"{op}: shape {tuple(x.shape)}, expected (height, width, channels), or a "
                         "batch of them")
    return x


# --- crops and padding -------------------------------------------------------------------------


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
    x = _image("crop_to_bounding_box", image)
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
    x = _image("pad_to_bounding_box", image)
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
    x = _image("central_crop", image)
    if not 0 < central_fraction <= 1:
        raise InvalidArgumentError(f"central_crop: central_fraction is {central_fraction}, "
                                   "expected more than 0 and at most 1")
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
    x = _image("resize_with_pad", image)
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


# --- random flips ------------------------------------------------------------------------------


def _flipped_at_random(op: str, image: TensorLike, seed: int | None, flip: Any) -> Tensor:
    """Apply `flip` to each image of a batch with probability 1/2, independently."""
    x = _image(op, image)
    chance = uniform([static_shape(x)[0]] if x.ndim == 4 else [], seed=seed) < 0.5
    for _ in range(3 if x.ndim == 4 else 0):
        chance = expand_dims(chance, -1)
    return where(chance, flip(x), x)


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Mirror each image with probability 1/2.

    Parameters
    ----------
    image : Tensor, shape (height, width, channels) or (batch, height, width, channels)
    seed : int, optional
        Makes the choices reproducible; by default they depend on `random.set_seed`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.random_flip_left_right(df.zeros([8, 4, 4, 3])).shape
    (8, 4, 4, 3)
    """
    return _flipped_at_random("random_flip_left_right", image, seed, flip_left_right)


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Turn each image upside down with probability 1/2; `seed` as in
    `random_flip_left_right`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.random_flip_up_down(df.zeros([8, 4, 4, 3])).shape
    (8, 4, 4, 3)
    """
    return _flipped_at_random("random_flip_up_down", image, seed, flip_up_down)
