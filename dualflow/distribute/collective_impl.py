"""The data movement of each collective: the work of one rank, after negotiation."""

from __future__ import annotations

from dualflow._core import (
    Tensor,
    TensorSpec,
    apply,
    constant,
    empty_with_buffer,
    filled,
    get_op,
    memory_of,
)
from dualflow.distribute.tree import nodes_of
from dualflow.distribute.world import ProcessSet
from dualflow.dtypes import DType, as_dtype
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.control_flow.async_host import Memory

COMBINES = {"average": "add", "sum": "add", "min": "minimum", "max": "maximum",
            "product": "multiply"}
ALONE = 1 << 20         # bytes from which a tensor of a group is sent separately
BOOLS = {"min": "logical_and", "max": "logical_or", "product": "logical_and"}


def check_reduction(caller: str, op: str, dtype: DType) -> None:
    """Raise an error if there is no such reduction of a dtype."""
    if op not in COMBINES:
        raise InvalidArgumentError(f"{caller}: op is {op!r}, expected one of {', '.join(COMBINES)}")
    if op not in ("average", "sum") and dtype.is_complex:
        raise DTypeError(f"{caller}: there is no {op} of {dtype}; sum and average add parts")
    if op == "average" and not dtype.is_inexact:
        raise DTypeError(f"{caller}: there is no average of {dtype}; sum, or cast to float32 first")
    if op == "sum" and dtype.name == "bool":
        raise DTypeError(f"{caller}: there is no sum of bool; cast to int32, or take max")


def kernel_of(op: str, dtype: DType) -> Any:
    return get_op((BOOLS if dtype.name == "bool" else COMBINES)[op])


# --- reductions -----------------------------------------------------------------------------------

def reduce(group: ProcessSet, caller: str, name: str | None, op: str,
           nodes: Sequence[Sequence[Tensor]], leaves: int, wire: DType | None = None,
           scales: tuple[float, float] = (1., 1.),
           dtypes: Sequence[DType] | None = None) -> list[Tensor]:
    """Reduce tensors over all ranks.

    Parameters
    ----------
    group : ProcessSet
    caller, name
        For messages.
    op : str
    nodes : sequence of sequences of Tensor
        For each tensor, the nodes of the reduction tree that this rank has.
    leaves : int
        Number of leaves per rank.
    wire : DType, optional
        Wider floats are sent and combined in this dtype.
    scales : (float, float)
        Factors applied before and after the reduction.
    dtypes : sequence of DType, optional
        The dtypes of the results, if nodes are in `wire` already.

    Returns
    -------
    list of Tensor
    """
    _agree_to_reduce(group, caller, name, op, [(x[0].dtype, tuple(x[0].shape)) for x in nodes],
                     leaves,
                     wire, scales)
    return _reduce(group, _doing(caller, name), op, nodes, leaves, wire, scales, dtypes)


def reduce_into(group: ProcessSet, caller: str, name: str | None, op: str,
                nodes: Sequence[list[memoryview]], leaves: int, fills: Sequence[Memory],
                wire: DType | None, scales: tuple[float, float], dtypes: Sequence[DType]) -> int:
    """Reduce from borrowed buffers into borrowed buffers, without `packed` and `unpacked`, which
    the caller applies. Return the number of leaves.

    Parameters
    ----------
    group, caller, name, op, nodes, leaves, wire, scales
        See `reduce`.
    fills : sequence of (dtype, shape, memoryview)
        The results, before `unpacked`.
    dtypes : sequence of DType
        The dtypes of the tensors before `packed`.
    """
    _agree_to_reduce(group, caller, name, op,
                     [(dtype, y[1]) for dtype, y in zip(dtypes, fills, strict=True)], leaves, wire,
                     scales)
    _combine(group, _doing(caller, name), op, [y[0] for y in fills], nodes, leaves,
             [y[2] for y in fills])
    return group.meeting.present * leaves


def _agree_to_reduce(group: ProcessSet, caller: str, name: str | None, op: str,
                     types: Sequence[tuple[DType, tuple[int, ...]]], leaves: int,
                     wire: DType | None, scales: tuple[float, float]) -> None:
    group.meeting.agree(caller, name, {
        "op": op, "the number of tensors": len(types),
        "dtypes and shapes": tuple([(dtype.name, shape) for dtype, shape in types]),
        "micro-batches": leaves, "compression": wire and wire.name, "scales": scales,
        "may join": op in ("sum", "average") and caller})


