"""Tables from keys to values. A lookup runs in Python: at once, or in each run of a graph."""

from __future__ import annotations

from typing import Any

from dualflow._core import Tensor
from dualflow._util.arguments import integer, shown
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.lookup.initializers import dtype_of, items_of
from dualflow.ops.array.creation import constant
from dualflow.ops.string_tensor import each_of, string, whole
from dualflow.ops.strings.fingerprint import fingerprint64
from dualflow.ops.types import DTypeLike

__all__ = ["MutableHashTable", "StaticHashTable", "StaticVocabularyTable"]


class _Table:
    """The functions that all tables have."""

    def __init__(self, key_dtype: Any, value_dtype: Any, name: str) -> None:
        self.key_dtype: Any = dtype_of(key_dtype)
        self.value_dtype: Any = dtype_of(value_dtype)
        self.name = name
        self._values: dict[Any, Any] = {}

    def _keys(self, keys: Any) -> Any:
        found = items_of(keys, None if hasattr(keys, "dtype") else self.key_dtype,
                         f"{self.name}: keys")
        if found.dtype != self.key_dtype:
            raise DTypeError(f"{self.name}: keys have dtype {found.dtype.name}, expected "
                             f"{self.key_dtype.name}")
        return found

    def _value(self, key: Any) -> Any:
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the value of each key; the shape is that of `keys`."""
        found = self._keys(keys)
        return whole("lookup", lambda array: [each_of(self._value, (array,))], [found],
                     [(self.value_dtype, tuple(found.shape))])[0]

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys as int64."""
        return constant(len(self._values), int64)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and all values."""
        return (items_of(list(self._values), self.key_dtype, self.name),
                items_of(list(self._values.values()), self.value_dtype, self.name))

    def __repr__(self) -> str:
        return (f"<dualflow.lookup.{type(self).__name__} of {len(self._values)} keys: "
                f"{self.key_dtype.name} to {self.value_dtype.name}>")


def check_initializer(initializer: Any, table: str) -> None:
    """Raise unless a table can be created from an initializer."""
    if not hasattr(initializer, "_items"):
        raise DTypeError(f"{table}: initializer is {shown(initializer)}, expected a "
                         "KeyValueTensorInitializer or a TextFileInitializer")


def _scalar(value: Any, dtype: Any, what: str) -> Any:
    x = items_of(value, dtype, what)
    if x.ndim:
        raise InvalidArgumentError(f"{what} has shape {tuple(x.shape)}, expected a scalar")
    return x.numpy() if dtype is string else x.item()


class StaticHashTable(_Table):
    """A table that does not change.

    Parameters
    ----------
    initializer : KeyValueTensorInitializer or TextFileInitializer
    default_value : scalar
        The value of keys that the table lacks.
    name : str, optional
    experimental_is_anonymous : bool
        Ignored; accepted for compatibility with TensorFlow.

    Attributes
    ----------
    key_dtype, value_dtype : dtype

    Raises
    ------
    InvalidArgumentError
        If a key has two values.

    Examples
    --------
    >>> import dualflow as df
    >>> table = df.lookup.StaticHashTable(
    ...     df.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), default_value=0)
    >>> df.function(table.lookup)(df.constant(["b", "x", "a"])).tolist()
    [2, 0, 1]
    """

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None,
                 experimental_is_anonymous: bool = False) -> None:
        check_initializer(initializer, "StaticHashTable")
        super().__init__(initializer.key_dtype, initializer.value_dtype, name or "StaticHashTable")
        self._default = _scalar(default_value, self.value_dtype, f"{self.name}: default_value")
        for key, value in initializer._items:
            if self._values.setdefault(key, value) != value:
                raise InvalidArgumentError(f"{self.name}: the key {shown(key)} has the values "
                                           f"{shown(self._values[key])} and {shown(value)}")

    @property
    def default_value(self) -> Any:
        """The value of keys that the table lacks."""
        return items_of(self._default, self.value_dtype, self.name)

    def _value(self, key: Any) -> Any:
        return self._values.get(key, self._default)


class StaticVocabularyTable(_Table):
    """A table from keys to ids; other keys get ids after these by their hashes.

    Parameters
    ----------
    initializer : KeyValueTensorInitializer or TextFileInitializer or None
        Its values are int64. None: all ids are hashes.
    num_oov_buckets : int
        Number of ids for keys that the table lacks.
    lookup_key_dtype : dtype, optional
        `df.string` or an integer dtype; by default that of the initializer, or `df.string`.
    name : str, optional
    experimental_is_anonymous : bool
        Ignored; accepted for compatibility with TensorFlow.

    Notes
    -----
    The hash is that of `df.strings.to_hash_bucket_fast`, of the decimal digits for integers.

    Raises
    ------
    InvalidArgumentError
        If `num_oov_buckets` is not positive, or a key has two values.

    Examples
    --------
    >>> import dualflow as df
    >>> content = df.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype=df.int64)
    >>> table = df.lookup.StaticVocabularyTable(content, num_oov_buckets=3)
    >>> table.lookup(df.constant(["b", "Hello", "TensorFlow"])).tolist(), table.size().item()
    ([1, 2, 4], 5)
    """

    def __init__(self, initializer: Any, num_oov_buckets: int,
                 lookup_key_dtype: DTypeLike | None = None, name: str | None = None,
                 experimental_is_anonymous: bool = False) -> None:
        if initializer is not None:
            check_initializer(initializer, "StaticVocabularyTable")
        own = string if initializer is None else initializer.key_dtype
        super().__init__(own if lookup_key_dtype is None else lookup_key_dtype, int64,
                         name or "StaticVocabularyTable")
        self._buckets = integer(num_oov_buckets, f"{self.name}: num_oov_buckets")
        if self._buckets < 1:
            raise InvalidArgumentError(f"{self.name}: num_oov_buckets is {num_oov_buckets}, "
                                       "expected at least 1")
        if initializer is not None:
            if initializer.value_dtype is not int64:
                raise DTypeError(f"{self.name}: the values have dtype "
                                 f"{initializer.value_dtype.name}, expected int64")
            self._values = StaticHashTable(initializer, -1)._values

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of ids as int64."""
        return constant(len(self._values) + self._buckets, int64)

    def _value(self, key: Any) -> Any:
        found = self._values.get(key)
        if found is not None:
            return found
        of = key if isinstance(key, bytes) else b"%d" % key
        return len(self._values) + fingerprint64(of) % self._buckets


