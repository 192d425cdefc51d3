"""Summaries of values: scalars, histograms, images and text. In a traced function each summary is
written in each run, in order with other side effects.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

from dualflow._core import Symbol, as_tensor, current_graph
from dualflow._util.arguments import shown
from dualflow.dtypes import bool_, int64
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.graph.ir import Graph
from dualflow.ops.control_flow.registered import call_python
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.types import TensorLike
from dualflow.summary.tensorboard import part, proto
from dualflow.summary.writer import DEFAULTS, holds, plain

__all__ = ["graph", "histogram", "image", "scalar", "text", "write"]

COLORS = {1: 0, 2: 4, 3: 2, 4: 6}         # PNG's color types by channels


def emit(name: str, kind: str, values: list[Any], step: Any, make: Callable[..., Any]) -> Any:
    """Write the Summary that `make` returns for arrays of the values, now or in each graph run."""
    writer, condition = DEFAULTS.captured("writer"), DEFAULTS.captured("condition")
    step = DEFAULTS.captured("step") if step is None else step
    condition = condition() if callable(condition) else condition
    inputs = [as_tensor(x, None, kind) for x in values]
    n = len(inputs)
    places = {}
    for what, value in (("step", step), ("condition", condition)):
        if value is not None:
            places[what] = len(inputs)
            dtype = None if hasattr(value, "dtype") else int64 if what == "step" else bool_
            inputs.append(as_tensor(value, dtype, kind))

    def write(*xs: Any) -> tuple[bool]:
        to = DEFAULTS.now("writer") if writer is None else writer
        at = {what: xs[k].numpy() for what, k in places.items()}
        if to is None or not holds(at.get("condition", DEFAULTS.now("condition"))):
            return (False,)
        when = plain(at.get("step", DEFAULTS.now("step")))
        if when is None:
            raise InvalidArgumentError(f"{kind}: {name!r} has no step; give step=, or set one with "
                                       "df.summary.experimental.set_step")
        to.add_summary(make(*[x.numpy() for x in xs[:n]]), when)
        return (True,)

    return call_python(kind, write, inputs, [(bool_, ())], None, name)[0]


def scalar(name: str, data: TensorLike, step: TensorLike | None = None,
           description: str | None = None) -> Any:
    """Write a number.

    Parameters
    ----------
    name : str
        The tag in TensorBoard.
    data : Tensor of shape (), or number
    step : int or Tensor, optional
        By default the step of the writer or of `df.summary.experimental.set_step`.
    description : str, optional
        Markdown.

    Returns
    -------
    bool Tensor of shape ()
        True if written: there is a default writer, and `record_if` does not prevent it.

    Raises
    ------
    InvalidArgumentError
        If there is a writer and no step.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> writer = df.summary.create_file_writer(tempfile.mkdtemp())
    >>> @df.function
    ... def train(x, step):
    ...     loss = df.reduce_mean(x * x)
    ...     df.summary.scalar("loss", loss, step=step)
    ...     return loss
    >>> with writer.as_default():
    ...     for step in df.range(3):
    ...         loss = train(df.ones([4]), step)
    """
    x = check_real("scalar", as_tensor(data, None, "scalar"))
    if x.ndim:
        raise ShapeError(f"scalar: {name!r} is {x.dtype} {x.shape}, expected shape ()")

    def make(value: Any) -> Any:
        return part("plugins.scalar.summary_v2").scalar_pb(name, value, description)

    return emit(name, "scalar", [x], step, make)


def histogram(name: str, data: TensorLike, step: TensorLike | None = None,
              buckets: int | None = None, description: str | None = None) -> Any:
    """Write a histogram of the elements of a tensor.

    Parameters
    ----------
    name : str
    data : Tensor
    step : int or Tensor, optional
    buckets : int, default 30
    description : str, optional

    Returns
    -------
    bool Tensor of shape ()
        True if written.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> with df.summary.create_file_writer(tempfile.mkdtemp()).as_default(step=0):
    ...     df.summary.histogram("weights", df.random.normal([100])).item()
    True
    """
    def make(values: Any) -> Any:
        return part("plugins.histogram.summary_v2").histogram_pb(
            name, values.astype("float64"), buckets, description)

    x = check_real("histogram", as_tensor(data, None, "histogram"))
    return emit(name, "histogram", [x], step, make)


def image(name: str, data: TensorLike, step: TensorLike | None = None, max_outputs: int = 3,
          description: str | None = None) -> Any:
    """Write images.

    Parameters
    ----------
    name : str
    data : Tensor of shape (images, height, width, channels)
        Floats from 0 to 1, or uint8; grey (1 channel), grey and alpha, RGB, or RGBA.
    step : int or Tensor, optional
    max_outputs : int, default 3
        Maximal number of images to write.
    description : str, optional

    Returns
    -------
    bool Tensor of shape ()
        True if written.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> with df.summary.create_file_writer(tempfile.mkdtemp()).as_default(step=0):
    ...     df.summary.image("noise", df.random.uniform([2, 8, 8, 3])).item()
    True
    """
    x = check_real("image", as_tensor(data, None, "image"))
    if x.ndim != 4 or x.shape[3] not in COLORS:
        raise ShapeError(f"image: {name!r} is {x.dtype} {x.shape}, expected shape "
                         "(images, height, width, 1 to 4 channels)")

    def make(pixels: Any) -> Any:
        metadata = part("plugins.image.metadata").create_summary_metadata(
            display_name=None, description=description)
        return image_summary(name, pixels[:max_outputs], metadata)

    return emit(name, "image", [x], step, make)


def image_summary(name: str, pixels: Any, metadata: Any) -> Any:
    """Return a Summary of images: width, height, then each image as PNG."""
    if pixels.dtype != "uint8":
        pixels = (pixels.astype("float32") * 255.5).clip(0, 255).astype("uint8")
    height, width = pixels.shape[1:3]
    parts = [str(width).encode(), str(height).encode(), *map(png, pixels)]
    return tensor_summary(name, parts, metadata)


def tensor_summary(name: str, value: Any, metadata: Any) -> Any:
    """Return a Summary with a tensor."""
    made = proto("summary").Summary()
    tensor = part("util.tensor_util").make_tensor_proto(value)
    made.value.add(tag=name, metadata=metadata, tensor=tensor)
    return made


def png(pixels: Any) -> bytes:
    """Encode an image, uint8 (height, width, channels), as PNG."""
    height, width, channels = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))

    rows = b"".join([b"\0" + row.tobytes() for row in pixels])       # 0: no filter
    header = struct.pack(">IIBBBBB", width, height, 8, COLORS[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


def text(name: str, data: Any, step: TensorLike | None = None,
         description: str | None = None) -> Any:
    """Write text, which TensorBoard displays as Markdown.

    Parameters
    ----------
    name : str
    data : str, or nested lists or an array of them
        A list is a column of a table, and a list of lists is a table.
    step : int or Tensor, optional
    description : str, optional

    Returns
    -------
    bool Tensor of shape ()
        True if written.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> with df.summary.create_file_writer(tempfile.mkdtemp()).as_default(step=0):
    ...     df.summary.text("notes", ["learning rate", "**0.1**"]).item()
    True
    """
    if isinstance(data, Symbol) or not is_text(data):
        raise DTypeError(f"text: {name!r} is {shown(data)}, expected a str, or lists of them")

    def make() -> Any:
        import numpy

        return part("plugins.text.summary_v2").text_pb(name, numpy.array(data), description)

    return emit(name, "text", [], step, make)


def is_text(data: Any) -> bool:
    """Return True if data is text, or nested lists or an array of text."""
    if isinstance(data, str | bytes):
        return True
    data = data.tolist() if hasattr(data, "tolist") else data
    return (isinstance(data, str | bytes)
            or (isinstance(data, list | tuple) and all(map(is_text, data))))


def write_bytes(tag: str, data: bytes, step: Any, metadata: Any) -> Any:
    """Write a string of bytes under a tag, for a plugin of TensorBoard."""
    return emit(tag, "write", [], step, lambda: tensor_summary(tag, data, metadata))


def write(tag: str, tensor: TensorLike, step: TensorLike | None = None, metadata: Any = None,
          name: str | None = None) -> Any:
    """Write a tensor under a tag, for a plugin of TensorBoard.

    Parameters
    ----------
    tag : str
    tensor : Tensor
    step : int or Tensor, optional
    metadata : SummaryMetadata, optional
        Names the plugin.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    bool Tensor of shape ()
        True if written.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> with df.summary.create_file_writer(tempfile.mkdtemp()).as_default(step=0):
    ...     df.summary.write("mine", df.ones([2])).item()
    True
    """
    return emit(tag, "write", [tensor], step, lambda x: tensor_summary(tag, x, metadata))


def graph(graph_data: Any) -> bool:
    """Write a graph as the graph of the run.

    Parameters
    ----------
    graph_data : Graph, ConcreteFunction or GraphDef
        A `df.Graph`; a concrete function or its `graph`, as traced; or the result of
        `fn.graph_for(...)`, which is the graph after the passes.

    Returns
    -------
    bool
        True if written: there is a default writer.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> f = df.function(lambda x: df.tanh(x) * 2.)
    >>> with df.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     df.summary.graph(f.get_concrete_function(df.TensorSpec([None, 3])).graph)
    True
    """
    if current_graph() is not None and not isinstance(graph_data, Graph):
        raise InvalidArgumentError("graph: it is written at once, not in a traced function")
    writer = DEFAULTS.now("writer")
    if writer is None or not holds(DEFAULTS.now("condition")):
        return False
    writer.add_graph(graph_data)
    return True
