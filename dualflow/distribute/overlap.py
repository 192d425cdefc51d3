"""Reductions of gradients: in buckets, and over several micro-batches."""

from __future__ import annotations

from dualflow._core import Tensor, apply, as_tensor, checks_numerics, empty_with_buffer, memory_of
from dualflow.distribute import collective_impl, progress
from dualflow.distribute.reductions import Reduction, done
from dualflow.distribute.tree import TreeAccumulator
from dualflow.distribute.world import ProcessSet, global_process_set
from dualflow.dtypes import DType, bool_, float32
from dualflow.errors import InvalidArgumentError
from dualflow.ops.control_flow.async_host import async_host_call
from dualflow.ops.control_flow.registered import call_python
from dualflow.ops.indexing.indexed_slices import IndexedSlices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dualflow.ops.control_flow.async_host import Memory


class ReductionConfig:
    """The settings of a gradient reduction.

    Parameters
    ----------
    group : ProcessSet
    op : str
    wire : DType or None
    bucket_bytes : int
    passes : int
        Number of micro-batches per rank.
    """

    def __init__(self, group: ProcessSet, op: str, wire: DType | None, bucket_bytes: int,
                 passes: int) -> None:
        self.group, self.op, self.wire = group, op, wire
        self.bucket_bytes, self.passes = bucket_bytes, passes

    def __deepcopy__(self, memo: Any) -> ReductionConfig:
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
        """Return the tensors reduced over all ranks, given this rank's nodes of each."""
        return collective_impl.reduce(self.group, "gradients", name, self.op, nodes, self.passes,
                                      self.wire,
                                      dtypes=dtypes)

    def gather(self, name: str, values: Tensor, indices: Tensor) -> list[Tensor]:
        """Return the rows of all ranks; "average" divides as for dense gradients."""
        values = collective_impl.allgather(self.group, f"{name}/values", values, "gradients")
        n = self.group.meeting.present * self.passes
        if self.op == "average" and n > 1:
            values = apply("divide", values, float(n))
        return [values,
                collective_impl.allgather(self.group, f"{name}/indices", indices, "gradients")]


class Distributed:
    """Base class of distributed optimizers."""

    _how: ReductionConfig


