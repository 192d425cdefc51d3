"""Plain arguments of public functions: integers, and how messages show values of any kind."""

import operator
from typing import Any

from dualflow.errors import DTypeError

SHOWN = 200  # characters


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
