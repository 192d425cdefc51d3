import numpy as np

from tests.ops.case import case

WIDE = np.array([[1.0, -2.5, np.pi], [np.inf, 0.0, -1e-310]])


def np_bitcast(x, type):
    x = x.astype(np.float64) if x.dtype == np.longdouble else x
    y = x[..., None].view(type) if np.dtype(type).itemsize <= x.itemsize else x.view(type)
    return y[..., 0] if y.shape[-1] == 1 else y


for dtype in ("int64", "int32", "float32", "uint8"):
    case("bitcast", args=[WIDE], kwargs={"type": dtype}, ref=np_bitcast, dtypes=("float64",),
         grad=(), name=f"bitcast float64 to {dtype}")
for given, dtype in (("int32", "float64"), ("int16", "int64"), ("uint8", "int16")):
    n = np.dtype(dtype).itemsize // np.dtype(given).itemsize
    case("bitcast", args=[np.arange(6 * n, dtype=given).reshape(3, 2, n)], kwargs={"type": dtype},
         ref=np_bitcast, dtypes=(given,), grad=(), name=f"bitcast {given} to {dtype}")
