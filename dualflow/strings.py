"""Text: constants that can be printed, compared and joined. Ops compute with numbers alone, so text
is Python's to change, at once; in a traced function it is as constant as a Python str."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow.arguments import shown
from dualflow.dtypes import float32
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.creation import constant
from dualflow.ops.display import values_text
from dualflow.ops.types import DTypeLike
from dualflow.string_tensor import StringTensor as StringTensor, as_bytes, each, text

__all__ = ["StringTensor", "as_string", "format", "join", "length", "lower", "regex_replace",
           "strip", "to_number", "upper"]


def number_text(value: Any, precision: int, scientific: bool, shortest: bool) -> str:
    """A number as `as_string` writes it."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    form = "e" if scientific else "g" if shortest else "f"
    return f"{float(value):.{6 if precision < 0 else precision}{form}}"


def as_string(input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False,
              width: int = -1, fill: str = "", name: str | None = None) -> StringTensor:
    """Numbers as text.

    Parameters
    ----------
    input : Tensor
    precision : int, optional
        How many digits follow the point; by default 6.
    scientific, shortest : bool, default False
        Whether numbers are written with an exponent, or in the shorter form.
    width : int, optional
        How long each text is at least.
    fill : str, default " "
        What is put in front of it until it is.

    Raises
    ------
    TracedValueError
        If the numbers are those of a traced tensor; `dualflow.print` shows them when it runs.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.as_string([3., 0.5], precision=1).tolist()
    [b'3.0', b'0.5']
    """
    def one(value: Any) -> bytes:
        found = number_text(value, precision, scientific, shortest)
        return (found.zfill(width) if fill == "0" else found.rjust(width, fill or " ")).encode()

    import numpy as np

    x = as_tensor(input, None, "as_string")
    return StringTensor(np.asarray(np.frompyfunc(one, 1, 1)(np.asarray(x.numpy())), object))


def format(template: str, inputs: Any, placeholder: str = "{}", summarize: int | None = 3,
           name: str | None = None) -> StringTensor:
    """A template with values in the places of its placeholders, as `dualflow.print` shows them.

    Parameters
    ----------
    template : str
    inputs : Tensor, Python value, or list or tuple of them
        As many as there are placeholders.
    placeholder : str, default "{}"
    summarize : int, default 3
        How many elements at both ends of a dimension are shown.

    Raises
    ------
    InvalidArgumentError
        If there are more or fewer placeholders than values.
    TracedValueError
        If one is a traced tensor; `dualflow.print` shows it when it runs.

    Examples
    --------
    >>> import dualflow as df
    >>> print(df.strings.format("loss {} after {}", (df.constant(0.5), 3)))
    loss 0.5 after 3
    """
    for what, given in (("template", template), ("placeholder", placeholder)):
        if not isinstance(given, str):
            raise DTypeError(f"format: {what} is {shown(given)}, want a str")
    if not placeholder:
        raise InvalidArgumentError("format: placeholder is '', want one character or more")
    values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    parts = template.split(placeholder)
    if len(parts) != len(values) + 1:
        raise InvalidArgumentError(f"format: {shown(template)} has {len(parts) - 1} placeholders, "
                                   f"got {len(values)} values")
    texts = [values_text(as_tensor(x.numpy()), summarize) if isinstance(x, TensorBase) else str(x)
             for x in values]
    return StringTensor("".join([a + b for a, b in zip(parts, [*texts, ""], strict=True)]))


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> StringTensor:
    """Texts one after the other, element by element, broadcast.

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
    between = as_bytes(separator)
    return StringTensor(each(lambda *words: between.join(words),
                              *[text(x, "join") for x in inputs]))


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """How long each text is: int32.

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
        raise InvalidArgumentError(f"length: unit is {shown(unit)}, want 'BYTE' or 'UTF8_CHAR'")
    measure = len if unit == "BYTE" else lambda x: len(x.decode())
    return constant(each(measure, text(input, "length")).astype("int32"))


def lower(input: Any, encoding: str = "", name: str | None = None) -> StringTensor:
    """Texts in lower case.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    encoding : {"", "utf-8"}
        Whether letters beyond ASCII change, too.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.lower("Text").numpy()
    b'text'
    """
    return _cased(bytes.lower, str.lower, input, encoding, "lower")


def upper(input: Any, encoding: str = "", name: str | None = None) -> StringTensor:
    """Texts in upper case.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    encoding : {"", "utf-8"}
        Whether letters beyond ASCII change, too.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.upper("Text").numpy()
    b'TEXT'
    """
    return _cased(bytes.upper, str.upper, input, encoding, "upper")


def _cased(plain: Callable[[bytes], bytes], whole: Callable[[str], str], input: Any, encoding: str,
           who: str) -> StringTensor:
    if encoding not in ("", "utf-8"):
        raise InvalidArgumentError(f"{who}: encoding is {shown(encoding)}, want '' or 'utf-8'")
    change = (lambda x: whole(x.decode()).encode()) if encoding else plain
    return StringTensor(each(change, text(input, who)))


def regex_replace(input: Any, pattern: str, rewrite: str, replace_global: bool = True,
                  name: str | None = None) -> StringTensor:
    r"""Texts with what a regular expression matches replaced.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    pattern : str
        As Python's `re` reads it.
    rewrite : str
        What stands there instead; ``\1`` is the first group.
    replace_global : bool, default True
        Whether all matches are replaced, or the first of each text.

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
    """Texts without white space at both ends.

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
    """The numbers that texts are.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    out_type : dtype, default float32

    Raises
    ------
    InvalidArgumentError
        If one is none.

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
