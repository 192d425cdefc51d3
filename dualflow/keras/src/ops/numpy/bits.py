"""Functions of the bits of values: nextafter, view, gcd and lcm."""

from typing import Any

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, tensors, to_dtype
from dualflow.keras.src.ops.numpy.elementwise import _float_of_all


def gcd(x1: Any, x2: Any) -> Any:
    return df.math.gcd(*tensors(x1, x2))


def lcm(x1: Any, x2: Any) -> Any:
    return df.math.lcm(*tensors(x1, x2))


def nextafter(x1: Any, x2: Any) -> Any:
    return df.math.nextafter(*tensors(x1, x2, dtype=_float_of_all(x1, x2)))


def view(x: Any, dtype: Any = None) -> Any:
    """Reinterpret the bytes as another dtype; the last dimension grows or shrinks."""
    x = convert_to_tensor(x)
    wanted = x.dtype if dtype is None else to_dtype(dtype)
    have, want = x.dtype.itemsize, wanted.itemsize
    if have == want:
        return df.bitcast(x, wanted)
    if x.ndim == 0:
        raise ValueError(f"view: a scalar of {x.dtype.name} as {wanted.name}, expected dtypes of "
                         "equal size")
    if have > want:
        return df.reshape(df.bitcast(x, wanted), [*x.shape[:-1], x.shape[-1] * (have // want)])
    times = want // have
    if x.shape[-1] % times:
        raise ValueError(f"view: {x.dtype.name} of shape {tuple(x.shape)} as {wanted.name}, "
                         f"expected a last dimension that {times} divides")
    return df.bitcast(df.reshape(x, [*x.shape[:-1], x.shape[-1] // times, times]), wanted)
