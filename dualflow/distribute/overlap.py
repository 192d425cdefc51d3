"""Reductions of gradients: in a graph each is started when its tensors are there, and waited for
where the result is needed; the program computes meanwhile.
"""

from __future__ import annotations

from functools import partial

from dualflow._core import Tensor, apply, current_graph
from dualflow.distribute import moves, progress
from dualflow.distribute.reductions import done
from dualflow.distribute.tree import Pile
from dualflow.distribute.world import ProcessSet, global_process_set
from dualflow.dtypes import DType, float32
from dualflow.errors import InvalidArgumentError
from dualflow.ops.beside import beside
from dualflow.ops.registered import call_python, is_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dualflow.ops.beside import Memory


class How:
    """How gradients are reduced.

    Parameters
    ----------
    group : ProcessSet
    op : str
    wire : DType or None
    bucket_bytes : int
    passes : int
        Micro-batches of each rank.
    """

    def __init__(self, group: ProcessSet, op: str, wire: DType | None, bucket_bytes: int,
                 passes: int) -> None:
        self.group, self.op, self.wire = group, op, wire
        self.bucket_bytes, self.passes = bucket_bytes, passes

    def __deepcopy__(self, memo: Any) -> How:
        return self

    def __getstate__(self) -> dict[str, Any]:
        if self.group is not global_process_set:
            raise InvalidArgumentError(f"a distributed optimizer of {self.group!r} cannot be "
                                       "pickled: process sets are of one job")
        return {**self.__dict__, "group": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, group=global_process_set)

    def reduce(self, name: str, nodes: Sequence[Sequence[Tensor]],
               dtypes: Sequence[DType] | None = None) -> list[Tensor]:
        """The nodes of each tensor, combined over all ranks."""
        return moves.reduce(self.group, "gradients", name, self.op, nodes, self.passes, self.wire,
                            dtypes=dtypes)

    def reduce_now(self, name: str, xs: Sequence[Tensor]) -> list[Tensor]:
        """The tensors of a bucket, combined; in a graph where that is called."""
        def compute(*given: Tensor) -> list[Tensor]:
            found: list[Tensor] = done(self.group, lambda: self.reduce(name, [[x] for x in given]))
            return found

        return call_python("reduce_gradients", compute, list(xs),
                           [(x.dtype, tuple(x.shape)) for x in xs], None)

    def gather(self, name: str, values: Tensor, indices: Tensor) -> list[Tensor]:
        """The rows of all ranks; an average is one of dense gradients."""
        values = moves.allgather(self.group, f"{name}/values", values, "gradients")
        n = self.group.meeting.present * self.passes
        if self.op == "average" and n > 1:
            values = apply("divide", values, float(n))
        return [values, moves.allgather(self.group, f"{name}/indices", indices, "gradients")]

    def start(self, name: str, xs: Sequence[Tensor]) -> Callable[[], list[Tensor]]:
        """Records the reduction of a bucket, of which only the combining is done beside the
        program; what is returned records the wait, and gives the gradients."""
        sent = [moves.packed(x, 1., self.wire) for x in xs]
        dtypes = [x.dtype for x in xs]

        def started(reads: list[Memory], fills: list[Memory]) -> progress.Task:
            def work() -> None:
                *outs, (_, _, present) = fills
                with self.group.lock:
                    present.cast("f")[0] = moves.reduce_into(
                        self.group, "gradients", name, self.op, reads, outs, dtypes, self.wire)

            return progress.start(work)

        wait = beside("gradients", started, sent, [
            *[(x.dtype, tuple(x.shape)) for x in sent], (float32, ())])

        def found() -> list[Tensor]:
            *ys, present = wait()
            ys = [apply("cast", y, dtype=dtype) if y.dtype is not dtype else y
                  for y, dtype in zip(ys, dtypes, strict=True)]
            return ys if self.op != "average" else [
                apply("divide", y, apply("cast", present, dtype=y.dtype)) for y in ys]

        return found


