"""Text in parts: words, bytes and characters."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from math import prod
from typing import Any

from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import integer, shown
from dualflow.dtypes import int32, int64
from dualflow.errors import InvalidArgumentError
from dualflow.nest import Composite
from dualflow.ops import ragged
from dualflow.ops.string_tensor import StringTensor, as_bytes, string, text, whole
from dualflow.ops.types import TensorLike

__all__ = ["bytes_split", "split", "unicode_decode", "unicode_encode", "unicode_split"]


def objects(items: list[Any]) -> Any:
    """Return a one-dimensional object array."""
    import numpy as np

    array = np.empty(len(items), object)
    array[:] = items
    return array


def split_parts(x: StringTensor, parts_of: Callable[[bytes], list[Any]], dtype: Any,
                op: str) -> tuple[Any, Tensor]:
    """Apply a function from bytes to a list to each text.

    Return the items of all lists as one vector, and the int64 positions in it at which each list
    begins and the last one ends: the values and row splits of a ragged tensor.
    """
    def parts(array: Any) -> list[Any]:
        import numpy as np

        lists = [parts_of(x) for x in np.asarray(array, object).ravel().tolist()]
        flat = [item for one in lists for item in one]
        return [objects(flat), np.cumsum([0, *map(len, lists)], dtype=np.int64)]

    known = all([type(d) is int for d in x.shape])
    values, splits = whole(op, parts, [x], [
        (dtype, (None,)), (int64, (prod(x.shape) + 1 if known else None,))])
    return values, splits


def _split(input: Any, parts_of: Callable[[bytes], list[Any]], dtype: Any, op: str) -> Any:
    if isinstance(input, Composite) and not isinstance(input, StringTensor):
        whole_text = ragged.rows.ragged(input, op)
        return whole_text.with_flat_values(_split(whole_text.flat_values, parts_of, dtype, op))
    x = text(input, op)
    parts, splits = split_parts(x, parts_of, dtype, op)
    if x.ndim == 0:
        return parts
    kind = ragged.ragged_tensor.RaggedTensor
    made = kind._made(parts, splits)
    for k in range(x.ndim - 1, 0, -1):
        made = kind.from_uniform_row_length(made, x.shape[k], prod(x.shape[:k]))
    return made


def split(input: Any, sep: str | None = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Split a text at each separator.

    Parameters
    ----------
    input : StringTensor, RaggedTensor of text, str or nested lists of str
    sep : str, optional
        By default any white space; then empty parts are left out.
    maxsplit : int, default -1
        Maximal number of splits; -1: no limit.

    Returns
    -------
    StringTensor, shape (n,), or RaggedTensor
        The parts of a scalar, or of each text as a row.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.split("a b  c").tolist(), df.strings.split("a,,b", ",").tolist()
    ([b'a', b'b', b'c'], [b'a', b'', b'b'])
    >>> df.strings.split(["a b", "", "c"])
    <dualflow.RaggedTensor [[b'a', b'b'], [], [b'c']]>
    """
    between = None if sep is None or not len(sep) else as_bytes(sep)
    most = integer(maxsplit, "split: maxsplit")
    return _split(input, lambda x: x.split(between, most), string, "split")


def bytes_split(input: Any, name: str | None = None) -> Any:
    """Split a text into its bytes.

    Parameters
    ----------
    input : StringTensor, RaggedTensor of text, str or nested lists of str

    Returns
    -------
    StringTensor, shape (n,), or RaggedTensor
        The parts of a scalar, or of each text as a row.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.bytes_split("abc").tolist()
    [b'a', b'b', b'c']
    """
    return _split(input, lambda x: [x[k:k + 1] for k in range(len(x))], string, "bytes_split")


def _codec(encoding: str, errors: str, op: str) -> str:
    try:
        codec = codecs.lookup(encoding).name            # other spellings, such as "UTF8"
    except (LookupError, TypeError):
        codec = ""
    if codec not in ("utf-8", "utf-16-be", "utf-32-be"):
        raise InvalidArgumentError(f"{op}: encoding is {shown(encoding)}, expected 'UTF-8', "
                                   "'UTF-16-BE' or 'UTF-32-BE'")
    if errors not in ("replace", "strict", "ignore"):
        raise InvalidArgumentError(f"{op}: errors is {shown(errors)}, expected 'replace', 'strict' "
                                   "or 'ignore'")
    return codec


def _decoder(encoding: str, errors: str, replacement: int, op: str) -> Callable[[bytes], str]:
    codec = _codec(encoding, errors, op)

    def decoded(x: bytes) -> str:
        try:
            return x.decode(codec)
        except UnicodeDecodeError as error:
            if errors == "strict":
                raise InvalidArgumentError(f"{op}: {shown(x)} is invalid: {error}") from None
            return x.decode(codec, errors).replace("\uFFFD", chr(replacement))

    return decoded


