import numpy as np

from tests.ops.case import NUMBERS, case, normal, sample


def np_clip(x, low, high):
    return np.maximum(np.minimum(x, high), low)


# Either of two equal zeros may be returned.
case("maximum", args=[normal(3, 4), normal(4)], ref=np.maximum, dtypes=NUMBERS, grad=(0, 1),
     signed_zero=False)
case("minimum", args=[normal(3, 4), normal(4)], ref=np.minimum, dtypes=NUMBERS, grad=(0, 1),
     signed_zero=False)
case("clip_by_value", args=[normal(3, 4), sample((4,), -1, 0), sample((4,), 1, 2)], ref=np_clip,
     dtypes=NUMBERS, grad=(0, 1, 2), signed_zero=False)
case("clip_by_value", args=[normal(3, 4), -1, 2], ref=np_clip, dtypes=("float32", "int32"),
     signed_zero=False)