def reduce_buckets(how: How, xs: Sequence[Tensor], names: Sequence[str]) -> list[Tensor]:
    """Tensors reduced over all ranks, several at once."""
    made: list[Any] = [None] * len(xs)
    started: list[tuple[list[int], Callable[[], list[Tensor]]]] = []
    for places in buckets(xs, how.bucket_bytes):
        name = " ".join([names[k] for k in places])
        given = [xs[k] for k in places]
        if current_graph() is not None and not any([is_open(d) for x in given for d in x.shape]):
            started.append((places, how.start(name, given)))
        else:
            started.append((places, partial(how.reduce_now, name, given)))
    for places, found in started:
        for k, y in zip(places, found(), strict=True):
            made[k] = y
    return made


def buckets(xs: Sequence[Tensor], size: int) -> list[list[int]]:
    """Places of what travels together, last ones first: what is computed last in the forward pass
    has its gradient first."""
    made: list[list[int]] = []
    filled = size
    for k in reversed(range(len(xs))):
        bytes_of = xs[k].dtype.itemsize
        for d in xs[k].shape:
            bytes_of *= int(d)
        if filled + bytes_of > size:
            made.append([])
            filled = 0
        made[-1].append(k)
        filled += bytes_of
    return made


class Passes:
    """Gradients of several micro-batches, kept here until all are there.

    Dense ones are combined as far as the tree lets this rank; rows are put one after another.

    Parameters
    ----------
    how : How
    names : sequence of str
    sparse : sequence of bool
        Whether a gradient is rows, values and indices.
    """

    def __init__(self, how: How, names: Sequence[str], sparse: Sequence[bool]) -> None:
        self._how, self._names, self._sparse = how, list(names), list(sparse)
        self._begin()

    def __deepcopy__(self, memo: Any) -> Passes:
        return Passes(self._how, self._names, self._sparse)

    def _begin(self) -> None:
        n, first = self._how.passes, self._how.group.rank() * self._how.passes
        self._seen = 0
        kind = moves.COMBINES[self._how.op]
        self._piles = [Pile(n * self._how.group.size(), first, lambda a, b: apply(kind, a, b))
                       for is_rows in self._sparse if not is_rows]
        self._dtypes: list[DType] = []
        self._rows: list[list[tuple[Tensor, Tensor]]] = [[] for rows in self._sparse if rows]

    def __call__(self, *xs: Tensor) -> list[Any]:
        """Whether these were the last ones, and the reduced gradients or something like them."""
        given = iter(xs)
        piles, rows = iter(self._piles), iter(self._rows)
        for is_rows in self._sparse:
            if is_rows:
                next(rows).append((next(given), next(given)))
            else:
                x = next(given)
                self._dtypes.append(x.dtype)
                next(piles).add(moves.packed(x, 1., self._how.wire))
        self._seen += 1
        if self._seen < self._how.passes:
            return [False, *self._nothing(xs)]
        made = done(self._how.group, self._reduce)
        self._begin()
        return [True, *made]

    def _nothing(self, xs: Sequence[Tensor]) -> list[Tensor]:
        given, made = iter(xs), []
        for is_rows in self._sparse:
            made += [next(given)[:0], next(given)[:0]] if is_rows else [next(given)]
        return made

    def _reduce(self) -> list[Tensor]:
        names = [n for n, is_rows in zip(self._names, self._sparse, strict=True) if not is_rows]
        dense = iter(self._how.reduce(" ".join(names), [pile.values for pile in self._piles],
                                      self._dtypes[:len(names)]) if names else [])
        rows, made = iter(self._rows), []
        for name, is_rows in zip(self._names, self._sparse, strict=True):
            if is_rows:
                own = next(rows)
                made += self._how.gather(name, apply("concat", *[v for v, _ in own], axis=0),
                                         apply("concat", *[i for _, i in own], axis=0))
            else:
                made.append(next(dense))
        return made

