"""Transport of bytes between ranks, and reduction of arrays. It does not use tensors.

Ranks of one node reduce large arrays in shared memory, each rank one slice: MPI would copy every
byte twice, and would add in a different order.
"""

from __future__ import annotations

from array import array
from itertools import chain

from dualflow._core import combine
from dualflow.distribute.controller import Controller
from dualflow.distribute.tree import nodes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow._core import Op
    from dualflow.distribute.tree import Span
    from dualflow.dtypes import DType

SMALL = 1 << 14     # total bytes of all ranks up to which each rank receives all arrays
PART = 1 << 20      # bytes of a rank in shared memory per part
ALIGNED = 64        # alignment of slices, in bytes


def combine_pieces(op: Op, dtype: DType, data: memoryview, spans: list[list[Span]],
                   out: Any) -> None:
    """Reduce the consecutive arrays in `data`, each as long as `out`."""
    nodes, n = [*chain(*spans)], len(out)
    combine(op, dtype, [data[k * n:(k + 1) * n] for k in range(len(nodes))], nodes, out)


class Transport:
    """Moves the data of collectives between the ranks of a meeting.

    Parameters
    ----------
    meeting : Controller
    shares : bool
        Whether all ranks are on one node and may share memory.
    """

    def __init__(self, meeting: Controller, shares: bool) -> None:
        self._meeting, self._shares = meeting, shares and meeting.size > 1
        self._comm = meeting.comm.Dup()
        self._window: Any = None
        self._parts: list[memoryview] = []      # the shared memory of each rank
        self._turn = 0

    @property
    def _byte(self) -> Any:
        return self._meeting.mpi.BYTE

    # --- bytes ---

    def gather(self, mine: Any, sizes: Sequence[int], out: Any, doing: str) -> None:
        """Concatenate the bytes of all ranks in `out`; rank r has `sizes[r]` bytes."""
        self._meeting.wait([self._comm.Iallgatherv(
            [mine, len(mine), self._byte], [out, list(sizes), None, self._byte])], doing)

    def broadcast(self, data: Any, root: int, doing: str) -> None:
        """Copy the bytes of rank `root` to `data` of all ranks."""
        self._meeting.wait([self._comm.Ibcast([data, len(data), self._byte], root)], doing)

    def exchange(self, data: Any, sizes: Sequence[int], out: Any, out_sizes: Sequence[int],
                 doing: str) -> None:
        """Send consecutive parts of `data` to the ranks; receive consecutive parts in `out`."""
        self._meeting.wait([self._comm.Ialltoallv(
            [data, (list(sizes), None), self._byte],
            [out, (list(out_sizes), None), self._byte])], doing)

    def counts(self, mine: Sequence[int], doing: str) -> list[int]:
        """Send element k to rank k; return the elements received, in the order of ranks."""
        out = array("q", [0] * self._meeting.size)
        self._meeting.wait([self._comm.Ialltoall(array("q", mine), out)], doing)
        return list(out)

    # --- reductions ---

    def reduce(self, op: Op, dtype: DType, nodes: list[Any], leaves: int, out: Any,
               doing: str) -> None:
        """Compute the root of a reduction tree in `out`, on all ranks.

        Parameters
        ----------
        op : Op
            Elementwise, with two inputs.
        dtype : DType
        nodes : list of buffers, n bytes each
            The nodes of this rank, computed from its own leaves.
        leaves : int
            Number of leaves per rank.
        out : buffer, n bytes
        """
        size, rank = self._meeting.size, self._meeting.rank
        spans = [nodes_of(size * leaves, r * leaves, (r + 1) * leaves) for r in range(size)]
        n = len(out)
        if size == 1:
            combine(op, dtype, nodes, spans[0], out)
        elif n * sum(map(len, spans)) <= SMALL:
            self._reduce_small(op, dtype, nodes, spans, out, doing)
        elif self._shares:
            self._reduce_shared(op, dtype, nodes, spans, out, doing)
        else:
            borders = self._borders(n)
            sizes = [borders[r + 1] - borders[r] for r in range(size)]
            piece = memoryview(bytearray(sizes[rank]))
            self.reduce_slices(op, dtype, nodes, spans, borders, piece, doing)
            self.gather(piece, sizes, out, doing)

    def _borders(self, n: int) -> list[int]:
        """Return the start of each rank's slice of n bytes, and n."""
        size = self._meeting.size
        return [min(n, -(-n * r // size // ALIGNED) * ALIGNED) for r in range(size)] + [n]

    def _reduce_small(self, op: Op, dtype: DType, nodes: list[Any], spans: list[list[Span]],
                      out: Any, doing: str) -> None:
        n = len(out)
        mine = nodes[0] if len(nodes) == 1 else b"".join(nodes)
        got = memoryview(bytearray(n * sum(map(len, spans))))
        self.gather(mine, [n * len(own) for own in spans], got, doing)
        combine_pieces(op, dtype, got, spans, out)

    def reduce_slices(self, op: Op, dtype: DType, nodes: list[Any], spans: list[list[Span]],
                      borders: list[int], out: Any, doing: str) -> None:
        """Compute the root's bytes from ``borders[rank]`` to the next border, in `out`."""
        size, rank = self._meeting.size, self._meeting.rank
        n = borders[rank + 1] - borders[rank]
        sizes = [(borders[r + 1] - borders[r]) * len(nodes) for r in range(size)]
        sent = b"".join([node[borders[r]:borders[r + 1]] for r in range(size) for node in nodes])
        got = memoryview(bytearray(n * sum(map(len, spans))))
        self.exchange(sent, sizes, got, [n * len(own) for own in spans], doing)
        combine_pieces(op, dtype, got, spans, out)

    # --- shared memory ---

    def _allocate(self, n_nodes: int) -> int:
        """Allocate the shared memory of all ranks, three parts each. Return the number of bytes of
        an array of which `n_nodes` fit in a part."""
        if self._window is None:
            mpi = self._meeting.mpi
            self._window = mpi.Win.Allocate_shared(3 * PART, 1, mpi.INFO_NULL, self._comm)
            self._parts = [memoryview(self._window.Shared_query(r)[0]).cast("B")
                           for r in range(self._meeting.size)]
            self._window.Lock_all()
        return PART // n_nodes // ALIGNED * ALIGNED

    def _reduce_shared(self, op: Op, dtype: DType, nodes: list[Any], spans: list[list[Span]],
                       out: Any, doing: str) -> None:
        """Reduce an array part by part: each rank writes data that others need, reduces its slice,
        and reads the slices of others. The next part is written before the barrier of the current
        one, so that each part has one barrier; the third buffer keeps results that others still
        read."""
        n, step = len(out), self._allocate(max(map(len, spans)))
        parts = range(0, n, step)
        self._hand_in(nodes, 0, min(step, n), step, self._turn)
        self._publish(doing)
        for at in parts:
            end, turn = min(at + step, n), self._turn
            self._turn = (turn + 1) % 3
            self._combine_slice(op, dtype, nodes, spans, at, end, step, turn)
            if end < n:
                self._hand_in(nodes, end, min(end + step, n), step, self._turn)
            self._publish(doing)
            self._take(out, at, end, turn)

    def _publish(self, doing: str) -> None:
        """Wait until all ranks see the writes of all ranks."""
        self._window.Sync()
        self._meeting.barrier(doing)
        self._window.Sync()

    def _hand_in(self, nodes: list[Any], at: int, end: int, step: int, turn: int) -> None:
        rank, mine = self._meeting.rank, self._parts[self._meeting.rank]
        borders = self._borders(end - at)
        for k, node in enumerate(nodes):
            base = turn * PART + k * step
            for r in range(self._meeting.size):
                a, b = borders[r], borders[r + 1]
                if r != rank and b > a:
                    mine[base + a:base + b] = node[at + a:at + b]

    def _combine_slice(self, op: Op, dtype: DType, nodes: list[Any], spans: list[list[Span]],
                       at: int, end: int, step: int, turn: int) -> None:
        """Reduce this rank's slice. The result replaces the slice of its first array, which no
        other rank reads."""
        rank, base = self._meeting.rank, turn * PART
        a, b = self._borders(end - at)[rank:rank + 2]
        if a == b:
            return
        pieces = []
        for r, own in enumerate(spans):
            for k in range(len(own)):
                pieces.append(nodes[k][at + a:at + b] if r == rank else
                              self._parts[r][base + k * step + a:base + k * step + b])
        combine(op, dtype, pieces, [*chain(*spans)], self._parts[rank][base + a:base + b])

    def _take(self, out: Any, at: int, end: int, turn: int) -> None:
        borders, base = self._borders(end - at), turn * PART
        for r, part in enumerate(self._parts):
            a, b = borders[r], borders[r + 1]
            if b > a:
                out[at + a:at + b] = part[base + a:base + b]

    def free(self) -> None:
        """Free the shared memory and the communicator."""
        self._parts = []
        if self._window is not None:
            self._window.Unlock_all()
            self._window.Free()
            self._window = None
        self._comm.Free()
