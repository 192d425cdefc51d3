"""`Generic` of `typing`, without `typing`. Type checkers see the original."""

from __future__ import annotations

from types import GenericAlias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic as Generic
else:
    class Generic:
        """A base class that accepts type arguments, as do the classes derived from it."""

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)
