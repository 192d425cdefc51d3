"""A few numbers of each rank for all others, and which ranks have not sent theirs."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WORDS = 4       # of a header
FEW = 16        # ranks up to which a header goes straight to each; beyond, that would be too many
CALL = 1.       # seconds after which a rank that waits tells all others that it is there


class Straight:
    """Headers from every rank to every other: it is seen at once which ones are there.

    Parameters
    ----------
    mpi : module
        ``mpi4py.MPI``.
    comm : Intracomm

    Attributes
    ----------
    sent : array of WORDS int64
    got : list of such
        Those of all ranks.
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
        """Sends `sent`; the requests after which `got` is there."""
        if self._requests:
            self._startall(self._requests)
        return self._requests

    def call(self) -> None:
        """Says that this rank is there, and waits."""

    def missing(self) -> list[int]:
        """The ranks that did not come."""
        return [r for r, request in zip(self.others, self._receives, strict=True)
                if not request.Test()]

    def free(self) -> None:
        """Gives back what MPI holds for it."""
        for request in self._requests:
            request.Free()


class Gathered:
    """Headers by way of other ranks, in as many rounds as the logarithm of their number.

    Which ones are there is not seen by that. So whoever has waited for `CALL` seconds tells all
    others once, by the number of the header; only ranks that came in the last seconds, and those
    that are missing, have not.
    """

    def __init__(self, mpi: Any, comm: Any) -> None:
        self._any, self._comm = mpi.ANY_SOURCE, comm
        self._status = mpi.Status()
        self.others = [r for r in range(comm.size) if r != comm.rank]
        self.sent = array("q", [0] * WORDS)
        self._all = array("q", [0] * (WORDS * comm.size))
        words = memoryview(self._all)
        self.got: list[Any] = [words[r * WORDS:(r + 1) * WORDS] for r in range(comm.size)]
        self._number = self._called = 0         # of the header, and of the last one called out
        self._heard = [0] * comm.size
        self._calls: list[tuple[Any, Any]] = []     # requests, and what they send

    def start(self) -> list[Any]:
        """Sends `sent`; the requests after which `got` is there."""
        self._number += 1
        self._hear()
        return [self._comm.Iallgather(self.sent, self._all)]

    def _hear(self) -> None:
        while self._comm.Iprobe(self._any, 0, self._status):
            number = array("q", [0])
            self._comm.Recv(number, self._status.source, 0)
            self._heard[self._status.source] = number[0]

    def call(self) -> None:
        """Says that this rank is there, and waits."""
        if self._called < self._number:
            self._called = self._number
            number = array("q", [self._number])
            self._calls = [c for c in self._calls if not c[0].Test()]
            self._calls += [(self._comm.Isend(number, r, 0), number) for r in self.others]

    def missing(self) -> list[int]:
        """The ranks that did not come."""
        self._hear()
        return [r for r in self.others if self._heard[r] < self._number]

    def free(self) -> None:
        """Gives back what MPI holds for it: takes what was called out to this rank."""
        self._hear()