def reduced(how: ReductionConfig, grads: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Reduce gradients over all ranks: None stays None, sparse rows are gathered."""
    dense = [k for k, g in enumerate(grads) if g is not None and not isinstance(g, IndexedSlices)]
    made: list[Any] = [None] * len(grads)
    found = reduce_buckets(how, [as_tensor(grads[k]) for k in dense], [names[k] for k in dense])
    for k, y in zip(dense, found, strict=True):
        made[k] = y
    for k, g in enumerate(grads):
        if isinstance(g, IndexedSlices):
            made[k] = _gathered(how, g, names[k])
    return made


def _gathered(how: ReductionConfig, g: IndexedSlices, name: str) -> IndexedSlices:
    def compute(values: Tensor, indices: Tensor) -> list[Tensor]:
        found: list[Tensor] = done(how.group, lambda: how.gather(name, values, indices))
        return found

    values, indices = g.values, g.indices
    types = [(values.dtype, (None, *values.shape[1:])), (indices.dtype, (None,))]
    values, indices = call_python("gather_gradients", compute, [values, indices], types, None)
    return IndexedSlices(values, indices, g.dense_shape)


def reduce_buckets(how: ReductionConfig, xs: Sequence[Tensor],
                   names: Sequence[str]) -> list[Tensor]:
    """Reduce tensors over all ranks in buckets."""
    made: list[Any] = [None] * len(xs)
    started = []
    for places in buckets(xs, how.bucket_bytes):
        bucket = Reduction(how.group, "gradients", " ".join([names[k] for k in places]), how.op,
                           how.wire)
        started.append((places, bucket.start([xs[k] for k in places])))
    for places, result in started:
        for k, y in zip(places, result(), strict=True):
            made[k] = y
    return made


def buckets(xs: Sequence[Tensor], size: int) -> list[list[int]]:
    """Return buckets of indices, last tensors first: the last ops of the forward pass get their
    gradients first."""
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


class GradientAccumulator:
    """Accumulates the gradients of several micro-batches until all are present.

    Dense gradients are combined as far as the reduction tree permits; rows are concatenated.

    Parameters
    ----------
    how : ReductionConfig
    names : sequence of str
    sparse : sequence of bool
        Whether each gradient is an IndexedSlices.
    """

    def __init__(self, how: ReductionConfig, names: Sequence[str], sparse: Sequence[bool]) -> None:
        self._how, self._names, self._sparse = how, list(names), list(sparse)
        self._begin()

    def __deepcopy__(self, memo: Any) -> GradientAccumulator:
        return GradientAccumulator(self._how, self._names, self._sparse)

    def _begin(self) -> None:
        n, first = self._how.passes, self._how.group.rank() * self._how.passes
        self._seen = 0
        kind = collective_impl.COMBINES[self._how.op]
        self._piles = [TreeAccumulator(n * self._how.group.size(), first, lambda a,
                                       b: apply(kind, a, b))
                       for is_rows in self._sparse if not is_rows]
        self._dtypes: list[DType] = []
        self._rows: list[list[tuple[Tensor, Tensor]]] = [[] for rows in self._sparse if rows]

    def __call__(self, *xs: Tensor) -> list[Any]:
        """Add gradients; return whether they were the last, and the results or placeholders."""
        given = iter(xs)
        piles, rows = iter(self._piles), iter(self._rows)
        for is_rows in self._sparse:
            if is_rows:
                next(rows).append((next(given), next(given)))
            else:
                x = next(given)
                self._dtypes.append(x.dtype)
                next(piles).add(collective_impl.packed(x, 1., self._how.wire))
        self._seen += 1
        if self._seen < self._how.passes:
            return [False, *self._nothing(xs)]
        made = done(self._how.group, self._reduce)
        self._begin()
        return [True, *made]

    def start(self, xs: Sequence[Tensor]) -> tuple[Tensor, Callable[[], list[Tensor]]]:
        """Add dense gradients asynchronously in a graph. Return a flag that is true for the last
        micro-batch, and a function that returns the results in that case."""
        sent = [collective_impl.packed(x, 1., self._how.wire) for x in xs]
        dtypes = [x.dtype for x in xs]

        def begin(reads: list[Memory], fills: list[Memory]) -> progress.Task:
            return progress.start(lambda: self._take(dtypes, reads, fills))

        *ys, ready, n = async_host_call("gradients_of_passes", begin, sent, [
            *[(x.dtype, tuple(x.shape)) for x in sent], (bool_, ()), (float32, ())])()
        average = self._how.op == "average"
        return ready, lambda: [collective_impl.unpacked(y, dtype, n if average else 1., 1.)
                               for y, dtype in zip(ys, dtypes, strict=True)]

    def _take(self, dtypes: list[DType], reads: list[Memory], fills: list[Memory]) -> None:
        *roots, (_, _, ready), (_, _, n) = fills
        for pile, (dtype, shape, x) in zip(self._piles, reads, strict=True):
            copy, buffer = empty_with_buffer(dtype, shape)
            buffer[:] = x
            pile.add(copy)
        self._seen += 1
        ready[0] = self._seen >= self._how.passes
        if ready[0]:
            nodes = [[memory_of(x) for x in pile.values] for pile in self._piles]
            with self._how.group.lock:
                n.cast("f")[0] = collective_impl.reduce_into(
                    self._how.group, "gradients", " ".join(self._names), self._how.op, nodes,
                    self._how.passes, roots, self._how.wire, (1., 1.), dtypes)
            self._begin()
        elif checks_numerics():         # which checks all outputs, used or not
            for _, _, y in fills:
                y[:] = bytes(len(y))

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

