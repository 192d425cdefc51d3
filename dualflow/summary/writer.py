"""Writers of event files, and the default writer, step and condition of each thread.

A default set while a function is traced is part of the trace; other defaults are read in each run,
so that a traced function writes where eager code would.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

from dualflow._core import current_graph
from dualflow._util.arguments import NOT_NEGATIVE, number, shown
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.summary.graph_def import as_graph_def
from dualflow.summary.tensorboard import part, proto

__all__ = ["FileWriter", "create_file_writer", "flush", "record_if", "should_record_summaries"]


class FileWriter:
    """Writes events to a file in `logdir` for TensorBoard.

    Parameters
    ----------
    logdir : str or path
        The directory of a run, created if it does not exist.
    graph : Graph, optional
        A graph to write immediately.
    max_queue : int, default 10
        Number of queued events above which `add_event` blocks.
    flush_secs : float, default 120
        Interval at which queued events are written.
    graph_def : GraphDef, optional
        Alternative to `graph`.
    filename_suffix : str, optional
    session : ignored

    Examples
    --------
    >>> import dualflow as df, os, tempfile
    >>> logdir = tempfile.mkdtemp()
    >>> with df.summary.FileWriter(logdir) as writer, writer.as_default():
    ...     for step in range(3):
    ...         ok = df.summary.scalar("loss", 1. / (step + 1), step=step)
    >>> os.listdir(logdir)[0][:6]
    'events'
    """

    def __init__(self, logdir: str | os.PathLike[str], graph: Any = None, max_queue: int = 10,
                 flush_secs: float = 120, graph_def: Any = None,
                 filename_suffix: str | None = None, session: Any = None) -> None:
        self._options = os.fspath(logdir), max_queue, flush_secs, filename_suffix or ""
        self._lock = threading.Lock()
        self._file: Any = None
        self._pid = 0
        self._closed = False
        self.reopen()
        if graph is not None or graph_def is not None:
            self.add_graph(graph_def if graph is None else graph)

    def get_logdir(self) -> str:
        """Return the directory."""
        return self._options[0]

    # --- events ---

    def add_event(self, event: Any) -> None:
        """Write an Event protocol buffer."""
        with self._lock:
            if self._closed:
                raise InvalidArgumentError(f"{self!r} is closed")
            if self._pid != os.getpid():        # a forked process does not have the writing thread
                self._open()
            self._file.add_event(event)

    def _event(self, step: Any = None, **what: Any) -> None:
        step = None if step is None else int(plain(step))
        self.add_event(proto("event").Event(wall_time=time.time(), step=step, **what))

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write a Summary protocol buffer, or its bytes, such as the result of a summary op in a
        session."""
        if not isinstance(summary, proto("summary").Summary):
            summary = proto("summary").Summary.FromString(as_bytes(summary))
        self._event(global_step, summary=summary)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write a graph, a concrete function's graph, or a GraphDef, as the graph of the run."""
        found = as_graph_def(graph_def if graph is None else graph)
        self._event(global_step, graph_def=found.SerializeToString())

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Write a SessionLog protocol buffer."""
        self._event(global_step, session_log=session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Write a RunMetadata protocol buffer: the times of nodes of the run's graph."""
        tagged = proto("event").TaggedRunMetadata(
            tag=tag, run_metadata=run_metadata.SerializeToString())
        self._event(global_step, tagged_run_metadata=tagged)

    # --- the file ---

    def _open(self) -> None:
        logdir, max_queue, flush_secs, suffix = self._options
        self._file = part("summary.writer.event_file_writer").EventFileWriter(
            logdir, max_queue, flush_secs, suffix)
        self._pid = os.getpid()

    def reopen(self) -> None:
        """Open a new file in the directory."""
        self.close()
        with self._lock:
            self._open()
            self._closed = False

    def init(self) -> None:
        """Do nothing; accepted for compatibility with TensorFlow."""

    def flush(self) -> None:
        """Write all queued events to the file."""
        with self._lock:
            if not self._closed and self._pid == os.getpid():
                self._file.flush()

    def close(self) -> None:
        """Write all queued events and close the file. A second call does nothing."""
        with self._lock:
            if not self._closed and self._file is not None and self._pid == os.getpid():
                self._file.close()
            self._closed = True

    # --- defaults ---

    @contextmanager
    def as_default(self, step: Any = None) -> Iterator[FileWriter]:
        """Make this the default writer of this thread in the block, and `step` the default step."""
        with DEFAULTS.replaced(writer=self, step=step):
            try:
                yield self
            finally:
                self.flush()

    def set_as_default(self, step: Any = None) -> None:
        """Make this the default writer of this thread, and `step`, if given, the default step."""
        DEFAULTS.writer = Default(self, current_graph())
        if step is not None:
            DEFAULTS.step = Default(step, current_graph())

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<dualflow.summary.FileWriter {self.get_logdir()!r}>"


