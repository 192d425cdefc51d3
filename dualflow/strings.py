"""String functions. They run in Python: at once or, for the text of a traced function, in each run
of its graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import integer, shown
from dualflow.dtypes import float32
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.array.creation import constant
from dualflow.ops.display import values_text
from dualflow.ops.string_tensor import StringTensor as StringTensor, as_bytes, each, text
from dualflow.ops.types import DTypeLike

__all__ = ["StringTensor", "as_string", "format", "join", "length", "lower", "regex_replace",
           "strip", "to_number", "upper"]


LONGEST = 1 << 16       # characters of a number


def number_format(precision: int, scientific: bool, shortest: bool, width: int,
                  fill: str) -> Callable[[Any], bytes]:
    """Return the function of `as_string` from a number to its text."""
    digits = integer(precision, "as_string: precision")
    width = integer(width, "as_string: width")
    if max(digits, width) > LONGEST:
        raise InvalidArgumentError(f"as_string: precision is {digits} and width {width}, expected "
                                   f"at most {LONGEST}")
    form = f".{6 if digits < 0 else digits}{'e' if scientific else 'g' if shortest else 'f'}"

    def text_of(value: Any) -> bytes:
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, bool):
            found = "true" if value else "false"
        else:
            found = str(value) if isinstance(value, int) else f"{float(value):{form}}"
        return (found.zfill(width) if fill == "0" else found.rjust(width, fill or " ")).encode()

    return text_of


def as_string(input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False,
              width: int = -1, fill: str = "", name: str | None = None) -> StringTensor:
    """Convert numbers to text.

    Parameters
    ----------
    input : Tensor
    precision : int, optional
        Number of digits after the decimal point; by default 6.
    scientific, shortest : bool, default False
        Whether to use exponent notation, or the shorter of both notations.
    width : int, optional
        Minimal length of each text.
    fill : str, default " "
        Character for padding on the left.

    Raises
    ------
    InvalidArgumentError
        If the precision or the width is above 65,536.
    TracedValueError
        If `input` is traced; `dualflow.print` prints it in each run.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.as_string([3., 0.5], precision=1).tolist()
    [b'3.0', b'0.5']
    """
    import numpy as np

    one = number_format(precision, scientific, shortest, width, fill)

    x = as_tensor(input, None, "as_string")
    return StringTensor(np.asarray(np.frompyfunc(one, 1, 1)(np.asarray(x.numpy())), object))


def format(template: str, inputs: Any, placeholder: str = "{}", summarize: int | None = 3,
           name: str | None = None) -> StringTensor:
    """Fill the placeholders of a template with values in the format of `dualflow.print`.

    Parameters
    ----------
    template : str
    inputs : Tensor, Python value, or list or tuple of them
        One value per placeholder.
    placeholder : str, default "{}"
    summarize : int, default 3
        Number of elements to print at both ends of a dimension.

    Raises
    ------
    InvalidArgumentError
        If the number of placeholders differs from the number of values.
    TracedValueError
        If a value is traced; `dualflow.print` prints it in each run.

    Examples
    --------
    >>> import dualflow as df
    >>> print(df.strings.format("loss {} after {}", (df.constant(0.5), 3)))
    loss 0.5 after 3
    """
    for what, given in (("template", template), ("placeholder", placeholder)):
        if not isinstance(given, str):
            raise DTypeError(f"format: {what} is {shown(given)}, expected a str")
    if not placeholder:
        raise InvalidArgumentError("format: placeholder is '', expected at least one character")
    values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    parts = template.split(placeholder)
    if len(parts) != len(values) + 1:
        raise InvalidArgumentError(f"format: {shown(template)} has {len(parts) - 1} placeholders, "
                                   f"got {len(values)} values")
    texts = [values_text(as_tensor(x.numpy()), summarize) if isinstance(x, TensorBase) else str(x)
             for x in values]
    return StringTensor("".join([a + b for a, b in zip(parts, [*texts, ""], strict=True)]))


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
    if not isinstance(separator, str | bytes):
        raise DTypeError(f"strings.join: separator is {shown(separator)}, expected text")
    between = as_bytes(separator)
    return StringTensor(each(lambda *words: between.join(words),
                              *[text(x, "join") for x in inputs]))


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
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise InvalidArgumentError(f"length: unit is {shown(unit)}, expected 'BYTE' or "
                                   "'UTF8_CHAR'")
    measure = len if unit == "BYTE" else lambda x: len(x.decode())
    return constant(each(measure, text(input, "length")).astype("int32"))


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


def _cased(plain: Callable[[bytes], bytes], whole: Callable[[str], str], input: Any, encoding: str,
           caller: str) -> StringTensor:
    if encoding not in ("", "utf-8"):
        raise InvalidArgumentError(f"{caller}: encoding is {shown(encoding)}, expected '' or "
                                   "'utf-8'")
    change = (lambda x: whole(x.decode()).encode()) if encoding else plain
    return StringTensor(each(change, text(input, caller)))


def regex_replace(input: Any, pattern: str, rewrite: str, replace_global: bool = True,
                  name: str | None = None) -> StringTensor:
    r"""Replace the matches of a regular expression in texts.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    pattern : str
        In the syntax of Python's `re`.
    rewrite : str
        The replacement; ``\1`` is the first group.
    replace_global : bool, default True
        Whether to replace all matches or only the first one of each text.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.regex_replace("a1b22", "[0-9]+", "#").numpy()
    b'a#b#'
    """
    found, new = re.compile(as_bytes(pattern)), as_bytes(rewrite)
    return StringTensor(each(lambda x: found.sub(new, x, 0 if replace_global else 1),
                              text(input, "regex_replace")))


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
    return StringTensor(each(bytes.strip, text(input, "strip")))


def to_number(input: Any, out_type: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Parse texts as numbers.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    out_type : dtype, default float32

    Raises
    ------
    InvalidArgumentError
        If a text is not a number.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.to_number(["1.5", "-2"]).tolist()
    [1.5, -2.0]
    """
    dtype = constant(0, out_type).dtype
    read = float if dtype.is_floating else int
    try:
        return constant(each(read, text(input, "to_number")).tolist(), dtype)
    except ValueError as error:
        raise InvalidArgumentError(f"to_number: {error}") from None


def __dir__() -> list[str]:
    return __all__
