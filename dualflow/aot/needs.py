"""The requirements of programs: the ops and dtypes for which an export must include kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dualflow._core import result_dtype
from dualflow.aot.flat import applied_op, ops_of, tile_code
from dualflow.aot.runtime import multiplies
from dualflow.aot.tables import DTYPES, short
from dualflow.dtypes import float32, float64
from dualflow.graph.program.spec import InstructionSpec, ProgramSpec


class Needs(NamedTuple):
    """
    Attributes
    ----------
    ops : set of str
    dtypes, of_products : set of str
        Dtypes of operands, and dtypes of matrix products: ``{"F32", "I64"}``.
    """

    ops: set[str]
    dtypes: set[str]
    of_products: set[str]


def needs_of(specs: Iterable[ProgramSpec]) -> Needs:
    """Return the requirements of programs; bodies must be passed as programs."""
    found = Needs(set(), set(), set())
    for spec in specs:
        found.ops.update([op.name for op in ops_of(spec)])
        for x in spec.instructions:
            _note(found, spec, x)
    return found


def _note(found: Needs, spec: ProgramSpec, x: InstructionSpec) -> None:
    # For an op that writes variables, count only the inputs it writes; the others are coefficients.
    inputs = [k for i, k in enumerate(x.inputs) if not x.op.writes or x.op.writes >> i & 1]
    found.dtypes.update([short(spec.slots[k].dtype) for k in (*inputs, *x.outputs)])
    applied = applied_op(x)
    for op in [x.op] if applied is None else [x.op, applied]:
        if multiplies(op.name):
            dtypes = [spec.slots[k].dtype for k in x.inputs]
            found.of_products.update([short(dtype) for dtype in dtypes])
            # products of complex numbers run the kernel of their parts
            found.of_products.update([short(dtype.real_dtype) for dtype in dtypes])
    for step in tile_code(x):
        found.dtypes.update([short(DTYPES[word]) for word, kind in zip(
            step.words, step.op.attr_types, strict=False) if kind == "dtype"])
        if step.op.kind == "elementwise" and not step.op.attr_types:    # complex(x, y) of floats
            found.dtypes.update([short(result_dtype(step.op, d)) for d in (float32, float64)
                                 if d.name in step.op.dtypes and short(d) in found.dtypes])