def reduce_nothing(group: ProcessSet, caller: str, fields: dict[str, Any]) -> None:
    """Take part in a reduction with zeros, on a rank that has joined."""
    leaves, wire = fields["micro-batches"], fields["compression"]
    n = group.size()
    n_nodes = len(nodes_of(n * leaves, group.rank() * leaves, (group.rank() + 1) * leaves))
    nodes = [[filled(0, TensorSpec(shape, as_dtype(dtype)))] * n_nodes
             for dtype, shape in fields["dtypes and shapes"]]
    _reduce(group, caller, fields["op"], nodes, leaves, wire and as_dtype(wire), fields["scales"])


def _reduce(group: ProcessSet, doing: str, op: str, nodes: Sequence[Sequence[Tensor]],
            leaves: int, wire: DType | None, scales: tuple[float, float],
            dtypes: Sequence[DType] | None = None) -> list[Tensor]:
    dtypes = dtypes or [own[0].dtype for own in nodes]
    n = group.meeting.present * leaves
    before, after = scales
    sent = [[packed(x, before, wire) for x in own] for own in nodes]
    made = [empty_with_buffer(own[0].dtype, own[0].shape) for own in sent]
    _combine(group, doing, op, [own[0].dtype for own in sent],
             [[memory_of(x) for x in own] for own in sent], leaves, [out for _, out in made])
    return [unpacked(y, dtype, float(n) if op == "average" else 1., after)
            for (y, _), dtype in zip(made, dtypes, strict=True)]


def packed(x: Tensor, factor: float, wire: DType | None) -> Tensor:
    """Return a leaf in the form to be sent: scaled and compressed."""
    if factor != 1.:
        x = apply("multiply", x, factor)
    if wire is not None and x.dtype.is_floating and x.dtype.size > wire.size:
        x = apply("cast", x, dtype=wire)
    return x


def unpacked(y: Tensor, dtype: DType, n: float | Tensor, factor: float) -> Tensor:
    """Return a result from a root: decompressed, divided by `n` for an average, and scaled."""
    if y.dtype is not dtype:
        y = apply("cast", y, dtype=dtype)
    if isinstance(n, Tensor):
        y = apply("divide", y, apply("cast", n, dtype=dtype))
    elif n != 1.:
        y = apply("divide", y, n)
    return y if factor == 1. else apply("multiply", y, factor)


def _combine(group: ProcessSet, doing: str, op: str, dtypes: Sequence[DType],
             nodes: Sequence[list[memoryview]], leaves: int,
             outs: Sequence[memoryview]) -> None:
    """Compute the roots of several tensors in `outs`; small ones of one dtype are sent together."""
    small: dict[DType, list[int]] = {}
    for k, (dtype, out) in enumerate(zip(dtypes, outs, strict=True)):
        if len(out) < ALONE:
            small.setdefault(dtype, []).append(k)
        else:
            group.transport.reduce(kernel_of(op, dtype), dtype, nodes[k], leaves, out, doing)
    for dtype, places in small.items():
        kernel = kernel_of(op, dtype)
        if len(places) == 1:
            k, = places
            group.transport.reduce(kernel, dtype, nodes[k], leaves, outs[k], doing)
            continue
        whole = [memoryview(b"".join([nodes[k][i] for k in places]))
                 for i in range(len(nodes[places[0]]))]
        result = memoryview(bytearray(len(whole[0])))
        group.transport.reduce(kernel, dtype, whole, leaves, result, doing)
        at = 0
        for k in places:
            outs[k][:] = result[at:at + len(outs[k])]
            at += len(outs[k])


# --- rows -----------------------------------------------------------------------------------------

