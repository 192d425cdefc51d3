"""From the log of a tape to a program that does what walking it back does.

The walk runs once more, with Symbols in place of the tensors that the log keeps, which are the
arguments of the program. What the program could get wrong is left to the walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualflow._core import (
    KnownLog,
    Record,
    RecordLog,
    Symbol,
    Tensor,
    TensorBase,
    filled,
    repeated_logs,
    symbol,
    tensor_id,
)
from dualflow.autodiff.backward import backward
from dualflow.autograph.values import Wanted
from dualflow.dtypes import DType
from dualflow.errors import UnimplementedError
from dualflow.graph.ir import CALL, PARAMETER, Line, Node, walk
from dualflow.graph.passes.options import Options
from dualflow.graph.program.compile import Compiled, compile_trace
from dualflow.graph.program.peak import peak_of_plan, peak_one_by_one
from dualflow.graph.trace.parameters import Argument
from dualflow.graph.trace.trace import Trace
from dualflow.ops.indexed_slices import IndexedSlices

LENT_BYTES = 1 << 16        # less does not count, and each that is lent takes a moment
# How much more memory a program may take at its peak, by the estimate, which is 1 to 3 % too low:
# so that it stays within 5 %.
MORE, MORE_BYTES = 1.02, 1 << 18


class LogTrace(Trace):
    """What walking back a log records."""

    def __init__(self) -> None:
        super().__init__("gradient")
        self.may_create = "a gradient rule makes a Variable"
        self.not_kept: Node = Node(PARAMETER, (), None, (), "not kept")

    def line(self) -> Line | None:
        """None: the lines of one walk are not those of the next."""
        return None

    def given(self, number: int, x: Tensor) -> Symbol:
        """What stands for an argument of the log."""
        return self.parameter(number, f"saved {number}", x.dtype, x.shape, x.shape)

    def absent(self, dtype: DType, shape: Sequence[int]) -> Symbol:
        """What stands for an operand of which the log keeps dtype and shape only."""
        return symbol(self, self.not_kept, 0, dtype, shape)

    def result(self, g: Any) -> Symbol:
        """A value that is returned."""
        return self.adopt(None, [g])[0]


def compile_log(known: KnownLog, log: RecordLog, targets: Sequence[TensorBase],
                seeds: dict[int, Any] | None, ids: Sequence[int]) -> None:
    """Gives a log its program.

    Raises
    ------
    DualflowError
        If it has to be walked back.
    """
    trace = LogTrace()
    records, flows = repeated_logs().replay(log, list(targets), seeds, list(ids), trace.given,
                                            trace.absent)
    check_rules(records)
    with trace.recording():
        if flows is None:
            y = targets[0]
            flows = {tensor_id(y): filled(1, trace.absent(y.dtype, y.shape))}
        try:
            found = backward(records, flows, ids, eagerly=True)
        except Wanted:
            raise UnimplementedError("a gradient rule decides by values") from None
        parts = [parts_of(trace, found.get(key)) for key in ids]
    trace.outputs = [x for part in parts for x in part]
    check_trace(trace)
    shapes = {k: x.shape for k, x in enumerate(trace.inputs)}
    compiled = compile_trace(trace, shapes, Options(lent_bytes=LENT_BYTES))
    assert compiled is not None         # no size is unknown, so nothing was decided by one
    check_memory(compiled)
    sources = [x.source for x in compiled.spec.arguments]
    known.compiled(compiled.program, [x.leaf for x in sources if isinstance(x, Argument)],
                   results_of(compiled, ids, found))


def check_rules(records: Sequence[Record]) -> None:
    """Rules of others may do what no trace shows."""
    for record in records:
        rule = record.op.rule
        if rule is not None and not getattr(rule, "__module__", "").startswith("dualflow."):
            raise UnimplementedError(f"the gradient rule of {record.op.name} is not dualflow's")


def check_trace(trace: LogTrace) -> None:
    """Refuses what another walk might do in another way."""
    values = list(trace.outputs)
    for node in walk(trace.nodes):
        name = node.op.name
        values += node.inputs
        if node.effect or (node.bodies and node.op is not CALL):
            raise UnimplementedError(f"a gradient rule applies {name}")
        if any([y.from_data for y in node.outputs]):
            raise UnimplementedError(f"a gradient rule applies {name}, whose sizes depend on data")
    if any([x.node is trace.not_kept for x in values]):
        raise UnimplementedError("a gradient rule reads what the tape does not keep")
    if trace.variables:
        raise UnimplementedError("a gradient rule reads a variable")
    if any([not isinstance(x.node.data, Argument) for x in trace.inputs]):
        raise UnimplementedError("a gradient rule draws random numbers, or asks a function")


def check_memory(compiled: Compiled) -> None:
    """Refuses a program that takes more memory than the walk, whose arena is there from the start:
    where that matters, most of the time goes into kernels anyway."""
    walk = peak_one_by_one(compiled.traced)
    program = peak_of_plan(compiled.plan, LENT_BYTES)
    if program > MORE * walk + MORE_BYTES:
        raise UnimplementedError(f"its program would take {program / 1e6:.1f} MB, the walk takes "
                                 f"{walk / 1e6:.1f} MB")


def parts_of(trace: LogTrace, g: Any) -> list[Symbol]:
    """What the program returns for a gradient."""
    if g is None:
        return []
    if not isinstance(g, IndexedSlices):
        return [trace.result(g)]
    if not all([type(n) is int for n in g.shape]):
        raise UnimplementedError("rows of a table whose size depends on data")
    return [trace.result(g.values), trace.result(g.indices)]


def results_of(compiled: Compiled, ids: Sequence[int], found: dict[int, Any]) -> Any:
    """How the gradients are taken from what the program returns: by places, or by a function."""
    places: list[Any] = []
    at = 0
    for key in ids:
        g = found.get(key)
        shape = g.shape if isinstance(g, IndexedSlices) else None
        places.append(None if g is None else at if shape is None else (at, shape))
        at += 0 if g is None else 1 if shape is None else 2
    if not compiled.renewed and not any([type(p) is tuple for p in places]):
        return [None if p is None else compiled.order[p] for p in places]

    def pack(made: list[Any]) -> list[Any]:
        made = compiled.outputs(made)
        return [None if p is None else made[p] if type(p) is int
                else IndexedSlices(made[p[0]], made[p[0] + 1], p[1]) for p in places]

    return pack
