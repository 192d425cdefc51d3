"""Making a trace as general as possible: for any number, size or variable, as long as it equals the
trace for the call's own values.

Guards record most decisions that Python bases on a number, but not all (`type(n) is int`), and code
written for real numbers only may raise. So a general trace is trusted only after Python has run
once more, with the call's own values, and given the same graph. If it has not, the values to blame
stay part of the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualflow.graph.calls.arguments import TensorLeaf, leaf_key
from dualflow.graph.calls.concrete import UNKNOWN_HINT, ConcreteFunction
from dualflow.graph.trace.specialize import deciding_arguments

Kinds = tuple[Any, ...]
UNLIKE = "and no trace for all of them does what Python does with one"


class Attempt:
    """A search for the trace of one call.

    Parameters
    ----------
    record : callable (kinds of leaves) -> ConcreteFunction
        Runs Python.
    leaves : sequence
        The leaves of the call.

    Attributes
    ----------
    static : dict of int to str
        By leaf that no trace may generalise: why.
    """

    def __init__(self, record: Callable[[Kinds], ConcreteFunction], leaves: Sequence[Any]) -> None:
        self.record = record
        self.leaves = leaves
        self.plain: Kinds = tuple([plain_key(x) for x in leaves])
        self.static: dict[int, str] = {}

    def run(self, wanted: Kinds) -> ConcreteFunction:
        """A trace for leaves of the kinds wanted, or of less general ones."""
        made = self._deciding_apart(wanted)
        if made is not None and not self._doubtful(made):
            return made
        exact = self.record(self.plain)
        if made is not None and made.same_as(exact, self.leaves):
            return made
        general = self._general(made.leaves if made is not None else wanted)
        if len(general) > 1:
            for k in general:
                self._alone(k, wanted[k], exact)
            made = self._deciding_apart(self._without_static(wanted))
            if made is not None and (made.leaves == self.plain
                                     or made.same_as(exact, self.leaves)):
                return made
            general = self._general(self._without_static(wanted))
        for k in general:
            self.static[k] = UNLIKE
        return exact

    def _alone(self, k: int, kind: Any, exact: ConcreteFunction) -> None:
        """Finds out whether one leaf by itself can be generalised."""
        trial = self._deciding_apart((*self.plain[:k], kind, *self.plain[k + 1:]))
        if k not in self.static and (trial is None or not trial.same_as(exact, self.leaves)):
            self.static[k] = UNLIKE

    def _deciding_apart(self, kinds: Kinds) -> ConcreteFunction | None:
        """A trace in which no input that is a number decides anything; None if Python raises."""
        kinds = self._without_static(kinds)
        while True:
            try:
                made = self.record(kinds)
            except Exception:
                if kinds == self.plain:
                    raise
                return None
            deciding = deciding_arguments(made.trace)
            if not deciding:
                return made
            self.static.update((k, f"by which Python decides at {line}")
                               for k, line in deciding.items())
            kinds = self._without_static(kinds)

    def _without_static(self, kinds: Kinds) -> Kinds:
        return tuple([self.plain[k] if k in self.static else kind for k, kind in enumerate(kinds)])

    def _general(self, kinds: Kinds) -> list[int]:
        return [k for k, (kind, plain) in enumerate(zip(kinds, self.plain, strict=True))
                if kind != plain]

    def _doubtful(self, made: ConcreteFunction) -> bool:
        """Whether Python was given stand-ins for values of the call."""
        general = self._general(made.leaves)
        return bool(general) and (made.trace.sizes_seen or not all(
            isinstance(made.leaves[k], TensorLeaf) for k in general))


def plain_key(x: Any) -> Any:
    """The key of a leaf, with all of its sizes known."""
    kind = leaf_key(x)
    if isinstance(kind, TensorLeaf):
        return TensorLeaf(kind.dtype, tuple([UNKNOWN_HINT if d is None else d
                                             for d in kind.shape]))
    return kind
