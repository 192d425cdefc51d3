"""n-grams: joined runs of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualflow._util.arguments import integer
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import reshape
from dualflow.ops.ragged.ragged_tensor import RaggedTensor
from dualflow.ops.string_tensor import as_bytes, string, text, whole

__all__ = ["ngrams"]


def ngrams(data: Any, ngram_width: int | Sequence[int], separator: str = " ",
           pad_values: Any = None, padding_width: int | None = None,
           preserve_short_sequences: bool = False, name: str | None = None) -> Any:
    """Join each run of `ngram_width` neighbours of the last dimension.

    Parameters
    ----------
    data : StringTensor or RaggedTensor of text, shape (..., n)
    ngram_width : int or sequence of int
        The lengths of the runs; the results of several lengths follow one another.
    separator : str, default " "
    pad_values : str or pair of str, optional
        Text before and after each row; by default none.
    padding_width : int, optional
        How many times it is added, at most ``ngram_width - 1``, the default.
    preserve_short_sequences : bool, default False
        Whether a row with too few texts for all lengths is joined whole.

    Returns
    -------
    StringTensor, shape (..., m), or RaggedTensor if `data` is ragged

    Raises
    ------
    InvalidArgumentError
        If a length is less than 1.
    ShapeError
        If `data` is a scalar.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.ngrams(["a", "b", "c"], 2).tolist()
    [b'a b', b'b c']
    >>> df.strings.ngrams(df.strings.split(["a b c", "d"]), (1, 2)).to_list()
    [[b'a', b'b', b'c', b'a b', b'b c'], [b'd']]
    """
    widths = [integer(w, "ngrams: ngram_width") for w in (
        ngram_width if isinstance(ngram_width, list | tuple) else [ngram_width])]
    if not widths or min(widths) < 1:
        raise InvalidArgumentError(f"ngrams: ngram_width is {ngram_width}, expected 1 or more")
    most = None if padding_width is None else integer(padding_width, "ngrams: padding_width")
    pads = None if pad_values is None else [as_bytes(v) for v in (
        (pad_values, pad_values) if isinstance(pad_values, str | bytes) else pad_values)]
    between = as_bytes(separator)

    def padded(row: list[bytes], width: int) -> list[bytes]:
        if pads is None:
            return row
        n = width - 1 if most is None else min(most, width - 1)
        return [pads[0]] * n + row + [pads[1]] * n

    def of_row(row: list[bytes]) -> list[bytes]:
        found = []
        for width in widths:
            all_of = padded(row, width)
            found += [between.join(all_of[k:k + width]) for k in range(len(all_of) - width + 1)]
        if preserve_short_sequences and row and not found:
            found = [between.join(padded(row, widths[-1]))]
        return found

    def of_rows(values: Any, splits: Any) -> list[Any]:
        import numpy as np

        flat, ends = values.tolist(), splits.tolist()
        rows = [of_row(flat[a:b]) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        joined = np.empty(sum(map(len, rows)), object)
        joined[:] = [x for row in rows for x in row]
        return [joined, np.cumsum([0, *map(len, rows)], dtype=np.int64)]

    if isinstance(data, RaggedTensor):
        if isinstance(data.values, RaggedTensor):
            return data.with_values(ngrams(data.values, widths, separator, pad_values,
                                           padding_width, preserve_short_sequences))
        values, splits = whole("ngrams", of_rows, [data.values, data.row_splits],
                               [(string, (None,)), (int64, (None,))])
        return RaggedTensor.from_row_splits(values, splits, validate=False)
    x = text(data, "ngrams")
    if x.ndim == 0:
        raise ShapeError("ngrams: data is a scalar, expected one dimension or more")

    def of_array(array: Any) -> list[Any]:
        import numpy as np

        rows = [of_row(row) for row in array.reshape(-1, array.shape[-1]).tolist()]
        width = len(rows[0] if rows else of_row([b""] * array.shape[-1]))
        joined = np.empty((len(rows), width), object)
        joined[:] = np.array(rows, object).reshape(joined.shape)
        return [joined]

    found = whole("ngrams", of_array, [x], [(string, (None, None))])[0]
    return reshape(found, (*x.shape[:-1], -1)) if 0 not in x.shape[:-1] else found
