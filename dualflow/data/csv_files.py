"""Files of comma-separated values: their records, and batches of their columns."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from dualflow._core import constant
from dualflow._util.arguments import shown
from dualflow.data.dataset import Dataset, TextLineDataset
from dualflow.data.files import matching, names_of
from dualflow.data.prefetch import AUTOTUNE
from dualflow.dtypes import float32, float64, int32, int64
from dualflow.errors import InvalidArgumentError
from dualflow.io.decoding import decode_csv, fields_of, value_of

__all__ = ["CsvDataset", "make_csv_dataset"]

NUMBERS = int32, int64, float32, float64        # dtypes of columns, the narrowest first


class CsvDataset(Dataset[Any]):
    """The records of files of comma-separated values, one tuple of scalars per line.

    Parameters
    ----------
    filenames : str, or list or dataset of str
    record_defaults : list
        For each column of the result, its dtype, or the value of empty fields; see
        `df.io.decode_csv`.
    compression_type : {"", "GZIP", "ZLIB"}, optional
    buffer_size : int, optional
        Accepted for compatibility with TensorFlow; no effect.
    header : bool, default False
        Whether to skip the first line of each file.
    field_delim, use_quote_delim, na_value
        As in `df.io.decode_csv`; a quoted field must not contain line ends.
    select_cols : list of int, optional
        Increasing indices of the columns in the result; by default all.
    exclude_cols : list of int, optional
        Indices of the columns to leave out.

    Raises
    ------
    InvalidArgumentError
        If both `select_cols` and `exclude_cols` are given, or there is no file; during iteration,
        if a line has another number of fields or a field is not a number.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> path = tempfile.mkdtemp() + "/a.csv"
    >>> df.io.write_file(path, "n,word\\n1,a\\n,b\\n")
    >>> data = df.data.experimental.CsvDataset(path, [0, df.string], header=True)
    >>> [(n.item(), word.numpy()) for n, word in data]
    [(1, b'a'), (0, b'b')]
    """

    def __init__(self, filenames: Any, record_defaults: Sequence[Any],
                 compression_type: str | None = None, buffer_size: int | None = None,
                 header: bool = False, field_delim: str = ",", use_quote_delim: bool = True,
                 na_value: str = "", select_cols: Sequence[int] | None = None,
                 exclude_cols: Sequence[int] | None = None) -> None:
        if select_cols is not None and exclude_cols is not None:
            raise InvalidArgumentError("CsvDataset: got select_cols and exclude_cols, expected at "
                                       "most one of them")
        defaults = list(record_defaults)
        if exclude_cols is not None:
            select_cols = [k for k in range(len(defaults) + len({*exclude_cols}))
                           if k not in exclude_cols]
        files = [TextLineDataset(name, compression_type).skip(1 if header else 0)
                 for name in names_of(filenames, "CsvDataset: filenames")]
        if not files:
            raise InvalidArgumentError(f"CsvDataset: filenames is {shown(filenames)}, expected at "
                                       "least one file")

        def record(line: str) -> Any:
            return tuple(decode_csv(line, defaults, field_delim, use_quote_delim, na_value,
                                    select_cols))

        lines: Any = functools.reduce(Dataset.concatenate, files)
        self._stage = lines.map(record)._stage


def make_csv_dataset(file_pattern: Any, batch_size: int, column_names: Sequence[str] | None = None,
                     column_defaults: Sequence[Any] | None = None, label_name: str | None = None,
                     select_columns: Sequence[int | str] | None = None, field_delim: str = ",",
                     use_quote_delim: bool = True, na_value: str = "", header: bool = True,
                     num_epochs: int | None = None, shuffle: bool = True,
                     shuffle_buffer_size: int = 10000, shuffle_seed: int | None = None,
                     prefetch_buffer_size: int | None = None,
                     num_parallel_reads: int | None = None, sloppy: bool = False,
                     num_rows_for_inference: int | None = 100, compression_type: str | None = None,
                     ignore_errors: bool = False, encoding: str = "utf-8") -> Dataset[Any]:
    """Create a dataset of batches of columns of files of comma-separated values.

    Parameters
    ----------
    file_pattern : str or list of str
        Names of files, or patterns of names.
    batch_size : int
        Number of lines; the last batch may be smaller if `num_epochs` is given.
    column_names : list of str, optional
        By default the fields of the first line, which must be equal in all files.
    column_defaults : list, optional
        For each selected column, in the order of the files, its dtype or the value of empty fields;
        see `df.io.decode_csv`. By default the narrowest of int32, int64, float32, float64 and
        string that holds the fields of the first `num_rows_for_inference` lines (None: all lines),
        and the value 0 or "".
    label_name : str, optional
        A column that is not in the dict, but the second part of each element.
    select_columns : list of int or str, optional
        Indices or names of the columns to return; by default all.
    field_delim, use_quote_delim, na_value, compression_type
        As in `CsvDataset`.
    header : bool, default True
        Whether to skip the first line of each file.
    num_epochs : int, optional
        Number of passes; by default infinitely many.
    shuffle, shuffle_buffer_size, shuffle_seed
        Whether to shuffle files and lines in each pass: see `Dataset.shuffle`.
    prefetch_buffer_size : int, optional
        Number of batches to prefetch; 0 for none.
    num_parallel_reads : int, default 1
        Number of files whose lines alternate.
    sloppy : bool
        Accepted for compatibility with TensorFlow; no effect.
    ignore_errors : bool, default False
        Whether to leave out invalid lines.
    encoding : str
        Accepted for compatibility with TensorFlow: files are UTF-8.

    Returns
    -------
    Dataset
        Of dicts from names of columns to tensors of shape (batch_size,), or of pairs of such a dict
        and the tensor of the label.

    Raises
    ------
    InvalidArgumentError
        If there is no file, a column does not exist or occurs twice, or files have different
        columns; during iteration, if a line is invalid.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> path = tempfile.mkdtemp() + "/a.csv"
    >>> df.io.write_file(path, "n,word,label\\n1,a,0\\n2,b,1\\n")
    >>> data = df.data.experimental.make_csv_dataset(path, 2, label_name="label", shuffle=False)
    >>> for features, label in data.take(1):
    ...     print(features["n"].tolist(), features["word"].tolist(), label.tolist())
    [1, 2] [b'a', b'b'] [0, 1]
    """
    if encoding.lower() not in ("utf-8", "utf8", "utf_8", "ascii"):
        raise InvalidArgumentError(f"make_csv_dataset: encoding is {shown(encoding)}, expected "
                                   "'utf-8'")
    if column_names is None and not header:
        raise InvalidArgumentError("make_csv_dataset: column_names is None, expected names, since "
                                   "header is False")
    files = _Files(matching(file_pattern, "make_csv_dataset"), field_delim, use_quote_delim,
                   na_value, header, compression_type)
    names = files.header() if column_names is None else list(column_names)
    if len({*names}) < len(names):
        raise InvalidArgumentError(f"make_csv_dataset: a name of {', '.join(names)} occurs twice")
    chosen = _indices(names, select_columns)
    defaults = files.defaults(len(names), chosen, num_rows_for_inference) if (
        column_defaults is None) else list(column_defaults)
    if len(defaults) != len(chosen):
        raise InvalidArgumentError(f"make_csv_dataset: column_defaults has {len(defaults)} "
                                   f"values, expected {len(chosen)}")
    kept = [names[k] for k in chosen]
    if label_name is not None and label_name not in kept:
        raise InvalidArgumentError(f"make_csv_dataset: label_name is {shown(label_name)}, expected "
                                   f"one of {', '.join(kept)}")
    columns = None if len(chosen) == len(names) else chosen

    def decode(lines: Any) -> list[Any]:
        return decode_csv(lines, defaults, field_delim, use_quote_delim, na_value, columns)

    def valid(line: str) -> bool:
        with suppress(InvalidArgumentError):
            return bool(decode(line))
        return False

    def batch_of(lines: Any) -> Any:
        made = dict(zip(kept, decode(lines), strict=True))
        return made if label_name is None else (made, made.pop(label_name))

    order: Any = Dataset.from_tensor_slices(files.names)
    order = order.shuffle(len(files.names), shuffle_seed) if shuffle else order
    lines = order.interleave(files.records, num_parallel_reads or 1)
    lines = lines.filter(valid) if ignore_errors else lines
    lines = lines.shuffle(shuffle_buffer_size, shuffle_seed) if shuffle else lines
    made: Dataset[Any] = lines.repeat(num_epochs).batch(batch_size, num_epochs is None).map(
        batch_of)
    return made if prefetch_buffer_size == 0 else made.prefetch(prefetch_buffer_size or AUTOTUNE)


def _indices(names: list[str], select_columns: Sequence[int | str] | None) -> list[int]:
    """Return the increasing indices of the selected columns."""
    if select_columns is None:
        return list(range(len(names)))
    found: set[int] = set()
    for x in select_columns:
        k = names.index(x) if isinstance(x, str) and x in names else x
        if not isinstance(k, int) or not 0 <= k < len(names):
            raise InvalidArgumentError(f"make_csv_dataset: a column of select_columns is {shown(x)}"
                                       f", expected an index or one of {', '.join(names)}")
        found.add(k)
    if len(found) < len(select_columns):
        raise InvalidArgumentError(f"make_csv_dataset: select_columns is {shown(select_columns)}: "
                                   "a column occurs twice")
    return sorted(found)


class _Files:
    """The files of `make_csv_dataset`, and the properties of their columns."""

    def __init__(self, names: list[str], delimiter: str, quotes: bool, na_value: str, header: bool,
                 compression: str | None) -> None:
        self.names, self._na_value = names, na_value
        self._format, self._header, self._compression = (delimiter, quotes), header, compression

    def records(self, name: Any) -> Dataset[str]:
        """Return the lines of a file without its header."""
        return TextLineDataset(name, self._compression).skip(1 if self._header else 0)

    def _rows(self, name: str) -> Iterator[tuple[str, list[str]]]:
        """Return the place and the fields of each line of a file."""
        for k, line in enumerate(TextLineDataset(name, self._compression), 1):
            where = f"make_csv_dataset: {name}, line {k}"
            yield where, fields_of(line.encode(), *self._format, where)

    def header(self) -> list[str]:
        """Return the names of the columns in the first line of each file."""
        found: list[str] = []
        for name in self.names:
            where, fields = next(self._rows(name), ("", []))
            if not where:
                raise InvalidArgumentError(f"make_csv_dataset: {name} has no line")
            mine = [x.encode("latin-1").decode() for x in fields]
            if found and mine != found:
                raise InvalidArgumentError(f"make_csv_dataset: {name} has the columns "
                                           f"{', '.join(mine)}, expected {', '.join(found)}")
            found = mine
        return found

    def defaults(self, n: int, chosen: list[int], limit: int | None) -> list[Any]:
        """Return the default values of columns, whose dtypes hold the fields of the first lines.
        `n`: number of columns of the files."""
        kinds = [-1] * len(chosen)
        rows = (row for name in self.names for k, row in enumerate(self._rows(name))
                if k or not self._header)
        for where, fields in itertools.islice(rows, limit):
            if len(fields) != n:
                raise InvalidArgumentError(f"{where} has {len(fields)} fields, expected {n}")
            kinds = [self._wider(kind, fields[k]) for kind, k in zip(kinds, chosen, strict=True)]
        return ["" if k in (-1, len(NUMBERS)) else constant(0, NUMBERS[k]) for k in kinds]

    def _wider(self, kind: int, field: str) -> int:
        """Return the index in NUMBERS of the first dtype, from `kind` on, that holds a field."""
        if field and field != self._na_value:
            kind = max(kind, 0)
            while kind < len(NUMBERS) and not _holds(NUMBERS[kind], field):
                kind += 1
        return kind


def _holds(dtype: Any, field: str) -> bool:
    """Return True if a field is a finite number of a dtype."""
    with suppress(InvalidArgumentError):
        return bool(dtype.min <= value_of(field, dtype, None, "", "") <= dtype.max)
    return False