def plain(step: Any) -> Any:
    """Return the value of a Tensor, Variable or array."""
    return step.numpy() if hasattr(step, "numpy") else step


def as_bytes(summary: Any) -> bytes:
    """Return a serialised message as bytes; it may be a tensor or array of bytes."""
    summary = plain(summary)
    if getattr(getattr(summary, "dtype", None), "hasobject", False):
        summary = summary.item()
    return bytes(summary.tobytes() if hasattr(summary, "tobytes") else summary)


def create_file_writer(logdir: str | os.PathLike[str], max_queue: int | None = None,
                       flush_millis: int | None = None, filename_suffix: str | None = None,
                       name: str | None = None) -> FileWriter:
    """Create a writer of event files.

    Parameters
    ----------
    logdir : str or path
        The directory of a run, created if it does not exist.
    max_queue : int, default 10
        Number of queued events above which a summary blocks.
    flush_millis : int, default 120,000
        Interval at which queued events are written.
    filename_suffix : str, default ".v2"
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    FileWriter

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> writer = df.summary.create_file_writer(tempfile.mkdtemp())
    >>> with writer.as_default(step=1):
    ...     df.summary.scalar("loss", 0.5).item()
    True
    """
    millis = number(flush_millis, "create_file_writer: flush_millis", NOT_NEGATIVE.or_none())
    return FileWriter(logdir, None, 10 if max_queue is None else max_queue,
                      120 if millis is None else millis / 1000,
                      filename_suffix=".v2" if filename_suffix is None else filename_suffix)


# --- defaults ------------------------------------------------------------------------------------

class Default(NamedTuple):
    """A default value, and the graph that was recording when it was set, or None."""

    value: Any
    graph: Any


class Defaults(threading.local):
    """The default writer, step and condition of each thread, each None or a Default."""

    writer: Default | None = None
    step: Default | None = None
    condition: Default | None = None

    @contextmanager
    def replaced(self, **values: Any) -> Iterator[None]:
        """Return a context that sets the defaults that are not None."""
        values = {key: value for key, value in values.items() if value is not None}
        before = {key: getattr(self, key) for key in values}
        for key, value in values.items():
            setattr(self, key, Default(value, current_graph()))
        try:
            yield
        finally:
            for key, found in before.items():
                setattr(self, key, found)

    def captured(self, key: str) -> Any:
        """Return a default that was set while a graph records, which is part of it, else None."""
        found = getattr(self, key)
        return found.value if found is not None and found.graph is not None else None

    def now(self, key: str) -> Any:
        """Return the current default, or None."""
        found = getattr(self, key)
        return None if found is None else found.value


DEFAULTS = Defaults()


def record_if(condition: Any) -> Any:
    """Return a context in which summaries are written only if `condition` is true.

    Parameters
    ----------
    condition : bool, Tensor, or callable without arguments that returns one
        A callable is called for each summary; if the block is in a traced function, during
        tracing.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> with df.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     for step in range(4):
    ...         with df.summary.record_if(step % 2 == 0):
    ...             print(df.summary.scalar("loss", 1., step=step).item())
    True
    False
    True
    False
    """
    return DEFAULTS.replaced(condition=condition)


def should_record_summaries() -> bool:
    """Return True if a summary would be written now.

    Examples
    --------
    >>> import dualflow as df
    >>> df.summary.should_record_summaries()
    False
    """
    return DEFAULTS.now("writer") is not None and holds(DEFAULTS.now("condition"))


def holds(condition: Any) -> bool:
    """Return True if a condition, or None, allows summaries."""
    if condition is None:
        return True
    return bool(plain(condition() if callable(condition) else condition))


def flush(writer: FileWriter | None = None) -> None:
    """Write all queued events of a writer, by default this thread's, to the file.

    Examples
    --------
    >>> import dualflow as df
    >>> df.summary.flush()              # no writer: nothing waits
    """
    writer = DEFAULTS.now("writer") if writer is None else writer
    if writer is not None and not isinstance(writer, FileWriter):
        raise DTypeError(f"flush: writer is {shown(writer)}, expected a FileWriter")
    if writer is not None:
        writer.flush()
