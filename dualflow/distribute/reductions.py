"""Reductions: tensors of all ranks combined element by element."""

from __future__ import annotations

from functools import partial

from dualflow._core import Tensor, as_tensor, current_graph
from dualflow.distribute import collective_impl, progress
from dualflow.distribute.world import ProcessSet, check_set, global_process_set
from dualflow.dtypes import DType, as_dtype, float32
from dualflow.errors import InvalidArgumentError, UnimplementedError
from dualflow.ops.control_flow.async_host import async_host_call
from dualflow.ops.control_flow.registered import call_python, is_open, with_rule
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dualflow.ops.control_flow.async_host import Memory
    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["allreduce", "grouped_allreduce"]


def done(group: ProcessSet, work: Callable[[], Any]) -> Any:
    """Run a collective after the ones that were started before; return its result."""
    def locked() -> Any:
        with group.lock:
            return work()

    return progress.run(locked)


class Reduction:
    """A reduction of tensors over all ranks. In a graph it is asynchronous: it starts when its
    inputs are computed, and the program continues until an op needs the result.

    Parameters
    ----------
    group : ProcessSet
    caller, name
        For messages.
    op : str
    wire : DType or None
    scales : (float, float)
        See `moves.reduce`.
    """

    def __init__(self, group: ProcessSet, caller: str, name: str | None, op: str,
                 wire: DType | None, scales: tuple[float, float] = (1., 1.)) -> None:
        self._group, self._who, self._name, self._op = group, caller, name, op
        self._wire, self._scales = wire, scales

    def start(self, xs: Sequence[Tensor]) -> Callable[[], list[Tensor]]:
        """Start the reduction; return a function that waits and returns the results."""
        if current_graph() is None or any([is_open(d) for x in xs for d in x.shape]):
            return partial(call_python, self._who, self._now, list(xs),
                           [(x.dtype, tuple(x.shape)) for x in xs], None)
        sent = [collective_impl.packed(x, self._scales[0], self._wire) for x in xs]
        dtypes = [x.dtype for x in xs]
        wait = async_host_call(self._who, partial(self._begin, dtypes), sent,
                               [*[(x.dtype, tuple(x.shape)) for x in sent], (float32, ())])

        def result() -> list[Tensor]:
            *ys, n = wait()
            return [collective_impl.unpacked(y, dtype, n if self._op == "average" else 1.,
                                             self._scales[1])
                    for y, dtype in zip(ys, dtypes, strict=True)]

        return result

    def _now(self, *xs: Tensor) -> list[Tensor]:
        made: list[Tensor] = done(self._group, lambda: collective_impl.reduce(
            self._group, self._who, self._name, self._op, [[x] for x in xs], 1, self._wire,
            self._scales))
        return made

    def _begin(self, dtypes: list[DType], reads: list[Memory], fills: list[Memory],
               ) -> progress.Task:
        """Start a reduction into the result buffers; the last receives the number of ranks."""
        def work() -> None:
            *roots, (_, _, n) = fills
            with self._group.lock:
                n.cast("f")[0] = collective_impl.reduce_into(
                    self._group, self._who, self._name, self._op, [[x] for _, _, x in reads], 1,
                    roots, self._wire, self._scales, dtypes)

        return progress.start(work)


def wire_of(compression: DTypeLike | None) -> DType | None:
    wire = None if compression is None else as_dtype(compression)
    if wire is not None and not wire.is_floating:
        raise InvalidArgumentError(f"allreduce: compression is {wire}, expected a floating dtype")
    return wire


