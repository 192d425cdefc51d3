"""Generalisation: a trace for any number, size or variable, if it equals the trace for the exact
values of the call.

Called by `function.py`. Guards record most decisions that Python bases on a number, but not all
(`type(n) is int`), and code written for real numbers may raise. So a general trace is used only if
Python, run once more with the exact values, records an equal graph. Otherwise the values that cause
the difference stay part of the key.

A TensorSpec has no sizes for which Python could run. If the trace with hints for its unknown sizes
raises or has guards, the sizes are traced like sizes that depend on data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dualflow.graph.calls.arguments import TensorLeaf, leaf_key
from dualflow.graph.calls.concrete import UNKNOWN_HINT, ConcreteFunction
from dualflow.graph.calls.relax import has_open_sizes
from dualflow.graph.trace.specialize import deciding_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Kinds = tuple[Any, ...]

UNLIKE = "and a general trace would not do what Python does"


class Generalizer:
    """A search for the trace of one call.

    Parameters
    ----------
    record : callable (keys of leaves, hint=int or None) -> ConcreteFunction
        Runs Python and returns the trace.
    leaves : sequence
        The leaves of the call.

    Attributes
    ----------
    static : dict of int to str
        From a leaf that must not be generalised to the reason.
    """

    def __init__(self, record: Callable[..., ConcreteFunction], leaves: Sequence[Any]) -> None:
        self.record = record
        self.leaves = leaves
        self.plain: Kinds = tuple([plain_key(x) for x in leaves])
        self.static: dict[int, str] = {}

    def run(self, wanted: Kinds) -> ConcreteFunction:
        """Return a trace for leaves with the keys `wanted`, or with less general keys."""
        if not has_open_sizes([leaf_key(x) for x in self.leaves]):
            return self._of_values(wanted)
        made: ConcreteFunction | None = None
        failed: Exception | None = None
        try:
            made = self._of_values(wanted)
        except Exception as error:
            failed = error
        if made is None or (made.trace.guards and made.leaves == wanted):
            kinds = [kind if has_open_sizes([kind]) else plain for kind, plain in zip(
                wanted, self._without_static(wanted), strict=True)]
            try:
                opened = self.record(tuple(kinds), hint=None)
            except Exception as error:
                if made is None:
                    raise error from failed
            else:
                if made is None or len(opened.trace.guards) < len(made.trace.guards):
                    made = opened
        assert made is not None
        made.general = True
        return made

    def _of_values(self, wanted: Kinds) -> ConcreteFunction:
        """Return a trace with the values of the call, and hints for unknown sizes."""
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
        """Test whether leaf `k` alone can be generalised; if not, add it to `static`."""
        trial = self._deciding_apart((*self.plain[:k], kind, *self.plain[k + 1:]))
        if k not in self.static and (trial is None or not trial.same_as(exact, self.leaves)):
            self.static[k] = UNLIKE

    def _deciding_apart(self, kinds: Kinds) -> ConcreteFunction | None:
        """Return a trace in which no number that is an input decides; numbers that do become
        static. Return None if Python raises."""
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
        """Return True if Python received placeholders for values of the call and may have treated
        them differently."""
        general = self._general(made.leaves)
        return bool(general) and (made.trace.sizes_seen or not all(
            isinstance(made.leaves[k], TensorLeaf) for k in general))


def plain_key(x: Any) -> Any:
    """Return the key of a leaf with all sizes known."""
    kind = leaf_key(x)
    if isinstance(kind, TensorLeaf):
        return TensorLeaf(kind.dtype, tuple([UNKNOWN_HINT if d is None else d
                                             for d in kind.shape]))
    return kind
