"""Plain arguments of public functions: integers, numbers within limits, and how messages show
values of any kind."""

from __future__ import annotations

import operator

from dualflow.errors import DTypeError, DualflowError, InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SHOWN = 200  # characters
REFUSED = (InvalidArgumentError, DTypeError)   # what an op says of tensors that do not fit it


def shown(value: Any) -> str:
    """The repr of anything that was passed in, for a message; never raises and is never long."""
    try:
        text = repr(value)
    except MemoryError:
        raise
    except Exception:  # whatever a foreign object's repr, or one of deeply nested lists, raises
        return f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def integer(value: Any, what: str, hint: str = "") -> int:
    """`value` as an int; `what` names op and argument in the message for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(f"{what} is {shown(value)}, want an integer{hint}") from None


def one_by_one(call: str, first: Any, *behind: Any) -> None:
    """Raises if sizes or axes came one by one, integers in the place of what follows them in a
    signature; `call` is the call that was meant, with {} for the list of them."""
    if type(first) is not int or type(behind[0]) is not int:
        return
    numbers = [first]
    for x in behind:
        if type(x) is not int:
            break
        numbers.append(x)
    raise DTypeError(f"{call.partition('(')[0]}: got {', '.join(map(str, numbers))} one by one, "
                     f"want them as one argument: {call.format(numbers)}")


class Limits:
    """What a number must be, in words and as a question, and whether it may be None."""

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
    """`value`, which is a number within limits; `what` names op and argument in the message for
    anything else."""
    if value is None and limits.optional:
        return None
    try:
        if isinstance(value, str | bytes | bytearray):     # which float() reads
            raise TypeError
        if not isinstance(value, int | float):      # an array or a tensor with one number, say
            float(value)
        fits = bool(limits.hold(value))
    except DualflowError:
        raise
    except (TypeError, ValueError):
        raise DTypeError(f"{what} is {shown(value)}, want {limits.words}") from None
    if not fits:
        raise InvalidArgumentError(f"{what} is {shown(value)}, want {limits.words}")
    return value


def channels_first(data_format: str, op: str) -> bool:
    """Whether channels are dimension 1, as in "NCHW"; else they are the last, as in "NHWC"."""
    layout = data_format if isinstance(data_format, str) else ""
    if layout.startswith("NC"):
        return True
    if layout.startswith("N") and layout.endswith("C"):
        return False
    raise InvalidArgumentError(
        f"{op}: data_format is {shown(data_format)}, want 'NHWC' or 'NCHW'")


def named(error: Exception, op: str, **tensors: Any) -> Exception:
    """What an op that `op` consists of has refused, as the error of `op`; with the shapes of
    `tensors`, those that have any, as they were passed, if the inner op saw others."""
    rule = str(error).partition(": ")[2]
    shapes = ", ".join([f"{name} {x.shape}" for name, x in tensors.items() if hasattr(x, "shape")])
    return type(error)(f"{op}: {rule}{'; got ' + shapes if shapes else ''}")


def unknown_argument(kind: type, name: str) -> str:
    """What to say of a keyword that no ``__init__`` of a class takes: the nearest one that it has,
    or all of them."""
    import difflib  # both loaded only for a mistake
    import inspect

    known = [p.name for owner in kind.__mro__ if "__init__" in owner.__dict__
             and owner is not object for p in inspect.signature(owner.__dict__["__init__"])
             .parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"]
    known = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
    return f"{kind.__name__}() has no argument {name!r}; {hint}"
