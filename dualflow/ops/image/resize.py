"""Image ops: resizing, patches, flips and rotations. An image is (height, width, channels); most
functions also accept a batch."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import float32, int64
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import range as numbers
from dualflow.ops.array.shape import identity, ints, static_shape, transpose as permuted
from dualflow.ops.array.slicing import reverse
from dualflow.ops.axes import by_axes
from dualflow.ops.conv.windows import (
    images as windowed,
    paddings,
    per_dimension,
    window_attrs,
)
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.indexing.gather import gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["ResizeMethod", "extract_patches", "flip_left_right", "flip_up_down", "resize", "rot90",
           "transpose"]


class ResizeMethod:
    """Names of the resizing methods."""

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


# In the order of `methods` in csrc/ops/image/resize.c.
_METHODS = ("bilinear", "bicubic", "mitchellcubic", "gaussian", "lanczos3", "lanczos5", "area")


def _images(value: TensorLike, op: str) -> TensorBase:
    x = value if isinstance(value, TensorBase) else as_tensor(value, None, op)
    if x.ndim not in (3, 4):
        raise ShapeError(f"{op}: images are {x.dtype} {x.shape}, expected (height, width, "
                         "channels) or a batch of them")
    return x


def resize(images: TensorLike, size: TensorLike, method: str = ResizeMethod.BILINEAR,
           preserve_aspect_ratio: bool = False, antialias: bool = False,
           name: str | None = None) -> Tensor:
    """Resize `images` to another height and width.

    Parameters
    ----------
    images : Tensor, any number dtype, shape (height, width, channels) or (batch, ...)
    size : ints
        Height and width of the result.
    method : str
        "bilinear", "nearest", "bicubic" (Keys, a = -1/2), "area", "lanczos3", "lanczos5",
        "gaussian" or "mitchellcubic".
    preserve_aspect_ratio : bool
        Whether to use the largest size within `size` that has the proportions of the images. The
        other dimension is rounded, ties to even.
    antialias : bool
        Whether to widen the kernel when shrinking, so that all pixels contribute. Has no effect on
        "nearest" and "area".

    Returns
    -------
    Tensor, the floating dtype of `images`, else float32; "nearest" preserves any dtype

    Raises
    ------
    InvalidArgumentError
        If a size is not positive or the method is unknown.

    Notes
    -----
    The centre of pixel i is at i + 1/2, in the input and the result, as in TensorFlow 2. Pixels
    beyond the edge have weight 0 and the other weights are scaled to a sum of 1. Height is resized
    first, then width.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape([0., 4.], [1, 2, 1])
    >>> df.image.resize(x, [1, 4]).numpy().ravel().tolist()
    [0.0, 1.0, 3.0, 4.0]
    >>> df.image.resize(x, [1, 4], "nearest").numpy().ravel().tolist()
    [0.0, 0.0, 4.0, 4.0]
    """
    x = _images(images, "resize")
    wanted = ints(size, "resize: size")
    if len(wanted) != 2 or any(n < 1 for n in wanted):
        raise InvalidArgumentError(f"resize: size is {shown(size)}, expected two positive "
                                   "integers, height and width")
    kind = method.lower() if isinstance(method, str) else method
    if kind != ResizeMethod.NEAREST_NEIGHBOR and kind not in _METHODS:
        raise InvalidArgumentError(f"resize: method is {shown(method)}, expected 'nearest' or one "
                                   f"of {', '.join(map(repr, _METHODS))}")
    have = static_shape(x)[-3:-1]
    if preserve_aspect_ratio:
        wanted = _proportional(have, wanted)
    if kind == ResizeMethod.NEAREST_NEIGHBOR:
        for axis, before, after in zip((x.ndim - 3, x.ndim - 2), have, wanted, strict=True):
            x = gather(x, _nearest(before, after), axis=axis, name=name)
        return identity(x) if not isinstance(x, Tensor) else x
    y = x if x.dtype.is_floating else cast(check_real("resize", x, "images"), float32)
    for axis, n in zip((-3, -2), wanted, strict=True):
        y = apply("resample", y, name=name, axis=axis, size=n, method=_METHODS.index(kind),
                  antialias=antialias)
    return identity(y) if not isinstance(y, Tensor) else y


def _proportional(have: Any, wanted: Any) -> tuple[Any, Any]:
    """Return the largest size within `wanted` with the proportions of `have`, ties to even."""
    (height, width), (high, wide) = have, wanted
    if high * width <= wide * height:
        return high, _at_least_1(_rounded(high * width, height))
    return _at_least_1(_rounded(wide * height, width)), wide


def _rounded(a: Any, b: Any) -> Any:
    """Return ``a / b`` rounded to nearest, ties to even: up if a % b * 2 + odd > b."""
    return (2 * a + a // b % 2 + b - 1) // (2 * b)


def _at_least_1(n: Any) -> Any:
    return n if n > 1 else 1


def _nearest(before: Any, after: Any) -> Tensor:
    """Return floor((i + 1/2) * before / after), exactly."""
    return (cast(numbers(after), int64) * (2 * before) + before) // (2 * after)


@gradient("resample", saves="none")
def _(g, y, x, axis, size, method, antialias):
    return resample_grad(g, axis, static_shape(x)[axis], method, antialias)


def resample_grad(g: TensorLike, axis: int, size: int, method: int, antialias: bool) -> Tensor:
    """Return the gradient of a resizing of `size` pixels along `axis`: the transpose of its
    weights."""
    return apply("resample_grad", g, axis=axis, size=size, method=method, antialias=antialias)


@gradient("resample_grad", saves="none")
def _(gg, y, g, axis, size, method, antialias):
    return apply("resample", gg, axis=axis, size=static_shape(g)[axis], method=method,
                 antialias=antialias)


def extract_patches(images: TensorLike, sizes: TensorLike, strides: TensorLike, rates: TensorLike,
                    padding: Any, name: str | None = None) -> Tensor:
    """Extract the pixels of each window of an image as one vector.

    Parameters
    ----------
    images : Tensor, any dtype, shape (batch, space..., channels), 1 to 3 spatial dimensions
    sizes, strides, rates : int or ints
        Size of the windows, step between windows, and step between their pixels: one int for all
        spatial dimensions, one for each, or one for each dimension with 1 for batch and channels.
    padding : "VALID", "SAME" or pairs of ints, one per dimension of `images`

    Returns
    -------
    Tensor, shape (batch, number of windows..., pixels of a window * channels)

    Notes
    -----
    Padding is with zeros. The gradient of each pixel is summed in the order of windows.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(9), [1, 3, 3, 1])
    >>> df.image.extract_patches(x, 2, 1, 1, "VALID")[0, 0].tolist()
    [[0, 1, 3, 4], [1, 2, 4, 5]]
    """
    at, op = windowed(images, None, "extract_patches"), "extract_patches"
    rule, amounts = paddings(padding, at, op)
    return apply("extract_patches", at.x, name=name, **window_attrs(
        per_dimension(sizes, at, f"{op}: sizes"), per_dimension(strides, at, f"{op}: strides"),
        per_dimension(rates, at, f"{op}: rates"), amounts, rule))


@gradient("extract_patches", saves="none")
def _(g, y, x, window, strides, dilations, paddings, rule):
    return extract_patches_grad(g, static_shape(x), window, strides, dilations, paddings, rule)


def extract_patches_grad(g: TensorLike, shape: tuple[int, ...], *windows: Any) -> Tensor:
    """Return the gradient of `extract_patches`: each element of `g` added to its pixel."""
    return apply("extract_patches_grad", g, shape=shape, **window_attrs(*windows))


@gradient("extract_patches_grad", saves="none")
def _(gg, y, g, shape, window, strides, dilations, paddings, rule):
    return apply("extract_patches", gg,
                 **window_attrs(window, strides, dilations, paddings, rule))


def flip_left_right(image: TensorLike, name: str | None = None) -> Tensor:
    """Reverse the columns of an image or of a batch.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.flip_left_right([[[1], [2]]]).tolist()
    [[[2], [1]]]
    """
    x = _images(image, "flip_left_right")
    return reverse(x, [x.ndim - 2], name)


def flip_up_down(image: TensorLike, name: str | None = None) -> Tensor:
    """Reverse the rows of an image or of a batch.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.flip_up_down([[[1]], [[2]]]).tolist()
    [[[2]], [[1]]]
    """
    x = _images(image, "flip_up_down")
    return reverse(x, [x.ndim - 3], name)


def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Exchange the rows and columns of an image or of a batch.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.transpose(df.ones([2, 3, 1])).shape
    (3, 2, 1)
    """
    x = _images(image, "transpose")
    return permuted(x, (1, 0, 2) if x.ndim == 3 else (0, 2, 1, 3), name=name)


def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Tensor:
    """Rotate an image or a batch `k` times by 90 degrees counterclockwise.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.rot90([[[1], [2]]]).tolist()
    [[[2]], [[1]]]
    """
    x = _images(image, "rot90")
    chosen = by_axes(k % 4, 4, "rot90", lambda turns: rot90(x, turns, name))
    if chosen is not None:
        return chosen
    turns = k % 4
    if turns == 2:
        return reverse(x, [x.ndim - 3, x.ndim - 2], name)
    if turns == 0:
        return identity(x, name)
    y = transpose(x)
    return reverse(y, [y.ndim - (3 if turns == 1 else 2)], name)
