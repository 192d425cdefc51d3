"""Functions from text to text, and measures of text."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Symbol, Tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import bool_, int32, int64
from dualflow.errors import DTypeError, InvalidArgumentError, OutOfRangeError
from dualflow.nest import Composite
from dualflow.ops import ragged
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.string_tensor import (
    StringTensor,
    TracedStringTensor,
    as_bytes,
    each_of,
    elementwise,
    string,
    text,
    whole,
)
from dualflow.ops.types import TensorLike

__all__ = ["join", "length", "lower", "reduce_join", "regex_full_match", "regex_replace", "strip",
           "substr", "upper"]

# The classes of characters in brackets of RE2, which Python lacks.
CLASSES = {"alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t ",
           "cntrl": r"\x00-\x1F\x7F", "digit": "0-9", "graph": "!-~", "lower": "a-z",
           "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ", "upper": "A-Z",
           "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f"}


def _separator(separator: Any, op: str) -> bytes:
    if not isinstance(separator, str | bytes):
        raise DTypeError(f"{op}: separator is {shown(separator)}, expected text")
    found: bytes = as_bytes(separator)
    return found


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> StringTensor:
    """Join texts element by element, with broadcasting.

    Parameters
    ----------
    inputs : list of StringTensor or str
    separator : str, default ""

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.join(["a", ["b", "c"]], "-").tolist()
    [b'a-b', b'a-c']
    """
    between = _separator(separator, "strings.join")
    made: StringTensor = elementwise("join", lambda *words: between.join(words), inputs)
    return made


def reduce_join(inputs: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False,
                separator: str = "", name: str | None = None) -> StringTensor:
    """Join the texts along dimensions.

    Parameters
    ----------
    inputs : StringTensor, or nested lists of str
    axis : int or list of int, optional
        The dimensions, in the order in which texts are joined; by default all.
    keepdims : bool, default False
        Whether reduced dimensions have size 1 in the result.
    separator : str, default ""

    Raises
    ------
    InvalidArgumentError
        If a dimension does not exist or occurs twice.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant([["a", "b"], ["c", "d"]])
    >>> df.strings.reduce_join(x, 1).tolist(), df.strings.reduce_join(x, separator=" ").numpy()
    ([b'ab', b'cd'], b'a b c d')
    """
    between, x = _separator(separator, "reduce_join"), text(inputs, "reduce_join")
    given = list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    axes = [a % x.ndim if -x.ndim <= a < x.ndim else -1 for a in given]
    if -1 in axes or len({*axes}) < len(axes):
        raise InvalidArgumentError(f"reduce_join: axis is {shown(axis)}, expected distinct "
                                   f"dimensions of {x.ndim}")
    rest = [a for a in range(x.ndim) if a not in axes]
    shape = tuple([1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a in rest])

    def joined(array: Any) -> list[Any]:
        import numpy as np

        kept = [1 if a in axes else n for a, n in enumerate(array.shape) if keepdims or a in rest]
        n = int(np.prod([array.shape[a] for a in rest]))
        rows = array.transpose(rest + axes).reshape(n, array.size // n if n else 0)
        made = np.empty(n, object)
        made[:] = [between.join(row) for row in rows.tolist()]
        return [made.reshape(kept)]

    result: StringTensor = whole("reduce_join", joined, [x], [(string, shape)])[0]
    return result


def _by_chars(unit: str, op: str) -> bool:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise InvalidArgumentError(f"{op}: unit is {shown(unit)}, expected 'BYTE' or 'UTF8_CHAR'")
    return unit == "UTF8_CHAR"


def _starts(x: bytes) -> list[int]:
    """Return the positions of characters: of the bytes that do not continue a character."""
    return [k for k, byte in enumerate(x) if byte & 0xC0 != 0x80]


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Return the length of each text as int32.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    unit : {"BYTE", "UTF8_CHAR"}

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.length(["a", "bcd"]).tolist()
    [1, 3]
    """
    measure: Any = (lambda x: len(_starts(x))) if _by_chars(unit, "length") else len
    made: Tensor = elementwise("length", measure, [input], int32)
    return made


