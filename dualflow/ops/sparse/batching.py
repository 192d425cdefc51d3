"""Batches of sparse tensors, and their rows; see `dualflow.ops.composite_rows`."""

from __future__ import annotations

from typing import Any

from dualflow._core import as_tensor
from dualflow.dtypes import int64
from dualflow.ops.array.creation import range as numbers
from dualflow.ops.composite_rows import RowSequence
from dualflow.ops.elementwise.arithmetic import subtract
from dualflow.ops.sorting.sort import searchsorted
from dualflow.ops.sparse.combine import concat
from dualflow.ops.sparse.select import expand_dims, reorder
from dualflow.ops.sparse.sparse_tensor import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def _batched(first: SparseTensor, items: Sequence[SparseTensor]) -> SparseTensor:
    """Return sparse tensors stacked along a new first dimension. If sizes differ, the largest
    counts, as in TensorFlow."""
    return concat(0, [expand_dims(x, 0) for x in items], expand_nonconcat_dims=True)


def _join(first: SparseTensor, items: Sequence[SparseTensor]) -> SparseTensor:
    """Return batches joined along the first dimension."""
    return concat(0, items, expand_nonconcat_dims=True)


def _as_rows(whole: SparseTensor) -> SparseRows:
    """Return the rows of a sparse tensor, a sequence of sparse tensors."""
    return SparseRows(whole)


class SparseRows(RowSequence):
    """The rows of a sparse tensor. `starts[i]` is the number of its first element in row i."""

    def __init__(self, whole: SparseTensor) -> None:
        self.whole = reorder(whole)
        n = whole.sizes[0]
        self.starts: list[int] = searchsorted(self.whole.indices[:, 0],
                                              numbers(n + 1, dtype=int64)).tolist()

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, k: Any) -> SparseTensor:
        x, n = self.whole, len(self)
        begin, end = k.indices(n)[:2] if isinstance(k, slice) else (k, k + 1)
        low, high = self.starts[begin], self.starts[max(end, begin)]
        indices, values = x.indices[low:high], x.values[low:high]
        if not isinstance(k, slice):
            return SparseTensor._made(indices[:, 1:], values, x.sizes[1:])
        shift = as_tensor([begin, *[0] * (x.ndim - 1)], int64)
        return SparseTensor._made(subtract(indices, shift), values,
                                  (max(end - begin, 0), *x.sizes[1:]))
