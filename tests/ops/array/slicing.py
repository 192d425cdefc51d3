import numpy as np

from tests.ops.array.shape import moved
from tests.ops.case import MOVABLE, RING, case, normal


def sliced(x, begin, end, strides, kind):
    missing = -2**63
    keys = [b if k == 1 else None if k == 2 else
            slice(*[None if v == missing else v for v in (b, e)], s)
            for b, e, s, k in zip(begin, end, strides, kind, strict=True)]
    return x[tuple(keys)]


def slice_gradient(g, shape, begin, end, strides, kind):
    whole = np.zeros(shape, g.dtype)
    sliced(whole, begin, end, strides, kind)[...] = g
    return whole


NONE = -2**63
KEYS = {"begin": (1, NONE, -1, 0), "end": (3, NONE, 0, 0), "strides": (1, -2, 1, 1),
        "kind": (0, 0, 1, 2)}
moved("strided_slice", (4, 5, 3), sliced, function="ops.array.slicing.cut", **KEYS)
moved("strided_slice", (4, 5, 3), sliced, function="ops.array.slicing.cut", begin=(-1, 2),
      end=(0, 4),
      strides=(1, 1), kind=(1, 0))
moved("strided_slice", (4, 5), sliced, function="ops.array.slicing.cut", begin=(3,), end=(1,),
      strides=(1,), kind=(0,))
case("strided_slice_grad", function="ops.array.slicing.strided_slice_grad", args=[normal(2, 3, 1)],
     kwargs={"shape": (4, 5, 3), **KEYS}, ref=slice_gradient, dtypes=MOVABLE)
moved("strided_slice", (4, 5), lambda x, begin, size: x[1:3, 2:], function="slice", begin=(1, 2),
      size=(2, -1))
moved("strided_slice", (4, 5),
      lambda x, begin, end, strides, **masks: x[..., None, 3, 4:0:-2], function="strided_slice",
      begin=(0, 0, 3, 4), end=(0, 0, 0, 0), strides=(1, 1, 1, -2), ellipsis_mask=1,
      new_axis_mask=2, shrink_axis_mask=4)


def padded(x, paddings, mode="constant", constant_values=0):
    more = {"constant_values": constant_values} if mode == "constant" else {}
    return np.pad(x, paddings, mode.lower(), **more)


moved("pad", (2, 3), padded, paddings=((1, 0), (2, 4)))
moved("pad", (0, 3), padded, paddings=((1, 1), (0, 0)))
moved("pad", (), lambda x, paddings: x, paddings=())
case("pad", args=[normal(5), [[2, 1]]], kwargs={"constant_values": 1}, dtypes=RING,
     ref=lambda x, paddings, constant_values: np.pad(x, paddings, constant_values=1))
moved("pad", (5, 4), padded, paddings=((4, 2), (0, 3)), mode="REFLECT")
moved("pad", (5, 4), padded, paddings=((5, 2), (0, 4)), mode="SYMMETRIC")
moved("roll", (4, 5), np.roll, large=(400, 500), shift=2, axis=1)
moved("roll", (4, 5), np.roll, shift=(-7, 3), axis=(0, -1))
moved("strided_slice", (4, 5), np.flip, function="reverse", axis=(0, -1))
moved("broadcast_to", (2, 3), lambda x, multiples: np.tile(x, multiples), function="tile",
      multiples=(3, 2))
moved("broadcast_to", (2, 3), lambda x, multiples: np.tile(x, multiples), function="tile",
      multiples=(0, 1))
moved("broadcast_to", (2, 3), np.repeat, function="repeat", repeats=3, axis=1)
moved("broadcast_to", (2, 3), np.repeat, function="repeat", repeats=2)
moved("gather", (2, 3), np.repeat, function="repeat", repeats=(2, 0, 1), axis=-1)


def band(x, num_lower, num_upper):
    rows, cols = np.indices(x.shape[-2:])
    keep = (num_lower < 0) | (rows - cols <= num_lower)
    return np.where(keep & ((num_upper < 0) | (cols - rows <= num_upper)), x, np.zeros((), x.dtype))


for _lower, _upper in [(-1, 0), (0, -1), (0, 0), (1, 2), (9, 9)]:
    moved("band_part", (2, 4, 5), band, function="linalg.band_part", num_lower=_lower,
          num_upper=_upper)
moved("strided_slice", (2, 4, 3), lambda x: np.diagonal(x, axis1=-2, axis2=-1),
      function="linalg.diag_part")
moved("strided_slice", (2, 5), lambda x: np.diagonal(x, axis1=-2, axis2=-1),
      function="linalg.diag_part")
moved("pad", (2, 3), lambda x: np.where(np.eye(3) == 1, x[..., None], x.dtype.type(0)),
      function="linalg.diag")