def rows_of_rank(n: int, size: int) -> list[int]:
    """Return the number of rows per rank; the first ranks have one more if n % size > 0."""
    return [n // size + (r < n % size) for r in range(size)]


def reduce_rows(group: ProcessSet, name: str | None, op: str, x: Tensor, rows: int | None = None,
                caller: str = "reducescatter") -> Tensor:
    """Return this rank's rows of the reduction of `x`: `rows`, or an even share."""
    size, rank = group.size(), group.rank()
    shape = tuple(x.shape)
    fields = {"op": op, "dtype": x.dtype.name, "shape": shape}
    counts = [own for own, _ in group.meeting.agree(caller, name, fields, (rows or 0, 0))]
    if rows is None:
        counts = rows_of_rank(shape[0], size)
    if sum(counts) != shape[0]:
        raise ShapeError(f"{caller}: {shape[0]} rows for ranks that expect {counts}")
    per_row = len(memory_of(x)) // shape[0] if shape[0] else 0
    borders = [per_row * sum(counts[:r]) for r in range(size + 1)]
    y, out = empty_with_buffer(x.dtype, (counts[rank], *shape[1:]))
    group.transport.reduce_slices(kernel_of(op, x.dtype), x.dtype, [memory_of(x)],
                                  [[(r, r + 1)] for r in range(size)], borders, out,
                                  _doing(caller, name))
    return unpacked(y, x.dtype, float(size) if op == "average" else 1., 1.)


def _doing(caller: str, name: str | None) -> str:
    return caller if name is None else f"{caller} {name}"


def allgather(group: ProcessSet, name: str | None, x: Tensor, caller: str = "allgather") -> Tensor:
    """Return the rows of all ranks."""
    if not x.ndim:
        raise ShapeError(f"{caller}: got a scalar, expected at least one dimension")
    fields = {"dtype": x.dtype.name, "shape but for the first dimension": tuple(x.shape[1:])}
    mine = memory_of(x)
    replies = group.meeting.agree(caller, name, fields, (x.shape[0], len(mine)))
    y, out = empty_with_buffer(x.dtype, (sum([rows for rows, _ in replies]), *x.shape[1:]))
    group.transport.gather(mine, [n for _, n in replies], out, _doing(caller, name))
    return y


def broadcast(group: ProcessSet, name: str | None, xs: Sequence[Tensor], root: int,
              caller: str = "broadcast") -> list[Tensor]:
    """Return the tensors of rank `root` of the group."""
    likes = tuple([(x.dtype.name, tuple(x.shape)) for x in xs])
    group.meeting.agree(caller, name, {"root": root, "dtypes and shapes": likes})
    if group.rank() == root:
        for x in xs:
            group.transport.broadcast(bytearray(memory_of(x)), root, _doing(caller, name))
        return list(xs)
    made = []
    for x in xs:
        y, out = empty_with_buffer(x.dtype, x.shape)
        group.transport.broadcast(out, root, _doing(caller, name))
        made.append(y)
    return made


def alltoall(group: ProcessSet, name: str | None, x: Tensor, splits: Tensor | None,
             ) -> tuple[Tensor, Tensor]:
    """Return the rows received from all ranks, and their number per rank."""
    size = group.size()
    if not x.ndim:
        raise ShapeError("alltoall: got a scalar, expected at least one dimension")
    n = x.shape[0]
    counts = [n // size] * size if splits is None else [int(s) for s in splits.tolist()]
    fields = {"dtype": x.dtype.name, "shape but for the first dimension": tuple(x.shape[1:])}
    bad = len(counts) != size or min(counts, default=0) < 0 or sum(counts) != n
    replies = group.meeting.agree("alltoall", name, fields, (int(bad), 0))
    wrong = [group.ranks[r] for r, (is_bad, _) in enumerate(replies) if is_bad]
    if wrong:
        raise ShapeError(f"alltoall: on ranks {wrong} the splits are not {size} row counts whose "
                         "sum is the first dimension"
                         + (f"; here {counts} of {n}" if bad else ""))
    doing = _doing("alltoall", name)
    received = group.transport.counts(counts, doing)
    mine = memory_of(x)
    per_row = len(mine) // n if n else _row_bytes(x)
    y, out = empty_with_buffer(x.dtype, (sum(received), *x.shape[1:]))
    group.transport.exchange(mine, [c * per_row for c in counts], out,
                             [c * per_row for c in received], doing)
    return y, constant(received, as_dtype("int32"))


def _row_bytes(x: Tensor) -> int:
    n = x.dtype.size
    for d in x.shape[1:]:
        n *= d
    return n
