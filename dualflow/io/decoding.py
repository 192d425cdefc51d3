"""Text as numbers: raw bytes and lines of comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

from dualflow._core import TensorBase, constant, rebuild
from dualflow._util.arguments import integer, shown
from dualflow.dtypes import DType
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.io.features import dtype_of, flattened
from dualflow.io.parsing import texts
from dualflow.ops.string_tensor import StringType, is_text, string, whole
from dualflow.ops.types import DTypeLike

__all__ = ["decode_csv", "decode_raw"]


def decode_raw(input_bytes: Any, out_type: DTypeLike, little_endian: bool = True,
               fixed_length: int | None = None, name: str | None = None) -> Any:
    """Interpret the bytes of texts as numbers.

    Parameters
    ----------
    input_bytes : StringTensor, bytes, or nested lists
        Texts of equal lengths.
    out_type : dtype
    little_endian : bool, default True
        The byte order.
    fixed_length : int, optional
        Number of bytes of each text: longer texts are cut, shorter ones are padded with zeros.

    Returns
    -------
    Tensor
        The shape of `input_bytes`, followed by the number of elements of each text.

    Raises
    ------
    InvalidArgumentError
        If the lengths differ, or are not multiples of the size of an element.

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.decode_raw(b"\\x01\\x00\\x02\\x00", df.int16).tolist()
    [1, 2]
    """
    x, dtype = texts(input_bytes, "decode_raw"), dtype_of(out_type)
    if not isinstance(dtype, DType):
        raise DTypeError("decode_raw: out_type is string, expected a dtype of numbers")
    parts, size = x._array.ravel().tolist(), dtype.itemsize
    if fixed_length is not None:
        n = integer(fixed_length, "decode_raw: fixed_length")
        if n <= 0:
            raise InvalidArgumentError(f"decode_raw: fixed_length is {n}, expected at least 1")
        parts = [part[:n].ljust(n, b"\0") for part in parts]
    lengths = sorted({len(part) for part in parts}) or [0]
    if len(lengths) > 1:
        raise InvalidArgumentError(f"decode_raw: texts have {lengths[0]} and {lengths[-1]} bytes, "
                                   "expected equal lengths, or fixed_length")
    if lengths[0] % size:
        raise InvalidArgumentError(f"decode_raw: a text has {lengths[0]} bytes, expected a "
                                   f"multiple of {size} for dtype {dtype.name}")
    data = b"".join(parts)
    if not little_endian and size > 1:
        swapped = bytearray(len(data))
        for k in range(size):
            swapped[k::size] = data[size - 1 - k::size]
        data = bytes(swapped)
    if dtype.name == "bool":
        data = data.translate(bytes([0]) + bytes([1]) * 255)
    return rebuild(dtype.name, (*x.shape, lengths[0] // size), data)


def decode_csv(records: Any, record_defaults: Sequence[Any], field_delim: str = ",",
               use_quote_delim: bool = True, na_value: str = "",
               select_cols: Sequence[int] | None = None, name: str | None = None) -> list[Any]:
    """Convert lines of comma-separated values to one tensor per column.

    Parameters
    ----------
    records : StringTensor, str, or nested lists
        One line each.
    record_defaults : list
        For each column, the value of empty fields, whose dtype is the dtype of the column: float32,
        float64, int32, int64 or string. A dtype, or an empty tensor, means that fields must not be
        empty.
    field_delim : str, default ","
    use_quote_delim : bool, default True
        Whether double quotes enclose fields.
    na_value : str, default ""
        Text that stands for an empty field, too.
    select_cols : list of int, optional
        Increasing indices of the columns to return; by default all.

    Returns
    -------
    list of Tensor or StringTensor
        Each has the shape of `records`. In a traced function the lines are parsed in each run.

    Raises
    ------
    InvalidArgumentError
        If a line has a different number of fields, or a field is not a number or is empty.

    Examples
    --------
    >>> import dualflow as df
    >>> area, name = df.io.decode_csv(["1.5,a", ',"b,c"'], [0.0, ""])
    >>> area.tolist(), name.tolist()
    ([1.5, 0.0], [b'a', b'b,c'])
    """
    lines = texts(records, "decode_csv")
    columns = [column_of(x, f"decode_csv: column {k}") for k, x in enumerate(record_defaults)]
    chosen = None if select_cols is None else [
        integer(k, "decode_csv: a column of select_cols") for k in select_cols]
    if chosen is not None and (len(chosen) != len(columns) or chosen != sorted({*chosen})
                               or min(chosen, default=0) < 0):
        raise InvalidArgumentError(f"decode_csv: select_cols is {shown(select_cols)}, expected "
                                   f"{len(columns)} increasing indices, one per default")
    if not isinstance(field_delim, str) or len(field_delim.encode()) != 1:
        raise InvalidArgumentError(f"decode_csv: field_delim is {shown(field_delim)}, expected one "
                                   "character of one byte")

    def columns_of(array: Any) -> list[Any]:
        import numpy as np

        made: list[list[Any]] = [[] for _ in columns]
        for place, line in enumerate(array.ravel().tolist()):
            where = f"decode_csv: record {place}"
            fields = fields_of(line, field_delim, use_quote_delim, where)
            if chosen is not None and chosen and chosen[-1] < len(fields):
                fields = [fields[k] for k in chosen]
            elif (chosen is not None and chosen) or len(fields) != len(columns):
                raise InvalidArgumentError(f"{where} has {len(fields)} fields, expected "
                                           f"{chosen[-1] + 1 if chosen else len(columns)}")
            for k, (field, (dtype, default)) in enumerate(zip(fields, columns, strict=True)):
                made[k].append(value_of(field, dtype, default, na_value, f"{where}, column {k}"))
        return [np.array(values, object if dtype is string else dtype.name).reshape(array.shape)
                for values, (dtype, _) in zip(made, columns, strict=True)]

    return whole("decode_csv", columns_of, [lines],
                 [(dtype, tuple(lines.shape)) for dtype, _ in columns])


def column_of(default: Any, what: str) -> tuple[Any, Any]:
    """Return the dtype of a column, and the value of empty fields or None."""
    flat: list[Any] = []
    if isinstance(default, DType | StringType):
        dtype: Any = dtype_of(default)
    elif not isinstance(default, TensorBase) and is_text(default):
        dtype, flat = string, texts(default, what)._array.ravel().tolist()
    else:
        x = constant(default, None, what)
        dtype, flat = x.dtype, flattened(x.tolist())
    if dtype.name not in ("float32", "float64", "int32", "int64", "string"):
        raise DTypeError(f"{what} has dtype {dtype.name}, expected float32, float64, int32, int64 "
                         "or string")
    if len(flat) > 1:
        raise InvalidArgumentError(f"{what} has {len(flat)} default values, expected at most one")
    return dtype, flat[0] if flat else None


def fields_of(line: bytes, delimiter: str, quotes: bool, where: str) -> list[str]:
    """Return the fields of a line as text with one character per byte."""
    reader = csv.reader([line.decode("latin-1")], delimiter=delimiter, strict=True,
                        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE)
    try:
        return next(reader, None) or [""]
    except csv.Error as error:
        raise InvalidArgumentError(f"{where} is invalid: {error}") from None


def value_of(field: str, dtype: Any, default: Any, na_value: str, where: str) -> Any:
    """Return a field as a value of the column's dtype."""
    if not field or (na_value and field == na_value.encode().decode("latin-1")):
        if default is None:
            raise InvalidArgumentError(f"{where} is empty and has no default value")
        return default
    if dtype is string:
        return field.encode("latin-1")
    try:
        if "_" in field:            # Python's syntax only
            raise ValueError
        value = float(field) if dtype.is_floating else int(field)
    except ValueError:
        value = None
    if value is None or (not dtype.is_floating and not dtype.min <= value <= dtype.max):
        raise InvalidArgumentError(f"{where} is {shown(field)}, expected a number of dtype "
                                   f"{dtype.name}")
    return value
