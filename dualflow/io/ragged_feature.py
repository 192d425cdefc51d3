"""RaggedFeature: features of examples that are parsed as ragged tensors."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from dualflow._core import rebuild
from dualflow._util.arguments import shown
from dualflow.dtypes import int32, int64
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.io.features import FixedLenSequenceFeature, Selection
from dualflow.ops.ragged.ragged_tensor import RaggedTensor

__all__ = ["RaggedFeature"]


class Partition(NamedTuple):
    """The feature with the row splits, lengths, starts, limits or row numbers of each example."""

    key: str


class Fields(NamedTuple):
    """The fields of a RaggedFeature."""

    dtype: Any
    value_key: str | None = None
    partitions: Sequence[Any] = ()
    row_splits_dtype: Any = int32
    validate: bool = False


class RaggedFeature(Fields):
    """A feature with any number of values, parsed as a ragged tensor.

    Attributes
    ----------
    dtype : {float32, int64, string}
    value_key : str, optional
        The name of the feature in the examples; by default the key in the dict of features.
    partitions : sequence of RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds \
or UniformRowLength
        Attributes of this class. They divide the values into rows, the outermost dimension first.
    row_splits_dtype, validate
        Accepted for compatibility with TensorFlow: splits are int64, and always checked.

    Examples
    --------
    >>> import dualflow as df
    >>> def ints(*values):
    ...     return df.train.Feature(int64_list=df.train.Int64List(value=values))
    >>> data = [df.train.Example(features=df.train.Features(feature={
    ...     "v": ints(*v), "n": ints(*n)})).SerializeToString()
    ...     for v, n in (([1, 2, 3], [1, 2]), ([4], [0, 1]))]
    >>> rows = df.io.RaggedFeature.RowLengths("n")
    >>> found = df.io.parse_example(data, {
    ...     "v": df.io.RaggedFeature(df.int64),
    ...     "rows": df.io.RaggedFeature(df.int64, value_key="v", partitions=[rows])})
    >>> found["v"].to_list(), found["rows"].to_list()
    ([[1, 2, 3], [4]], [[[1], [2, 3]], [[], [4]]])
    """

    __slots__ = ()

    class RowSplits(Partition):
        __slots__ = ()

    class RowLengths(Partition):
        __slots__ = ()

    class RowStarts(Partition):
        __slots__ = ()

    class RowLimits(Partition):
        __slots__ = ()

    class ValueRowIds(Partition):
        __slots__ = ()

    class UniformRowLength(NamedTuple):
        """Rows of one length."""

        length: int


class RaggedSelection(Selection):
    """A validated RaggedFeature."""

    def __init__(self, key: str, given: RaggedFeature, caller: str) -> None:
        key = key if given.value_key is None else given.value_key
        super().__init__(key, FixedLenSequenceFeature([], given.dtype, True), caller)
        self.many = False
        for x in given.partitions:
            if not isinstance(x, Partition | RaggedFeature.UniformRowLength):
                raise DTypeError(f"{self.what} has the partition {shown(x)}, expected a RowSplits, "
                                 "RowLengths, RowStarts, RowLimits, ValueRowIds or "
                                 "UniformRowLength of RaggedFeature")
            if isinstance(x, RaggedFeature.UniformRowLength) and (
                    type(x.length) is not int or x.length < 1):
                raise InvalidArgumentError(f"{self.what} has a UniformRowLength of {x.length}, "
                                           "expected a positive int")
        self.levels = [(x, Selection(x.key, FixedLenSequenceFeature([], int64, True), caller)
                        if isinstance(x, Partition) else None)
                       for x in reversed(given.partitions)]

    def read(self, features: Mapping[str, Any]) -> Any:
        """Return the values of an example and the row lengths of each level, the innermost
        first."""
        values = self.rows(features.get(self.key))
        n, lengths = len(values), []
        for partition, one in self.levels:
            found = lengths_of(partition, [] if one is None else list(one.read(features)), n)
            if sum(found) != n or min(found, default=0) < 0:
                raise InvalidArgumentError(
                    f"{self.what} has {n} values in the rows of {partition}, whose lengths are "
                    f"{shown(found)}")
            lengths.append(found)
            n = len(found)
        return values, lengths, n

    def batch(self, parts: list[Any]) -> Any:
        return ragged(self._joined(parts), [n for _, _, n in parts], None)

    def single(self, part: Any) -> Any:
        return self._joined([part])

    def _joined(self, parts: list[Any]) -> Any:
        """Return the values of all examples in their rows."""
        values = [x for x, _, _ in parts]
        made = self.tensor(values, (sum(map(len, values)),))
        for k, (partition, _) in enumerate(self.levels):
            made = ragged(made, [n for _, lengths, _ in parts for n in lengths[k]],
                          getattr(partition, "length", None))
        return made


def ragged(values: Any, lengths: list[int], uniform: int | None) -> RaggedTensor:
    """Return values in rows of given lengths."""
    splits = array("q", [0])
    for n in lengths:
        splits.append(splits[-1] + n)
    return RaggedTensor._made(values, rebuild("int64", (len(splits),), splits.tobytes()), uniform)


def lengths_of(partition: Any, found: list[int], n: int) -> list[int]:
    """Return the row lengths that a partition of `n` values describes."""
    if isinstance(partition, RaggedFeature.UniformRowLength):
        return [partition.length] * (n // partition.length)
    if isinstance(partition, RaggedFeature.RowLengths):
        return found
    if isinstance(partition, RaggedFeature.ValueRowIds):
        counts = Counter(found)
        return [] if found != sorted(found) or len(found) != n else [
            counts[k] for k in range(found[-1] + 1 if found else 0)]
    if isinstance(partition, RaggedFeature.RowStarts):
        found = [*found, n] if found else []
    elif isinstance(partition, RaggedFeature.RowLimits):
        found = [0, *found]
    if found and found[0]:
        return []                       # the first values are in no row
    return [b - a for a, b in pairwise(found)]
