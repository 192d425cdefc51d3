"""`tf.image`: images under the names of TensorFlow 1."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow.compat.v1 import random_ops
from dualflow.compat.v1.default_graph import default_graph, of_the_graph, recorded
from dualflow.compat.v1.defaults import Mode
from dualflow.compat.v1.dtypes import string
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.ops import convert
from dualflow.errors import InvalidArgumentError, UnimplementedError

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "central_crop", "convert_image_dtype", "crop_to_bounding_box",
    "decode_bmp", "decode_gif", "decode_image", "decode_jpeg", "decode_png", "encode_jpeg",
    "encode_png", "flip_left_right", "flip_up_down", "grayscale_to_rgb", "hsv_to_rgb",
    "non_max_suppression", "pad_to_bounding_box", "per_image_standardization", "psnr",
    "random_brightness", "random_contrast", "random_flip_left_right", "random_flip_up_down",
    "random_hue", "random_saturation", "resize", "resize_bilinear",
    "resize_image_with_crop_or_pad", "resize_image_with_pad", "resize_images",
    "resize_nearest_neighbor", "rgb_to_grayscale", "rgb_to_hsv", "rot90", "sobel_edges", "ssim",
    "total_variation", "transpose_image"]


class ResizeMethod:
    """Numbers of the resizing methods."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


NAMES = {ResizeMethod.BILINEAR: "bilinear", ResizeMethod.NEAREST_NEIGHBOR: "nearest",
         ResizeMethod.BICUBIC: "bicubic", ResizeMethod.AREA: "area"}


def in_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of `dualflow.image`: it records in the current graph."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [x.__df_tensor__() if hasattr(x, "slot") else x for x in args]
        return function(*given, **kwargs)

    call.__module__ = function.__module__       # so that its doctests run there
    return recorded(call)


adjust_brightness = in_graph(df.image.adjust_brightness)
adjust_contrast = in_graph(df.image.adjust_contrast)
adjust_gamma = in_graph(df.image.adjust_gamma)
adjust_hue = in_graph(df.image.adjust_hue)
adjust_saturation = in_graph(df.image.adjust_saturation)
central_crop = in_graph(df.image.central_crop)
convert_image_dtype = in_graph(df.image.convert_image_dtype)
crop_to_bounding_box = in_graph(df.image.crop_to_bounding_box)
flip_left_right = in_graph(df.image.flip_left_right)
flip_up_down = in_graph(df.image.flip_up_down)
grayscale_to_rgb = in_graph(df.image.grayscale_to_rgb)
hsv_to_rgb = in_graph(df.image.hsv_to_rgb)
non_max_suppression = in_graph(df.image.non_max_suppression)
pad_to_bounding_box = in_graph(df.image.pad_to_bounding_box)
per_image_standardization = in_graph(df.image.per_image_standardization)
psnr = in_graph(df.image.psnr)
resize_image_with_crop_or_pad = in_graph(df.image.resize_with_crop_or_pad)
resize_image_with_pad = in_graph(df.image.resize_with_pad)
rgb_to_grayscale = in_graph(df.image.rgb_to_grayscale)
rgb_to_hsv = in_graph(df.image.rgb_to_hsv)
rot90 = in_graph(df.image.rot90)
sobel_edges = in_graph(df.image.sobel_edges)
ssim = in_graph(df.image.ssim)
total_variation = in_graph(df.image.total_variation)
transpose_image = in_graph(df.image.transpose)


# --- random changes ----------------------------------------------------------------------------


def with_key(name: str) -> Callable[..., Any]:
    """Return a random function whose key is drawn in each run."""
    public, keyed = getattr(df.image, name), getattr(df.image, f"stateless_{name}")

    @functools.wraps(public)
    def call(image: Any, *args: Any, seed: int | None = None, **kwargs: Any) -> Any:
        n_own = public.__code__.co_argcount - 2         # arguments between image and seed
        if len(args) > n_own:
            args, seed = args[:n_own], args[n_own]
        return keyed(convert(image), *args, seed=random_ops.draw(seed, name), **kwargs)

    call.__module__ = public.__module__
    return recorded(call)


random_brightness = with_key("random_brightness")
random_contrast = with_key("random_contrast")
random_flip_left_right = with_key("random_flip_left_right")
random_flip_up_down = with_key("random_flip_up_down")
random_hue = with_key("random_hue")
random_saturation = with_key("random_saturation")


# --- resizing ----------------------------------------------------------------------------------


