"""Profiles of programs: time per instruction, and a trace for Perfetto.

Called by `Inspection.profile`. Bytes count all operands, as without a cache; operations count the
formula. Both are compared with the rates of a large copy and a matrix product on this machine.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence

from dualflow._core import Symbol, Variable, apply, own_flops
from dualflow._util.named_tuple import NamedTuple
from dualflow._util.notebook import card
from dualflow.graph.ir import LEAVES, Node, is_dynamic, tile_text, walk
from dualflow.graph.program.lifetimes import nbytes
from dualflow.graph.program.plan import Instruction
from dualflow.graph.trace.trace import suspended
from dualflow.ops.array.creation import ones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COPY_ELEMENTS = 1 << 24   # float32: 64 MiB in, 64 MiB out, larger than any cache
PRODUCT_SIZE = 512        # size of the square matrices whose product measures peak arithmetic
LABEL = 40


class Peak(NamedTuple):
    """The measured peak rates of this machine: bytes and floating point operations per second."""

    bandwidth: float
    flops: float


@functools.cache
def peak() -> Peak:
    """Return the peak rates, measured once, the best of several runs."""
    with suspended():
        x, a = ones([COPY_ELEMENTS]), ones([PRODUCT_SIZE, PRODUCT_SIZE])
        copy = best(5, lambda: apply("negative", x))
        product = best(20, lambda: apply("matmul", a, a, transpose_a=False, transpose_b=False))
    return Peak(8 * COPY_ELEMENTS / copy, 2 * PRODUCT_SIZE ** 3 / product)


def best(n: int, run: Callable[[], Any]) -> float:
    """Return the time of the shortest of n runs in s."""
    times = []
    for _ in range(n):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


class Row(NamedTuple):
    """One instruction.

    Attributes
    ----------
    label : str
        The op, or the steps of a cluster.
    name : str
        Name of the node.
    ns : float
        Median time of a run; for an instruction of a body, the sum over all iterations.
    start : int
        Start in the run that a trace shows, in ns after the first instruction.
    read, written : int
        Bytes of the operands.
    flops : float
    line : str
    inside : str
        Name of the body that contains it, such as `while_loop/body`, or "".
    """

    label: str
    name: str
    ns: float
    start: int
    duration: int
    read: int
    written: int
    flops: float
    line: str
    inside: str = ""

    @property
    def bandwidth(self) -> float:
        """Bytes per second."""
        return (self.read + self.written) / self.ns * 1e9 if self.ns else 0.0

    @property
    def speed(self) -> float:
        """Floating point operations per second."""
        return self.flops / self.ns * 1e9 if self.ns else 0.0

    @property
    def roofline(self) -> float:
        """The minimum time that memory or arithmetic needs, as a fraction of the measured time;
        above 1 if operands are in a cache."""
        if not self.ns:
            return 0.0
        least = max((self.read + self.written) / peak().bandwidth, self.flops / peak().flops)
        return least * 1e9 / self.ns


class Profile:
    """Time per instruction of a program; ``print`` it for a table.

    Attributes
    ----------
    name : str
        Name of the function.
    rows : list of Row
        In program order; rows of bodies come after the rows of the program itself.
    runs : int
        Number of runs.
    """

    def __init__(self, name: str, rows: Sequence[Row], runs: int) -> None:
        self.name = name
        self.rows: list[Row] = list(rows)
        self.runs = runs

    @property
    def ns(self) -> float:
        """The time of all instructions."""
        return sum(row.ns for row in self.rows if not row.inside)

    def sorted_rows(self) -> list[Row]:
        """Return the rows, slowest first."""
        return sorted(self.rows, key=lambda row: -row.ns)

    def __str__(self) -> str:
        head, *table = self._table()
        widths = [max(len(row[k]) for row in [head, *table]) for k in range(len(head))]
        texts = ["  ".join(cell.ljust(w) if k >= 8 else cell.rjust(w)
                           for k, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
                 for row in [head, *table]]
        return "\n".join([f"{self._title()}; {_machine()}", *texts])

    def __repr__(self) -> str:
        return f"<dualflow.Profile of {self._title()}>"

    def _repr_html_(self) -> str:
        head, *table = self._table()
        return card(f"{self._title()}; {_machine()}", table, head)

    def _title(self) -> str:
        return (f"{self.name}: {sum([not r.inside for r in self.rows])} instructions, "
                f"{self.ns / 1e3:.1f} us (medians of {self.runs} runs)")

    def _table(self) -> list[tuple[str, ...]]:
        """Return the titles of the columns, and a row for each instruction."""
        total = self.ns or 1.0
        return [("us", "%", "KB read", "KB written", "MFLOP", "GB/s", "GFLOP/s", "roofline",
                 "instruction", "line"),
                *[(f"{r.ns / 1e3:.2f}", f"{100 * r.ns / total:.1f}", f"{r.read / 1e3:.1f}",
                   f"{r.written / 1e3:.1f}", f"{r.flops / 1e6:.3f}", f"{r.bandwidth / 1e9:.1f}",
                   f"{r.speed / 1e9:.1f}", f"{100 * r.roofline:.0f} %",
                   f"{r.inside}: {r.label}" if r.inside else r.label, r.line)
                  for r in self.sorted_rows()]]

    def chrome_trace(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return one run in the trace event format, which Perfetto and chrome://tracing open.

        Parameters
        ----------
        path : str or path, optional
            File to write.

        Returns
        -------
        str
            The JSON.
        """
        events: list[dict[str, Any]] = [
            {"name": "process_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": self.name}}]
        free: list[int] = []           # end time of each track; waves run in parallel
        ran = [row for row in self.rows if row.start >= 0 and not row.inside]
        for row in sorted(ran, key=lambda r: r.start):
            lane = next((k for k, end in enumerate(free) if end <= row.start), len(free))
            free[lane:lane + 1] = [row.start + row.duration]
            events.append({
                "name": row.label, "cat": "op", "ph": "X", "pid": 1, "tid": lane + 1,
                "ts": row.start / 1e3, "dur": row.duration / 1e3,
                "args": {"node": row.name, "line": row.line, "median_us": row.ns / 1e3,
                         "bytes_read": row.read, "bytes_written": row.written, "flops": row.flops,
                         "GB/s": row.bandwidth / 1e9, "GFLOP/s": row.speed / 1e9,
                         "roofline": row.roofline}})
        text = json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, indent=1)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text


