"""What a block draws from generators in eager mode, so that it can be run again with the same."""

from __future__ import annotations

from contextvars import ContextVar

from dualflow.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import TypeAlias

    from dualflow._core import Tensor

__all__ = ["drawn", "noted", "repeated"]

Draw: TypeAlias = "Callable[[Callable[[], Tensor]], Tensor]"

_next: ContextVar[Draw | None] = ContextVar("next", default=None)     # of this thread


def drawn(draw: Callable[[], Tensor]) -> Tensor:
    """The next key: that of `draw`, or the one that was drawn at this place before."""
    instead = _next.get()
    return draw() if instead is None else instead(draw)


class _Drawing:
    """A block in which something else stands for drawing."""

    def __init__(self, instead: Draw) -> None:
        self._instead = instead

    def __enter__(self) -> None:
        self._before: Token[Draw | None] = _next.set(self._instead)

    def __exit__(self, *error: object) -> None:
        _next.reset(self._before)


def noted(keys: list[Tensor]) -> _Drawing:
    """Inside the block, keys that are drawn are added to a list."""
    before = _next.get()

    def draw(fresh: Callable[[], Tensor]) -> Tensor:
        keys.append(fresh() if before is None else before(fresh))
        return keys[-1]

    return _Drawing(draw)


def repeated(keys: list[Tensor]) -> _Drawing:
    """Inside the block, the keys of a list are drawn, and generators stay as they are."""
    left = iter(keys)

    def draw(fresh: Callable[[], Tensor]) -> Tensor:
        key = next(left, None)
        if key is None:
            raise InvalidArgumentError("a function that is computed again draws more random "
                                       "numbers than before; it must do the same each time")
        return key

    return _Drawing(draw)
