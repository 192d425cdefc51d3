"""Tracing of the programs that run between `trace_on` and `trace_export`: their graphs before and
after the passes, and the time of each instruction.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from dualflow import config
from dualflow._core import Tensor, set_fast_calls
from dualflow._util.frames import warn
from dualflow.errors import InvalidArgumentError
from dualflow.graph.inspect.profile import label_of, with_bodies
from dualflow.graph.ir import Graph, Node
from dualflow.graph.program.compile import WATCHERS, Compiled
from dualflow.graph.program.plan import Instruction
from dualflow.ops.types import TensorLike
from dualflow.summary.graph_def import DEVICE, GraphDefWriter, data_type
from dualflow.summary.tensorboard import proto
from dualflow.summary.values import write_bytes
from dualflow.summary.writer import DEFAULTS

__all__ = ["trace_export", "trace_off", "trace_on"]

OPTIMIZED = "optimized"
WITH_TIMES, GRAPH_ONLY = "graph_run_metadata", "graph_run_metadata_graph"   # TensorBoard's plugins

Times = tuple[list[int], list[int]]


class Tracer:
    """Records programs and their times, in the order of their first run.

    Attributes
    ----------
    times : dict of Compiled to (list of int, list of int) or None
        From the last run: duration of each instruction in ns, and its start time.
    """

    def __init__(self, profiler: bool) -> None:
        self.times: dict[Compiled, Times | None] = {}
        self._profiler = profiler
        self._lock = threading.Lock()

    def __call__(self, compiled: Compiled, leaves: list[Any]) -> list[Tensor]:
        times = None
        if self._profiler:
            made, *times = compiled.executable.profile(leaves)
        else:
            made = compiled.executable.run(leaves, compiled.options.check_numerics)
        with self._lock:
            self.times[compiled] = None if times is None else (times[0], times[1])
        return made


def trace_on(graph: bool = True, profiler: bool = False,
             profiler_outdir: str | None = None) -> None:
    """Start recording the programs of traced functions, for `trace_export`.

    Parameters
    ----------
    graph : bool, default True
        Whether to record graphs.
    profiler : bool, default False
        Whether to time each instruction as well.
    profiler_outdir : str, optional
        Ignored; accepted for compatibility with TensorFlow. Times are written with the graph.

    Notes
    -----
    Applies to all threads.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> f = df.function(lambda x: df.tanh(x @ x))
    >>> df.summary.trace_on(profiler=True)
    >>> y = f(df.ones([4, 4]))
    >>> with df.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     df.summary.trace_export("f", step=0)
    """
    if not graph and not profiler:
        return
    if any(isinstance(w, Tracer) for w in WATCHERS):
        warn("summary.trace_on: a trace is on already", UserWarning)
        return
    WATCHERS.append(Tracer(profiler))
    set_fast_calls(False)       # cached calls would bypass the tracer


def trace_off() -> None:
    """Stop recording and discard the records.

    Examples
    --------
    >>> import dualflow as df
    >>> df.summary.trace_on()
    >>> df.summary.trace_off()
    """
    WATCHERS[:] = [w for w in WATCHERS if not isinstance(w, Tracer)]
    set_fast_calls(not config.functions_run_eagerly())


def trace_export(name: str, step: TensorLike | None = None,
                 profiler_outdir: str | None = None) -> None:
    """Write the programs that ran since `trace_on` to the default writer, and stop recording.

    Parameters
    ----------
    name : str
        The tag of the traced graphs in TensorBoard. The graphs after the passes, with times if the
        profiler was on, have the tag `name/optimized`.
    step : int or Tensor, optional
        By default the step of the writer or of `df.summary.experimental.set_step`.
    profiler_outdir : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Raises
    ------
    InvalidArgumentError
        If no trace is on, or there is no step.

    Examples
    --------
    >>> import dualflow as df
    >>> df.summary.trace_export("f", step=0)
    Traceback (most recent call last):
    dualflow.errors.InvalidArgumentError: trace_export: no trace is on; call trace_on first
    """
    tracer = next((w for w in WATCHERS if isinstance(w, Tracer)), None)
    if tracer is None:
        raise InvalidArgumentError("trace_export: no trace is on; call trace_on first")
    trace_off()
    if DEFAULTS.now("writer") is None or not tracer.times:
        return
    traced, _ = run_metadata([c.traced for c in tracer.times])
    after, names = run_metadata([c.graph for c in tracer.times])
    timed = [(c, times) for c, times in tracer.times.items() if times is not None]
    for compiled, times in timed:
        add_times(after.step_stats, with_bodies(compiled.plan.instructions), times, names)
    for tag, metadata, plugin in ((name, traced, GRAPH_ONLY),
                                  (f"{name}/{OPTIMIZED}", after,
                                   WITH_TIMES if timed else GRAPH_ONLY)):
        what = proto("summary").SummaryMetadata()
        what.plugin_data.plugin_name = plugin
        what.plugin_data.content = b"1"
        write_bytes(tag, metadata.SerializeToString(), step, what)


def run_metadata(graphs: Sequence[Graph]) -> tuple[Any, dict[Node, str]]:
    """Return a RunMetadata with graphs, one scope each if several, and the names of their nodes."""
    writer = GraphDefWriter()
    for graph in graphs:
        writer.write(graph, writer.scope(graph.name) if len(graphs) > 1 else "")
    made = proto("config").RunMetadata()
    made.function_graphs.add().pre_optimization_graph.CopyFrom(writer.graph_def)
    return made, writer.names


def add_times(step_stats: Any, instructions: Sequence[tuple[Instruction, str]], times: Times,
              names: dict[Node, str]) -> None:
    """Add the time of each instruction that ran, in whole us and at least 1, which is TensorBoard's
    resolution."""
    device = next((d for d in step_stats.dev_stats if d.device == DEVICE), None)
    if device is None:
        device = step_stats.dev_stats.add(device=DEVICE)
    for (instruction, _), ns, start in zip(instructions, *times, strict=True):
        node = instruction.node
        if not start or node not in names:
            continue
        us = max(round(ns / 1000), 1)
        stats = device.node_stats.add(
            node_name=names[node], timeline_label=label_of(node), all_start_micros=start // 1000,
            all_start_nanos=start, op_start_rel_micros=0, op_end_rel_micros=us,
            op_end_rel_nanos=ns, all_end_rel_micros=us, all_end_rel_nanos=ns)
        for slot, y in enumerate(instruction.outputs):
            made = stats.output.add(slot=slot).tensor_description
            made.dtype = data_type(y.dtype)
            for d in y.known_shape:
                made.shape.dim.add(size=-1 if d is None else d)
            if not y.is_dynamic:
                made.allocation_description.requested_bytes = y.nbytes
                made.allocation_description.allocator_name = "cpu"
