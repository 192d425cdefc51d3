"""Methods of tensors and variables with NumPy's names and arguments.

NumPy functions (``np.sum(x)``) call these methods, so that they also return tensors, work on traced
tensors and have gradients. `_core/_core.pyi` declares the methods.
"""

from __future__ import annotations

import math
from functools import partial

from dualflow._core import Tensor, TensorBase, Variable, bind_methods, slice_origin
from dualflow._util.arguments import number, shown
from dualflow.dtypes import as_dtype, float32, int32
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops import reduction, sorting
from dualflow.ops.array.shape import (
    expand_dims,
    identity,
    reshape as reshaped,
    squeeze as squeezed,
    transpose as transposed,
)
from dualflow.ops.elementwise import rounding
from dualflow.ops.elementwise.arithmetic import multiply
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import not_equal
from dualflow.ops.elementwise.exponential import sqrt
from dualflow.ops.elementwise.limits import maximum, minimum
from dualflow.ops.reduction import reduce, reduce_moments
from dualflow.ops.state.variable import assign_slice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dualflow.ops.types import Axis, DTypeLike, TensorLike

__all__ = ["PartMethods", "Reference", "TensorMethods"]


class Reference:
    """A hashable reference to a tensor or variable, for sets and dict keys. References are equal if
    they refer to the same object.

    Examples
    --------
    >>> import dualflow as df
    >>> x, y = df.constant([1., 2.]), df.constant([1., 2.])
    >>> x.ref() == x.ref(), x.ref() == y.ref(), x.ref().deref() is x
    (True, False, True)
    """

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: TensorBase) -> None:
        self._wrapped = wrapped

    def deref(self) -> TensorBase:
        """Return the tensor or the variable."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._wrapped is other._wrapped

    def __hash__(self) -> int:
        return hash(self._wrapped)

    def __repr__(self) -> str:
        return f"<Reference of {self._wrapped!r}>"


def _no_out(out: Any, name: str) -> None:
    if out is not None:
        raise DTypeError(f"{name}: out is a {type(out).__name__}, expected None: tensors are "
                         f"immutable; np.{name}(x.numpy(), out=...) writes into an array")


def _numbers(x: TensorBase, dtype: DTypeLike | None, of_bool: DTypeLike) -> TensorBase:
    """Return `x` as `dtype` or, if that is None and `x` is bool, as `of_bool`."""
    if dtype is None and x.dtype.is_bool:
        dtype = of_bool
    return x if dtype is None else cast(x, dtype)


def _place(function: Any, x: TensorBase, axis: int | None, keepdims: bool) -> Tensor:
    """Return the index of the extremum, in the flat tensor if `axis` is None."""
    x = cast(x, int32) if x.dtype.is_bool else x
    if axis is not None:
        at: Tensor = function(x, axis)
        return expand_dims(at, axis) if keepdims else at
    at = function(reshaped(x, (-1,)), 0)
    return reshaped(at, (1,) * x.ndim) if keepdims else at


def _given(sizes: tuple[Any, ...]) -> Any:
    """Return the argument of ``x.reshape(2, 3)`` or ``x.reshape((2, 3))``."""
    if len(sizes) != 1:
        return sizes
    is_size = hasattr(sizes[0], "__index__") and getattr(sizes[0], "ndim", 0) == 0
    return sizes if is_size else sizes[0]


def _in_rows(order: str, name: str) -> None:
    if order not in ("C", "K", "A"):
        raise InvalidArgumentError(f"{name}: order is {shown(order)}, expected 'C': tensors are "
                                   "row-major; transpose first for columns")


class TensorMethods:
    """Methods of tensors and variables with NumPy's names."""

    # --- reductions -------------------------------------------------------------------------------

    def sum(self: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None,
            keepdims: bool = False) -> Tensor:
        """Return `df.reduce_sum`, in `dtype` if given; bools are counted.

        Examples
        --------
        >>> import dualflow as df
        >>> df.constant([[1., 2.], [3., 4.]]).sum(axis=0).tolist(), df.constant([True, True]).sum()
        ([4.0, 6.0], <dualflow.Tensor shape=() dtype=int32 2>)
        """
        _no_out(out, "sum")
        return reduce.reduce_sum(_numbers(self, dtype, int32), axis, keepdims)

    def prod(self: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None,
             keepdims: bool = False) -> Tensor:
        """Return `df.reduce_prod`, in `dtype` if given."""
        _no_out(out, "prod")
        return reduce.reduce_prod(_numbers(self, dtype, int32), axis, keepdims)

    def mean(self: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None,
             keepdims: bool = False) -> Tensor:
        """Return `df.reduce_mean`, in `dtype` if given; for bools the fraction that is true."""
        _no_out(out, "mean")
        return reduce_moments.reduce_mean(_numbers(self, dtype, float32), axis, keepdims)

    def max(self: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Tensor:
        """Return `df.reduce_max`; for bools `df.reduce_any`."""
        _no_out(out, "max")
        function = reduce.reduce_any if self.dtype.is_bool else reduce.reduce_max
        return function(self, axis, keepdims)

    def min(self: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Tensor:
        """Return `df.reduce_min`; for bools `df.reduce_all`."""
        _no_out(out, "min")
        function = reduce.reduce_all if self.dtype.is_bool else reduce.reduce_min
        return function(self, axis, keepdims)

    def any(self: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Tensor:
        """Return `df.reduce_any`; numbers are true unless 0."""
        _no_out(out, "any")
        return reduce.reduce_any(self if self.dtype.is_bool else not_equal(self, 0), axis, keepdims)

    def all(self: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Tensor:
        """Return `df.reduce_all`; numbers are true unless 0."""
        _no_out(out, "all")
        return reduce.reduce_all(self if self.dtype.is_bool else not_equal(self, 0), axis, keepdims)

    def var(self: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None,
            ddof: float = 0, keepdims: bool = False) -> Tensor:
        """Return the variance: the sum of squared distances from the mean divided by
        ``n - ddof``. See `df.math.reduce_variance`.

        Examples
        --------
        >>> import dualflow as df
        >>> x = df.constant([1., 2., 3.])
        >>> x.var(ddof=1).item(), x.std(ddof=1).item()
        (1.0, 1.0)
        """
        _no_out(out, "var")
        ddof = number(ddof, "var: ddof")
        x = _numbers(self, dtype, float32)
        y = reduce_moments.reduce_variance(x, axis, keepdims)
        if not ddof:
            return y
        axes = reduce.axes_or_all(x, axis)
        n = reduce.count_over(x, [axes] if isinstance(axes, int) else axes)
        return multiply(y, n / (n - ddof) if n > ddof else math.nan)

    def std(self: Any, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None,
            ddof: float = 0, keepdims: bool = False) -> Tensor:
        """Return `df.math.reduce_std`, with the variance divided by ``n - ddof``."""
        _no_out(out, "std")
        ddof = number(ddof, "std: ddof")
        if not ddof:
            return reduce_moments.reduce_std(_numbers(self, dtype, float32), axis, keepdims)
        return sqrt(self.var(axis, dtype, None, ddof, keepdims))

    def argmax(self: Any, axis: int | None = None, out: None = None,
               keepdims: bool = False) -> Tensor:
        """Return `df.argmax`; without an axis the index in the flat tensor.

        Examples
        --------
        >>> import dualflow as df
        >>> x = df.constant([[1., 9.], [5., 2.]])
        >>> x.argmax().item(), x.argmax(axis=1).tolist()
        (1, [1, 0])
        """
        _no_out(out, "argmax")
        return _place(reduction.reduce_arg.argmax, self, axis, keepdims)

    def argmin(self: Any, axis: int | None = None, out: None = None,
               keepdims: bool = False) -> Tensor:
        """Return `df.argmin`; without an axis the index in the flat tensor."""
        _no_out(out, "argmin")
        return _place(reduction.reduce_arg.argmin, self, axis, keepdims)

    def cumsum(self: Any, axis: int | None = None, dtype: DTypeLike | None = None,
               out: None = None) -> Tensor:
        """Return `df.cumsum`; without an axis of the flat tensor."""
        _no_out(out, "cumsum")
        x = _numbers(self, dtype, int32)
        x, axis = (reshaped(x, (-1,)), 0) if axis is None else (x, axis)
        made: Tensor = reduction.cumulative.cumsum(x, axis)
        return made

    # --- shapes and elements ----------------------------------------------------------------------

    def reshape(self: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Tensor:
        """Return `df.reshape`; the sizes are separate arguments or one sequence.

        Examples
        --------
        >>> import dualflow as df
        >>> x = df.range(6)
        >>> x.reshape(2, 3).shape, x.reshape((3, -1)).shape
        ((2, 3), (3, 2))
        """
        _in_rows(order, "reshape")
        return reshaped(self, _given(shape))

    def flatten(self: Any, order: str = "C") -> Tensor:
        """Return all elements in one dimension."""
        _in_rows(order, "flatten")
        return reshaped(self, (-1,))

    def squeeze(self: Any, axis: Axis = None) -> Tensor:
        """Return `df.squeeze`: without the dimensions of size 1, or without those in `axis`."""
        return squeezed(self, axis)

    def transpose(self: Any, *axes: Any) -> Tensor:
        """Return `df.transpose`; the axes are separate arguments or one sequence, by default
        reversed."""
        order = _given(axes)
        return transposed(self, None if order is None or order == () else order)

    def astype(self: Any, dtype: DTypeLike, copy: bool = True) -> Tensor:
        """Return `df.cast`.

        Examples
        --------
        >>> import dualflow as df
        >>> df.constant([1.5, -2.5]).astype("int32").tolist()
        [1, -2]
        """
        return cast(self, as_dtype(dtype))

    def copy(self: Any, order: str = "C") -> Tensor:
        """Return the value as a new tensor object. Tensors are immutable, so memory may be shared;
        the copy of a variable is its current value."""
        _in_rows(order, "copy")
        return identity(self)

    def clip(self: Any, min: TensorLike | None = None, max: TensorLike | None = None,
             out: None = None) -> Tensor:
        """Clip each element to [min, max], where None is no limit.

        Examples
        --------
        >>> import dualflow as df
        >>> df.constant([1., 5., 9.]).clip(2., 6.).tolist(), df.constant([1, 5]).clip(max=3)
        ([2.0, 5.0, 6.0], <dualflow.Tensor shape=(2,) dtype=int32
        [1 3]>)
        """
        _no_out(out, "clip")
        x = identity(self) if min is None and max is None else self
        x = x if min is None else maximum(x, min)
        return x if max is None else minimum(x, max)

    def round(self: Any, decimals: int = 0, out: None = None) -> Tensor:
        """Return `df.round`, ties to even; with decimals, by scaling."""
        _no_out(out, "round")
        return rounding.python_round(self, decimals or None)

    def sort(self: Any, axis: int = -1, descending: bool = False) -> Tensor:
        """Return `df.sort`, a new tensor; NumPy's method sorts in place."""
        made: Tensor = sorting.sort.sort(self, axis, "DESCENDING" if descending else "ASCENDING")
        return made

    # --- identity ---------------------------------------------------------------------------------

    def ref(self: Any) -> Reference:
        """Return a hashable `Reference` to the tensor. Tensors themselves are hashable too, by
        identity."""
        return Reference(self)


class PartMethods:
    """Methods of a tensor that is ``variable[key]``."""

    @property
    def assign(self: Any) -> Callable[[TensorLike], Variable]:
        """A function that assigns a value to this slice of the variable and returns the variable.
        The value must broadcast to the slice. Other tensors do not have this attribute.

        Examples
        --------
        >>> import dualflow as df
        >>> v = df.Variable([[1., 2., 3.], [4., 5., 6.]])
        >>> v[1, 1:].assign([7., 8.]).numpy().tolist()
        [[1.0, 2.0, 3.0], [4.0, 7.0, 8.0]]
        """
        origin = slice_origin(self)
        if origin is None:
            raise AttributeError(
                f"'dualflow.Tensor' object has no attribute 'assign': {self.dtype} {self.shape} is "
                "neither a variable nor variable[key]; tensors are immutable: use "
                "dualflow.tensor_scatter_nd_update for a new one")
        return partial(assign_slice, *origin)


bind_methods(TensorBase, TensorMethods)
bind_methods(Tensor, PartMethods)
