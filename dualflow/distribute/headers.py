"""Exchange of headers, a few integers per rank, and detection of ranks that have not sent
theirs."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WORDS = 4       # of a header
FEW = 16        # maximal number of ranks for direct messages to each other rank
CALL = 1.       # seconds after which a waiting rank announces its presence to all others


class DirectHeaders:
    """All-to-all exchange of headers, which directly shows the missing ranks.

    Parameters
    ----------
    mpi : module
        ``mpi4py.MPI``.
    comm : Intracomm

    Attributes
    ----------
    sent : array of WORDS int64
    got : list of arrays
        The headers of all ranks.
    """

    def __init__(self, mpi: Any, comm: Any) -> None:
        self._startall = mpi.Prequest.Startall
        self.others = [r for r in range(comm.size) if r != comm.rank]
        self.sent = array("q", [0] * WORDS)
        self.got: list[Any] = [array("q", [0] * WORDS) for _ in range(comm.size)]
        self.got[comm.rank] = self.sent
        self._receives = [comm.Recv_init(self.got[r], r) for r in self.others]
        self._requests = self._receives + [comm.Send_init(self.sent, r) for r in self.others]

    def start(self) -> list[Any]:
        """Send `sent`; return the requests on whose completion `got` is complete."""
        if self._requests:
            self._startall(self._requests)
        return self._requests

    def call(self) -> None:
        """Do nothing: the headers themselves announce the presence of this rank."""

    def missing(self) -> list[int]:
        """Return the ranks whose header has not arrived."""
        return [r for r, request in zip(self.others, self._receives, strict=True)
                if not request.Test()]

    def free(self) -> None:
        """Free the MPI requests."""
        for request in self._requests:
            request.Free()


class AllgatherHeaders:
    """Exchange of headers by MPI_Iallgather, in a logarithmic number of steps.

    The exchange does not show the missing ranks. Therefore a rank that has waited for `CALL`
    seconds sends the header's number once to all others. Ranks that have not sent it are missing,
    or have arrived within the last seconds.
    """

    def __init__(self, mpi: Any, comm: Any) -> None:
        self._any, self._comm = mpi.ANY_SOURCE, comm
        self._status = mpi.Status()
        self.others = [r for r in range(comm.size) if r != comm.rank]
        self.sent = array("q", [0] * WORDS)
        self._all = array("q", [0] * (WORDS * comm.size))
        words = memoryview(self._all)
        self.got: list[Any] = [words[r * WORDS:(r + 1) * WORDS] for r in range(comm.size)]
        self._number = self._called = 0         # of the header, and of the last announced one
        self._received = [0] * comm.size
        self._calls: list[tuple[Any, Any]] = []     # send requests and their buffers

    def start(self) -> list[Any]:
        """Send `sent`; return the requests on whose completion `got` is complete."""
        self._number += 1
        self._receive()
        return [self._comm.Iallgather(self.sent, self._all)]

    def _receive(self) -> None:
        while self._comm.Iprobe(self._any, 0, self._status):
            number = array("q", [0])
            self._comm.Recv(number, self._status.source, 0)
            self._received[self._status.source] = number[0]

    def call(self) -> None:
        """Announce to all other ranks that this rank has arrived."""
        if self._called < self._number:
            self._called = self._number
            number = array("q", [self._number])
            self._calls = [c for c in self._calls if not c[0].Test()]
            self._calls += [(self._comm.Isend(number, r, 0), number) for r in self.others]

    def missing(self) -> list[int]:
        """Return the ranks that have not announced their arrival."""
        self._receive()
        return [r for r in self.others if self._received[r] < self._number]

    def free(self) -> None:
        """Receive pending announcements, which would otherwise leak in MPI."""
        self._receive()
