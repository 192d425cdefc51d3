"""The ranks of a job, and process sets, which are subsets of them."""

from __future__ import annotations

import os
import threading
from importlib import import_module

from dualflow._core import cpu_cores, num_threads, set_num_threads
from dualflow._util.arguments import integer, shown
from dualflow.distribute.controller import Controller
from dualflow.distribute.failure import Watch
from dualflow.distribute.progress import ProgressThread
from dualflow.distribute.transport import Transport
from dualflow.errors import DTypeError, InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = [
    "ProcessSet",
    "add_process_set",
    "global_process_set",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "rank",
    "remove_process_set",
    "shutdown",
    "size",
]


class _World:
    """The state created by `init`."""

    mpi: Any = None
    comm: Any = None
    local: Any = None       # communicator of the ranks on this node
    watch: Watch | None = None


class ProcessSet:
    """A set of ranks that take part in collectives together.

    Parameters
    ----------
    ranks : sequence of int
        Ranks of the job; stored in ascending order.

    Attributes
    ----------
    ranks : list of int

    Notes
    -----
    It must be passed to `add_process_set` before use. Its ranks are numbered from 0, in order.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.ProcessSet([2, 0]).ranks
    [0, 2]
    """

    def __init__(self, ranks: Sequence[int]) -> None:
        self.ranks = sorted([integer(rank, "ProcessSet: a rank") for rank in ranks])
        if len(set(self.ranks)) != len(self.ranks) or not self.ranks or self.ranks[0] < 0:
            raise InvalidArgumentError(f"ProcessSet: got the ranks {list(ranks)}, expected "
                                       "distinct non-negative ones")
        self._meeting: Controller | None = None
        self._transport: Transport | None = None
        self.lock = threading.Lock()            # held during a collective

    def __repr__(self) -> str:
        return f"ProcessSet({self.ranks})"

    def included(self) -> bool:
        """Return True if this rank belongs to the set."""
        return _comm().rank in self.ranks

    def rank(self) -> int:
        """Return the index of this rank in the set."""
        return self.meeting.rank

    def size(self) -> int:
        """Return the number of ranks in the set."""
        return len(self.ranks)

    @property
    def meeting(self) -> Controller:
        if self._meeting is None:
            raise InvalidArgumentError(f"{self!r}: " + (
                "call df.distribute.init() first" if _World.comm is None else
                "this rank is not in it, or it was not added by add_process_set"))
        return self._meeting

    @property
    def transport(self) -> Transport:
        assert self.meeting and self._transport is not None
        return self._transport

    def open(self, comm: Any) -> None:
        """Make the set usable, with a communicator of its ranks."""
        self._meeting = Controller(_World.mpi, comm, self.ranks,
                                   _World.local.size > cpu_cores())
        nodes = comm.Split_type(_World.mpi.COMM_TYPE_SHARED)
        alone = comm.allreduce(nodes.size, _World.mpi.MIN) == comm.size
        nodes.Free()
        self._transport = Transport(self._meeting, alone)

    def close(self) -> None:
        """Free the communicators."""
        if self._meeting is not None and self._transport is not None:
            self._transport.free()
            self._meeting.free()
        self._meeting = self._transport = None


class _Global(ProcessSet):
    """The set of all ranks of the job."""

    def __init__(self) -> None:
        super().__init__([0])


global_process_set = _Global()
_added: list[ProcessSet] = []


def _comm() -> Any:
    if _World.comm is None:
        raise InvalidArgumentError("distribute: call df.distribute.init() first")
    return _World.comm


