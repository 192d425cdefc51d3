"""Collectives of Python objects and variables, which run in eager mode only."""

from __future__ import annotations

import pickle

from dualflow._core import TraceContext, Variable, unwrapped
from dualflow.distribute import collective_impl
from dualflow.distribute.collectives import root_of
from dualflow.distribute.reductions import done
from dualflow.distribute.world import ProcessSet, check_set, global_process_set
from dualflow.errors import DTypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["allgather_object", "broadcast_object", "broadcast_variables"]


def broadcast_variables(variables: Iterable[Variable], root_rank: int = 0, *,
                        process_set: ProcessSet = global_process_set) -> None:
    """Assign variables the values that they have on one rank.

    Parameters
    ----------
    variables : iterable of Variable, or of Keras variables
        On all ranks the same number, names, dtypes and shapes, in the same order.
    root_rank : int
    process_set : ProcessSet

    Raises
    ------
    InvalidArgumentError
        On all ranks, if the variables differ.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.broadcast_variables([df.Variable([1., 2.])], root_rank=0)
    """
    own = [unwrapped(v) for v in variables]
    for v in own:
        if not isinstance(v, Variable):
            raise DTypeError(f"broadcast_variables: got a {type(v).__name__}, expected Variables")
    root = root_of("broadcast_variables", root_rank, process_set)
    with TraceContext(None):
        values = done(process_set, lambda: collective_impl.broadcast(
            process_set, None, [v.value() for v in own], root, "broadcast_variables"))
        for v, value in zip(own, values, strict=True):
            v.assign(value)


def allgather_object(obj: Any, *, process_set: ProcessSet = global_process_set) -> list[Any]:
    """Return the objects of all ranks, in the order of ranks.

    Parameters
    ----------
    obj : picklable object
    process_set : ProcessSet

    Returns
    -------
    list

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.allgather_object({"seen": 3})
    [{'seen': 3}]
    """
    check_set("allgather_object", process_set)

    def work() -> list[Any]:
        process_set.meeting.agree("allgather_object", None, {})
        return process_set.meeting.share(obj, "allgather_object")

    found: list[Any] = done(process_set, work)
    return found


def broadcast_object(obj: Any, root_rank: int = 0, *,
                     process_set: ProcessSet = global_process_set) -> Any:
    """Send the object of one rank to all ranks, by pickle, and return it.

    Parameters
    ----------
    obj : picklable object
        Ignored on all ranks but the root.
    root_rank : int
    process_set : ProcessSet

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.broadcast_object({"epoch": 3})
    {'epoch': 3}
    """
    root = root_of("broadcast_object", root_rank, process_set)
    data = pickle.dumps(obj) if process_set.rank() == root else b""

    def work() -> Any:
        sizes = process_set.meeting.agree("broadcast_object", None, {"root": root}, (len(data), 0))
        buffer = bytearray(data) if data else bytearray(sizes[root][0])
        process_set.transport.broadcast(buffer, root, "broadcast_object")
        return buffer

    buffer = done(process_set, work)
    return obj if data else pickle.loads(buffer)
