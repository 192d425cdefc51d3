"""The content of tables: keys and values from tensors or from a text file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from dualflow._core import TensorBase, as_tensor
from dualflow._util.arguments import integer, shown
from dualflow.dtypes import as_dtype, int64
from dualflow.errors import DTypeError, InvalidArgumentError, NotFoundError, ShapeError
from dualflow.ops.string_tensor import StringTensor, as_bytes, is_text, string, text
from dualflow.ops.strings.convert import to_number
from dualflow.ops.types import DTypeLike

__all__ = ["KeyValueTensorInitializer", "TextFileIndex", "TextFileInitializer"]


def dtype_of(dtype: Any) -> Any:
    """Return `df.string` or a DType."""
    return string if dtype == string or dtype in (str, bytes) else as_dtype(dtype)


def items_of(value: Any, dtype: Any, what: str) -> Any:
    """Return a value as a StringTensor or Tensor of a dtype; None: of its own."""
    wanted = None if dtype is None else dtype_of(dtype)
    if is_text(value) or wanted is string:
        if wanted not in (None, string):
            raise DTypeError(f"{what} are {shown(value)}, expected {wanted.name}")
        return text(value, what)
    return as_tensor(value, None if isinstance(value, TensorBase) and wanted is None else wanted,
                     what)


def listed(items: Any) -> list[Any]:
    """Return the elements of a StringTensor or Tensor."""
    array = items._array if isinstance(items, StringTensor) else items.numpy()
    found: list[Any] = array.ravel().tolist()
    return found


class KeyValueTensorInitializer:
    """The keys and values of a table, from tensors.

    Parameters
    ----------
    keys, values : StringTensor, Tensor, or list of str or numbers
        Of one shape.
    key_dtype, value_dtype : dtype, optional
        By default the dtypes of the tensors.
    name : str, optional

    Raises
    ------
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> import dualflow as df
    >>> content = df.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> df.lookup.StaticHashTable(content, -1).lookup(df.constant(["b", "c"])).tolist()
    [2, -1]
    """

    _items: Sequence[tuple[Any, Any]] = ()      # of subclasses that have no keys yet

    def __init__(self, keys: Any, values: Any, key_dtype: DTypeLike | None = None,
                 value_dtype: DTypeLike | None = None, name: str | None = None) -> None:
        k = items_of(keys, key_dtype, "KeyValueTensorInitializer: keys")
        v = items_of(values, value_dtype, "KeyValueTensorInitializer: values")
        if tuple(k.shape) != tuple(v.shape):
            raise ShapeError(f"KeyValueTensorInitializer: keys have shape {tuple(k.shape)} and "
                             f"values {tuple(v.shape)}, expected equal shapes")
        self.key_dtype: Any = k.dtype
        self.value_dtype: Any = v.dtype
        self._items = list(zip(listed(k), listed(v), strict=True))


class TextFileIndex:
    """The columns of `TextFileInitializer` that are not fields of a line.

    Attributes
    ----------
    WHOLE_LINE : int
    LINE_NUMBER : int

    Examples
    --------
    >>> import dualflow as df
    >>> df.lookup.TextFileIndex.WHOLE_LINE, df.lookup.TextFileIndex.LINE_NUMBER
    (-2, -1)
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer:
    """The keys and values of a table, from the lines of a file.

    Parameters
    ----------
    filename : str, path or scalar StringTensor
    key_dtype, value_dtype : dtype
        `df.string`, or the dtype of numbers; line numbers are int64.
    key_index, value_index : int
        The number of a field of each line, or a constant of `TextFileIndex`.
    vocab_size : int, optional
        The number of lines to read; by default all.
    delimiter : str, default tab
        The text between the fields of a line.
    name : str, optional
    value_index_offset : int, default 0
        Added to values that are line numbers.

    Raises
    ------
    NotFoundError
        If there is no such file.
    InvalidArgumentError
        If a line has too few fields, a field is not a number, or the file has fewer than
        `vocab_size` lines.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> path = tempfile.mkdtemp() + "/words.txt"
    >>> df.io.write_file(path, "cat\\ndog\\n")
    >>> index = df.lookup.TextFileIndex
    >>> table = df.lookup.StaticHashTable(df.lookup.TextFileInitializer(
    ...     path, df.string, index.WHOLE_LINE, df.int64, index.LINE_NUMBER), -1)
    >>> table.lookup(df.constant("dog")).item()
    1
    """

    def __init__(self, filename: Any, key_dtype: DTypeLike, key_index: int,
                 value_dtype: DTypeLike, value_index: int, vocab_size: int | None = None,
                 delimiter: str = "\t", name: str | None = None,
                 value_index_offset: int = 0) -> None:
        given = filename if isinstance(filename, os.PathLike) else text(
            filename, "TextFileInitializer: filename").numpy()
        path = os.fsdecode(given)
        try:
            with open(path, "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            raise NotFoundError(f"TextFileInitializer: {path!r} does not exist") from None
        if lines[-1] == b"":
            lines.pop()
        lines = [line.removesuffix(b"\r") for line in lines]
        if vocab_size is not None:
            if len(lines) < vocab_size:
                raise InvalidArgumentError(f"TextFileInitializer: {path!r} has {len(lines)} lines, "
                                           f"expected at least vocab_size {vocab_size}")
            lines = lines[:vocab_size]
        self.key_dtype: Any = dtype_of(key_dtype)
        self.value_dtype: Any = dtype_of(value_dtype)
        between = as_bytes(delimiter)
        self._items = list(zip(
            _column(lines, key_index, self.key_dtype, between, 0, "key"),
            _column(lines, value_index, self.value_dtype, between, value_index_offset, "value"),
            strict=True))


def _column(lines: list[bytes], index: int, dtype: Any, delimiter: bytes, offset: int,
            what: str) -> list[Any]:
    at = integer(index, f"TextFileInitializer: {what}_index")
    if at == TextFileIndex.LINE_NUMBER:
        if dtype is not int64:
            raise DTypeError(f"TextFileInitializer: {what}_dtype is {dtype.name}, expected int64 "
                             "for line numbers")
        return list(range(offset, offset + len(lines)))
    if at < TextFileIndex.WHOLE_LINE:
        raise InvalidArgumentError(f"TextFileInitializer: {what}_index is {at}, expected at least "
                                   "-2")
    found = lines
    if at >= 0:
        fields = [line.split(delimiter) for line in lines]
        short = [k for k, x in enumerate(fields) if len(x) <= at]
        if short:
            raise InvalidArgumentError(f"TextFileInitializer: line {short[0]} has "
                                       f"{len(fields[short[0]])} fields, expected more than {at}")
        found = [x[at] for x in fields]
    return found if dtype is string or not found else listed(to_number(found, dtype))
