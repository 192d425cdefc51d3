"""The shortest decimal text of floating-point values: the fewest digits from which their dtype
reads back the same value, as NumPy, PyTorch and JAX print them.

Called by `display.py`. NumPy finds the digits of float32 and float64 arrays. It has no bfloat16,
and a scalar is printed without loading NumPy, which takes longer than loading dualflow.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np

__all__ = ["shortest", "shortest_of_array"]

# For each dtype narrower than a Python float: the struct format of a value, and the number of
# significant digits that always suffices.
NARROW = {"float32": ("f", 9), "float16": ("e", 5), "bfloat16": ("f", 4)}


def shortest(value: float, dtype: str) -> float:
    """Return the Python float with the shortest text that `dtype` reads back as `value`.

    Parameters
    ----------
    value : float
        A value of the dtype.
    dtype : str

    Returns
    -------
    float
        For zeros, NaN, infinities and float64, `value` itself.
    """
    if dtype not in NARROW or value == 0 or value - value != 0:
        return value
    layout, most = NARROW[dtype]
    for digits in range(1, most + 1):
        text, exponent = f"{value:.{digits - 1}e}".split("e")
        number = int(text.replace(".", ""))
        # Below a power of two the values of the dtype are denser than above it, so the nearest
        # decimal may read as another value, and the next one away from zero as this one.
        for candidate in (number, number + (1 if value > 0 else -1)):
            near = float(f"{candidate}e{int(exponent) - digits + 1}")
            try:
                again = struct.unpack(layout, struct.pack(layout, near))[0]
            except OverflowError:           # rounded up beyond the largest value
                continue
            if (_bfloat16(again) if dtype == "bfloat16" else again) == value:
                return near
    return value


def _bfloat16(value: float) -> float:
    """Return a float32 value rounded to bfloat16, to nearest even."""
    bits, = struct.unpack("I", struct.pack("f", value))
    bits += 0x7FFF + (bits >> 16 & 1)
    rounded: float = struct.unpack("f", struct.pack("I", bits & 0xFFFF0000))[0]
    return rounded


def shortest_of_array(array: np.ndarray, dtype: str, shown: int) -> np.ndarray:
    """Return an array as float64 whose first and last `shown` elements in each dimension are
    replaced by `shortest`: the elements that a summary prints."""
    import numpy as np  # loaded when first needed

    found = array.astype(np.float64)
    edges = np.ix_(*[[k for k in range(n) if k < shown or k >= n - shown] for n in array.shape])
    part = found[edges]
    found[edges] = np.reshape([shortest(value, dtype) for value in part.flat], part.shape)
    return found
