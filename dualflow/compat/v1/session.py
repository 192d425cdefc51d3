"""Sessions: run graphs and hold the values of their variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from dualflow._core import TraceContext, arrays_of, current_graph
from dualflow.compat.v1 import contexts
from dualflow.compat.v1.default_graph import get_default_graph
from dualflow.compat.v1.defaults import DEFAULTS
from dualflow.compat.v1.fetches import flat_feeds
from dualflow.compat.v1.graph import Graph
from dualflow.compat.v1.run_metadata import timed
from dualflow.compat.v1.runner import Runner

__all__ = ["ConfigProto", "GPUOptions", "InteractiveSession", "Session"]


class Session:
    """Runs parts of a graph and holds the values of its variables.

    Parameters
    ----------
    target : ignored
    graph : Graph, optional
        By default the default graph.
    config : ignored

    Attributes
    ----------
    graph : Graph

    Notes
    -----
    Each session has its own values of the variables of the graph. Several threads may run a
    session at once.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    ...     with tf.Session() as sess:
    ...         print(sess.run(a + b, feed_dict={a: 3, b: 4.5}))
    7.5
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        self.graph: Graph = get_default_graph() if graph is None else graph
        self.sess_str = target
        self._runner = Runner(self.graph)
        self._runs = self._runner.runs
        self._entered: list[Any] = []

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef."""
        return self.graph.as_graph_def()

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None,
            run_metadata: Any = None) -> Any:
        """Return the values of the fetches; only operations that they need are run.

        Parameters
        ----------
        fetches : tensor, operation, variable, or name of one, or nested lists, tuples, dicts
        feed_dict : dict, optional
            Values of placeholders and of any other tensors, by tensor or name. A tuple of tensors
            as a key, for example an LSTMStateTuple, stands for its tensors; the value has the same
            structure.
        options : RunOptions, optional
        run_metadata : RunMetadata, optional
            Receives the time of each operation if `options` request a trace.

        Returns
        -------
        The structure of `fetches`, of arrays, NumPy scalars and bytes; None for operations.
        """
        if run_metadata is not None and options is not None and options.trace_level:
            self._check()
            feed_dict = flat_feeds(feed_dict)
            once = self._runner.prepared(fetches, feed_dict, arrays_of)
            return timed(once, run_metadata)(feed_dict.values() if feed_dict else ())
        try:                    # `key_of` inlined on the fast path
            key = (list, *fetches) if type(fetches) is list else fetches
            run = self._runs[(key, *feed_dict) if feed_dict else (key,)]
        except (KeyError, TypeError):
            flat = flat_feeds(feed_dict)
            if flat is not feed_dict:
                return self.run(fetches, flat)
            run = self._prepared(fetches, feed_dict)
        return run(feed_dict.values() if feed_dict else ())

    def _check(self) -> None:
        """Raise RuntimeError if the session is closed or the graph is empty."""
        if self._runner.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self.graph.operations:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before "
                               "calling run().")

    def _prepared(self, fetches: Any, feed_dict: Any) -> Any:
        self._check()
        return self._runner.remembered(fetches, feed_dict, arrays_of)

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] | None = None,
                      accept_options: bool = False) -> Callable[..., Any]:
        """Return a function of the values of `feed_list` that runs `fetches`."""
        feeds = list(feed_list or ())
        n, runner, run = len(feeds), self._runner, self._prepared(fetches, dict.fromkeys(feeds))

        def call(*args: Any) -> Any:
            if len(args) != n:
                raise TypeError(f"Expected {n} arguments, got {len(args)}.")
            if runner.closed:
                raise RuntimeError("Attempted to use a closed Session.")
            return run(args)

        return (lambda *args, **options: call(*args)) if accept_options else call

    def load(self, variable: Any, value: Any) -> None:
        """Set the value of a variable in this session."""
        self._runner.load(getattr(variable, "slot", variable), value)

    def list_devices(self) -> list[str]:
        """Return the names of the devices."""
        return ["/device:CPU:0"]

    def close(self) -> None:
        """Close the session and release its variables."""
        self._runner.closed = True
        self._runner.runs.clear()
        self._runner.variables.clear()
        self._runner.initialized.clear()
        self._runner.iterators.clear()

    # --- contexts ---

    def as_default(self) -> AbstractContextManager[Session]:
        """Return a context in which `eval` and `run` of tensors and operations use the session."""
        return contexts.in_session(self)

    def __enter__(self) -> Session:
        self._entered += [make_default(self.graph), contexts.in_session(self)]
        for context in self._entered[-2:]:
            context.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        for _ in range(2):
            self._entered.pop().__exit__(*raised)
        self.close()


def make_default(graph: Graph) -> AbstractContextManager[Graph]:
    """Return a context in which `graph` is the default graph. It records ops as well if it is the
    current graph already; otherwise plain ops run."""
    return contexts.make_default(graph, TraceContext(graph if current_graph() is graph else None))


class InteractiveSession(Session):
    """A session that is the default session until it is closed.

    Parameters
    ----------
    target : ignored
    graph : Graph, optional
    config : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> sess = tf.InteractiveSession(graph=tf.Graph())
    >>> tf.constant(3.).eval()
    np.float32(3.0)
    >>> sess.close()
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._placed = graph is not None
        if self._placed:
            DEFAULTS.graphs.append(self.graph)
        DEFAULTS.sessions.append(self)

    def close(self) -> None:
        """Close the session; it is no longer the default."""
        super().close()
        if self in DEFAULTS.sessions:
            DEFAULTS.sessions.remove(self)
        if self._placed and self.graph in DEFAULTS.graphs:
            DEFAULTS.graphs.remove(self.graph)
        self._placed = False


class ConfigProto:
    """Accepts any option and ignores it.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> config = tf.ConfigProto(allow_soft_placement=True)
    >>> config.gpu_options.allow_growth = True
    >>> config.allow_soft_placement
    True
    """

    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = self.__dict__[name] = ConfigProto()
        return made


class GPUOptions(ConfigProto):
    """Accepts any option and ignores it.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.GPUOptions(per_process_gpu_memory_fraction=0.5).per_process_gpu_memory_fraction
    0.5
    """