def allreduce(tensor: TensorLike, op: str = "average", *, name: str | None = None,
              compression: DTypeLike | None = None, prescale_factor: float = 1.,
              postscale_factor: float = 1., process_set: ProcessSet = global_process_set) -> Tensor:
    """Combine the tensors of all ranks element by element.

    Parameters
    ----------
    tensor : Tensor, of the same dtype and shape on all ranks
    op : {"average", "sum", "min", "max", "product"}
    name : str, optional
        A name for messages, which must be equal on all ranks.
    compression : floating dtype, optional
        Wider floats are sent and combined in this dtype, such as float16.
    prescale_factor, postscale_factor : float
        Factors of the tensors and of the result.
    process_set : ProcessSet

    Returns
    -------
    Tensor, like `tensor`, the same bits on all ranks

    Raises
    ------
    InvalidArgumentError
        On all ranks, if their arguments do not match.
    DeadlineExceededError
        If a rank does not call it within `dualflow.distribute.timeout` seconds.

    Notes
    -----
    Tensors are combined along a fixed tree over the ranks, by the usual kernel. The gradient is
    reduced in the same way; for "min" and "max" it is divided among the ranks that hold the
    result, and "product" has no gradient.

    See docs/distribute.md.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> df.distribute.allreduce([1., 2.], "sum", name="gradient").tolist()
    [1.0, 2.0]
    """
    x = as_tensor(tensor, None, "allreduce")
    scales = float(prescale_factor), float(postscale_factor)
    return reduced("allreduce", [x], op, name, compression, scales, process_set)[0]


def grouped_allreduce(tensors: Sequence[TensorLike], op: str = "average", *,
                      name: str | None = None, compression: DTypeLike | None = None,
                      prescale_factor: float = 1., postscale_factor: float = 1.,
                      process_set: ProcessSet = global_process_set) -> list[Tensor]:
    """`allreduce` of several tensors; small tensors of one dtype are sent together.

    Parameters
    ----------
    tensors : sequence of Tensor
    op, name, compression, prescale_factor, postscale_factor, process_set
        See `allreduce`.

    Returns
    -------
    list of Tensor, each bit-identical to the result of `allreduce`

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> a, b = df.distribute.grouped_allreduce([[1., 2.], 3.])
    >>> a.tolist(), b.item()
    ([1.0, 2.0], 3.0)
    """
    xs = [as_tensor(x, None, "grouped_allreduce") for x in tensors]
    scales = float(prescale_factor), float(postscale_factor)
    return reduced("grouped_allreduce", xs, op, name, compression, scales, process_set)


def reduced(caller: str, xs: list[Tensor], op: str, name: str | None,
            compression: DTypeLike | None, scales: tuple[float, float],
            group: ProcessSet) -> list[Tensor]:
    """Apply a reduction and record its gradient rule."""
    check_set(caller, group)
    if not xs:
        return []
    wire = wire_of(compression)
    for x in xs:
        collective_impl.check_reduction(caller, op, x.dtype)

    def back(g: tuple[Any, ...], ys: tuple[Tensor, ...], *inputs: Tensor) -> list[Any]:
        return reduced_back(caller, g, ys, inputs, op, compression, scales, group)

    made = Reduction(group, caller, name, op, wire, scales).start(xs)()
    return with_rule(name or caller, made, xs, back)


def reduced_back(caller: str, g: tuple[Any, ...], ys: tuple[Tensor, ...],
                 inputs: tuple[Tensor, ...], op: str, compression: DTypeLike | None,
                 scales: tuple[float, float], group: ProcessSet) -> list[Any]:
    """Return the gradient of a reduction: the same reduction of the cotangents."""
    floats = [k for k, x in enumerate(inputs) if x.dtype.is_inexact]
    if op == "product":
        raise UnimplementedError(f"{caller}: product has no gradient")
    given = [as_tensor(g[k]) for k in floats]
    if op in ("min", "max"):
        if compression is not None or scales != (1., 1.):
            raise UnimplementedError(f"{caller}: {op} with compression or factors has no gradient")
        mine = [cast(equal(inputs[k], ys[k]), g[k].dtype) for k in floats]
        total = grouped_allreduce(given, "sum", process_set=group)
        n = grouped_allreduce(mine, "sum", process_set=group)
        found = [m * t / c for m, t, c in zip(mine, total, n, strict=True)]
    else:
        found = reduced(caller, given, op, None, compression, scales, group)
    made: list[Any] = [None] * len(inputs)
    for k, x in zip(floats, found, strict=True):
        made[k] = x
    return made
