import numpy as np

from tests.ops.case import ANY, COMPLEX, MOVABLE, case, sample


def np_cast(x, dtype):
    """Cast; floats are truncated and clamped, which C leaves undefined and NumPy does not
    ensure."""
    if np.dtype(dtype).kind in "iu" and x.dtype.kind == "f":
        info = np.iinfo(dtype)
        inside = np.nan_to_num(np.clip(x, -(2.0**62), 2.0**62)).astype("int64")
        cut = np.clip(inside, info.min, info.max).astype(dtype)
        return np.where(x >= float(info.max), info.max, np.where(x <= info.min, info.min, cut))
    if np.dtype(dtype).kind in "fc":      # compared to half an ulp of the result
        return x.astype("float64" if np.dtype(dtype).kind == "f" else "complex128")
    return x.astype(dtype)


def np_saturate(x, dtype):
    if np.dtype(dtype).kind == "f":
        return np.clip(x.astype("float64"), -65504, 65504)
    if x.dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([min(max(int(v), info.min), info.max) for v in x.ravel()],
                        dtype).reshape(x.shape)
    return np_cast(x, dtype)


X = sample((3, 4), -300, 300)
for dtype in MOVABLE:
    floating = dtype in ("float32", "float64")
    case("cast", args=[X], kwargs={"dtype": dtype}, ref=np_cast, dtypes=ANY,
         grad=(0,) if dtype in ("float64", "complex128") else (), name=f"cast to {dtype}")
for dtype in COMPLEX:
    case("cast", args=[X], kwargs={"dtype": dtype}, ref=np_cast, dtypes=COMPLEX,
         grad=(0,) if dtype == "complex128" else (), name=f"cast of complex numbers to {dtype}")
for dtype in ("uint8", "uint16", "uint64", "int8", "int32"):
    case("cast", args=[X], kwargs={"dtype": dtype}, ref=np_saturate, dtypes=ANY, grad=(),
         function="saturate_cast", name=f"saturate_cast to {dtype}")
case("cast", args=[X], kwargs={"dtype": "float16"}, ref=np_saturate, function="saturate_cast",
     dtypes=("float32", "float64"), edges=False, grad=(), name="saturate_cast to float16")
