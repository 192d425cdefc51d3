"""What a block draws from generators in eager mode, so that it can be run again with the same."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dualflow._core import Tensor
from dualflow.errors import InvalidArgumentError

__all__ = ["drawn", "noted", "repeated"]


class _Local(threading.local):
    next: Callable[[Callable[[], Tensor]], Tensor] | None = None


_local = _Local()


def drawn(draw: Callable[[], Tensor]) -> Tensor:
    """The next key: that of `draw`, or the one that was drawn at this place before."""
    return draw() if _local.next is None else _local.next(draw)


@contextmanager
def noted(keys: list[Tensor]) -> Iterator[None]:
    """Inside the block, keys that are drawn are added to a list."""
    before = _local.next

    def draw(fresh: Callable[[], Tensor]) -> Tensor:
        keys.append(fresh() if before is None else before(fresh))
        return keys[-1]

    _local.next = draw
    try:
        yield
    finally:
        _local.next = before


@contextmanager
def repeated(keys: list[Tensor]) -> Iterator[None]:
    """Inside the block, the keys of a list are drawn, and generators stay as they are."""
    before, left = _local.next, iter(keys)

    def draw(fresh: Callable[[], Tensor]) -> Tensor:
        key = next(left, None)
        if key is None:
            raise InvalidArgumentError("a function that is computed again draws more random "
                                       "numbers than before; it must do the same each time")
        return key

    _local.next = draw
    try:
        yield
    finally:
        _local.next = before
