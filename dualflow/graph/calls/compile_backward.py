"""Compiled backward passes: from the records of a tape to a program (docs/compiled_gradients.md).

`autodiff.repeated` calls `compile_backward`. The backward pass runs once more, with Symbols in
place of the tensors that the tape retains, which become the arguments of the program. A pass that
another run might not repeat exactly must be rejected; the interpreted backward pass then handles
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import (
    CachedTape,
    Record,
    Symbol,
    Tape,
    Tensor,
    TensorBase,
    filled,
    get_tape_cache,
    symbol,
    tensor_id,
)
from dualflow.autodiff.backward import backward
from dualflow.autograph.values import RestartTrace
from dualflow.dtypes import DType
from dualflow.errors import UnimplementedError
from dualflow.graph.ir import CALL, PARAMETER, Line, Node, walk
from dualflow.graph.passes.options import Options
from dualflow.graph.program.compile import Compiled, compile_trace
from dualflow.graph.program.peak import peak_of_plan, peak_one_by_one
from dualflow.graph.trace.parameters import Argument
from dualflow.graph.trace.trace import Trace
from dualflow.ops.indexing.indexed_slices import IndexedSlices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# smallest donated buffer: each one costs time, smaller ones save little
DONATION_MIN_BYTES = 1 << 16
# Limit of the estimated peak memory of a program, relative to the interpreted backward pass. The
# estimate is 1 to 3 % too low, so that the real peak stays within 5 %.
MORE, MORE_BYTES = 1.02, 1 << 18


class BackwardTrace(Trace):
    """The trace of a backward pass."""

    def __init__(self) -> None:
        super().__init__("gradient")
        self.may_create = "a gradient rule makes a Variable"
        self.not_saved: Node = Node(PARAMETER, (), None, (), "not saved")

    def line(self) -> Line | None:
        """Return None: another backward pass may have other lines."""
        return None

    def given(self, number: int, x: Tensor) -> Symbol:
        """Return the parameter for a tensor that the tape retains."""
        return self.parameter(number, f"saved {number}", x.dtype, x.shape, x.shape)

    def absent(self, dtype: DType, shape: Sequence[int]) -> Symbol:
        """Return a placeholder for an operand whose value the tape does not retain."""
        return symbol(self, self.not_saved, 0, dtype, shape)

    def result(self, g: Any) -> Symbol:
        """Return an output as a Symbol."""
        return self.to_symbols(None, [g])[0]


def compile_backward(known: CachedTape, tape: Tape, targets: Sequence[TensorBase],
                     seeds: dict[int, Any] | None, ids: Sequence[int]) -> None:
    """Compile the backward pass of a tape and store the program in `known`.

    Raises
    ------
    DualflowError
        If the backward pass must be interpreted.
    """
    trace = BackwardTrace()
    records, flows = get_tape_cache().replay(tape, list(targets), seeds, list(ids), trace.given,
                                             trace.absent)
    check_rules(records)
    with trace.recording():
        if flows is None:
            y = targets[0]
            flows = {tensor_id(y): filled(1, trace.absent(y.dtype, y.shape))}
        try:
            found = backward(records, flows, ids, eagerly=True)
        except RestartTrace:
            raise UnimplementedError("a gradient rule decides by values") from None
        parts = [parts_of(trace, found.get(key)) for key in ids]
    trace.outputs = [x for part in parts for x in part]
    check_trace(trace)
    shapes = {k: x.shape for k, x in enumerate(trace.inputs)}
    compiled = compile_trace(trace, shapes, Options(donation_min_bytes=DONATION_MIN_BYTES))
    assert compiled is not None         # all sizes are known, so there are no guards
    check_memory(compiled)
    sources = [x.source for x in compiled.spec.arguments]
    known.set_program(compiled.program, [x.leaf for x in sources if isinstance(x, Argument)],
                   results_of(compiled, ids, found))


def check_rules(records: Sequence[Record]) -> None:
    """Reject gradient rules outside of dualflow, which may have effects that no trace records."""
    for record in records:
        rule = record.op.rule
        if rule is not None and not getattr(rule, "__module__", "").startswith("dualflow."):
            raise UnimplementedError(f"the gradient rule of {record.op.name} is not dualflow's")


def check_trace(trace: BackwardTrace) -> None:
    """Reject a trace that another backward pass might not repeat."""
    values = list(trace.outputs)
    for node in walk(trace.nodes):
        name = node.op.name
        values += node.inputs
        if node.effect or (node.bodies and node.op is not CALL):
            raise UnimplementedError(f"a gradient rule applies {name}")
        if any([y.data_dependent for y in node.outputs]):
            raise UnimplementedError(f"a gradient rule applies {name}, whose sizes depend on data")
    if any([x.node is trace.not_saved for x in values]):
        raise UnimplementedError("a gradient rule reads a value that the tape does not retain")
    if trace.variables:
        raise UnimplementedError("a gradient rule reads a variable")
    if any([not isinstance(x.node.data, Argument) for x in trace.inputs]):
        raise UnimplementedError("a gradient rule draws random numbers, or calls a function")


def check_memory(compiled: Compiled) -> None:
    """Reject a program that needs more memory than the interpreted backward pass, since its arena
    is allocated at once. If memory matters, most of the time is spent in kernels anyway."""
    interpreted = peak_one_by_one(compiled.traced)
    program = peak_of_plan(compiled.plan, DONATION_MIN_BYTES)
    if program > MORE * interpreted + MORE_BYTES:
        raise UnimplementedError(f"its program would take {program / 1e6:.1f} MB, the interpreted "
                                 f"backward pass takes {interpreted / 1e6:.1f} MB")


def parts_of(trace: BackwardTrace, g: Any) -> list[Symbol]:
    """Return the outputs of the program for a gradient."""
    if g is None:
        return []
    if not isinstance(g, IndexedSlices):
        return [trace.result(g)]
    if not all([type(n) is int for n in g.shape]):
        raise UnimplementedError("IndexedSlices of a table whose size depends on data")
    return [trace.result(g.values), trace.result(g.indices)]


def results_of(compiled: Compiled, ids: Sequence[int], found: dict[int, Any]) -> Any:
    """Return the positions of the gradients among the results of the program, or a function from
    the results to the gradients."""
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
