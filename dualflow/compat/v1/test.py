"""`tf.test`: test cases whose tensors are evaluated in sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dualflow import test
from dualflow.compat.v1 import errors
from dualflow.compat.v1.default_graph import get_default_graph, reset_default_graph
from dualflow.compat.v1.defaults import DEFAULTS, Mode, get_default_session
from dualflow.compat.v1.gradients import gradients
from dualflow.compat.v1.session import Session
from dualflow.test import (
    get_temp_dir as get_temp_dir,
    gpu_device_name as gpu_device_name,
    is_built_with_cuda as is_built_with_cuda,
    is_gpu_available as is_gpu_available,
    main as main,
)

__all__ = ["TestCase", "compute_gradient", "compute_gradient_error", "get_temp_dir",
           "gpu_device_name", "is_built_with_cuda", "is_gpu_available", "main"]


class TestCase(test.TestCase):
    """A `unittest.TestCase` with assertions about tensors, which are evaluated in the session of
    the test. Each test starts with an empty default graph and the same seeds.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> class SquareTest(tf.test.TestCase):
    ...     def test_square(self):
    ...         with self.session():
    ...             self.assertAllClose(tf.square([1., 2.]), [1., 4.])
    >>> SquareTest("test_square").run().wasSuccessful()
    True
    """

    op_error = errors.OpError

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._cached: Session | None = None

    def setUp(self) -> None:
        """Set the seeds and replace the default graph by an empty one."""
        super().setUp()
        if self._testMethodName == "test_session":      # unittest takes it for a test
            self.skipTest("Not a test.")
        if not DEFAULTS.graphs:
            reset_default_graph()
        get_default_graph().seed = test.SEED
        self.addCleanup(self._close)

    def _close(self) -> None:
        """Close the session that `cached_session` keeps."""
        if self._cached is not None:
            self._cached.close()
        self._cached = None

    def is_tensor(self, x: Any) -> bool:
        """Return True if an object has a value for `evaluate`."""
        return super().is_tensor(x) or (hasattr(x, "op") and hasattr(x, "graph"))

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of nested tensors, evaluated in the default session if there is one,
        otherwise in the session of `cached_session`."""
        if Mode.eager:
            return super().evaluate(tensors)
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as sess:
            return sess.run(tensors)

    @contextmanager
    def session(self, graph: Any = None, config: Any = None, use_gpu: bool = True,
                force_gpu: bool = False) -> Iterator[Session]:
        """Return a context in which a new session is the default session; it is closed at the
        end."""
        with Session(graph=graph, config=config) as sess:
            yield sess

    @contextmanager
    def cached_session(self, graph: Any = None, config: Any = None, use_gpu: bool = True,
                       force_gpu: bool = False) -> Iterator[Session]:
        """Return a context in which the session of the test is the default session; it is open
        until the end of the test, so that variables keep their values."""
        if self._cached is None:
            self._cached = Session(graph=graph, config=config)
        elif graph is not None and graph is not self._cached.graph:
            raise ValueError("The graph used to get the cached session is different than the one "
                             "that was used to create the session.")
        with self._cached.graph.as_default(), self._cached.as_default():
            yield self._cached

    def test_session(self, graph: Any = None, config: Any = None, use_gpu: bool = True,
                     force_gpu: bool = False) -> AbstractContextManager[Session]:
        """Return `cached_session`, or `session` if a graph is given."""
        return self.cached_session() if graph is None else self.session(graph, config)


def compute_gradient(x: Any, x_shape: Sequence[int], y: Any, y_shape: Sequence[int],
                     x_init_value: Any = None, delta: float = 1e-3, init_targets: Any = None,
                     extra_feed_dict: Any = None) -> tuple[Any, Any]:
    """Return the Jacobian of `y` by its gradients, and by central differences, in the default
    session.

    Parameters
    ----------
    x, y : Tensor, floating
    x_shape, y_shape : list of int
    x_init_value : array, optional
        The value of `x`; by default random.
    delta : float, default 1e-3
        Half the step of the differences.
    init_targets : operation or list of operations, optional
        Run first.
    extra_feed_dict : dict, optional
        Values of other tensors.

    Returns
    -------
    (numpy.ndarray, numpy.ndarray), each of shape (size of `x`, size of `y`)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session():
    ...     x = tf.constant([1., 3.])
    ...     found = tf.test.compute_gradient(x, [2], tf.square(x), [2], [1., 3.])
    >>> found[0].tolist(), found[1].round(2).tolist()
    ([[2.0, 0.0], [0.0, 6.0]], [[2.0, 0.0], [0.0, 6.0]])
    """
    import numpy as np

    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient: no default session is registered")
    if init_targets is not None:
        session.run(init_targets)
    dtype = x.dtype.as_numpy_dtype
    point = np.array(np.random.random_sample(x_shape) if x_init_value is None else x_init_value,
                     dtype).reshape(x_shape)
    others = {**(extra_feed_dict or {})}
    by_gradients = np.zeros((point.size, int(np.prod(y_shape))), dtype)
    by_differences = np.zeros_like(by_gradients)
    with session.graph.as_default():
        weights = np.zeros(y_shape, y.dtype.as_numpy_dtype)
        fed = y * 0 + 1     # a tensor of the shape of y, which is fed
        found = gradients(y, x, fed)[0]
    for column, at in enumerate(np.ndindex(*y_shape)):
        weights[at] = 1
        if found is not None:
            by_gradients[:, column] = session.run(
                found, {**others, x: point, fed: weights}).ravel()
        weights[at] = 0
    for row, at in enumerate(np.ndindex(*x_shape)):
        ends = []
        for side in (delta, -delta):
            moved = point.copy()
            moved[at] += side
            ends.append(session.run(y, {**others, x: moved}))
        by_differences[row] = ((ends[0] - ends[1]) / (2 * delta)).ravel()
    return by_gradients, by_differences


def compute_gradient_error(x: Any, x_shape: Sequence[int], y: Any, y_shape: Sequence[int],
                           x_init_value: Any = None, delta: float = 1e-3, init_targets: Any = None,
                           extra_feed_dict: Any = None) -> float:
    """Return the largest difference between the Jacobians of `compute_gradient`, whose arguments
    `x`, `x_shape`, `y`, `y_shape`, `x_init_value`, `delta`, `init_targets` and `extra_feed_dict`
    have the same meaning.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session():
    ...     x = tf.constant([1., 3.])
    ...     tf.test.compute_gradient_error(x, [2], tf.square(x), [2]) < 1e-2
    True
    """
    a, b = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets,
                            extra_feed_dict)
    return float(abs(a - b).max(initial=0))


def __dir__() -> list[str]:
    return __all__
