"""Plain arguments of public functions: what has to be an integer, and how messages show others."""

import operator
from typing import Any

from dualflow.errors import DTypeError

SHOWN = 200  # characters


def shown(value: Any) -> str:
    """The repr of anything that came in, for a message; never an exception, never a page."""
    try:
        text = repr(value)
    except MemoryError:
        raise
    except Exception:  # whatever the repr of a stranger, or of lists nested too deep, raises
        return f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def integer(value: Any, what: str, hint: str = "") -> int:
    """`value` as an int; `what` names op and argument in the message for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(f"{what} is {shown(value)}, want an integer{hint}") from None
