"""Convolutions of 8-bit integers with int32 sums."""

from __future__ import annotations

from dualflow._core import Tensor, apply, as_tensor
from dualflow._util.arguments import REFUSED, named
from dualflow.errors import ShapeError
from dualflow.ops.conv.convolution import (
    Padding,
    channels_first,
    channels_last,
    dimensions,
    geometry,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["conv_int32"]


def conv_int32(input: TensorLike, filters: TensorLike, strides: TensorLike | None = None,
               padding: Padding = "VALID", data_format: str | None = None,
               dilations: TensorLike | None = None, zero_point: TensorLike = 0,
               name: str | None = None) -> Tensor:
    """Compute `convolution` of 8-bit integers with sums in int32.

    Parameters
    ----------
    input : Tensor, int8 or uint8, shape (batch, sizes..., channels)
    filters : Tensor, int8 or uint8, shape (sizes..., channels / groups, outputs)
        The dtype may differ from that of `input`.
    strides : int or ints, optional
    padding : "VALID", "SAME" or a pair (before, after) for each dimension
    data_format : str, optional
        As for `conv1d`, `conv2d` or `conv3d`; channels are last by default.
    dilations : int or ints, optional
    zero_point : Tensor, dtype of `input`, shape ()
        The value of the padding: the integer that represents 0.

    Returns
    -------
    Tensor, int32, shape (batch, sizes..., outputs), in `data_format`

    Raises
    ------
    ShapeError
        If `filters` do not have 3, 4 or 5 dimensions, or `input` does not have as many; if the
        filters are larger than the padded image, or channels are incompatible.
    DTypeError
        If a dtype is not int8 or uint8, or `zero_point` does not have the dtype of `input`.
    InvalidArgumentError
        If a stride or a dilation is less than 1, the padding is not one of these, or `zero_point`
        is not a scalar.

    Notes
    -----
    Sums are exact; those beyond int32 wrap around. The zero point is not subtracted from `input`:
    ``conv_int32(x, w, zero_point=z) - z * reduce_sum(w)``, with the sum of each output in int32, is
    the convolution of ``x - z``, padded with zeros. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant([[[200], [100], [3]]], df.uint8)
    >>> w = df.constant([[[-100]], [[2]]], df.int8)
    >>> df.nn.conv_int32(x, w, padding="SAME", zero_point=3).numpy().ravel().tolist()
    [-19800, -9994, -294]
    """
    x, w = as_tensor(input, None, "conv_int32"), as_tensor(filters, None, "conv_int32")
    n = dimensions("conv_int32", w)
    given = geometry("conv_int32", n, strides, padding, data_format, dilations)
    if x.ndim != n + 2:
        raise ShapeError(f"conv_int32: input has shape {x.shape} and filters {w.shape}, expected "
                         f"{n + 2} dimensions of both")
    zero = as_tensor(zero_point, x.dtype, "conv_int32")
    try:
        y = apply("conv_int32", channels_last(x, given), w, zero, name=name, **given.attrs)
    except REFUSED as error:
        raise named(error, "conv_int32",
                    **({"input": x, "filters": w} if given.first else {})) from None
    return channels_first(y, given)
