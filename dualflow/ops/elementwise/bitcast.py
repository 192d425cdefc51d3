"""Reinterpretation of bits as another dtype, and the next representable number."""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Tensor, TensorBase, apply, as_tensor, constant
from dualflow._util.arguments import real_hint
from dualflow.errors import DTypeError
from dualflow.gradient_registry import no_gradient
from dualflow.ops.elementwise.compare import equal, greater, where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["bitcast", "nextafter"]


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """Reinterpret the bytes of `input` as numbers of another dtype.

    Parameters
    ----------
    input : Tensor, any number dtype
    type : number dtype

    Returns
    -------
    Tensor, of dtype `type`: same shape for dtypes of the same width; a narrower dtype appends a
    dimension; a wider dtype removes the last dimension, whose size must be the ratio of the
    widths.

    Raises
    ------
    ShapeError
        If the last dimension does not match the ratio.

    Notes
    -----
    The bytes are in the order of the machine. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.bitcast([1., -2.], df.int32).numpy().tolist()
    [1065353216, -1073741824]
    >>> df.bitcast(df.constant(258, df.int16), df.uint8).numpy().tolist()
    [2, 1]
    """
    return apply("bitcast", input, name=name, dtype=type)


no_gradient("bitcast", why="bits do not vary smoothly")

# The integer dtype as wide as a floating dtype, by bytes.
BITS = {2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """Return the next representable number after `x1` in the direction of `x2`, elementwise.

    Parameters
    ----------
    x1, x2 : Tensor, floating, of one dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the same dtype and the broadcast shape

    Raises
    ------
    DTypeError
        If the dtypes differ or are not floating.

    Notes
    -----
    `x2` where both are equal, NaN where one is NaN. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.nextafter([1., 0.], [2., -1.]).numpy().tolist()
    [1.0000001192092896, -1.401298464324817e-45]
    """
    x = x1 if isinstance(x1, TensorBase) else as_tensor(x1, None, "nextafter")
    y = x2 if isinstance(x2, TensorBase) else as_tensor(x2, x.dtype, "nextafter")
    if x.dtype is not y.dtype or not x.dtype.is_floating:
        raise DTypeError(f"nextafter: x1 is {x.dtype.name}, x2 {y.dtype.name}, expected one "
                         f"floating dtype{real_hint(y.dtype if y.dtype.is_complex else x.dtype)}")
    bits = BITS[x.dtype.itemsize]
    one = constant(1, bits)
    least = bitcast(one, x.dtype)
    up = greater(y, x)
    # The bits of a negative number, read as an integer, increase as the number decreases.
    step = where(equal(up, greater(x, 0)), one, -one)
    moved = bitcast(bitcast(x, bits) + step, x.dtype)
    moved = where(equal(x, 0), where(up, least, -least), moved)
    numbers = equal(x, x) & equal(y, y)
    return where(equal(x, y), y, where(numbers, moved, x + y), name=name)
