"""Lists and dicts in attributes of a Checkpoint, which restore the objects that are added to
them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, MutableSequence
from typing import Any

from dualflow.modules import attached

__all__: list[str] = []


class _View:
    """A view of a list or a dict: changes change the container, then restore what was added."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __repr__(self) -> str:
        return repr(self._held)

    def __eq__(self, other: object) -> bool:
        return bool(self._held == (other._held if isinstance(other, _View) else other))

    __hash__ = None                 # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, key: Any) -> Any:
        return self._held[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._held[key] = value
        attached(value)

    def __delitem__(self, key: Any) -> None:
        del self._held[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held)


class ListView(_View, MutableSequence[Any]):
    """A view of a list."""

    def insert(self, index: int, value: Any) -> None:
        """Insert an item."""
        self._held.insert(index, value)
        attached(value)


class DictView(_View, MutableMapping[Any, Any]):
    """A view of a dict."""
