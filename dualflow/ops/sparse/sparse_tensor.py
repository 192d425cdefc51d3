"""SparseTensor: a tensor stored as the positions and values of its elements; its spec."""

from __future__ import annotations

from dualflow._core import (
    Dim,
    Operand,
    Symbol,
    Tensor,
    TensorBase,
    TensorSpec,
    apply,
    as_tensor,
    evaluate,
    get_op,
    make_attrs,
)
from dualflow._util.arguments import shown
from dualflow._util.late_binding import late_method
from dualflow.dtypes import DType, float32, int64
from dualflow.errors import DTypeError, OutOfRangeError, ShapeError
from dualflow.nest import Composite
from dualflow.ops.array.creation import convert_to_tensor
from dualflow.ops.array.shape import broadcast_to, ints
from dualflow.ops.elementwise.arithmetic import multiply, negative
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.division import divide
from dualflow.ops.indexing.gather import gather_nd, scatter_nd
from dualflow.ops.tensor_shape import TensorShape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["SparseTensor", "SparseTensorSpec"]

VALUES: Any = (TensorBase, Operand)     # an Operand is text
ZERO_TO_ZERO = {
    "abs", "asin", "asinh", "atan", "atanh", "cast", "ceil", "erf", "expm1", "floor", "identity",
    "log1p", "negative", "relu", "round", "sign", "sin", "sinh", "sqrt", "square", "stop_gradient",
    "tan", "tanh"}
EXTREMES = [(op, make_attrs(op, axes=(0,), keepdims=False))
            for op in (get_op("reduce_min"), get_op("reduce_max"))]


