"""Relaxation: which arguments a new trace generalises, and why a new trace is necessary.

Called by `function.py`. Both are decided by comparison with earlier traces of the function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dualflow._core import TensorSpec, Variable, current_autocast
from dualflow.graph.calls.arguments import (
    StaticLeaf,
    TensorLeaf,
    may_change,
    number_leaf,
    same_but_sizes,
    variable_leaf,
)
from dualflow.graph.calls.concrete import ConcreteFunction
from dualflow.graph.calls.signature import required_shape
from dualflow.graph.trace.parameters import Guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Kinds = tuple[Any, ...]



def relaxed(kinds: Kinds, paths: Sequence[str], peers: Sequence[ConcreteFunction],
            static: Mapping[str, str], specs: Sequence[Any] | None) -> Kinds:
    """Return the keys of a call's leaves, generalised where earlier traces differ from the call or
    an input signature requires it, and for all variables.

    Parameters
    ----------
    kinds : tuple
    paths : sequence of str
    peers : sequence of ConcreteFunction
        Traces for arguments of the same structure.
    static : dict of str to str
        From a path that is never generalised to the reason.
    specs : sequence of TensorSpec, optional
        The leaves of the input signature.
    """
    out = list(kinds)
    places: dict[int, int] = {}
    for k, kind in enumerate(kinds):
        if isinstance(kind, StaticLeaf) and paths[k] not in static:
            if isinstance(kind.value, Variable):
                out[k] = variable_leaf(kind.value, places.setdefault(id(kind.value), k))
            elif may_change(kind.value) and any(_differ(c.leaves[k], kind) for c in peers):
                out[k] = number_leaf(kind.value)
    matching = [c for c in peers if all(map(same_but_sizes, c.leaves, out))]
    for k, kind in enumerate(out):
        if not isinstance(kind, TensorLeaf) or paths[k] in static:
            continue
        if specs is not None:
            if isinstance(specs[k], TensorSpec):
                out[k] = TensorLeaf(specs[k].dtype, required_shape(specs[k], kind))
        elif len(matching) >= 2:
            shapes = [c.leaves[k].shape for c in matching] + [kind.shape]
            out[k] = TensorLeaf(kind.dtype, tuple([
                d if all(s[i] == d for s in shapes) else None for i, d in enumerate(kind.shape)]))
    return tuple(out)


def _differ(mine: Any, kind: StaticLeaf) -> bool:
    """Return True if two leaves are different values of the same type."""
    return (isinstance(mine, StaticLeaf) and type(mine.value) is type(kind.value)
            and mine != kind)


def cause(kinds: Kinds, paths: Sequence[str], peers: Sequence[ConcreteFunction],
          static: Mapping[str, str], broken: Sequence[Guard]) -> str:
    """Return why a call needs a new trace, by comparison with the most similar trace. `broken` has
    the guards that did not hold."""
    if broken:
        return f"Python decides otherwise for these sizes at {broken[-1].line}"
    if not peers:
        return "the arguments have another structure"
    region = current_autocast()
    alike = [c for c in peers if c.places.autocast_dtype is region]
    if not alike:
        return f"autocast: {peers[-1].places.autocast_dtype} -> {region}"
    differences = [[f"{p}: {mine} became {kind}{', ' * (p in static)}{static.get(p, '')}"
                    for p, mine, kind in zip(paths, c.leaves, kinds, strict=True)
                    if not mine.matches(kind)] for c in alike]
    least = min(reversed(differences), key=len)
    return "; ".join(least) or "Python decides otherwise for these sizes"


def serves(trace: ConcreteFunction, kinds: Kinds) -> bool:
    """Return True if a trace, whose keys are `kinds` or more general, holds for leaves with the
    keys `kinds`: if a size is unknown, for all its values, as far as a trace can."""
    if has_open_sizes(kinds):
        return trace.general or not trace.trace.guards
    return trace.leaves == kinds or trace.compiled(kinds) is not None


def has_open_sizes(kinds: Sequence[Any]) -> bool:
    """Return True if a tensor among the keys of leaves has an unknown size."""
    return any([isinstance(kind, TensorLeaf) and None in kind.shape for kind in kinds])