def substr(input: Any, pos: TensorLike, len: TensorLike, unit: str = "BYTE",
           name: str | None = None) -> StringTensor:
    """Return a part of each text; the arguments are broadcast.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    pos : int or integer Tensor
        The first position. Negative positions count from the end.
    len : int or integer Tensor
        The number of units, fewer at the end of a text.
    unit : {"BYTE", "UTF8_CHAR"}

    Raises
    ------
    OutOfRangeError
        If a position is outside its text.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.substr(["Hello", "World"], [1, -2], 3).tolist()
    [b'ell', b'ld']
    """
    chars, size = _by_chars(unit, "substr"), builtins.len

    def part(x: bytes, at: int, count: int) -> bytes:
        starts = [*_starts(x), size(x)] if chars else range(size(x) + 1)
        n = size(starts) - 1
        if not -n <= at <= n:
            raise OutOfRangeError(f"substr: pos is {at}, expected a position in {shown(x)}")
        begin = at % n if at < 0 else at
        return x[starts[begin]:starts[min(begin + max(count, 0), n)]]

    if isinstance(input, Composite) and not isinstance(input, StringTensor):
        made: Any = ragged.elementwise.on_flat_values(
            "substr", [input, pos, len], lambda flat: substr(flat[0], flat[1], flat[2], unit))
        return made
    x = text(input, "substr")
    begin, count = [cast(check_real("substr", y, argument), int64)
                    for y, argument in ((pos, "pos"), (len, "len"))]
    shape: Any = ()
    if isinstance(x, TracedStringTensor) or type(begin) is Symbol or type(count) is Symbol:
        shape = tuple((x._handles + begin + count).shape)
    made = whole("substr", lambda *arrays: [each_of(part, arrays)], [x, begin, count],
                 [(string, shape)])[0]
    return made


def lower(input: Any, encoding: str = "", name: str | None = None) -> StringTensor:
    """Convert texts to lower case.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    encoding : {"", "utf-8"}
        "utf-8" converts letters beyond ASCII as well.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.lower("Text").numpy()
    b'text'
    """
    return _cased(bytes.lower, str.lower, input, encoding, "lower")


def upper(input: Any, encoding: str = "", name: str | None = None) -> StringTensor:
    """Convert texts to upper case.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    encoding : {"", "utf-8"}
        "utf-8" converts letters beyond ASCII as well.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.upper("Text").numpy()
    b'TEXT'
    """
    return _cased(bytes.upper, str.upper, input, encoding, "upper")


def _cased(plain: Callable[[bytes], bytes], of_text: Callable[[str], str], input: Any,
           encoding: str, caller: str) -> StringTensor:
    if encoding not in ("", "utf-8"):
        raise InvalidArgumentError(f"{caller}: encoding is {shown(encoding)}, expected '' or "
                                   "'utf-8'")
    change = (lambda x: of_text(x.decode(errors="replace")).encode()) if encoding else plain
    made: StringTensor = elementwise(caller, change, [input])
    return made


def _decoded(x: bytes) -> str:
    return x.decode("utf-8", "surrogateescape")     # bytes that are not UTF-8 stay distinct


def _compiled(pattern: Any, op: str) -> re.Pattern[str]:
    if not isinstance(pattern, str | bytes):
        raise DTypeError(f"{op}: pattern is {shown(pattern)}, expected text")
    source = _decoded(as_bytes(pattern))
    for word, members in CLASSES.items():
        source = source.replace(f"[:{word}:]", members)
    try:
        return re.compile(source, re.ASCII)
    except re.error as error:
        raise InvalidArgumentError(f"{op}: pattern {shown(pattern)} is invalid: {error}") from None


def regex_full_match(input: Any, pattern: str, name: str | None = None) -> Tensor:
    """Return True for each text that a regular expression matches as a whole.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    pattern : str
        In the syntax of Python's `re`, with classes such as ``[[:alpha:]]``.

    Raises
    ------
    InvalidArgumentError
        If the pattern is not a regular expression.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.regex_full_match(["a1", "a1b"], "[a-z][0-9]").tolist()
    [True, False]
    """
    found = _compiled(pattern, "regex_full_match")
    made: Tensor = elementwise("regex_full_match",
                               lambda x: found.fullmatch(_decoded(x)) is not None,
                               [input], bool_)
    return made


def regex_replace(input: Any, pattern: str, rewrite: str, replace_global: bool = True,
                  name: str | None = None) -> StringTensor:
    r"""Replace the matches of a regular expression in texts.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    pattern : str
        In the syntax of Python's `re`, with classes such as ``[[:alpha:]]``.
    rewrite : str
        The replacement; ``\1`` is the first group, ``\0`` the match.
    replace_global : bool, default True
        Whether to replace all matches or only the first one of each text.

    Raises
    ------
    InvalidArgumentError
        If the pattern is not a regular expression.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.regex_replace("a1b22", "[0-9]+", "#").numpy()
    b'a#b#'
    """
    found, new = _compiled(pattern, "regex_replace"), _decoded(as_bytes(rewrite))
    new = re.sub(r"(\\\\)|\\0", lambda m: m[1] or r"\g<0>", new)
    count = 0 if replace_global else 1
    made: StringTensor = elementwise(
        "regex_replace",
        lambda x: found.sub(new, _decoded(x), count).encode("utf-8", "surrogateescape"),
        [input])
    return made


def strip(input: Any, name: str | None = None) -> StringTensor:
    """Remove white space at both ends of texts.

    Parameters
    ----------
    input : StringTensor, str or nested lists

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.strip([" a", "b "]).tolist()
    [b'a', b'b']
    """
    made: StringTensor = elementwise("strip", bytes.strip, [input])
    return made
