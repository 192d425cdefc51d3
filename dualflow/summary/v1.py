"""Summaries in the form of TensorFlow 1: serialised, for a writer to write later. A concatenation
of summaries is one summary.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.summary.tensorboard import part, proto
from dualflow.summary.values import COLORS, png, tensor_summary

__all__ = ["histogram", "image", "merge", "scalar", "text"]

SMALLEST, GROWTH, N_LIMITS = 1e-12, 1.1, 774        # of TensorFlow's buckets, up to 1e20


def scalar(tag: str, value: Any) -> bytes:
    """Return the summary of a scalar.

    Parameters
    ----------
    tag : str
    value : array of one element

    Examples
    --------
    >>> from dualflow.summary import v1
    >>> v1.scalar("loss", 0.5)
    b'\\n\\x0b\\n\\x04loss\\x15\\x00\\x00\\x00?'
    """

    number = real_array(tag, value)
    if number.size != 1:
        raise ShapeError(f"summary.scalar: {tag!r} has shape {number.shape}, expected one element")
    return one(tag, simple_value=float(number.item()))


def real_array(tag: str, values: Any) -> Any:
    """Return values as an array of real numbers."""
    import numpy

    x = numpy.asarray(values)
    if x.dtype.kind == "c":
        raise DTypeError(f"summary: {tag!r} is {x.dtype}, expected real numbers; "
                         "df.math.real(x) is the real part")
    return x


def histogram(tag: str, values: Any) -> bytes:
    """Return the summary of a distribution, in TensorFlow's buckets, each a tenth wider.

    Parameters
    ----------
    tag : str
    values : array
        Finite numbers.

    Examples
    --------
    >>> from dualflow.summary import v1
    >>> len(v1.histogram("w", [1., 2., 2.])) > 50
    True
    """
    import numpy

    x = real_array(tag, values).astype("float64").ravel()
    if not numpy.isfinite(x).all():
        raise InvalidArgumentError(f"Nan in summary histogram for: {tag}")
    up = SMALLEST * GROWTH ** numpy.arange(N_LIMITS)
    largest = numpy.finfo("float64").max
    limits = numpy.concatenate([[-largest], -up[::-1], [0.], up, [largest]])
    places = numpy.searchsorted(limits[:-1], x, side="right")
    counts = numpy.bincount(places, minlength=len(limits))
    # Of consecutive empty buckets only the last is written.
    shown = (counts > 0) | numpy.append(counts[1:] > 0, True)
    made = proto("summary").HistogramProto(
        min=x.min(initial=largest), max=x.max(initial=-largest), num=x.size, sum=x.sum(),
        sum_squares=(x * x).sum(), bucket_limit=limits[shown], bucket=counts[shown])
    return one(tag, histo=made)


def image(tag: str, images: Any, max_outputs: int = 3) -> bytes:
    """Return the summary of images.

    Parameters
    ----------
    tag : str
    images : array of shape (images, height, width, channels)
        uint8, or floats, which are scaled so that the largest becomes 255, and 0 becomes 0, or 127
        if some are negative.
    max_outputs : int, default 3

    Examples
    --------
    >>> import numpy as np
    >>> from dualflow.summary import v1
    >>> b"PNG" in v1.image("x", np.ones([1, 2, 2, 3]))
    True
    """

    x = real_array(tag, images)
    if x.ndim != 4 or x.shape[3] not in COLORS:
        raise ShapeError(f"summary.image: {tag!r} has shape {x.shape}, expected (images, height, "
                         "width, 1 to 4 channels)")
    parts = []
    for k, one_image in enumerate(x[:max_outputs]):
        height, width, channels = one_image.shape
        made = proto("summary").Summary.Image(
            height=height, width=width, colorspace=channels,
            encoded_image_string=png(scaled(one_image)))
        parts.append(one(f"{tag}/image" if max_outputs == 1 else f"{tag}/image/{k}", image=made))
    return merge(parts)


def scaled(pixels: Any) -> Any:
    """Convert floats to uint8 with the scaling of TensorFlow 1."""
    if pixels.dtype == "uint8":
        return pixels
    pixels = pixels.astype("float32")
    low, high = pixels.min(), pixels.max()
    offset = 128. if low < 0 else 0.
    span = max(abs(low), abs(high))
    scale = 0. if span < 1e-9 else (127. if low < 0 else 255.) / span
    return (pixels * scale + offset).astype("uint8")


def text(tag: str, value: Any) -> bytes:
    """Return the summary of text.

    Parameters
    ----------
    tag : str
    value : bytes, str, or an array of them

    Examples
    --------
    >>> from dualflow.summary import v1
    >>> b"hello" in v1.text("note", "hello")
    True
    """
    import numpy

    metadata = part("plugins.text.metadata").create_summary_metadata(
        display_name=None, description=None)
    made = tensor_summary(tag, numpy.asarray(value, dtype=object), metadata)
    return bytes(made.SerializeToString())


def merge(summaries: Iterable[bytes]) -> bytes:
    """Merge summaries into one.

    Parameters
    ----------
    summaries : iterable of bytes

    Examples
    --------
    >>> from dualflow.summary import v1
    >>> v1.merge([v1.scalar("a", 1.), v1.scalar("b", 2.)]).count(b"\\n")
    4
    """
    return b"".join(summaries)


def one(tag: str, **value: Any) -> bytes:
    """Return a summary with one value."""
    made = proto("summary").Summary()
    made.value.add(tag=tag, **value)
    return bytes(made.SerializeToString())
