"""RaggedTensorSpec; batches of ragged tensors, and their rows.

The rows of a ragged tensor with one ragged dimension are tensors of different sizes. Their spec,
`RaggedTensorSpec` with `ragged_rank` 0, tells `df.data` that batches of them are ragged tensors.
"""

from __future__ import annotations

from typing import Any

from dualflow._core import Tensor, TensorSpec, as_tensor
from dualflow.dtypes import DType, float32, int64
from dualflow.errors import InvalidArgumentError
from dualflow.nest import Composite
from dualflow.ops.array.join import stack
from dualflow.ops.composite_rows import RowSequence
from dualflow.ops.ragged.partition import splits_of
from dualflow.ops.ragged.ragged_tensor import RaggedTensor, length
from dualflow.ops.ragged.rows import between, joined, take, with_rank
from dualflow.ops.tensor_shape import TensorShape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dualflow.ops.types import DTypeLike

__all__ = ["RaggedTensorSpec"]


class DenseRow(Composite):
    """The type of values without ragged dimensions in skeletons of arguments."""

    _fields = ("values",)

    @classmethod
    def _made(cls, values: Any) -> Any:
        return values


class RaggedTensorSpec(Composite):
    """Describes a ragged tensor, for `input_signature`, `fn_output_signature` and datasets.

    Parameters
    ----------
    shape : sequence of int or None
        None for ragged dimensions and those of any size.
    dtype : dtype, default float32
    ragged_rank : int, optional
        By default, the rank minus one. 0 describes rows that are tensors, for `df.map_fn` and
        datasets.
    row_splits_dtype
        Accepted for compatibility with TensorFlow: splits are int64.
    flat_values_spec : TensorSpec, optional
        Its dtype replaces `dtype`.

    Attributes
    ----------
    shape : TensorShape
    dtype : DType
    ragged_rank : int
    row_splits_dtype : DType
        int64.
    value_type : type
        `RaggedTensor` or, if `ragged_rank` is 0, `Tensor`.

    Raises
    ------
    InvalidArgumentError
        If the rank is unknown, or not larger than `ragged_rank`.

    Examples
    --------
    >>> import dualflow as df
    >>> spec = df.RaggedTensorSpec([None, None], df.int32)
    >>> @df.function(input_signature=[spec])
    ... def largest(x):
    ...     return df.reduce_max(x, axis=1)
    >>> largest(df.ragged.constant([[1, 5], [3]])).tolist()
    [5, 3]
    """

    row_splits_dtype = int64

    def __init__(self, shape: Any = None, dtype: DTypeLike = float32,
                 ragged_rank: int | None = None, row_splits_dtype: DTypeLike = int64,
                 flat_values_spec: TensorSpec | None = None) -> None:
        dtype = dtype if flat_values_spec is None else flat_values_spec.dtype
        self._of_dense = TensorSpec(shape, dtype)
        n = self._of_dense.ndim
        if n is None:
            raise InvalidArgumentError("RaggedTensorSpec: the rank is unknown")
        self.ragged_rank: int = max(n - 1, 0) if ragged_rank is None else ragged_rank
        if not 0 <= self.ragged_rank < max(n, 1):
            raise InvalidArgumentError(f"RaggedTensorSpec: ragged_rank is {ragged_rank} and shape "
                                       f"{self.shape}")

    @classmethod
    def from_value(cls, value: RaggedTensor) -> RaggedTensorSpec:
        """Return the spec of a ragged tensor."""
        return cls(value.shape, value.dtype, value.ragged_rank)

    @property
    def shape(self) -> Any:
        return self._of_dense.shape

    @property
    def dtype(self) -> DType:
        return self._of_dense.dtype

    @property
    def value_type(self) -> type:
        return RaggedTensor if self.ragged_rank else Tensor

    @property
    def _value_type(self) -> type:
        return RaggedTensor if self.ragged_rank else DenseRow

    @property
    def _fields(self) -> tuple[str, ...]:       # type: ignore[override]
        return self._value_type._fields         # type: ignore[attr-defined]

    @property
    def values(self) -> TensorSpec | RaggedTensorSpec:
        """The spec of the values."""
        if self.ragged_rank == 0:
            return self._of_dense
        inner = TensorSpec([None, *self.shape[2:]], self.dtype)
        return inner if self.ragged_rank == 1 else RaggedTensorSpec(
            inner.shape, inner.dtype, self.ragged_rank - 1)

    @property
    def row_splits(self) -> TensorSpec:
        """The spec of the outermost splits."""
        n = self.shape[0]
        return TensorSpec([None if n is None else n + 1], int64)

    @property
    def flat_values_spec(self) -> None:
        """None, as in TensorFlow: the flat values are tensors."""
        return None

    def _remade(self, values: Sequence[Any]) -> Any:
        made: Any = self._value_type
        return made._made(*values)

    def _map_specs(self, function: Callable[..., Any], *others: Any) -> Any:
        made = function(self._of_dense, *[x._of_dense for x in others])
        ranks = self.ragged_rank + made.ndim - len(self.shape)
        return made if ranks < 0 or made.ndim == 0 else RaggedTensorSpec(
            made.shape, made.dtype, ranks)

    def _batched(self, items: Sequence[Any]) -> RaggedTensor:
        return _stacked(items, self.ragged_rank)

    @property
    def _is_dense(self) -> bool:       # type: ignore[override]
        return self.ragged_rank == 0

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return True if a ragged tensor, or another spec, has this dtype, no other sizes and as
        many ragged dimensions."""
        other: Any = spec_or_value
        kinds: Any = (self.value_type, RaggedTensorSpec)
        return bool(isinstance(other, kinds) and other.dtype is self.dtype
                and getattr(other, "ragged_rank", 0) == self.ragged_rank
                and TensorShape(self.shape).is_compatible_with(other.shape))

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, RaggedTensorSpec) and self._of_dense == other._of_dense
                and self.ragged_rank == other.ragged_rank)

    def __hash__(self) -> int:
        return hash((self._of_dense, self.ragged_rank))

    def __repr__(self) -> str:
        return (f"RaggedTensorSpec({list(self.shape)}, {self.dtype!r}, "
                f"ragged_rank={self.ragged_rank})")


def _spec(x: RaggedTensor) -> RaggedTensorSpec:
    """Return the spec of a ragged tensor."""
    return RaggedTensorSpec.from_value(x)


def _batched(first: RaggedTensor, items: Sequence[Any]) -> RaggedTensor:
    """Return ragged tensors stacked along a new first dimension."""
    return _stacked(items, max([x.ragged_rank for x in items]))


def _stacked(items: Sequence[Any], ragged_rank: int) -> RaggedTensor:
    lengths = stack([as_tensor(length(x), int64) for x in items], 0)
    return RaggedTensor._made(joined([with_rank(x, ragged_rank) for x in items]),
                              splits_of(lengths))


def _join(first: RaggedTensor, items: Sequence[RaggedTensor]) -> Any:
    """Return batches joined along the first dimension."""
    return joined(items)


def _as_rows(whole: RaggedTensor) -> RaggedRows:
    """Return the rows of a ragged tensor, a sequence of tensors or ragged tensors."""
    return RaggedRows(whole)


class RaggedRows(RowSequence):
    """The rows of a ragged tensor."""

    def __init__(self, whole: RaggedTensor) -> None:
        self.whole, self.splits = whole, whole.row_splits.tolist()

    def __len__(self) -> int:
        return len(self.splits) - 1

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            begin, end, _ = k.indices(len(self))
            return between(self.whole, begin, max(begin, end))
        return between(self.whole.values, self.splits[k], self.splits[k + 1])

    def take(self, at: Tensor) -> Any:
        return take(self.whole, at)
