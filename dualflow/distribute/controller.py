"""Negotiation of collectives: each begins with an exchange of headers, a few integers per rank.

Thus each rank knows that all ranks have started the same collective. If the headers differ, all
ranks raise the same error.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from array import array

from dualflow.distribute import headers
from dualflow.distribute.progress import ProgressThread
from dualflow.errors import DeadlineExceededError, InUseError, InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

RUNS, JOINED, LEAVING = range(3)        # states of a rank
# A header is a digest, a state, and two words of the collective.
SPIN = 0.002                            # seconds of polling before a wait begins to sleep
CROWDED = 0.00005                       # the same if there are more ranks than cores


def ranks_text(ranks: Sequence[int]) -> str:
    """Return [0, 2, 3] as "ranks 0, 2 and 3"."""
    names = [str(r) for r in ranks]
    if len(names) == 1:
        return f"rank {names[0]}"
    return f"ranks {', '.join(names[:-1])} and {names[-1]}"


def read_timeout() -> float | None:
    """Return `df.distribute.timeout`, in seconds; replaced by the package when it is loaded."""
    return None


class Controller:
    """The exchange of headers on a communicator, and waiting for its requests.

    Parameters
    ----------
    mpi : module
        ``mpi4py.MPI``.
    comm : Intracomm
        Not used by other objects.
    ranks : sequence of int
        The members' ranks in the job, for messages.
    oversubscribed : bool
        Whether the machine has more ranks than cores.
    """

    def __init__(self, mpi: Any, comm: Any, ranks: Sequence[int], oversubscribed: bool) -> None:
        self.oversubscribed = oversubscribed
        self.mpi, self.comm, self.ranks = mpi, comm, list(ranks)
        self.rank: int = comm.rank
        self.size: int = comm.size
        self._broken: str | None = None
        self._unfinished: list[list[Any]] = []
        self._patient = False
        self._digests: dict[Any, int] = {}
        kind = headers.DirectHeaders if self.size <= headers.FEW else headers.AllgatherHeaders
        self._headers = kind(mpi, comm)
        self._got = self._headers.got

    # --- waiting ---

    def wait(self, requests: list[Any], doing: str, of_header: bool = False) -> None:
        """Wait until all requests are complete; signals are handled during the wait.

        `of_header`: the requests wait for late ranks, so that the wait may sleep longer.
        """
        test = self.mpi.Request.Testall
        if test(requests):
            return
        began = time.monotonic()
        in_progress_thread = ProgressThread.here()
        oversubscribed = in_progress_thread or self.oversubscribed
        spin = 0. if in_progress_thread else CROWDED if oversubscribed else SPIN
        limit = None if self._patient else read_timeout()
        call = headers.CALL if limit is None else min(headers.CALL, limit / 2)
        try:
            while not test(requests):
                passed = time.monotonic() - began
                if passed < spin or not (of_header or oversubscribed):
                    os.sched_yield()
                elif in_progress_thread:  # each test takes the core from the program
                    time.sleep(min(passed / 4, 0.0002))
                else:
                    time.sleep(min(passed / 20, 0.001) if of_header else 0.00002)
                if of_header and passed > call:
                    self._headers.call()
                if limit is not None and passed > limit:
                    raise DeadlineExceededError(self._late(doing, limit, of_header))
        except BaseException as error:
            self._unfinished.append(requests)   # MPI may still access their buffers
            self._broken = f"{doing} ended by {type(error).__name__}"
            raise

    def _late(self, doing: str, limit: float, of_header: bool) -> str:
        missing = [self.ranks[r] for r in self._headers.missing()] if of_header else []
        what = (f"waited {limit} s for {ranks_text(missing)}, which did not start it" if missing
                else f"did not end within {limit} s")
        return f"{doing}: {what} (df.distribute.timeout)"

    # --- headers ---

    def _exchange(self, doing: str, *words: int) -> None:
        if self._broken:
            raise InUseError(f"{doing}: the ranks are out of step since {self._broken}; end the "
                             "program and restart it")
        self._headers.sent[:] = array("q", words)
        self.wait(self._headers.start(), doing, of_header=True)

    def barrier(self, doing: str) -> None:
        """Wait until all members have called it; for use inside a collective."""
        self._exchange(doing, 0, RUNS, 0, 0)

    def agree(self, kind: str, name: str | None, fields: Mapping[str, Any],
              own: tuple[int, int] = (0, 0)) -> list[tuple[int, int]]:
        """Begin a collective, which all ranks must begin with the same fields.

        Parameters
        ----------
        kind : str
            The operation, for messages.
        name : str, optional
            The name of the tensor.
        fields : mapping of str to hashable
            Fields to compare, in this order.
        own : two int
            Two words that may differ between ranks.

        Returns
        -------
        list of two int
            `own` of each rank.
        """
        key = kind, name, *fields.items()
        doing = f"{kind} {name}" if name else kind
        self._exchange(doing, self._digest(key), RUNS, *own)
        first = self._got[0]
        if all([g[1] == RUNS and g[0] == first[0] for g in self._got]):
            return [(g[2], g[3]) for g in self._got]
        replies = self._negotiate(doing, RUNS, (kind, name, dict(fields)))
        self._compare(replies)
        return [(0, 0) if g is None else (g[2], g[3])
                for g in self._after]           # including joined ranks, which contribute nothing

    def _digest(self, key: Any) -> int:
        found = self._digests.get(key)
        if found is None:
            if len(self._digests) > 10_000:
                self._digests.clear()
            made = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
            found = self._digests[key] = int.from_bytes(made, "little", signed=True)
        return found

    def _negotiate(self, doing: str, state: int, what: Any) -> list[Any]:
        """Return the state and the request of each rank."""
        self._after = [None if g[1] != RUNS else tuple(g) for g in self._got]
        return self.share((state, what), doing)

    def share(self, value: Any, doing: str) -> list[Any]:
        """Return the values of all ranks; a value must be picklable."""
        data = pickle.dumps(value)
        sizes = array("q", [0] * self.size)
        self.wait([self.comm.Iallgather(array("q", [len(data)]), sizes)], doing)
        everything = bytearray(sum(sizes))
        self.wait([self.comm.Iallgatherv(
            [data, self.mpi.BYTE], [everything, list(sizes), None, self.mpi.BYTE])], doing)
        values, at = [], 0
        for size in sizes:
            values.append(pickle.loads(everything[at:at + size]))
            at += size
        return values

    def _compare(self, replies: list[Any]) -> tuple[str, str | None, dict[str, Any]]:
        """Return the common request of the running ranks as (kind, name, fields). If the requests
        differ, raise the same error on all ranks."""
        gone = [self.ranks[r] for r, (state, _) in enumerate(replies) if state == LEAVING]
        running = [(r, what) for r, (state, what) in enumerate(replies) if state == RUNS]
        joined = [self.ranks[r] for r, (state, _) in enumerate(replies) if state == JOINED]
        wanted: tuple[str, str | None, dict[str, Any]] = running[0][1]
        called = f"{wanted[0]} {wanted[1]}" if wanted[1] else wanted[0]
        if gone:
            raise InvalidArgumentError(f"{called}: {ranks_text(gone)} ended, or called shutdown, "
                                       f"while {self._text([r for r, _ in running])} started it")
        for field, of in (("the operation", lambda w: w[0]), ("the name", lambda w: w[1]),
                          *[(f, lambda w, f=f: w[2].get(f)) for f in wanted[2]]):
            self._differ(called, field, [(r, of(what)) for r, what in running])
        if joined and not wanted[2].get("may join"):
            raise InvalidArgumentError(f"{called}: {ranks_text(joined)} has called join, after "
                                       "which the others can only sum and average")
        return wanted

    def _text(self, members: Sequence[int]) -> str:
        return ranks_text([self.ranks[r] for r in members])

    def _differ(self, called: str, field: str, values: list[tuple[int, Any]]) -> None:
        groups: dict[Any, list[int]] = {}
        for r, value in values:
            groups.setdefault(value, []).append(r)
        if len(groups) > 1:
            have = "; ".join(f"{value!s} on {self._text(members)}"
                             for value, members in groups.items())
            raise InvalidArgumentError(f"{called}: ranks differ in {field}: {have}")

    # --- ranks that have finished ---

    def leave(self) -> None:
        """Wait until all members have called it."""
        while self.size > 1 and not self._broken:
            self._patient = True                # others may still be computing
            self._exchange("the end", 0, LEAVING, 0, 0)
            if all([g[1] == LEAVING for g in self._got]):
                return
            self._negotiate("the end", LEAVING, None)
        if self._broken:
            raise InUseError(self._broken)

    def join(self, take_part: Callable[[str, dict[str, Any]], None]) -> int:
        """Take part in the collectives of the others until all have joined; return the last rank
        to join."""
        new = 1
        while True:
            self._exchange("join", 0, JOINED, new, 0)
            if all([g[1] == JOINED for g in self._got]):
                return max(r for r, g in enumerate(self._got) if g[2] or self.size == 1)
            new = 0
            replies = self._negotiate("join", JOINED, None)
            if not any([state == RUNS for state, _ in replies]):
                raise InvalidArgumentError("join: other ranks ended, or called shutdown")
            _, _, fields = self._compare(replies)
            take_part(fields["may join"], fields)

    @property
    def present(self) -> int:
        """The number of members that run, according to the last headers."""
        return sum([g[1] == RUNS for g in self._got])

    def free(self) -> None:
        """Free the headers and the communicator."""
        self._headers.free()
        self.comm.Free()

