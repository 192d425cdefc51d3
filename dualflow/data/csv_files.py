"""CsvDataset: the records of files of comma-separated values."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from dualflow._util.arguments import shown
from dualflow.data.dataset import Dataset, TextLineDataset
from dualflow.data.files import names_of
from dualflow.errors import InvalidArgumentError
from dualflow.io.decoding import decode_csv

__all__ = ["CsvDataset"]


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
