"""Threads that fill queues, and the coordinator that stops them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dualflow.compat.v1 import errors
from dualflow.compat.v1.default_graph import default_graph
from dualflow.compat.v1.defaults import default_session
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.train.queues import POLL, FIFOQueue

__all__ = ["Coordinator", "QueueRunner", "add_queue_runner", "start_queue_runners"]


class Coordinator:
    """Stops threads together.

    Parameters
    ----------
    clean_stop_exception_types : tuple of exception types, default OutOfRangeError
        Exceptions that `join` does not raise.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> coord = tf.train.Coordinator()
    >>> coord.request_stop()
    >>> coord.should_stop()
    True
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        self._clean = (errors.OutOfRangeError,) if clean_stop_exception_types is None else (
            tuple(clean_stop_exception_types))
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []
        self.joined = False

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to stop; `join` raises `ex`."""
        if isinstance(ex, tuple):
            ex = ex[1]
        if ex is not None and not isinstance(ex, self._clean) and self._error is None:
            self._error = ex
        self._stop.set()

    def clear_stop(self) -> None:
        """Forget the request to stop."""
        self._stop.clear()
        self._error, self.joined = None, False

    def should_stop(self) -> bool:
        """Return True after `request_stop`."""
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait for `request_stop`; return False after `timeout` seconds."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Add a thread for which `join` waits."""
        self._threads.append(thread)

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Call `request_stop` with an exception of the block."""
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def join(self, threads: Iterable[threading.Thread] | None = None,
             stop_grace_period_secs: float = 120, ignore_live_threads: bool = False) -> None:
        """Wait for threads to end, and raise the exception of `request_stop`."""
        waiting = [*self._threads, *(threads or ())]
        while any([t.is_alive() for t in waiting]) and not self._stop.wait(POLL):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in waiting:
            thread.join(max(0.0, end - time.monotonic()))
        self.joined = True
        self.raise_requested_exception()
        if any([t.is_alive() for t in waiting]) and not ignore_live_threads:
            raise RuntimeError("Coordinator stopped with threads still running")

    def raise_requested_exception(self) -> None:
        """Raise the exception of `request_stop`."""
        if self._error is not None:
            raise self._error


class QueueRunner:
    """Threads that run the operations which fill a queue.

    Parameters
    ----------
    queue : FIFOQueue
    enqueue_ops : list of Operation
        One thread each.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queue = tf.FIFOQueue(2, tf.float32, [])
    ...     tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1.)]))
    ...     coord = tf.train.Coordinator()
    ...     threads = tf.train.start_queue_runners(sess, coord)
    ...     print(sess.run(queue.dequeue()))
    ...     coord.request_stop()
    ...     coord.join(threads)
    1.0
    """

    def __init__(self, queue: FIFOQueue, enqueue_ops: Sequence[Any], close_op: Any = None,
                 cancel_op: Any = None, queue_closed_exception_types: Any = None) -> None:
        self.queue, self.enqueue_ops = queue, list(enqueue_ops)
        self.name = queue.name
        with default_graph().as_default():
            self.close_op = queue.close() if close_op is None else close_op

    def create_threads(self, sess: Any, coord: Coordinator | None = None, daemon: bool = False,
                       start: bool = False) -> list[threading.Thread]:
        """Return the threads, and one that closes the queue when the coordinator stops."""
        work = [threading.Thread(target=self._run, args=(sess, op, coord), daemon=True)
                for op in self.enqueue_ops]
        if coord is not None:
            work.append(threading.Thread(target=self._close, args=(sess, coord), daemon=True))
            for thread in work:
                coord.register_thread(thread)
        for thread in work if start else ():
            thread.start()
        return work

    def _run(self, sess: Any, op: Any, coord: Coordinator | None) -> None:
        try:
            while coord is None or not coord.should_stop():
                sess.run(op)
        except (errors.OutOfRangeError, errors.CancelledError):
            sess.run(self.close_op)
        except Exception as error:
            if coord is None:
                raise
            coord.request_stop(error)

    def _close(self, sess: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        sess.run(self.close_op)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add threads that `start_queue_runners` starts.

    Parameters
    ----------
    qr : QueueRunner
    collection : str, default "queue_runners"

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     queue = tf.FIFOQueue(2, tf.float32, [])
    ...     tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1.)]))
    """
    default_graph().add_to_collection(collection, qr)


def start_queue_runners(sess: Any = None, coord: Coordinator | None = None, daemon: bool = True,
                        start: bool = True,
                        collection: str = GraphKeys.QUEUE_RUNNERS) -> list[threading.Thread]:
    """Start the threads of the graph's queue runners and return them. Queues of `batch` and of the
    producers need no threads: a run fills them.

    Parameters
    ----------
    sess : Session, optional
        By default the default session.
    coord : Coordinator, optional
        Stops the threads.
    daemon : bool
        Accepted for compatibility: all threads are daemons.
    start : bool, default True
    collection : str, default "queue_runners"

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session():
    ...     tf.train.start_queue_runners()
    []
    """
    sess = default_session(sess, "start_queue_runners", "Cannot start queue runners",
                           default_graph())
    return [thread for runner in sess.graph.get_collection(collection)
            for thread in runner.create_threads(sess, coord, daemon, start)]
