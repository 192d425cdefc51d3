"""crop_and_resize: boxes of images, resized to one size. Composed of ops whose gradients reach the
images and the boxes."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, as_tensor, larger
from dualflow._util.arguments import shown
from dualflow.dtypes import float32, float64, int64
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import range as numbers
from dualflow.ops.array.shape import (
    expand_dims,
    ints,
    is_open,
    product,
    reshape,
    same_size,
    static_shape,
)
from dualflow.ops.elementwise.bitwise import logical_and
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.elementwise.limits import clip_by_value
from dualflow.ops.elementwise.rounding import ceil, floor
from dualflow.ops.indexing.gather import gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["crop_and_resize"]


def crop_and_resize(image: TensorLike, boxes: TensorLike, box_indices: TensorLike,
                    crop_size: TensorLike, method: str = "bilinear",
                    extrapolation_value: float = 0.0, name: str | None = None) -> Tensor:
    """Crop boxes out of the images of a batch and resize each to `crop_size`.

    Parameters
    ----------
    image : Tensor, any number dtype, shape (batch, height, width, channels)
    boxes : Tensor, floating, shape (number of boxes, 4)
        y1, x1, y2, x2 in units of the image: 0 is the centre of the first pixel, 1 the centre of
        the last. If y1 > y2 or x1 > x2 the crop is mirrored.
    box_indices : Tensor, int32 or int64, shape (number of boxes,)
        The index of the image of each box.
    crop_size : ints
        Height and width of the crops.
    method : "bilinear" or "nearest"
    extrapolation_value : float
        The value of pixels outside the image.

    Returns
    -------
    Tensor, the floating dtype of `image`, else float32, shape (number of boxes, crop height, crop
    width, channels)

    Raises
    ------
    OutOfRangeError
        If an index is not an image of the batch.

    Notes
    -----
    `image` has a gradient; with "bilinear", so does `boxes`.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(9.), [1, 3, 3, 1])
    >>> df.image.crop_and_resize(x, [[0., 0., 1., 0.5]], [0], [3, 2])[0, :, :, 0].tolist()
    [[0.0, 1.0], [3.0, 4.0], [6.0, 7.0]]
    """
    op = "crop_and_resize"
    x, box, index = (v if isinstance(v, TensorBase) else as_tensor(v, None, op)
                     for v in (image, boxes, box_indices))
    size = ints(crop_size, f"{op}: crop_size")
    if (x.ndim, box.ndim, index.ndim) != (4, 2, 1) or not (
            same_size(box.shape[1], 4) and same_size(box.shape[0], index.shape[0])):
        raise ShapeError(f"{op}: image has shape {x.shape}, boxes {box.shape} and box_indices "
                         f"{index.shape}, expected 4 dimensions, (n, 4) and (n,)")
    if len(size) != 2 or any(n < 1 for n in size):
        raise InvalidArgumentError(f"{op}: crop_size is {shown(crop_size)}, expected two positive "
                                   "integers, height and width")
    if not isinstance(method, str) or method.lower() not in ("bilinear", "nearest"):
        raise InvalidArgumentError(f"{op}: method is {shown(method)}, expected 'bilinear' or "
                                   "'nearest'")
    x = x if x.dtype.is_floating else cast(check_real(op, x, "image"), float32)
    if box.dtype is not float64:        # 16-bit floats are too coarse
        box = cast(check_real(op, box, "boxes"), float32)
    batch, height, width, channels = static_shape(x)
    pixels = _Pixels(x, index, batch, height, width, channels)
    y = _places(box[:, 0], box[:, 2], height, size[0])
    z = _places(box[:, 1], box[:, 3], width, size[1])
    inside = logical_and(expand_dims(_within(y, height), 2), expand_dims(_within(z, width), 1))
    if method.lower() == "bilinear":
        crops = pixels.between(y, z)
    else:
        crops = pixels.at(floor(y + 0.5), floor(z + 0.5))
    outside = cast(check_real(op, extrapolation_value, "extrapolation_value"), x.dtype)
    return where(expand_dims(inside, 3), crops, outside, name=name)


def _places(first: TensorBase, last: TensorBase, n: Any, count: int) -> TensorBase:
    """Return the `count` sampling positions of each box along n pixels, shape (boxes, count)."""
    middle = expand_dims((first + last) * 0.5 * (n - 1), 1)
    if not is_open(count) and count == 1:
        return middle
    step = (last - first) * (n - 1) / larger(count - 1, 1)
    many = expand_dims(first * (n - 1), 1) + expand_dims(step, 1) * cast(numbers(count),
                                                                         first.dtype)
    return where(as_tensor(count) == 1, middle, many) if is_open(count) else many


def _within(place: TensorBase, n: Any) -> TensorBase:
    return logical_and(place >= 0, place <= n - 1)


class _Pixels:
    """The pixels of the boxes' images, by rows (boxes, n) and columns (boxes, m)."""

    def __init__(self, x: TensorBase, index: TensorBase, batch: Any, height: Any, width: Any,
                 channels: Any) -> None:
        self.flat = reshape(x, (product(x.shape[:3]), channels))
        self.height, self.width = height, width
        starts = cast(numbers(batch), int64) * (height * width)
        self.start = reshape(gather(starts, index), (-1, 1, 1))

    def at(self, y: TensorBase, z: TensorBase) -> Tensor:
        rows, columns = (cast(clip_by_value(place, 0, n - 1), int64)
                         for place, n in ((y, self.height), (z, self.width)))
        return gather(self.flat, self.start + expand_dims(rows * self.width, 2)
                      + expand_dims(columns, 1))

    def between(self, y: TensorBase, z: TensorBase) -> Tensor:
        """Return the bilinear interpolation at each position."""
        top, left = floor(y), floor(z)
        down = cast(expand_dims(expand_dims(y - top, 2), 3), self.flat.dtype)
        right = cast(expand_dims(expand_dims(z - left, 1), 3), self.flat.dtype)
        above, below = (a + (b - a) * right for a, b in (
            (self.at(rows, left), self.at(rows, ceil(z))) for rows in (top, ceil(y))))
        return above + (below - above) * down
