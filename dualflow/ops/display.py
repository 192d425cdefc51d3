"""Tensors as text, as lists, and as containers: what Python's protocols ask of them."""

from typing import Any

from dualflow._core import Tensor, TensorBase, Variable, apply, bind
from dualflow.ops.array import reshape
from dualflow.ops.compare import where

__all__ = ["contains", "to_text", "tolist"]

_NUMPY_NDIM = 64           # the highest rank NumPy and memoryviews have


def _readable(x: Tensor) -> Tensor:
    """`x` in a dtype that arrays and memoryviews have."""
    return apply("cast", x, dtype="float32") if x.dtype.name in ("bfloat16", "float16") else x


def tolist(x: Tensor) -> Any:
    """The data as nested lists; a plain number of a scalar."""
    value = _readable(x)
    if x.ndim <= _NUMPY_NDIM:
        return memoryview(value).tolist()
    flat: list[Any] = memoryview(reshape(value, (-1,))).tolist()
    for n in reversed(x.shape[1:]):
        count = len(flat) // n if n else 0
        flat = [flat[i * n:(i + 1) * n] for i in range(count)]
    return flat


def _values(x: Tensor) -> str:
    if x.ndim == 0:
        return str(x.item())
    if x.ndim > _NUMPY_NDIM:
        return "..."
    import numpy as np  # loaded when somebody first asks for an array

    return np.array2string(np.asarray(_readable(x)), separator=" ")


def to_text(x: Tensor | Variable) -> str:
    """What a REPL shows: shape, dtype and the values, summarised where they are many."""
    if isinstance(x, Variable):
        kind, value = f"Variable {x.name!r}", x.value()
    else:
        kind, value = "Tensor", x
    gap = " " if x.ndim == 0 else "\n"
    return f"<dualflow.{kind} shape={x.shape} dtype={x.dtype}{gap}{_values(value)}>"


def contains(x: TensorBase, item: Any) -> bool:
    """Whether an element of `x` equals `item`."""
    found = x == item
    return found is not NotImplemented and isinstance(found, Tensor) \
        and where(found).shape[0] > 0


bind(repr=to_text, tolist=tolist, contains=contains)
