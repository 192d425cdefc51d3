"""Rows of convolutions of integers."""

from tests.ops.case import case, sample
from tests.ops.conv.convolution import convolution


def integers(x, w, strides=1, padding="VALID", dilations=None, zero_point=0):
    """Return the convolution of x with padding of `zero_point`, in int32."""
    zero = int(zero_point)
    x, w = x.astype("int64"), w.astype("int64")
    y = convolution(x - zero, w, strides, padding, dilations)
    return (y + zero * w.sum(tuple(range(w.ndim - 1)))).astype("int32")


def row(x, w, **kwargs):
    case("conv_int32", args=[sample(x, -128, 127), sample(w, -128, 127)], ref=integers,
         function="nn.conv_int32", dtypes=("int8", "uint8"), grad=(), edges=False, kwargs=kwargs)


row((2, 5, 6, 3), (3, 2, 3, 4), padding="SAME", zero_point=7)
row((2, 5, 6, 3), (1, 1, 3, 4))
row((1, 6, 5, 9), (3, 3, 1, 9), padding="SAME", strides=2, zero_point=100)
row((1, 9, 4), (3, 2, 6), dilations=2)
row((1, 3, 4, 5, 4), (2, 2, 2, 4, 3), padding="SAME")
row((0, 5, 6, 3), (3, 2, 3, 4))
row((2, 5, 6, 0), (3, 2, 0, 4))
