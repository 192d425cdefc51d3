"""Descriptions of the features of examples, and the values that they select from messages."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from dualflow._core import as_tensor, rebuild
from dualflow._util.arguments import integer, shown
from dualflow.dtypes import DType, as_dtype
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.display import tolist
from dualflow.ops.sparse.sparse_tensor import SparseTensor
from dualflow.ops.string_tensor import StringTensor, string, text

__all__ = ["FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature"]

LISTS = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}
CODES = {"float32": "f", "int64": "q"}


class FixedLenFeature(NamedTuple):
    """A feature with the same shape in each example.

    Attributes
    ----------
    shape : sequence of int
    dtype : {float32, int64, string}
    default_value : optional
        The values of examples without the feature: one value, or as many as in `shape`. By default
        such examples raise an error.

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.FixedLenFeature([2], df.int64)
    FixedLenFeature(shape=[2], dtype=dualflow.int64, default_value=None)
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of rows, each of the same shape.

    Attributes
    ----------
    shape : sequence of int
        Shape of a row.
    dtype : {float32, int64, string}
    allow_missing : bool, default False
        Whether examples without the feature have no rows; `parse_example` requires True.
    default_value : optional
        The value of the rows that `parse_example` appends to the shorter examples of a batch; by
        default 0 or an empty string.

    Examples
    --------
    >>> import dualflow as df
    >>> ints = df.train.Int64List(value=[1, 2, 3])
    >>> features = df.train.Features(feature={"a": df.train.Feature(int64_list=ints)})
    >>> data = df.train.Example(features=features).SerializeToString()
    >>> spec = df.io.FixedLenSequenceFeature([], df.int64, allow_missing=True)
    >>> df.io.parse_single_example(data, {"a": spec})["a"].tolist()
    [1, 2, 3]
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, parsed as a sparse tensor.

    The element `k` of example `i` of a batch is at position ``[i, k]``; of a single example, at
    position ``[k]``. Examples without the feature have no elements.

    Attributes
    ----------
    dtype : {float32, int64, string}

    Examples
    --------
    >>> import dualflow as df
    >>> data = [df.train.Example(features=df.train.Features(feature={"a": df.train.Feature(
    ...     int64_list=df.train.Int64List(value=v))})).SerializeToString() for v in ([1], [2, 3])]
    >>> found = df.io.parse_example(data, {"a": df.io.VarLenFeature(df.int64)})["a"]
    >>> df.sparse.to_dense(found).tolist()
    [[1, 0], [2, 3]]
    """

    dtype: Any


def dtype_of(value: Any) -> Any:
    """Return a DType, or `string`."""
    if isinstance(value, DType):
        return value
    return string if value == string or value in (str, bytes) else as_dtype(value)


class Selection:
    """A validated description of one feature.

    Attributes
    ----------
    shape : tuple of int
    many : bool
        Whether the number of rows is variable.
    sparse : bool
        Whether the result is a sparse tensor.
    """

    def __init__(self, key: str, given: Any, caller: str) -> None:
        self.key = key
        self.what = what = f"{caller}: feature {key!r}"
        if not isinstance(given, FixedLenFeature | FixedLenSequenceFeature | VarLenFeature):
            raise DTypeError(f"{what} is {shown(given)}, expected a FixedLenFeature, "
                             "FixedLenSequenceFeature, VarLenFeature or RaggedFeature")
        self.sparse: bool = isinstance(given, VarLenFeature)
        if isinstance(given, VarLenFeature):
            given = FixedLenSequenceFeature([], given.dtype, True)
        self.many: bool = isinstance(given, FixedLenSequenceFeature)
        self.allow_missing: bool = isinstance(given, FixedLenSequenceFeature) and bool(
            given.allow_missing)
        self.dtype: Any = dtype_of(given.dtype)
        if self.dtype.name not in LISTS:
            raise DTypeError(f"{what} has dtype {self.dtype.name}, expected float32, int64 or "
                             "string: parse_example returns these, and dualflow.cast converts them")
        sizes = given.shape if isinstance(given.shape, list | tuple) else [given.shape]
        if any([n is None for n in sizes]):
            raise InvalidArgumentError(f"{what} has the shape {given.shape}, expected known sizes; "
                                       "FixedLenSequenceFeature has any number of rows")
        self.shape: tuple[int, ...] = tuple([integer(n, f"{what}: a size") for n in sizes])
        if any([n < 0 for n in self.shape]):
            raise InvalidArgumentError(f"{what} has the shape {given.shape}, expected sizes of at "
                                       "least 0")
        self.size: int = prod(self.shape)
        self.default: list[Any] | None = None
        if given.default_value is not None:
            self.default = self._default(given.default_value)

    def _default(self, value: Any) -> list[Any]:
        if self.dtype is string:
            flat = text(value, self.what)._array.ravel().tolist()
        else:
            x = as_tensor(value, self.dtype, self.what)
            flat = array(CODES[self.dtype.name], flattened(tolist(x))).tolist()
        if len(flat) not in (1, self.size):
            raise InvalidArgumentError(f"{self.what}: default_value has {len(flat)} elements, "
                                       f"expected 1 or {self.size}")
        return flat if len(flat) == self.size else flat * self.size

    def read(self, features: Mapping[str, Any]) -> Any:
        """Return the values of an example."""
        feature = features.get(self.key)
        return self.rows(feature) if self.many else self.row(feature)

    def batch(self, parts: list[Any]) -> Any:
        """Return the tensor of the values of each example of a batch."""
        if self.sparse:
            return self.elements(parts, True)
        sizes: tuple[int, ...] = (len(parts),)
        if self.many:
            parts, rows = self.padded(parts)
            sizes = *sizes, rows
        return self.tensor(parts, (*sizes, *self.shape))

    def single(self, part: Any) -> Any:
        """Return the tensor of the values of one example."""
        if self.sparse:
            return self.elements([part], False)
        rows = (len(part) // (self.size or 1),) if self.many else ()
        return self.tensor([part], (*rows, *self.shape))

    def values(self, feature: Any) -> Sequence[Any] | None:
        """Return the values in a message Feature, or None if it has none."""
        if feature is None or not vars(feature):
            return None
        kind = list(vars(feature))[-1]
        if kind != LISTS[self.dtype.name]:
            raise DTypeError(f"{self.what} is a {kind} in the example, expected a "
                             f"{LISTS[self.dtype.name]} for dtype {self.dtype.name}")
        found: Sequence[Any] = getattr(feature, kind).value
        return found

    def row(self, feature: Any) -> Sequence[Any]:
        """Return the values of a feature with a fixed shape."""
        found = self.values(feature)
        if found is None:
            if self.default is None:
                raise InvalidArgumentError(f"{self.what} is missing in the example and has no "
                                           "default_value")
            return self.default
        if len(found) != self.size:
            raise InvalidArgumentError(f"{self.what} has {len(found)} values in the example, "
                                       f"expected {self.size} for shape {self.shape}")
        return found

    def rows(self, feature: Any) -> Sequence[Any]:
        """Return the values of a feature with any number of rows."""
        if not self.allow_missing:
            raise InvalidArgumentError(f"{self.what} is a FixedLenSequenceFeature, which requires "
                                       "allow_missing=True")
        found = self.values(feature)
        if found is None:
            return ()
        if not self.size or len(found) % self.size:
            raise InvalidArgumentError(f"{self.what} has {len(found)} values in the example, "
                                       f"expected a multiple of {self.size} for shape {self.shape}")
        return found

    def padded(self, parts: list[Sequence[Any]]) -> tuple[list[Sequence[Any]], int]:
        """Append default values to the shorter ones of a batch; return the number of rows too."""
        most = max(map(len, parts), default=0)
        filler = self.default
        if filler is None:
            filler = [b"" if self.dtype is string else 0] * self.size
        rows = most // self.size if self.size else 0
        return [[*x, *filler * (rows - len(x) // self.size)] if len(x) < most else x
                for x in parts], rows

    def elements(self, parts: list[Sequence[Any]], batch: bool) -> SparseTensor:
        """Return the sparse tensor of the values of each example."""
        at = [x for i, part in enumerate(parts) for k in range(len(part))
              for x in (i, k)[not batch:]]
        indices = rebuild("int64", (sum(map(len, parts)), 1 + batch), array("q", at).tobytes())
        sizes = (len(parts), max(map(len, parts), default=0))
        return SparseTensor(indices, self.tensor(parts, (len(indices),)), sizes[not batch:])

    def tensor(self, parts: list[Sequence[Any]], shape: tuple[int, ...]) -> Any:
        """Return the tensor of the concatenated values."""
        if self.dtype is string:
            return string_tensor([x for part in parts for x in part], shape)
        code = CODES[self.dtype.name]
        data = b"".join([(x if isinstance(x, array) else array(code, x)).tobytes() for x in parts])
        return rebuild(self.dtype.name, shape, data)


def string_tensor(flat: list[bytes], shape: tuple[int, ...]) -> StringTensor:
    """Return the tensor of texts in row-major order."""
    import numpy as np

    made = np.empty(len(flat), object)
    made[:] = flat
    return StringTensor(made.reshape(shape))


def flattened(values: Any) -> list[Any]:
    """Return the elements of nested lists."""
    if not isinstance(values, list):
        return [values]
    while values and isinstance(values[0], list):
        values = [x for part in values for x in part]
    return values


