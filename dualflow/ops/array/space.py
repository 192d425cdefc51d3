"""Rearrangement of blocks of pixels into channels or the batch, and back. Composed of reshapes and
transposes, including gradients."""

from __future__ import annotations

import math

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import integer, shown
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import ints, is_open, reshape, same_size, static_shape, transpose
from dualflow.ops.array.slicing import BLOCK, SLICE, cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["batch_to_space", "depth_to_space", "space_to_batch", "space_to_depth"]


def _four(input: TensorLike, block_size: int, data_format: str,
          op: str) -> tuple[TensorBase, int, bool]:
    """Return the tensor, the block, and whether channels are the second dimension."""
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, op)
    block = integer(block_size, f"{op}: block_size")
    if x.ndim != 4 or block < 1:
        raise ShapeError(f"{op}: input is {x.dtype} {x.shape} and block_size {block}, expected 4 "
                         "dimensions and a block of 1 or more")
    if not isinstance(data_format, str) or data_format not in ("NHWC", "NCHW"):
        raise InvalidArgumentError(f"{op}: data_format is {shown(data_format)}, expected 'NHWC' or "
                                   "'NCHW'")
    return x, block, data_format == "NCHW"


def _parts(n: Any, block: int, what: str, x: TensorBase) -> Any:
    """Return n / block; raise if the block does not divide n."""
    if n != -1 and not same_size(n % block, 0):
        raise ShapeError(f"{what} of {x.dtype} {x.shape} is {n}, expected a multiple of {block}")
    return -1 if n == -1 else n // block


def space_to_depth(input: TensorLike, block_size: int, data_format: str = "NHWC",
                   name: str | None = None) -> Tensor:
    """Move blocks of pixels into channels: the image becomes `block_size` times smaller.

    Parameters
    ----------
    input : Tensor, any dtype, shape (batch, height, width, channels)
    block_size : int
        Divides height and width.
    data_format : "NHWC" or "NCHW"

    Returns
    -------
    Tensor, shape (batch, height / block, width / block, block * block * channels)

    Raises
    ------
    ShapeError
        If the block does not divide the image.

    Notes
    -----
    The inverse and gradient is `depth_to_space`.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(4), [1, 2, 2, 1])
    >>> df.nn.space_to_depth(x, 2).tolist()
    [[[[0, 1, 2, 3]]]]
    """
    op = "space_to_depth"
    x, block, first = _four(input, block_size, data_format, op)
    shape = static_shape(x)
    channels, height, width = shape[1:] if first else (shape[3], shape[1], shape[2])
    high = _parts(height, block, f"{op}: height", x)
    wide = _parts(width, block, f"{op}: width", x)
    deep = -1 if channels == -1 else channels * block * block
    if first:
        blocks = reshape(x, (shape[0], channels, high, block, wide, block))
        return reshape(transpose(blocks, (0, 3, 5, 1, 2, 4)), (shape[0], deep, high, wide), name)
    blocks = reshape(x, (shape[0], high, block, wide, block, channels))
    return reshape(transpose(blocks, (0, 1, 3, 2, 4, 5)), (shape[0], high, wide, deep), name)


def depth_to_space(input: TensorLike, block_size: int, data_format: str = "NHWC",
                   name: str | None = None) -> Tensor:
    """Move channels into blocks of pixels: the image becomes `block_size` times larger.

    Parameters
    ----------
    input : Tensor, any dtype, shape (batch, height, width, channels)
    block_size : int
        Its square divides the number of channels.
    data_format : "NHWC" or "NCHW"

    Returns
    -------
    Tensor, shape (batch, height * block, width * block, channels / block / block)

    Raises
    ------
    ShapeError
        If the square of the block does not divide the number of channels.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.depth_to_space([[[[0, 1, 2, 3]]]], 2).tolist()
    [[[[0], [1]], [[2], [3]]]]
    """
    op = "depth_to_space"
    x, block, first = _four(input, block_size, data_format, op)
    shape = static_shape(x)
    channels, height, width = shape[1:] if first else (shape[3], shape[1], shape[2])
    deep = _parts(channels, block * block, f"{op}: number of channels", x)
    high, wide = (-1 if n == -1 else n * block for n in (height, width))
    if first:
        blocks = reshape(x, (shape[0], block, block, deep, height, width))
        return reshape(transpose(blocks, (0, 3, 4, 1, 5, 2)), (shape[0], deep, high, wide), name)
    blocks = reshape(x, (shape[0], height, width, block, block, deep))
    return reshape(transpose(blocks, (0, 1, 3, 2, 4, 5)), (shape[0], high, wide, deep), name)