def unicode_decode(input: Any, input_encoding: str, errors: str = "replace",
                   replacement_char: int = 65533, replace_control_characters: bool = False,
                   name: str | None = None) -> Any:
    r"""Return the code points of a text.

    Parameters
    ----------
    input : StringTensor, RaggedTensor of text, str or nested lists of str
    input_encoding : {"UTF-8", "UTF-16-BE", "UTF-32-BE"}
    errors : {"replace", "strict", "ignore"}
    replacement_char : int, default 65533
        The code point for invalid bytes.
    replace_control_characters : bool, default False
        Whether to replace control characters, below U+0020, too.

    Returns
    -------
    Tensor, int32, shape (n,), or RaggedTensor
        The code points of a scalar, or of each text as a row.

    Raises
    ------
    InvalidArgumentError
        If the text is invalid and `errors` is "strict".

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.unicode_decode("a\u00e9", "UTF-8").tolist()
    [97, 233]
    """
    decoded = _decoder(input_encoding, errors, replacement_char, "unicode_decode")
    least = 32 if replace_control_characters else 0
    return _split(input, lambda x: [ord(c) if ord(c) >= least else replacement_char
                                    for c in decoded(x)], int32, "unicode_decode")


def unicode_split(input: Any, input_encoding: str, errors: str = "replace",
                  replacement_char: int = 65533, name: str | None = None) -> Any:
    r"""Split a text into its characters.

    Parameters
    ----------
    input : StringTensor, RaggedTensor of text, str or nested lists of str
    input_encoding : {"UTF-8", "UTF-16-BE", "UTF-32-BE"}
    errors : {"replace", "strict", "ignore"}
    replacement_char : int, default 65533
        The code point for invalid bytes.

    Returns
    -------
    StringTensor, shape (n,), or RaggedTensor
        The characters of a scalar, or of each text as a row, in the same encoding.

    Raises
    ------
    InvalidArgumentError
        If the text is invalid and `errors` is "strict".

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.unicode_split("a\u00e9", "UTF-8").tolist()
    [b'a', b'\xc3\xa9']
    """
    decoded = _decoder(input_encoding, errors, replacement_char, "unicode_split")
    codec = input_encoding.lower()
    return _split(input, lambda x: [c.encode(codec) for c in decoded(x)], string, "unicode_split")


def unicode_encode(input: TensorLike, output_encoding: str, errors: str = "replace",
                   replacement_char: int = 65533, name: str | None = None) -> Any:
    """Encode code points as text.

    Parameters
    ----------
    input : Tensor or RaggedTensor, int32, shape (..., n)
        The code points of one text along the last dimension.
    output_encoding : {"UTF-8", "UTF-16-BE", "UTF-32-BE"}
    errors : {"replace", "strict", "ignore"}
    replacement_char : int, default 65533
        The code point that replaces invalid ones.

    Returns
    -------
    StringTensor, shape (...), or RaggedTensor if there are other ragged dimensions

    Raises
    ------
    InvalidArgumentError
        If a code point is invalid and `errors` is "strict".

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.unicode_encode([[72, 105], [97, 98]], "UTF-8").tolist()
    [b'Hi', b'ab']
    """
    codec = _codec(output_encoding, errors, "unicode_encode")

    def character(n: int) -> str:
        if 0 <= n < 0xD800 or 0xE000 <= n < 0x110000:
            return chr(n)
        if errors == "strict":
            raise InvalidArgumentError(f"unicode_encode: got {n}, expected a code point")
        return "" if errors == "ignore" else chr(replacement_char)

    def encode(row: list[int]) -> bytes:
        return "".join(map(character, row)).encode(codec)

    def encoded(array: Any) -> list[Any]:
        flat = array.reshape(prod(array.shape[:-1]), array.shape[-1]).tolist()
        return [objects([encode(row) for row in flat]).reshape(array.shape[:-1])]

    if isinstance(input, Composite):
        rows = ragged.rows.ragged(input, "unicode_encode")
        if rows.ragged_rank > 1 or rows.values.ndim > 1:
            return rows.with_values(unicode_encode(rows.values, output_encoding, errors,
                                                   replacement_char))

        def joined(values: Any, splits: Any) -> list[Any]:
            ends = splits.tolist()
            return [objects([encode(values[a:b].tolist())
                                for a, b in zip(ends, ends[1:], strict=False)])]

        return whole("unicode_encode", joined, [rows.values, rows.row_splits],
                     [(string, (rows.shape[0],))])[0]
    x = as_tensor(input, None, "unicode_encode")
    if x.ndim == 0 or not x.dtype.is_integer:
        raise InvalidArgumentError(f"unicode_encode: input is {x.dtype} {x.shape}, expected "
                                   "integers with at least one dimension")
    made: StringTensor = whole("unicode_encode", encoded, [x], [(string, tuple(x.shape[:-1]))])[0]
    return made
