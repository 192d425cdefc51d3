"""Image files decoded by Pillow. The functions run in Python at once; in a traced function, an
image is a constant."""

from __future__ import annotations

from io import BytesIO

from dualflow import dtypes
from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import integer, shown
from dualflow.dtypes import DType, as_dtype
from dualflow.errors import DTypeError, InvalidArgumentError, UnimplementedError
from dualflow.ops.array.creation import constant
from dualflow.ops.image.color import convert_image_dtype
from dualflow.ops.image.formats import MODES, content, pillow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["decode_and_crop_jpeg", "decode_bmp", "decode_gif", "decode_image", "decode_jpeg",
           "decode_png", "extract_jpeg_shape", "is_jpeg"]

CHANNELS = {"1": 1, "L": 1, "LA": 2, "PA": 4, "RGBA": 4}        # by mode; 3 for all others
WIDE = ("I;16", "I;16B", "I;16L", "I;16N", "I")         # modes of 16-bit files with one channel


class _Opened:
    """A context: the image in `contents`; errors of Pillow inside become InvalidArgumentError."""

    def __init__(self, op: str, contents: Any, formats: str) -> None:
        self.op, self.formats, self.data = op, formats, content(op, contents)

    def __enter__(self) -> Any:
        library = pillow()
        self.errors = (OSError, SyntaxError, ValueError, EOFError,
                       library.DecompressionBombError)
        try:
            return library.open(BytesIO(self.data), formats=self.formats.split())
        except self.errors as error:
            self.refuse(error)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, self.errors) and not isinstance(error, InvalidArgumentError):
            self.refuse(error)

    def refuse(self, error: Any) -> None:
        why = "" if type(error).__name__ == "UnidentifiedImageError" else f": {error}"
        raise InvalidArgumentError(
            f"{self.op}: {len(self.data)} bytes are not an image of the formats "
            f"{', '.join(self.formats.split())}{why}") from None


def _channels(op: str, channels: Any, allowed: tuple[int, ...]) -> int:
    n = integer(0 if channels is None else channels, f"{op}: channels")
    if n not in allowed:
        raise InvalidArgumentError(f"{op}: channels is {n}, expected one of "
                                   f"{', '.join(map(str, allowed))}")
    return n


def _pixels(op: str, image: Any, channels: int, wide: bool = False) -> Any:
    """Return an array (height, width, channels) of uint8, or of uint16 if `wide`."""
    import numpy as np

    if image.mode in WIDE:
        gray = np.asarray(image).astype(np.uint16)[..., None]
        if channels in (2, 4):
            gray = np.concatenate([np.repeat(gray, channels - 1, 2),
                                   np.full_like(gray, 65535)], 2)
        elif channels == 3:
            gray = np.repeat(gray, 3, 2)
        return gray if wide else (gray >> 8).astype(np.uint8)
    if wide and any([";16" in str(tile[3]) for tile in image.tile]):
        raise UnimplementedError(f"{op}: Pillow reads 16-bit images with several channels as "
                                 "uint8 only")
    own = CHANNELS.get(image.mode, 4 if "transparency" in image.info and image.mode == "P" else 3)
    mode = MODES[channels or own]
    found = np.asarray(image if image.mode == mode else image.convert(mode))
    found = found.reshape(image.height, image.width, -1)
    return found.astype(np.uint16) * 257 if wide else found


