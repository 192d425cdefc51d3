"""Collectives that move rows and tensors between the ranks of a job or a process set."""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import integer
from dualflow.distribute import collective_impl
from dualflow.distribute.reductions import allreduce, done
from dualflow.distribute.world import ProcessSet, check_set, global_process_set
from dualflow.dtypes import int32
from dualflow.errors import InvalidArgumentError, ShapeError, UnimplementedError
from dualflow.ops.array.creation import zeros_like
from dualflow.ops.control_flow.registered import call_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = [
    "allgather",
    "alltoall",
    "barrier",
    "broadcast",
    "join",
    "reducescatter",
]


def allgather(tensor: TensorLike, *, name: str | None = None,
              process_set: ProcessSet = global_process_set) -> Tensor:
    """Concatenate the tensors of all ranks along the first dimension.

    Parameters
    ----------
    tensor : Tensor, shape (n, ...)
        `n` may differ between ranks.
    name : str, optional
    process_set : ProcessSet

    Returns
    -------
    Tensor, shape (sum of n, ...)

    Notes
    -----
    The gradient of a rank's tensor is the sum, over all ranks, of the cotangents of its rows.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.allgather([[1., 2.]]).tolist()
    [[1.0, 2.0]]
    """
    check_set("allgather", process_set)
    x = as_tensor(tensor, None, "allgather")

    def compute(given: Tensor) -> list[Tensor]:
        return [done(process_set, lambda: collective_impl.allgather(process_set, name, given))]

    def back(g: tuple[Any, ...], ys: Any, x: Tensor) -> list[Any]:
        return [_own_rows(g[0], x, process_set)]

    return call_python("allgather", compute, [x], [(x.dtype, (None, *x.shape[1:]))], back, name)[0]


def _own_rows(g: TensorLike, x: Tensor, process_set: ProcessSet) -> Tensor:
    """Return this rank's rows of the sum of all ranks' cotangents; `x` is its own input."""
    def compute(given: Tensor, x: Tensor) -> list[Tensor]:
        return [done(process_set, lambda: collective_impl.reduce_rows(
            process_set, None, "sum", given, x.shape[0], "allgather_gradient"))]

    def back(g: tuple[Any, ...], *_: Any) -> list[Any]:
        return [allgather(g[0], process_set=process_set), None]

    return call_python("allgather_gradient", compute, [as_tensor(g), x],
                       [(x.dtype, tuple(x.shape))], back)[0]


def reducescatter(tensor: TensorLike, op: str = "average", *, name: str | None = None,
                  process_set: ProcessSet = global_process_set) -> Tensor:
    """Return this rank's rows of the result of `allreduce`.

    Parameters
    ----------
    tensor : Tensor, shape (n, ...), the same on all ranks
    op : {"average", "sum", "min", "max", "product"}
    name : str, optional
    process_set : ProcessSet

    Returns
    -------
    Tensor, shape (rows, ...)
        The rows are divided evenly; the first ranks have one more if there is a remainder.

    Notes
    -----
    The gradient, for "average" and "sum", is an allgather.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.reducescatter([1., 2.], "sum").tolist()
    [1.0, 2.0]
    """
    check_set("reducescatter", process_set)
    x = as_tensor(tensor, None, "reducescatter")
    collective_impl.check_reduction("reducescatter", op, x.dtype)
    if x.ndim == 0:
        raise ShapeError("reducescatter: got a scalar, expected a tensor with rows")

    def compute(given: Tensor) -> list[Tensor]:
        return [done(process_set,
                     lambda: collective_impl.reduce_rows(process_set, name, op, given))]

    def back(g: tuple[Any, ...], ys: Any, x: Tensor) -> list[Any]:
        if op not in ("average", "sum"):
            raise UnimplementedError(f"reducescatter: {op} has no gradient")
        found = allgather(g[0], process_set=process_set)
        return [found / float(process_set.size()) if op == "average" else found]

    rows = collective_impl.rows_of_rank(x.shape[0], process_set.size())[process_set.rank()] \
        if isinstance(x.shape[0], int) else None
    return call_python("reducescatter", compute, [x], [(x.dtype, (rows, *x.shape[1:]))], back,
                       name)[0]