class MutableHashTable(_Table):
    """A table whose keys can be inserted and removed.

    Parameters
    ----------
    key_dtype, value_dtype : dtype
    default_value : scalar
        The value of keys that the table lacks.
    name : str, optional
    checkpoint, experimental_is_anonymous : bool
        Ignored; checkpoints do not contain tables.

    Examples
    --------
    >>> import dualflow as df
    >>> table = df.lookup.experimental.MutableHashTable(df.string, df.int64, -1)
    >>> table.insert(["a", "b"], [3, 4])
    >>> table.remove(["a"])
    >>> table.lookup(["a", "b"]).tolist(), table.size().item()
    ([-1, 4], 1)
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: Any,
                 name: str = "MutableHashTable", checkpoint: bool = True,
                 experimental_is_anonymous: bool = False) -> None:
        super().__init__(key_dtype, value_dtype, name)
        self._default = _scalar(default_value, self.value_dtype, f"{name}: default_value")

    def _value(self, key: Any) -> Any:
        return self._values.get(key, self._default)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Set the values of keys; both have one shape."""
        def run(some: Any, theirs: Any) -> list[Any]:
            if some.shape != theirs.shape:
                raise InvalidArgumentError(f"{self.name}: keys have shape {some.shape} and values "
                                           f"{theirs.shape}, expected equal shapes")
            self._values.update(zip(_flat(some), _flat(theirs), strict=True))
            return []

        found = items_of(values, self.value_dtype, f"{self.name}: values")
        whole("insert", run, [self._keys(keys), found], [])

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Remove keys; keys that the table lacks are ignored."""
        def run(some: Any) -> list[Any]:
            for key in _flat(some):
                self._values.pop(key, None)
            return []

        whole("remove", run, [self._keys(keys)], [])


def _flat(array: Any) -> list[Any]:
    import numpy as np

    found: list[Any] = np.asarray(array).ravel().tolist()
    return found
