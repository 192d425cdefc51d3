"""Images encoded as files by Pillow. The functions run in Python at once."""

from __future__ import annotations

from io import BytesIO

from dualflow import dtypes
from dualflow._core import TensorBase, as_tensor
from dualflow._util.arguments import integer, shown
from dualflow._util.late_binding import late
from dualflow.errors import DTypeError, InvalidArgumentError, UnimplementedError
from dualflow.ops.image.formats import content, pillow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.string_tensor import StringTensor
    from dualflow.ops.types import TensorLike

__all__ = ["encode_jpeg", "encode_png"]


def _image(op: str, image: TensorLike, channels: tuple[int, ...], wide: bool = False) -> Any:
    """Return a tensor (height, width, channels) as an image of Pillow."""
    import numpy as np

    x: Any = as_tensor(image if isinstance(image, TensorBase) else np.asarray(image), None, op)
    if x.dtype is not dtypes.uint8 and not (wide and x.dtype is dtypes.uint16):
        raise DTypeError(f"{op}: image is {x.dtype.name}, expected uint8"
                         f"{' or uint16' * wide}; image.convert_image_dtype scales floats")
    if x.ndim != 3 or x.shape[2] not in channels or 0 in x.shape:
        raise InvalidArgumentError(f"{op}: image has shape {tuple(x.shape)}, expected (height, "
                                   f"width, {' or '.join(map(str, channels))})")
    array = x.numpy()
    if x.dtype is dtypes.uint16:
        if x.shape[2] != 1:
            raise UnimplementedError(f"{op}: Pillow writes uint16 images with 1 channel only, got "
                                     f"shape {tuple(x.shape)}")
        return pillow().fromarray(array[..., 0])       # mode I;16
    return pillow().fromarray(array[..., 0] if x.shape[2] == 1 else array)


def _text(file: BytesIO) -> StringTensor:
    made: StringTensor = late("string_tensor").StringTensor(file.getvalue())
    return made


def encode_jpeg(image: TensorLike, format: str = "", quality: int = 95, progressive: bool = False,
                optimize_size: bool = False, chroma_downsampling: bool = True,
                density_unit: str = "in", x_density: int = 300, y_density: int = 300,
                xmp_metadata: str | bytes = "", name: str | None = None) -> StringTensor:
    """Encode an image as a JPEG file.

    Parameters
    ----------
    image : Tensor, uint8, shape (height, width, 1 or 3)
    format : {"", "grayscale", "rgb"}
        Checks the number of channels.
    quality : int, 0 to 100
    progressive, optimize_size : bool
    chroma_downsampling : bool
        Whether to store colours at half the resolution.
    density_unit : {"in", "cm"}
    x_density, y_density : int
        Pixels per unit.
    xmp_metadata : str or bytes

    Returns
    -------
    StringTensor, shape ()

    Raises
    ------
    ModuleNotFoundError
        If Pillow is not installed: ``pip install 'dualflow[image]'``.
    DTypeError, InvalidArgumentError
        If dtype, shape or an option is not one of these.

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.encode_jpeg(df.zeros([8, 8, 3], df.uint8)).numpy()[:3]
    b'\\xff\\xd8\\xff'
    """
    op = "encode_jpeg"
    allowed = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}.get(format)
    if allowed is None or density_unit not in ("in", "cm"):
        raise InvalidArgumentError(
            f"{op}: format is {shown(format)} and density_unit {shown(density_unit)}, expected "
            "'', 'grayscale' or 'rgb', and 'in' or 'cm'")
    made, file = _image(op, image, allowed), BytesIO()
    scale = 1 if density_unit == "in" else 2.54
    quality = integer(quality, f"{op}: quality")
    if not 0 <= quality <= 100:
        raise InvalidArgumentError(f"{op}: quality is {quality}, expected 0 to 100")
    options: dict[str, Any] = {"xmp": content(op, xmp_metadata)} if xmp_metadata else {}
    # Pillow replaces the quality 0 by its default, and libjpeg treats 0 as 1.
    made.save(file, "JPEG", quality=max(quality, 1), progressive=progressive,
              optimize=optimize_size, subsampling=2 if chroma_downsampling else 0,
              dpi=(round(x_density * scale), round(y_density * scale)), **options)
    return _text(file)


def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> StringTensor:
    """Encode an image as a PNG file.

    Parameters
    ----------
    image : Tensor, uint8, shape (height, width, 1 to 4), or uint16, shape (height, width, 1)
        Channels: gray levels, with alpha; red, green and blue, with alpha.
    compression : int, -1 to 9
        Level of zlib; -1 is the default.

    Returns
    -------
    StringTensor, shape ()

    Raises
    ------
    ModuleNotFoundError
        If Pillow is not installed: ``pip install 'dualflow[image]'``.
    DTypeError, InvalidArgumentError
        If dtype, shape or compression is not one of these.
    UnimplementedError
        If the image is uint16 and has several channels.

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.encode_png(df.zeros([8, 8, 4], df.uint8)).numpy()[:4]
    b'\\x89PNG'
    """
    level = integer(compression, "encode_png: compression")
    if not -1 <= level <= 9:
        raise InvalidArgumentError(f"encode_png: compression is {level}, expected -1 to 9")
    made, file = _image("encode_png", image, (1, 2, 3, 4), wide=True), BytesIO()
    made.save(file, "PNG", compress_level=level)
    return _text(file)
