"""RunOptions and RunMetadata: the time of each operation of a run."""

from __future__ import annotations

from typing import Any

from dualflow._core import Executable, Tensor
from dualflow.compat.v1.runner import SizeDispatch
from dualflow.graph.inspect.profile import with_bodies
from dualflow.graph.program.compile import Compiled
from dualflow.summary.tensorboard import proto
from dualflow.summary.trace import add_times

__all__ = ["RunMetadata", "RunOptions"]


class RunOptions:
    """Options of a run: ``trace_level=FULL_TRACE`` measures times; other options are ignored.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE).trace_level
    3
    """

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)

    def __init__(self, trace_level: int = NO_TRACE, **ignored: Any) -> None:
        self.trace_level = trace_level


class RunMetadata:
    """Measurements of a run: a RunMetadata protocol buffer of the tensorboard package, for
    `FileWriter.add_run_metadata`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     y = tf.square(tf.random_normal([10]), name="y")
    ...     metadata = tf.RunMetadata()
    ...     made = sess.run(y, options=tf.RunOptions(tf.RunOptions.FULL_TRACE),
    ...                     run_metadata=metadata)
    >>> [stats.node_name for stats in metadata.step_stats.dev_stats[0].node_stats][-1]
    'y'
    """

    def __init__(self) -> None:
        self._message: Any = None

    @property
    def message(self) -> Any:
        """The protocol buffer."""
        if self._message is None:
            self._message = proto("config").RunMetadata()
        return self._message

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.message, name)

    def take(self, compiled: Compiled, ns: list[int], start: list[int]) -> None:
        """Store the times of a run's instructions under the names of their operations."""
        instructions = [(i, inside) for i, inside in with_bodies(compiled.plan.instructions)]
        names = {i.node: i.node.name for i, inside in instructions if not inside}
        self.message.Clear()
        add_times(self.message.step_stats, instructions, (ns, start), names)


class Timed:
    """An executable that stores the times of its runs in `metadata`."""

    executable: Executable
    compiled: Compiled
    metadata: RunMetadata

    def __init__(self, executable: Executable, compiled: Compiled, metadata: RunMetadata) -> None:
        self.executable, self.compiled, self.metadata = executable, compiled, metadata

    def run(self, leaves: list[Tensor]) -> list[Tensor]:
        """Run the program and store its times."""
        made, ns, start = self.executable.profile(leaves)
        self.metadata.take(self.compiled, ns, start)
        return made


def timed(run: Any, metadata: RunMetadata) -> Any:
    """Return a run, prepared for one use, whose times are stored in `metadata`."""
    bind = run.bind

    def timed_one(found: Any) -> Any:
        found.executable = Timed(found.executable, found.program.compiled, metadata)
        return found

    def bound(shapes: Any) -> Any:
        found: Any = bind(shapes)
        if not isinstance(found, SizeDispatch):
            return timed_one(found)
        choose = found.choose
        found.choose = lambda leaves: timed_one(  # type: ignore[method-assign]
            choose(leaves))
        return found

    run.bind = bound
    return run
