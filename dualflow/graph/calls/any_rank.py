"""Concrete functions for tensors of unknown rank: a trace for each rank of the calls.

`Function.get_concrete_function` creates them, and `save` stores their traces.
"""

from __future__ import annotations

from dualflow import nest
from dualflow._core import TensorSpec
from dualflow.errors import DualflowError, SignatureError
from dualflow.graph.calls.concrete import ConcreteFunction
from dualflow.graph.calls.trace_arguments import leaves_of_call, with_static

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

RANKS = 1, 0, 2, 3, 4       # the ranks that are saved; the first possible rank is shown


def has_unknown_rank(*structure: Any) -> bool:
    """Return True if a structure has a TensorSpec of unknown rank."""
    return any([isinstance(s, TensorSpec) and s.ndim is None for s in nest.flatten(structure)])


def with_rank(structure: Any, rank: int) -> Any:
    """Return a structure with specs of this rank in place of the specs of unknown rank."""
    return nest.map_structure(
        lambda s: TensorSpec([None] * rank, s.dtype, s.name) if has_unknown_rank(s) else s,
        structure)


def traces_for_ranks(find: Callable[..., ConcreteFunction], args: Any,
                     kwargs: Any) -> list[ConcreteFunction]:
    """Return the traces that `find` returns for arguments of unknown rank: one for each rank at
    which tracing succeeds."""
    found: list[ConcreteFunction] = []
    failed: list[DualflowError] = []
    for rank in RANKS:
        try:
            found.append(find(*with_rank(args, rank), **with_rank(kwargs, rank)))
        except DualflowError as error:
            failed.append(error)
    if not found:
        raise failed[0]
    return found


class AnyRankFunction(ConcreteFunction):
    """The trace for the first possible rank. Calls with other ranks use other traces.

    Attributes
    ----------
    find : callable
        Returns the trace for arguments.
    given : tuple
        The arguments, positional and by name, for which the function was requested.
    open : list of int
        The indices of the leaves of unknown rank.
    """

    find: Callable[..., ConcreteFunction]
    given: tuple[Any, Any]
    open: list[int]
    _specs: list[Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            leaves_of_call(self, args, kwargs)
        except SignatureError:
            return self._of_rank(args, kwargs)(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def _of_rank(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConcreteFunction:
        """Return the trace for the ranks of the arguments of a call."""
        given = with_static(self, args, kwargs)
        treedef, leaves, _ = self.arguments.bind(*((args, kwargs) if given is None
                                                   else ((), given)))
        if treedef not in self.treedefs:
            raise SignatureError(f"{self.name}: the arguments do not have the structure of those "
                                 "for which the function was traced")
        specs = list(self._specs)
        for k in self.open:
            specs[k] = TensorSpec([None] * getattr(leaves[k], "ndim", 0), specs[k].dtype)
        found: ConcreteFunction = self.arguments.call(self.find, treedef, specs)
        return found


def any_rank_function(find: Callable[..., ConcreteFunction], args: Any,
                      kwargs: Any) -> AnyRankFunction:
    """Return the concrete function for arguments with specs of unknown rank."""
    first = traces_for_ranks(find, args, kwargs)[0]
    specs = [first.arguments.bind(*with_rank((args, kwargs), rank))[1] for rank in (1, 2)]
    changing = [k for k, (a, b) in enumerate(zip(*specs, strict=True))
                if isinstance(a, TensorSpec) and a.ndim != b.ndim]
    made = object.__new__(AnyRankFunction)
    made.__dict__.update(first.__dict__, find=find, given=(args, kwargs), open=changing,
                         _specs=specs[0])
    return made
