"""Tables that change."""

from dualflow.lookup.tables import MutableHashTable as MutableHashTable

__all__ = ["MutableHashTable"]


def __dir__() -> list[str]:
    return __all__
