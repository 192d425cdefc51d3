import math

import numpy as np

from tests.ops.case import FLOATS, MOVABLE, case, normal


def np_to_depth(x, block, data_format="NHWC"):
    if data_format == "NCHW":
        return np.moveaxis(np_to_depth(np.moveaxis(x, 1, -1), block), -1, 1)
    parts = [x[:, i::block, j::block] for i in range(block) for j in range(block)]
    return np.concatenate(parts, -1)


def np_to_space(x, block, data_format="NHWC"):
    if data_format == "NCHW":
        return np.moveaxis(np_to_space(np.moveaxis(x, 1, -1), block), -1, 1)
    n, h, w, c = x.shape
    y = np.zeros((n, h * block, w * block, c // block**2), x.dtype)
    for k, part in enumerate(np.split(x, block**2, -1)):
        y[:, k // block::block, k % block::block] = part
    return y


def np_space_to_batch(x, block, paddings):
    x = np.pad(x, [(0, 0), *paddings, *[(0, 0)] * (x.ndim - 1 - len(block))])
    return np.concatenate([x[(slice(None), *(slice(i, None, b) for i, b in zip(at, block,
                                                                               strict=True)))]
                           for at in np.ndindex(*block)])


def np_batch_to_space(x, block, crops):
    images = x.shape[0] // math.prod(block)
    sizes = [n * b for n, b in zip(x.shape[1:], block, strict=False)]
    y = np.zeros((images, *sizes, *x.shape[1 + len(block):]), x.dtype)
    for k, at in enumerate(np.ndindex(*block)):
        y[(slice(None), *(slice(i, None, b) for i, b in zip(at, block, strict=True)))] = (
            x[k * images:(k + 1) * images])
    return y[(slice(None), *(slice(before, n - after) for (before, after), n
                             in zip(crops, sizes, strict=True)))]


for _format, _shape in (("NHWC", (2, 4, 6, 3)), ("NCHW", (2, 3, 4, 6))):
    case("transpose", args=[normal(*_shape), 2, _format], ref=np_to_depth, edges=False,
         function="nn.space_to_depth", dtypes=MOVABLE if _format == "NHWC" else FLOATS)
for _format, _shape in (("NHWC", (2, 2, 3, 12)), ("NCHW", (2, 12, 2, 3))):
    case("transpose", args=[normal(*_shape), 2, _format], ref=np_to_space,
         function="nn.depth_to_space", dtypes=MOVABLE if _format == "NHWC" else FLOATS)
case("transpose", args=[normal(2, 4, 3, 2), (2, 3), [[1, 1], [0, 3]]], ref=np_space_to_batch,
     function="space_to_batch", dtypes=MOVABLE)
case("transpose", args=[normal(3, 5), (2,), [[0, 1]]], ref=np_space_to_batch,
     function="nn.space_to_batch", dtypes=MOVABLE)
case("transpose", args=[normal(12, 4, 3, 2), (2, 3), [[1, 1], [0, 3]]], ref=np_batch_to_space,
     function="batch_to_space", dtypes=MOVABLE)
case("transpose", args=[normal(4, 5), (2,), [[0, 1]]], ref=np_batch_to_space,
     function="nn.batch_to_space", dtypes=MOVABLE)
