"""Validation of plain arguments of public functions (integers, numbers within limits), and the
repr of arguments for messages."""

from __future__ import annotations

import operator

from dualflow.errors import DTypeError, DualflowError, InvalidArgumentError, TracedValueError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dualflow.dtypes import DType

SHOWN = 200  # characters
REFUSED = (InvalidArgumentError, DTypeError)   # errors of ops for invalid tensors


def shown(value: Any) -> str:
    """Return the repr of an argument for a message; never raises, truncated to SHOWN characters."""
    try:
        text = repr(value)
    except MemoryError:
        raise
    except Exception:  # any error in the repr of a foreign object
        return f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def real_hint(dtype: DType) -> str:
    """Return the end of a message that expected real numbers; empty unless `dtype` is complex."""
    return "; df.math.real(x) is the real part" if dtype.is_complex else ""


def not_floating(what: str, dtype: DType) -> DTypeError:
    """Return the error for an argument that is not of a floating dtype; `what` is the prefix (op
    and argument) of the message."""
    return DTypeError(f"{what} is {dtype.name}, expected a floating dtype{real_hint(dtype)}")


def integer(value: Any, what: str, hint: str = "") -> int:
    """Return `value` as an int; `what` is the prefix (op and argument) of the error message."""
    try:
        return operator.index(value)
    except TracedValueError:            # names the user's line and the remedy
        raise
    except TypeError:
        raise DTypeError(f"{what} is {shown(value)}, expected an integer{hint}") from None


def one_by_one(call: str, first: Any, *behind: Any) -> None:
    """Raise if sizes or axes were passed as separate integers instead of one sequence; `call` is
    the intended call, with {} for the sequence."""
    if type(first) is not int or type(behind[0]) is not int:
        return
    numbers = [first]
    for x in behind:
        if type(x) is not int:
            break
        numbers.append(x)
    raise DTypeError(f"{call.partition('(')[0]}: got {', '.join(map(str, numbers))} as separate "
                     f"arguments, expected them as one argument: {call.format(numbers)}")


class Limits:
    """A requirement on a number: as words and as a predicate; None may be allowed."""

    __slots__ = ("hold", "optional", "words")

    def __init__(self, words: str, hold: Callable[[Any], Any] = lambda x: True,
                 optional: bool = False) -> None:
        self.words, self.hold, self.optional = words, hold, optional

    def or_none(self) -> Limits:
        return Limits(self.words, self.hold, optional=True)


NUMBER = Limits("a number")
POSITIVE = Limits("a number > 0", lambda x: x > 0)
NOT_NEGATIVE = Limits("a number >= 0", lambda x: x >= 0)
SHARE = Limits("a number from 0 to 1", lambda x: 0 <= x <= 1)
LESS_THAN_ALL = Limits("a number >= 0 and < 1", lambda x: 0 <= x < 1)


def number(value: Any, what: str, limits: Limits = NUMBER) -> Any:
    """Return `value`, a number within limits; `what` is the prefix (op and argument) of the error
    message."""
    if value is None and limits.optional:
        return None
    try:
        if isinstance(value, str | bytes | bytearray):     # float() accepts strings
            raise TypeError
        if not isinstance(value, int | float):      # for example a one-element array or tensor
            float(value)
        fits = bool(limits.hold(value))
    except DualflowError:
        dtype: Any = getattr(value, "dtype", None)
        if not getattr(dtype, "is_complex", False):
            raise
        raise DTypeError(f"{what} is {dtype}, expected {limits.words}{real_hint(dtype)}") from None
    except (TypeError, ValueError):
        raise DTypeError(f"{what} is {shown(value)}, expected {limits.words}") from None
    if not fits:
        raise InvalidArgumentError(f"{what} is {shown(value)}, expected {limits.words}")
    return value


def channels_first(data_format: str, op: str) -> bool:
    """Return True if channels are dimension 1, as in "NCHW", False if they are last ("NHWC")."""
    layout = data_format if isinstance(data_format, str) else ""
    if layout.startswith("NC"):
        return True
    if layout.startswith("N") and layout.endswith("C"):
        return False
    raise InvalidArgumentError(
        f"{op}: data_format is {shown(data_format)}, expected 'NHWC' or 'NCHW'")


def named(error: Exception, op: str, **tensors: Any) -> Exception:
    """Return an error of an inner op as an error of `op`, which is composed of it. The shapes of
    `tensors`, as the user passed them, are appended."""
    rule = str(error).partition(": ")[2]
    shapes = ", ".join([f"{name} {x.shape}" for name, x in tensors.items() if hasattr(x, "shape")])
    return type(error)(f"{op}: {rule}{'; got ' + shapes if shapes else ''}")


def unknown_argument(kind: type, name: str) -> str:
    """Return the message for an unknown keyword of a class: the closest argument name, or all of
    them."""
    import difflib  # slow imports, only for errors
    import inspect

    known = [p.name for owner in kind.__mro__ if "__init__" in owner.__dict__
             and owner is not object for p in inspect.signature(owner.__dict__["__init__"])
             .parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"]
    known = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
    return f"{kind.__name__}() has no argument {name!r}; {hint}"