@recorded
def resize_images(images: Any, size: Any, method: Any = ResizeMethod.BILINEAR,
                  align_corners: bool = False, preserve_aspect_ratio: bool = False,
                  name: str | None = None) -> Any:
    """Resize images as TensorFlow 1 does: the first pixel of the result is the first of the image.

    Parameters
    ----------
    images : Tensor, shape (height, width, channels) or (batch, height, width, channels)
    size : pair of int
    method : int of `ResizeMethod`, or its name in TensorFlow 2
        Bilinear, nearest neighbour or area.
    align_corners : bool
        Whether the last pixel of the result is the last of the image.
    preserve_aspect_ratio : bool
        Only False is supported.

    Returns
    -------
    Tensor, float32 unless nearest or without a change of size

    Raises
    ------
    UnimplementedError
        For other methods and for `preserve_aspect_ratio`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     y = tf.image.resize_images([[[0.], [4.]]], [1, 4])
    ...     print(sess.run(y).ravel())
    [0. 2. 4. 4.]
    """
    x, kind = convert(images), NAMES.get(method, method)
    if kind not in NAMES.values():
        raise InvalidArgumentError(f"resize_images: method is {method!r}, expected a ResizeMethod")
    if preserve_aspect_ratio or kind == "bicubic" or (kind == "area" and align_corners):
        raise UnimplementedError("resize_images: bicubic, preserve_aspect_ratio, and area with "
                                 "align_corners are not supported")
    height, width = (int(n) for n in size)
    if [*x.shape[-3:-1]] == [height, width]:
        return df.identity(x, name=name)
    if kind == "area":
        return df.image.resize(x, [height, width], kind, name=name)
    x = x if kind == "nearest" or x.dtype.is_floating else df.cast(x, df.float32)
    for axis, n in ((x.ndim - 3, height), (x.ndim - 2, width)):
        x = _legacy(x, axis, n, kind, align_corners)
    return df.identity(x, name=name)


def _legacy(x: Any, axis: int, n: int, kind: str, align: bool) -> Any:
    """Resize one axis; pixel i of the result is at i * scale."""
    before = df.shape(x)[axis]
    last = df.cast(before - 1, df.float32)
    scale = last / (n - 1) if align and n > 1 else df.cast(before, df.float32) / n
    at = df.cast(df.range(n), df.float32) * scale
    if kind == "nearest":
        at = df.floor(at + 0.5) if align else df.floor(at)
        return df.gather(x, df.cast(df.minimum(at, last), df.int32), axis=axis)
    low = df.minimum(df.floor(at), last)
    first = df.gather(x, df.cast(low, df.int32), axis=axis)
    second = df.gather(x, df.cast(df.minimum(low + 1, last), df.int32), axis=axis)
    share = df.reshape(df.cast(at - low, x.dtype), [-1] + [1] * (x.ndim - 1 - axis))
    return first + (second - first) * share


resize = resize_images


def resize_bilinear(images: Any, size: Any, align_corners: bool = False,
                    name: str | None = None) -> Any:
    """Call `resize_images` with the bilinear method.

    Parameters
    ----------
    images, size, align_corners
        As in `resize_images`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.image.resize_bilinear([[[[0.], [4.]]]], [1, 3], True)).ravel())
    [0. 2. 4.]
    """
    return resize_images(images, size, ResizeMethod.BILINEAR, align_corners, name=name)


def resize_nearest_neighbor(images: Any, size: Any, align_corners: bool = False,
                            name: str | None = None) -> Any:
    """Call `resize_images` with the nearest neighbour method.

    Parameters
    ----------
    images, size, align_corners
        As in `resize_images`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.image.resize_nearest_neighbor([[[[0], [4]]]], [1, 4])).ravel())
    [0 0 4 4]
    """
    return resize_images(images, size, ResizeMethod.NEAREST_NEIGHBOR, align_corners, name=name)


# --- formats -----------------------------------------------------------------------------------


def decoding(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a decoder: constants are decoded at once, other strings when they are fetched."""
    @functools.wraps(function)
    def decode(contents: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(contents, HostTensor):
            return function(contents, *args, **kwargs)
        if contents.compute is not None and not contents.inputs:
            return function(contents.compute(None), *args, **kwargs)
        return HostTensor(default_graph(), function.__name__, function.__name__, df.uint8,
                          [contents], lambda session, data: function(data, *args, **kwargs).numpy(),
                          None)

    decode.__module__ = function.__module__
    return recorded(decode)


def encoding(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an encoder: its string is computed when it is fetched."""
    @functools.wraps(function)
    def encode(image: Any, *args: Any, **kwargs: Any) -> Any:
        if Mode.eager:
            return function(image, *args, **kwargs)
        return HostTensor(default_graph(), function.__name__, function.__name__, string,
                          [of_the_graph(convert(image))],
                          lambda session, pixels: function(pixels, *args, **kwargs).numpy())

    encode.__module__ = function.__module__
    return recorded(encode)


decode_bmp = decoding(df.image.decode_bmp)
decode_gif = decoding(df.image.decode_gif)
decode_image = decoding(df.image.decode_image)
decode_jpeg = decoding(df.image.decode_jpeg)
decode_png = decoding(df.image.decode_png)
encode_jpeg = encoding(df.image.encode_jpeg)
encode_png = encoding(df.image.encode_png)


def __dir__() -> list[str]:
    return __all__