def decode_jpeg(contents: Any, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
                try_recover_truncated: bool = False, acceptable_fraction: float = 1,
                dct_method: str = "", name: str | None = None) -> Tensor:
    """Decode a JPEG file, or a PNG file or the first frame of a GIF file.

    Parameters
    ----------
    contents : bytes or scalar string tensor
    channels : {0, 1, 3}
        1 converts to gray levels, 3 to red, green and blue; 0 takes the number of the file.
    ratio : {1, 2, 4, 8}
        Divisor of height and width of a JPEG file.
    fancy_upscaling, dct_method
        Ignored: Pillow has one way to decode.
    try_recover_truncated, acceptable_fraction
        Only their defaults are supported: incomplete files raise.

    Returns
    -------
    Tensor, uint8, shape (height, width, channels)

    Raises
    ------
    ModuleNotFoundError
        If Pillow is not installed: ``pip install 'dualflow[image]'``.
    InvalidArgumentError
        If the bytes are not such an image.

    Examples
    --------
    >>> import dualflow as df
    >>> data = df.io.encode_jpeg(df.fill([8, 16, 3], df.constant(200, df.uint8)))
    >>> image = df.io.decode_jpeg(data)
    >>> image.shape, image[0, 0].tolist()
    ((8, 16, 3), [200, 200, 200])
    """
    op = "decode_jpeg"
    if try_recover_truncated:
        raise UnimplementedError(f"{op}: try_recover_truncated is not supported")
    if ratio not in (1, 2, 4, 8):
        raise InvalidArgumentError(f"{op}: ratio is {shown(ratio)}, expected 1, 2, 4 or 8")
    n = _channels(op, channels, (0, 1, 3))
    with _Opened(op, contents, "JPEG PNG GIF") as image:
        if image.format == "JPEG":      # scaled, and gray levels taken, by the decoder
            image.draft(MODES[n] if n else None,
                        (max(image.width // ratio, 1), max(image.height // ratio, 1)))
        return constant(_pixels(op, image, n))


def decode_png(contents: Any, channels: int = 0, dtype: DTypeLike = dtypes.uint8,
               name: str | None = None) -> Tensor:
    """Decode a PNG file, or a JPEG file or the first frame of a GIF file.

    Parameters
    ----------
    contents : bytes or scalar string tensor
    channels : {0, 1, 2, 3, 4}
        1: gray levels, 3: red, green and blue, 2 and 4: with alpha; 0 takes the number of the
        file.
    dtype : uint8 or uint16
        uint16 preserves the values of 16-bit files with one channel; those with more channels
        raise.

    Returns
    -------
    Tensor, of `dtype`, shape (height, width, channels)

    Raises
    ------
    ModuleNotFoundError
        If Pillow is not installed: ``pip install 'dualflow[image]'``.
    InvalidArgumentError
        If the bytes are not such an image.
    UnimplementedError
        If `dtype` is uint16 and Pillow does not preserve the values.

    Examples
    --------
    >>> import dualflow as df
    >>> data = df.io.encode_png(df.constant([[[1, 2, 3], [4, 5, 6]]], df.uint8))
    >>> df.io.decode_png(data).tolist()
    [[[1, 2, 3], [4, 5, 6]]]
    """
    return _decoded("decode_png", contents, _channels("decode_png", channels, (0, 1, 2, 3, 4)),
                    _depth("decode_png", dtype), "PNG JPEG GIF")


def _depth(op: str, dtype: DTypeLike) -> DType:
    wanted = as_dtype(dtype)
    if wanted is not dtypes.uint8 and wanted is not dtypes.uint16:
        raise DTypeError(f"{op}: dtype is {wanted.name}, expected uint8 or uint16")
    return wanted


def _decoded(op: str, contents: Any, channels: int, dtype: DType, formats: str) -> Tensor:
    with _Opened(op, contents, formats) as image:
        return constant(_pixels(op, image, channels, dtype is dtypes.uint16))


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """Decode a BMP file.

    Parameters
    ----------
    contents : bytes or scalar string tensor
    channels : {0, 1, 3, 4}
        1: gray levels, 3: red, green and blue, 4: with alpha; 0 takes the number of the file.

    Raises
    ------
    ModuleNotFoundError
        If Pillow is not installed: ``pip install 'dualflow[image]'``.
    InvalidArgumentError
        If the bytes are not such an image.

    Examples
    --------
    >>> import dualflow as df, io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (2, 1), (1, 2, 3)).save(file, "BMP")
    >>> df.io.decode_bmp(file.getvalue()).tolist()
    [[[1, 2, 3], [1, 2, 3]]]
    """
    n = _channels("decode_bmp", channels, (0, 1, 3, 4))
    return _decoded("decode_bmp", contents, n, dtypes.uint8, "BMP")


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """Decode all frames of a GIF file.

    Parameters
    ----------
    contents : bytes or scalar string tensor

    Returns
    -------
    Tensor, uint8, shape (frames, height, width, 3)

    Raises
    ------
    ModuleNotFoundError
        If Pillow is not installed: ``pip install 'dualflow[image]'``.
    InvalidArgumentError
        If the bytes are not such an image.

    Examples
    --------
    >>> import dualflow as df, io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (2, 1), (255, 0, 0)).save(file, "GIF")
    >>> df.io.decode_gif(file.getvalue()).tolist()
    [[[[255, 0, 0], [255, 0, 0]]]]
    """
    with _Opened("decode_gif", contents, "GIF") as image:
        return constant(_frames("decode_gif", image))


def _frames(op: str, image: Any) -> Any:
    import numpy as np

    frames = []
    for k in range(image.n_frames):
        image.seek(k)
        frames.append(_pixels(op, image, 3))
    return np.stack(frames)


def decode_image(contents: Any, channels: int | None = None, dtype: DTypeLike = dtypes.uint8,
                 name: str | None = None, expand_animations: bool = True) -> Tensor:
    """Decode a BMP, GIF, JPEG or PNG file.

    Parameters
    ----------
    contents : bytes or scalar string tensor
    channels : {0, 1, 3, 4}, optional
        1: gray levels, 3: red, green and blue, 4: with alpha; 0 takes the number of the file.
    dtype : dtype, default uint8
        Values are scaled to its range, as by `image.convert_image_dtype`.
    expand_animations : bool
        Whether to return all frames of a GIF file, or only the first.

    Returns
    -------
    Tensor, of `dtype`, shape (height, width, channels), or (frames, height, width, 3) of a GIF
    file

    Raises
    ------
    ModuleNotFoundError
        If Pillow is not installed: ``pip install 'dualflow[image]'``.
    InvalidArgumentError
        If the bytes are not such an image.

    Examples
    --------
    >>> import dualflow as df
    >>> data = df.io.encode_png(df.constant([[[0], [255]]], df.uint8))
    >>> df.io.decode_image(data, channels=3, dtype=df.float32).tolist()
    [[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]]
    """
    op, wanted = "decode_image", as_dtype(dtype)
    n = _channels(op, channels, (0, 1, 3, 4))
    wide = wanted is dtypes.uint16
    with _Opened(op, contents, "BMP GIF JPEG PNG") as image:
        if image.format == "GIF":
            if n in (1, 4):
                raise InvalidArgumentError(f"{op}: channels is {n}, expected 0 or 3 for GIF files")
            found = _frames(op, image) if expand_animations else _pixels(op, image, 3)
        else:
            if image.format == "JPEG" and n == 1:
                image.draft("L", image.size)
            found = _pixels(op, image, n, wide)
        return convert_image_dtype(constant(found), wanted)


def decode_and_crop_jpeg(contents: Any, crop_window: TensorLike, channels: int = 0,
                         ratio: int = 1, fancy_upscaling: bool = True,
                         try_recover_truncated: bool = False, acceptable_fraction: float = 1,
                         dct_method: str = "", name: str | None = None) -> Tensor:
    """Decode a JPEG file and cut out a part.

    Parameters
    ----------
    contents : bytes or scalar string tensor
    crop_window : ints
        First row, first column, height, width.
    channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
        As in `decode_jpeg`.

    Raises
    ------
    InvalidArgumentError
        If the window is not inside the image, or the bytes are not such an image.

    Examples
    --------
    >>> import dualflow as df
    >>> data = df.io.encode_jpeg(df.zeros([8, 16, 3], df.uint8))
    >>> df.io.decode_and_crop_jpeg(data, [1, 2, 3, 4]).shape
    (3, 4, 3)
    """
    whole = decode_jpeg(contents, channels, ratio, fancy_upscaling, try_recover_truncated,
                        acceptable_fraction, dct_method)
    y, x, height, width = [int(n) for n in as_tensor(crop_window).tolist()]
    if min(y, x) < 0 or min(height, width) < 1 or (
            y + height > whole.shape[0] or x + width > whole.shape[1]):
        raise InvalidArgumentError(f"decode_and_crop_jpeg: crop_window is {shown(crop_window)}, "
                                   f"expected a part of {whole.shape[0]} x {whole.shape[1]}")
    made: Tensor = whole[y:y + height, x:x + width]
    return made


def extract_jpeg_shape(contents: Any, output_type: DTypeLike = dtypes.int32,
                       name: str | None = None) -> Tensor:
    """Return height, width and channels of a JPEG file without decoding it.

    Parameters
    ----------
    contents : bytes or scalar string tensor
    output_type : int32 or int64

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.extract_jpeg_shape(df.io.encode_jpeg(df.zeros([8, 16, 1], df.uint8))).tolist()
    [8, 16, 1]
    """
    with _Opened("extract_jpeg_shape", contents, "JPEG") as image:
        return constant([image.height, image.width, len(image.getbands())], as_dtype(output_type))


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Return True if bytes begin like a JPEG file.

    Parameters
    ----------
    contents : bytes or scalar string tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.is_jpeg(b"text").item()
    False
    """
    return constant(content("is_jpeg", contents).startswith(b"\xff\xd8\xff"))
