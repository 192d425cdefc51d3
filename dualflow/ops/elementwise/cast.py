"""Conversion between dtypes."""

from __future__ import annotations

from warnings import warn

from dualflow._core import Tensor, TensorBase, apply, as_tensor, current_graph
from dualflow.dtypes import as_dtype, float32
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.complex import real
from dualflow.ops.elementwise.limits import clip_by_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = [
    "cast",
    "saturate_cast",
]


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Convert `x` to another dtype.

    Parameters
    ----------
    x : Tensor, any dtype
    dtype : DType, or its name

    Returns
    -------
    Tensor, same shape as `x`; an eager tensor that has the dtype is returned itself

    Notes
    -----
    Conversion to a floating dtype rounds once, ties to even. A float is truncated to an integer,
    clipped to the range of its dtype; NaN becomes 0. Integers are truncated to their low bits. All
    values except 0 become True. Complex numbers become their real parts, with a warning. The
    gradient is cast back to the dtype of `x`; of a real `x`, it is the real part.

    Examples
    --------
    >>> import dualflow as df
    >>> df.cast([1.9, -1.9, 300.], df.uint8).numpy().tolist()
    [1, 0, 255]
    """
    target = as_dtype(dtype)
    if type(x) is Tensor and x.dtype is target and current_graph() is None:
        return x
    if not target.is_complex:
        x = x if isinstance(x, TensorBase) else as_tensor(x, None, "cast")
        if isinstance(x, TensorBase) and x.dtype.is_complex:
            x = _to_real(x, target)
    return apply("cast", x, name=name, dtype=target)


def _to_real(x, target):
    """Return what a cast of complex numbers to `target` converts; warn if it drops a part."""
    if target.is_bool:
        return apply("not_equal", x, 0)
    warn(f"cast from {x.dtype} to {target} drops the imaginary part; df.math.real(x) does so "
         "without a warning", stacklevel=3)
    return real(x)


@gradient("cast", saves="none")
def _(g, y, x, dtype):
    return cast(g if x.dtype.is_complex else real(g), x.dtype)


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Convert `value` to another dtype; numbers outside its range are clipped to it.

    Parameters
    ----------
    value : Tensor, any dtype
    dtype : DType, or its name

    Returns
    -------
    Tensor, same shape as `value`

    Notes
    -----
    As `cast`, but integers are clipped instead of wrapped, and floats become the largest finite
    number of a narrower floating dtype instead of inf. The gradient is the gradient of both steps.

    Examples
    --------
    >>> import dualflow as df
    >>> df.saturate_cast([-5, 100, 300], df.uint8).numpy().tolist()
    [0, 100, 255]
    """
    x = value if isinstance(value, TensorBase) else as_tensor(value)
    if x.dtype.is_reduced_float:
        x = cast(x, float32)
    source, target = x.dtype, as_dtype(dtype)
    if source.is_floating and target.is_floating and source.itemsize > target.itemsize:
        x = clip_by_value(x, target.min, target.max)
    elif source.is_integer and target.is_integer and (
            target.min > source.min or target.max < source.max):
        x = clip_by_value(x, max(target.min, source.min), min(target.max, source.max))
    return cast(x, target, name=name)
