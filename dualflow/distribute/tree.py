"""The reduction tree of arrays: finds the nodes that a rank can compute from its own leaves."""

from __future__ import annotations

import itertools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

Span = tuple[int, int]


def are_siblings(left: Span, right: Span, n: int) -> bool:
    """Return True if two nodes are siblings in a tree of n leaves (``csrc/op/tree.h``)."""
    size = left[1] - left[0]
    return (left[1] == right[0] and size & (size - 1) == 0 and left[0] % (2 * size) == 0
            and right[1] == min(left[0] + 2 * size, n))


class TreeAccumulator:
    """An incremental tree reduction: combines consecutive leaves as soon as siblings are complete.

    Parameters
    ----------
    n : int
        Number of leaves of the tree.
    first : int
        Index of the first leaf to be added.
    combine : callable (left, right)

    Attributes
    ----------
    spans : list of (first leaf, last leaf + 1)
    values : list
        The values of the nodes in `spans`, whose siblings are missing.
    """

    def __init__(self, n: int, first: int, combine: Callable[[Any, Any], Any]) -> None:
        self._n, self._next, self._combine = n, first, combine
        self.spans: list[Span] = []
        self.values: list[Any] = []

    def add(self, value: Any) -> None:
        """Add the value of the next leaf."""
        span = self._next, self._next + 1
        self._next += 1
        while self.spans and are_siblings(self.spans[-1], span, self._n):
            span = self.spans.pop()[0], span[1]
            value = self._combine(self.values.pop(), value)
        self.spans.append(span)
        self.values.append(value)


def nodes_of(n: int, first: int, end: int) -> list[Span]:
    """Return the nodes that leaves `first` to `end` - 1 of n determine, in order."""
    pile = TreeAccumulator(n, first, lambda left, right: None)
    for _ in itertools.repeat(None, end - first):
        pile.add(None)
    return pile.spans