def broadcast(tensor: TensorLike, root_rank: int = 0, *, name: str | None = None,
              process_set: ProcessSet = global_process_set) -> Tensor:
    """Return the tensor of one rank on all ranks.

    Parameters
    ----------
    tensor : Tensor, of the same dtype and shape on all ranks
    root_rank : int
        A rank of the job.
    name : str, optional
    process_set : ProcessSet

    Returns
    -------
    Tensor

    Notes
    -----
    The gradient at the root is the sum over all ranks; at other ranks it is zero.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.broadcast([1., 2.], root_rank=0).tolist()
    [1.0, 2.0]
    """
    x = as_tensor(tensor, None, "broadcast")
    root = root_of("broadcast", root_rank, process_set)

    def compute(given: Tensor) -> list[Tensor]:
        return done(process_set,
                    lambda: collective_impl.broadcast(process_set, name, [given], root))

    def back(g: tuple[Any, ...], *_: Any) -> list[Any]:
        total = allreduce(g[0], "sum", process_set=process_set)
        return [total if process_set.rank() == root else zeros_like(total)]

    return call_python("broadcast", compute, [x], [(x.dtype, tuple(x.shape))], back, name)[0]


def root_of(caller: str, rank: int, group: ProcessSet) -> int:
    """Return the index of a rank in a group."""
    check_set(caller, group)
    wanted = integer(rank, f"{caller}: root_rank")
    if wanted not in group.ranks:
        raise InvalidArgumentError(f"{caller}: root_rank is {wanted}, expected one of "
                                   f"{group.ranks}")
    return group.ranks.index(wanted)


def alltoall(tensor: TensorLike, splits: TensorLike | None = None, *, name: str | None = None,
             process_set: ProcessSet = global_process_set) -> Any:
    """Send rows to each rank.

    Parameters
    ----------
    tensor : Tensor, shape (n, ...)
        Rows for rank 0, then rows for rank 1, and so on.
    splits : Tensor, int32, shape (ranks,), optional
        Number of rows for each rank; by default all are equal.
    name : str, optional
    process_set : ProcessSet

    Returns
    -------
    Tensor, shape (m, ...), or with `splits` a pair of it and a Tensor, int32, shape (ranks,)
        The rows from rank 0, then from rank 1, and so on; and the number of rows from each rank.

    Notes
    -----
    The gradient is sent back to the rank that each row came from.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> rows, received = df.distribute.alltoall([1., 2.], splits=[2])
    >>> rows.tolist(), received.tolist()
    ([1.0, 2.0], [2])
    """
    check_set("alltoall", process_set)
    x = as_tensor(tensor, None, "alltoall")
    inputs = [x] if splits is None else [x, as_tensor(splits, None, "alltoall")]

    def compute(given: Tensor, splits: Tensor | None = None) -> list[Tensor]:
        return list(done(process_set,
                         lambda: collective_impl.alltoall(process_set, name, given, splits)))

    def back(g: tuple[Any, ...], ys: tuple[Tensor, ...], *inputs: Tensor) -> list[Any]:
        found = alltoall(g[0], ys[1], process_set=process_set)[0]
        return [found] + [None] * (len(inputs) - 1)

    y, received = call_python("alltoall", compute, inputs, [
        (x.dtype, (None, *x.shape[1:])), (int32, (len(process_set.ranks),))], back, name)
    return y if splits is None else (y, received)


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Wait until all ranks have called it.

    Parameters
    ----------
    process_set : ProcessSet

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.barrier()
    """
    check_set("barrier", process_set)

    def compute(*_: Tensor) -> list[Tensor]:
        done(process_set, lambda: process_set.meeting.agree("barrier", None, {}))
        return []

    call_python("barrier", compute, [], [], None)


def join() -> int:
    """Declare that this rank has nothing more to reduce, and wait until all ranks have joined.

    Returns
    -------
    int
        The last rank to join.

    Notes
    -----
    During the wait, the rank contributes zeros to sums of the others. Averages are over the ranks
    that have not joined.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.join()
    0
    """
    group = global_process_set
    place: int = done(group, lambda: group.meeting.join(
        lambda caller, fields: collective_impl.reduce_nothing(group, caller, fields)))
    return place