def _machine() -> str:
    top = peak()
    return f"this machine: {top.bandwidth / 1e9:.1f} GB/s, {top.flops / 1e9:.0f} GFLOP/s"


def flops_of(node: Node, inputs: Sequence[Symbol], outputs: Sequence[Symbol]) -> float:
    """Return the floating point operations of a node of known sizes, including its bodies."""
    if node.bodies:
        return sum(flops_of(inside, inside.inputs, inside.outputs) for inside in walk([node])
                   if not inside.bodies and inside.op not in LEAVES)
    own = max(own_flops(node.op, inputs, outputs, node.attrs), 0.0)
    if tile_text.CODE in node.op.attrs and node.attrs is not None:
        attrs = node.attrs.as_dict()
        elements = 1
        for d in attrs.get("shape", outputs[0].shape):
            elements *= d
        return own + tile_text.flops_per_run(attrs[tile_text.CODE], elements)
    if node.op.kind == "elementwise":
        return float(sum(y.size for y in outputs))
    if node.op.kind == "reduction":
        return float(sum(x.size for x in inputs))
    return own


def label_of(node: Node) -> str:
    """Return the label of an instruction in a report."""
    if tile_text.CODE not in node.op.attrs or node.attrs is None:
        return node.op.name
    text = f"{node.op.name}: {tile_text.to_text(node.attrs.as_dict()[tile_text.CODE])}"
    return text if len(text) <= LABEL else text[:LABEL - 4] + " ..."


def make_profile(name: str, instructions: Sequence[Instruction],
                 run: Callable[[], tuple[list[int], list[int]]], variables: Sequence[Variable],
                 runs: int) -> Profile:
    """Measure the profile of a program.

    Parameters
    ----------
    instructions : sequence of Instruction
    run : callable
        Runs the program; returns the time of each instruction and its start, in ns.
    variables : sequence of Variable
        Variables that the program writes; their values are restored.
    runs : int
    """
    before = [v.value() for v in variables]
    try:
        run()
        measured = [run() for _ in range(max(runs, 1))]
    finally:
        for v, value in zip(variables, before, strict=True):
            v.assign(value)
    medians = [statistics.median(ns) for ns in zip(*[ns for ns, _ in measured], strict=True)]
    drawn, starts = sorted(measured, key=lambda one: sum(one[0]))[len(measured) // 2]
    first = min([start for start in starts if start], default=0)
    return Profile(name, [_row(instruction, inside, medians[k], starts[k] - first, drawn[k])
                          for k, (instruction, inside) in enumerate(with_bodies(instructions))],
                   max(runs, 1))


def with_bodies(instructions: Sequence[Instruction],
                inside: str = "") -> list[tuple[Instruction, str]]:
    """Return instructions, then those of bodies, in the numbering of csrc/exec/program.h, with the
    names of the bodies."""
    found = [(instruction, inside) for instruction in instructions]
    for instruction in instructions:
        for body in instruction.bodies:
            found += with_bodies(body.instructions, body.graph.name)
    return found


def _row(instruction: Instruction, inside: str, ns: float, start: int, duration: int) -> Row:
    node = instruction.node
    read = [x for i, x in enumerate(instruction.inputs) if not node.op.shape_only >> i & 1]
    made = [*instruction.outputs, *[x for x, _ in node.written]]
    known = not any(map(is_dynamic, [*read, *made]))
    return Row(label_of(node), node.name, ns, start, duration,
               sum(nbytes(x) for x in read if not is_dynamic(x)),
               sum(nbytes(x) for x in made if not is_dynamic(x)),
               flops_of(node, instruction.inputs, instruction.outputs) if known else 0.0,
               str(node.line or ""), inside)