class SparseTensor(Operand, Composite):
    """A tensor that is zero except for the elements at given positions (COO format).

    Parameters
    ----------
    indices : Tensor, int64, shape (n, rank)
        The position of each element. Most functions of `df.sparse` expect the order of rows
        (`df.sparse.reorder`) and distinct positions, as TensorFlow's do; they do not check it.
    values : Tensor, shape (n,)
    dense_shape : sequence of int, or int64 Tensor of shape (rank,)

    Attributes
    ----------
    indices, values : Tensor
    dense_shape : Tensor, int64
    shape : TensorShape
    dtype : DType

    Notes
    -----
    `df.nest` flattens sparse tensors, so traced functions accept and return them. Gradients are
    those with respect to `values`. Products and quotients with a number or a dense tensor, which is
    broadcast to the shape, are sparse tensors, as are results of functions that map 0 to 0, such as
    `df.cast`, `df.abs` and `df.tanh`.

    Raises
    ------
    ShapeError
        If the ranks or the numbers of elements do not fit, or a size is negative.
    OutOfRangeError
        If a position is outside of the shape. In a trace, the function that uses it raises.
    DTypeError
        If a size or a position is not an integer.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2])
    >>> df.sparse.to_dense(x).tolist()
    [[0.0, 5.0], [0.0, 0.0], [7.0, 0.0]]
    >>> (x * 2.).values.tolist(), x.shape.as_list()
    ([10.0, 14.0], [3, 2])
    """

    __slots__ = ("_dims", "indices", "values")
    _fields = ("indices", "values", "_dims")
    __array_priority__ = 1000           # NumPy arrays defer operators to this class
    indices: Any
    values: Any
    _dims: Any          # a tuple of sizes, or a traced tensor of them

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: Any) -> None:
        if isinstance(indices, list | tuple):
            indices = as_tensor(indices, int64)
            if indices.ndim == 1 and indices.shape[0] == 0:
                indices = as_tensor([], int64).reshape((0, len(ints(dense_shape, "dense_shape"))))
        elif isinstance(indices, TensorBase) or hasattr(indices, "__array_interface__"):
            indices = cast(indices, int64)
        self.indices, self.values = indices, _tensor(values)
        self._dims = dense_shape if type(dense_shape) is Symbol else ints(
            dense_shape, "SparseTensor: dense_shape")
        self._check()
        if type(self._dims) is tuple:
            self._check_range(self._dims)

    @classmethod
    def _made(cls, indices: Any, values: Any, dims: Any) -> SparseTensor:
        """Return a sparse tensor with these parts, or placeholders of them, without checks."""
        if isinstance(dims, tuple) and any([isinstance(n, Tensor) for n in dims]):
            dims = ints(dims, "SparseTensor: dense_shape")
        made: SparseTensor = cls.__new__(cls)
        made.indices, made.values, made._dims = indices, values, dims
        return made

    def _remade(self, values: Sequence[Any]) -> SparseTensor:
        return self._made(*values)

    def _apply_op(self, op: str, inputs: tuple[Any, ...], attrs: dict[str, Any],
                  name: str | None) -> Any:
        if op == "multiply":
            first, other = inputs
            return self * other if first is self else self * first
        if op not in ZERO_TO_ZERO:
            return NotImplemented
        return self.with_values(apply(op, self.values, name=name, **attrs))

    def _check(self) -> None:
        indices, values, dims = self.indices, self.values, self._dims
        if not (isinstance(indices, TensorBase) and isinstance(values, VALUES)):
            raise DTypeError(f"SparseTensor: indices is {shown(indices)} and values "
                             f"{shown(values)}, expected tensors")
        if indices.ndim != 2 or values.ndim != 1:
            raise ShapeError(f"SparseTensor: indices has shape {indices.shape} and values "
                             f"{values.shape}, expected (n, rank) and (n,)")
        rank = len(dims) if isinstance(dims, tuple) else None
        if type(indices) is Tensor and rank not in (None, indices.shape[1]):
            raise ShapeError(f"SparseTensor: indices has shape {indices.shape}, dense_shape has "
                             f"{rank} sizes, expected as many columns")
        if type(indices) is Tensor is type(values) and indices.shape[0] != values.shape[0]:
            raise ShapeError(f"SparseTensor: {indices.shape[0]} indices and {values.shape[0]} "
                             "values, expected equally many")

    def _check_range(self, dims: tuple[Any, ...]) -> None:
        """Raise unless the sizes that are known are at least 0 and hold the positions."""
        if any([type(n) is int and n < 0 for n in dims]):
            raise ShapeError(f"SparseTensor: dense_shape is {dims}, expected sizes of at least 0")
        if type(self.indices) is not Tensor or not self.indices.size:
            return
        extremes = [evaluate(op, [self.indices], attrs)[0].tolist() for op, attrs in EXTREMES]
        for d, (low, high, n) in enumerate(zip(*extremes, dims, strict=True)):
            if type(n) is int and not 0 <= low <= high < n:
                raise OutOfRangeError(
                    f"SparseTensor: indices has the element {low if low < 0 else high} in column "
                    f"{d}, expected 0 to {n - 1} for dense_shape {dims}")

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Return a sparse tensor or a tuple (indices, values, dense_shape) as a sparse tensor."""
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        return cls(*sparse_tensor_value)

    _batched: Any = late_method("dualflow.ops.sparse.batching")
    _join: Any = late_method("dualflow.ops.sparse.batching")
    _as_rows: Any = late_method("dualflow.ops.sparse.batching")

    def _spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype)

    @property
    def sizes(self) -> Any:
        """The sizes as ints, or as the elements of a traced tensor."""
        dims = self._dims
        known = isinstance(dims, tuple) and all([type(n) is int or type(n) is Dim for n in dims])
        return dims if known else ints(dims, "SparseTensor: dense_shape")

    def _with_sizes(self) -> SparseTensor:
        return self._made(self.indices, self.values, self.sizes)

    @property
    def dense_shape(self) -> Tensor:
        dims: Any = self._dims
        if isinstance(dims, tuple):
            return as_tensor(list(dims), int64)
        made: Tensor = cast(dims, int64)
        return made

    @property
    def shape(self) -> TensorShape:
        return self.get_shape()

    def get_shape(self) -> TensorShape:
        """Return the shape, with None for sizes that depend on data."""
        dims = self._dims
        if not isinstance(dims, tuple):
            n = dims.known_shape[0]
            return TensorShape(None if n is None else [None] * n)
        return TensorShape([None if type(n) is Dim and n.data_dependent else n for n in dims])

    @property
    def dtype(self) -> DType:
        dtype: DType = self.values.dtype
        return dtype

    @property
    def ndim(self) -> int:
        n: int = len(self._dims) if isinstance(self._dims, tuple) else self._dims.shape[0]
        return n

    rank = ndim

    def with_values(self, new_values: TensorLike) -> SparseTensor:
        """Return a sparse tensor with the same positions and other values."""
        made = self._made(self.indices, _tensor(new_values), self._dims)
        made._check()
        return made

    def __neg__(self) -> SparseTensor:
        return self.with_values(negative(self.values))

    def __mul__(self, other: Any) -> SparseTensor:
        return self.with_values(multiply(self.values, self._elements(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self.with_values(divide(self.values, self._elements(other)))

    def _elements(self, dense: Any) -> Any:
        """Return the elements of a dense tensor, broadcast to this shape, at the positions."""
        if isinstance(dense, SparseTensor):
            raise DTypeError("SparseTensor: an operator on two sparse tensors; convert one with "
                             "sparse.to_dense")
        x = as_tensor(dense, self.dtype)
        return x if x.ndim == 0 else gather_nd(broadcast_to(x, self.sizes), self.indices)

    def numpy(self) -> Any:
        """Return the dense tensor as an array."""
        return scatter_nd(self.indices, self.values, self.sizes).numpy()

    def __bool__(self) -> bool:
        raise DTypeError("the truth value of a SparseTensor is not defined")

    def __repr__(self) -> str:
        return (f"SparseTensor(indices={shown(self.indices)}, values={shown(self.values)}, "
                f"dense_shape={self._dims})")


class SparseTensorSpec(Composite):
    """Shape and dtype of a sparse tensor.

    Parameters
    ----------
    shape : sequence of int or None
        None is an unknown size.
    dtype : dtype, default float32

    Attributes
    ----------
    shape : TensorShape
    dtype : DType
    rank : int
    value_type : type
        `SparseTensor`.

    Raises
    ------
    ShapeError
        If a size is negative.
    DTypeError
        If the number of dimensions is unknown.

    Examples
    --------
    >>> import dualflow as df
    >>> spec = df.SparseTensorSpec([None, 2], df.float32)
    >>> total = df.function(df.sparse.reduce_sum, input_signature=[spec])
    >>> total(df.sparse.eye(3, 2)).item(), total(df.sparse.eye(2)).item()
    (2.0, 2.0)
    """

    __slots__ = ("_of_dense",)
    _fields = SparseTensor._fields
    _value_type = value_type = SparseTensor

    def __init__(self, shape: Any = None, dtype: Any = float32) -> None:
        self._of_dense = TensorSpec(shape, dtype)

    @classmethod
    def from_value(cls, value: SparseTensor) -> SparseTensorSpec:
        """Return the spec of a sparse tensor."""
        return cls(value.shape, value.dtype)

    @property
    def dtype(self) -> DType:
        return self._of_dense.dtype

    @property
    def shape(self) -> Any:
        return self._of_dense.shape

    @property
    def rank(self) -> int | None:
        return self._of_dense.ndim

    @property
    def indices(self) -> TensorSpec:
        return TensorSpec([None, self.rank], int64)

    @property
    def values(self) -> TensorSpec:
        return TensorSpec([None], self.dtype)

    @property
    def _dims(self) -> tuple[Any, ...]:
        return tuple([TensorSpec([], int64) if n is None else n for n in self.shape])

    def _remade(self, values: Sequence[Any]) -> SparseTensor:
        return SparseTensor._made(*values)

    def _map_specs(self, function: Callable[..., Any], *others: Any) -> SparseTensorSpec:
        made = function(self._of_dense, *[x._of_dense for x in others])
        return SparseTensorSpec(made.shape, made.dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return True if a sparse tensor, or another spec, has this dtype and no other sizes."""
        other = spec_or_value
        return (isinstance(other, SparseTensor | SparseTensorSpec) and other.dtype is self.dtype
                and TensorShape(self.shape).is_compatible_with(other.shape))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseTensorSpec) and self._of_dense == other._of_dense

    def __hash__(self) -> int:
        return hash(self._of_dense)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({tuple(self.shape)}, {self.dtype!r})"


def _is_given(x: Any) -> bool:
    return isinstance(x, list | TensorBase) or hasattr(x, "__array_interface__")


def _tensor(x: Any) -> Any:
    return convert_to_tensor(x) if isinstance(x, tuple) or _is_given(x) else x