def _blocks(input: TensorLike, block_shape: TensorLike, amounts: TensorLike, op: str,
            what: str) -> tuple[TensorBase, tuple[int, ...], list[tuple[int, int]]]:
    """Return the tensor, the block, and the elements to add or crop before and after dimensions."""
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, op)
    block = ints(block_shape, f"{op}: block_shape")
    if isinstance(amounts, list | tuple):
        pairs = [ints(pair, f"{op}: {what}") for pair in amounts]
    else:
        flat = ints(reshape(amounts, (-1,)), f"{op}: {what}")
        pairs = list(zip(flat[::2], flat[1::2], strict=False))
    if (len(block) >= x.ndim or any(b < 1 for b in block) or len(pairs) != len(block)
            or any(len(pair) != 2 or pair[0] < 0 or pair[1] < 0 for pair in pairs)):
        raise InvalidArgumentError(
            f"{op}: block_shape {block} and {what} {shown(amounts)} of {x.dtype} {x.shape}, "
            "expected sizes of 1 or more and as many pairs of 0 or more, for dimensions after the "
            "first")
    return x, block, [(before, after) for before, after in pairs]


def space_to_batch(input: TensorLike, block_shape: TensorLike, paddings: TensorLike,
                   name: str | None = None) -> Tensor:
    """Split images into one image per position in the blocks, stacked along the batch.

    Parameters
    ----------
    input : Tensor, any dtype, shape (batch, space..., rest...)
    block_shape : ints, one per spatial dimension
    paddings : pairs of ints, one per spatial dimension
        Number of zeros before and after; the block must divide the padded size.

    Returns
    -------
    Tensor, shape (batch * product of block, padded size / block..., rest...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.space_to_batch([[[1], [2], [3]]], [2], [[0, 1]]).tolist()
    [[[1], [3]], [[2], [0]]]
    """
    op = "space_to_batch"
    x, block, pads = _blocks(input, block_shape, paddings, op, "paddings")
    n = len(block)
    x = pad(x, [(0, 0), *pads, *[(0, 0)] * (x.ndim - n - 1)])
    batch, *sizes = static_shape(x)
    rest = sizes[n:]
    counts = [_parts(size, b, f"{op}: padded dimension {d}", x)
              for d, (size, b) in enumerate(zip(sizes, block, strict=False), 1)]
    blocks = reshape(x, (batch, *[m for pair in zip(counts, block, strict=True) for m in pair],
                         *rest))
    places, within = range(1, 2 * n, 2), range(2, 2 * n + 1, 2)
    moved = transpose(blocks, (*within, 0, *places, *range(2 * n + 1, blocks.ndim)))
    return reshape(moved, (-1 if batch == -1 else batch * math.prod(block), *counts, *rest), name)


def batch_to_space(input: TensorLike, block_shape: TensorLike, crops: TensorLike,
                   name: str | None = None) -> Tensor:
    """Interleave images of a batch into larger ones, the inverse of `space_to_batch`.

    Parameters
    ----------
    input : Tensor, any dtype, shape (batch, space..., rest...)
    block_shape : ints, one per spatial dimension
        Its product divides the batch.
    crops : pairs of ints, one per spatial dimension
        Number of elements to crop before and after.

    Returns
    -------
    Tensor, shape (batch / product of block, size * block - crops..., rest...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.batch_to_space([[[1], [3]], [[2], [0]]], [2], [[0, 1]]).tolist()
    [[[1], [2], [3]]]
    """
    op = "batch_to_space"
    x, block, cropped = _blocks(input, block_shape, crops, op, "crops")
    n = len(block)
    batch, *sizes = static_shape(x)
    rest = sizes[n:]
    images = _parts(batch, math.prod(block), f"{op}: batch", x)
    blocks = reshape(x, (*block, images, *sizes))
    order = [n, *[d for i in range(n) for d in (n + 1 + i, i)], *range(2 * n + 1, blocks.ndim)]
    grown = [-1 if size == -1 else size * b for size, b in zip(sizes, block, strict=False)]
    whole = reshape(transpose(blocks, order), (images, *grown, *rest))
    for d, (size, (before, after)) in enumerate(zip(grown, cropped, strict=True), 1):
        if not any(map(is_open, (before, after, size))) and size != -1 and before + after > size:
            raise InvalidArgumentError(
                f"{op}: crops {before} and {after} of dimension {d}, which has {size} pixels after "
                f"blocks {block} of {x.dtype} {x.shape} are combined")
    if any([is_open(m) for pair in cropped for m in pair]):
        remaining = [size - before - after
                     for size, (before, after) in zip(grown, cropped, strict=True)]
        return cut(whole, [0, *[before for before, _ in cropped]], [-1, *remaining], (1,) * (n + 1),
                   (BLOCK,) * (n + 1), name)
    ends = [size - after if size != -1 else -after for size, (_, after) in
            zip(grown, cropped, strict=True)]
    return cut(whole, [0, *[before for before, _ in cropped]], [2**63 - 1, *ends], (1,) * (n + 1),
               (SLICE,) * (n + 1), name)
