"""Contexts that control the keys drawn from random generators in a block of code.

Eager `recompute_grad` records the keys and replays them; `distribute.shard` derives keys from a
step and a micro-batch. A change must keep the order of draws.
"""

from __future__ import annotations

from contextvars import ContextVar

from dualflow.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import TypeAlias

    from dualflow._core import Counter, Tensor

__all__ = [
    "Shard",
    "in_shard",
    "key_from",
    "next_key_words",
    "record_keys",
    "replay_keys",
    "undo_draw",
]

Draw: TypeAlias = "Callable[[Callable[[], Tensor]], Tensor]"

_next: ContextVar[Draw | None] = ContextVar("next", default=None)     # per thread


def key_from(draw: Callable[[], Tensor]) -> Tensor:
    """Return the next key: a fresh one of `draw`, or the recorded one during a replay."""
    instead = _next.get()
    return draw() if instead is None else instead(draw)


class _Drawing:
    """A context that replaces the drawing of keys."""

    def __init__(self, instead: Draw) -> None:
        self._instead = instead

    def __enter__(self) -> None:
        self._before: Token[Draw | None] = _next.set(self._instead)

    def __exit__(self, *error: object) -> None:
        _next.reset(self._before)


def record_keys(keys: list[Tensor]) -> _Drawing:
    """Return a context that appends the drawn keys to a list."""
    before = _next.get()

    def draw(fresh: Callable[[], Tensor]) -> Tensor:
        keys.append(fresh() if before is None else before(fresh))
        return keys[-1]

    return _Drawing(draw)


def replay_keys(keys: list[Tensor]) -> _Drawing:
    """Return a context that draws the keys of a list and leaves generators unchanged."""
    left = iter(keys)

    def draw(fresh: Callable[[], Tensor]) -> Tensor:
        key = next(left, None)
        if key is None:
            raise InvalidArgumentError("a recomputed function draws more random numbers than "
                                       "before; it must be deterministic")
        return key

    return _Drawing(draw)


# --- shards ---------------------------------------------------------------------------------------

_shard: ContextVar[Shard | None] = ContextVar("shard", default=None)    # per thread


class Shard:
    """A context that derives keys from a generator's seed, a step, a micro-batch number and a
    count. Generators stay unchanged; equal step and number give equal keys."""

    def __init__(self, step: int, number: int) -> None:
        self._step, self._number = step, number
        self._n = 0

    def place(self, seed: int) -> list[int]:
        self._n += 1
        mixed = _mixed(_mixed(_mixed(seed) + self._step) + self._number)
        return [mixed - (mixed >> 63 << 64), self._n - 1]

    def go_back(self) -> None:
        self._n -= 1

    def __enter__(self) -> None:
        self._n = 0
        self._before: Token[Shard | None] = _shard.set(self)

    def __exit__(self, *error: object) -> None:
        _shard.reset(self._before)


def _mixed(x: int) -> int:
    """The output function of splitmix64: flipping one input bit flips about half the output."""
    x = (x + 0x9E3779B97F4A7C15) % (1 << 64)
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
    x = (x ^ x >> 27) * 0x94D049BB133111EB % (1 << 64)
    return x ^ x >> 31


def in_shard() -> bool:
    """Return True if this thread is in the context of a shard."""
    return _shard.get() is not None


def next_key_words(seed: int, draws: Counter) -> list[int]:
    """Return the seed and the count from which the next key is computed."""
    shard = _shard.get()
    return [seed, draws.advance()] if shard is None else shard.place(seed)


def undo_draw(draws: Counter) -> None:
    """Undo the last `next_key_words`."""
    (_shard.get() or draws).go_back()