def init(threads: int | None = None) -> None:
    """Initialise this process as one of the ranks of ``mpiexec -n N python program.py``.

    Parameters
    ----------
    threads : int, optional
        Number of kernel threads of this process. By default the cores of the machine are divided
        among its ranks, unless ``DUALFLOW_NUM_THREADS`` or ``OMP_NUM_THREADS`` is set.

    Raises
    ------
    ImportError
        If mpi4py is not installed: ``pip install dualflow[distribute]``.

    Notes
    -----
    MPI is loaded only here. A program started without mpiexec has one rank. After the call, an
    uncaught exception, or ``sys.exit`` with a code other than 0, ends all ranks.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.size()
    1
    """
    if _World.comm is not None:
        return
    try:
        mpi = _World.mpi = import_module("mpi4py.MPI")
    except ImportError as error:
        error.add_note("df.distribute needs mpi4py and an MPI: pip install 'dualflow[distribute]'")
        raise
    _World.comm = mpi.COMM_WORLD.Dup()
    _World.local = _World.comm.Split_type(mpi.COMM_TYPE_SHARED)
    chosen = os.environ.get("DUALFLOW_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS")
    if threads is None and not chosen and _World.local.size > 1:
        threads = max(1, cpu_cores() // _World.local.size)
    if threads is not None:
        set_num_threads(threads)
    # The progress thread pays off if a transfer leaves a core free: over a network, or with few
    # threads. In shared memory, transfers use the cores themselves.
    ProgressThread.wanted = (_World.comm.size > _World.local.size
                             or num_threads() * _World.local.size < cpu_cores())
    global_process_set.ranks = list(range(_World.comm.size))
    global_process_set.open(_World.comm.Dup())
    _World.watch = Watch(_World.comm.rank, mpi.COMM_WORLD.Abort, shutdown)
    _World.watch.begin()


def shutdown() -> None:
    """Wait until all ranks have called it or ended, and free MPI's resources. Called at exit.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.shutdown()
    >>> df.distribute.is_initialized()
    False
    """
    if _World.comm is None:
        return
    global_process_set.meeting.leave()
    for group in [*_added, global_process_set]:
        group.close()
    _added.clear()
    _World.local.Free()
    _World.comm.Free()
    if _World.watch is not None:
        _World.watch.end()
    _World.comm = _World.local = _World.watch = None


def is_initialized() -> bool:
    """Return True if `init` has been called, without `shutdown` since.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.is_initialized()
    True
    """
    return _World.comm is not None


def rank() -> int:
    """Return the rank of this process, from 0 to ``size() - 1``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.rank()
    0
    """
    number: int = _comm().rank
    return number


def size() -> int:
    """Return the number of ranks.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.size()
    1
    """
    number: int = _comm().size
    return number


def local_rank() -> int:
    """Return the index of this process among the ranks on its machine.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.local_rank()
    0
    """
    _comm()
    number: int = _World.local.rank
    return number


def local_size() -> int:
    """Return the number of ranks on this machine.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.local_size()
    1
    """
    _comm()
    number: int = _World.local.size
    return number


def check_set(caller: str, process_set: Any) -> None:
    """Raise an error unless it is a ProcessSet."""
    if not isinstance(process_set, ProcessSet):
        raise DTypeError(f"{caller}: process_set is {shown(process_set)}, expected a ProcessSet "
                         "from "
                         "add_process_set")


def add_process_set(process_set: ProcessSet | Sequence[int]) -> ProcessSet:
    """Make a set of ranks usable. All ranks of the job must call it with the same set.

    Parameters
    ----------
    process_set : ProcessSet or sequence of int

    Returns
    -------
    ProcessSet

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> first = df.distribute.add_process_set([0])
    >>> df.distribute.allreduce(2., "sum", process_set=first).item()
    2.0
    """
    group = process_set if isinstance(process_set, ProcessSet) else ProcessSet(process_set)
    world = _comm()
    if group.ranks[-1] >= world.size:
        raise InvalidArgumentError(f"add_process_set: got {group.ranks} of {world.size} ranks")
    global_process_set.meeting.agree("add_process_set", None, {"the ranks": tuple(group.ranks)})
    mine = world.rank in group.ranks
    comm = world.Split(0 if mine else _World.mpi.UNDEFINED, world.rank)
    if mine:
        group.open(comm)
    _added.append(group)
    return group


def remove_process_set(process_set: ProcessSet) -> None:
    """Free the resources of a set of ranks. All ranks of the job must call it.

    Parameters
    ----------
    process_set : ProcessSet
        A result of `add_process_set`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> first = df.distribute.add_process_set([0])
    >>> df.distribute.remove_process_set(first)
    """
    check_set("remove_process_set", process_set)
    if process_set not in _added:
        raise InvalidArgumentError("remove_process_set: expected a set from add_process_set that "
                                   "has not been removed")
    global_process_set.meeting.agree("remove_process_set", None,
                                     {"the ranks": tuple(process_set.ranks)})
    _added.remove(process_set)
    process_set.close()
