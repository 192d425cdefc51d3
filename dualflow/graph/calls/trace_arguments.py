"""Arguments of a call of one trace; called by `concrete.py`.

Parameters whose values are part of the trace may be left out, as in TensorFlow: their values are
those of the trace.
"""

from __future__ import annotations

from dualflow.errors import SignatureError
from dualflow.graph.calls.arguments import LEAF, StaticLeaf, as_input, leaf_key, rebuild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.graph.calls.concrete import ConcreteFunction


def leaves_of_call(trace: ConcreteFunction, args: tuple[Any, ...],
                   kwargs: dict[str, Any]) -> list[Any]:
    """Return the leaves of the arguments of a call, or raise SignatureError if the trace is not
    for them."""
    refused: TypeError | None = None
    leaves: list[Any] = []
    try:
        leaves, fit = _bound(trace, args, kwargs)
    except TypeError as error:
        if type(error) is not TypeError:        # not an error about missing arguments
            raise
        refused, fit = error, False
    if fit:
        return leaves
    given = with_static(trace, args, kwargs)
    if given is not None:
        leaves, fit = _bound(trace, (), given)
        if fit:
            return leaves
        refused = None
    if refused is not None:
        raise refused
    wanted = ", ".join(f"{p}: {m}" for p, m in zip(trace.paths, trace.leaves, strict=True))
    got = ", ".join([str(leaf_key(x)) for x in leaves])
    raise SignatureError(f"{trace.name}: got ({got}), this trace is for ({wanted})")


def _bound(trace: ConcreteFunction, args: tuple[Any, ...],
           kwargs: dict[str, Any]) -> tuple[list[Any], bool]:
    """Return the leaves of a call, and whether the trace is for them."""
    treedef, leaves, _ = trace.arguments.bind(args, kwargs)
    leaves += [p.tensor() for p in trace.held]
    if len(leaves) == len(trace.leaves):
        leaves = list(map(as_input, leaves, trace.leaves))
    return leaves, trace.matches(treedef, [leaf_key(x) for x in leaves])


def with_static(trace: ConcreteFunction, args: tuple[Any, ...],
                 kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call by name, with the values of the trace for parameters that
    only hold Python values. Return None if the other parameters are not those of the call."""
    parameters = trace.arguments.signature.full.parameters.values()
    if len(parameters) != len(trace.treedef) or any(
            [p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY) for p in parameters]):
        return None
    keys, rest, made = iter(trace.leaves), list(args), {}
    for p, part in zip(parameters, trace.treedef, strict=True):
        own = [next(keys) for _ in range(n_leaves(part))]
        if p.name in kwargs:
            made[p.name] = kwargs[p.name]
        elif all([isinstance(key, StaticLeaf) for key in own]):
            made[p.name] = rebuild(part, iter([key.value for key in own]))
        elif rest:
            made[p.name] = rest.pop(0)
    return None if rest or len(made) < len(parameters) or not kwargs.keys() <= made.keys() else made


def n_leaves(part: Any) -> int:
    """Return the number of leaves of a skeleton."""
    return 1 if part is LEAF else sum([n_leaves(x) for x in part[-1]])
