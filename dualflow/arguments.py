"""Plain arguments of public functions: integers, and how messages show values of any kind."""

from __future__ import annotations

import operator

from dualflow.errors import DTypeError, InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
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
