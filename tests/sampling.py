"""Samples of the default run: a fixed part of the combinations, all with ``--exhaustive`` and in
``-m soak``. Called by tests whose combinations take long; `tests/conftest.py` sets `every`."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

every = False


def one_of(values: Sequence[T], *turns: int) -> Sequence[T]:
    """Return one of the values in a list, the next one for the next turn; or all of them.

    Tests pass the indices of their parameters as turns: each pair of a parameter and a value is
    tested, but not each combination of several parameters with a value.
    """
    return values if every else [values[sum(turns) % len(values)]]


def part(values: Sequence[T], n: int, turn: int = 0) -> Sequence[T]:
    """Return every n-th value, from another one for the next turn, or all if `every` is set."""
    return values if every else values[turn % min(n, len(values))::n]


def passes(turn: int) -> Sequence[bool]:
    """Return whether passes run when a function is traced: for each third turn they do not."""
    return [True, False] if every else [turn % 3 != 2]
