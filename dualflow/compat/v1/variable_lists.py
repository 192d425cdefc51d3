"""Collections of variables, and operations that initialize variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dualflow.compat.v1.default_graph import get_default_graph
from dualflow.compat.v1.dtypes import as_dtype, string
from dualflow.compat.v1.graph import Graph
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import group
from dualflow.compat.v1.operation import HostTensor, Operation
from dualflow.compat.v1.variables import Variable

__all__ = [
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "report_uninitialized_variables",
    "trainable_variables",
    "variables_initializer",
]


def global_variables(scope: str | None = None) -> list[Variable]:
    """Return the global variables of the default graph whose names match `scope` at the start.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     w = tf.Variable(1., name="w")
    ...     [v.name for v in tf.global_variables()]
    ['w:0']
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


all_variables = global_variables


def local_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables that are not saved, for example counts of metrics.

    Parameters
    ----------
    scope : str, optional
        Regular expression for the start of the names.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.local_variables()
    []
    """
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables in the collection ``MODEL_VARIABLES``.

    Parameters
    ----------
    scope : str, optional
        Regular expression for the start of the names.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.model_variables()
    []
    """
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables that have moving averages.

    Parameters
    ----------
    scope : str, optional
        Regular expression for the start of the names.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.moving_average_variables()
    []
    """
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables that optimizers update by default.

    Parameters
    ----------
    scope : str, optional
        Regular expression for the start of the names.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     a, b = tf.Variable(1., name="a"), tf.Variable(1., trainable=False)
    ...     [v.name for v in tf.trainable_variables()]
    ['a:0']
    """
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def variables_initializer(var_list: Iterable[Variable], name: str = "init") -> Operation:
    """Return an operation that initializes variables.

    Parameters
    ----------
    var_list : list of Variable

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1.)
    ...     sess.run(tf.variables_initializer([w]))
    ...     print(sess.run(w))
    1.0
    """
    return group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Operation:
    """Return an operation that initializes all global variables.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1.)
    ...     sess.run(tf.global_variables_initializer())
    ...     print(sess.run(w))
    1.0
    """
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Return an operation that initializes all local variables.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.local_variables_initializer())
    """
    return variables_initializer(local_variables())


def initialize_all_variables() -> Operation:
    """Return `global_variables_initializer()`; older name.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1.)
    ...     sess.run(tf.initialize_all_variables())
    """
    return global_variables_initializer()


def is_variable_initialized(variable: Variable) -> HostTensor:
    """Return a bool tensor: True if the variable is initialized in the session of the run.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1.)
    ...     print(sess.run(tf.is_variable_initialized(w)))
    False
    """
    return HostTensor(variable.graph, "IsVariableInitialized", "IsVariableInitialized",
                      as_dtype(bool),
                      compute=lambda runner: as_bool(variable.slot in runner.initialized))


def as_bool(x: bool) -> Any:
    """Return a bool as a NumPy scalar."""
    import numpy as np

    return np.bool_(x)


def report_uninitialized_variables(var_list: Iterable[Variable] | None = None,
                                   name: str = "report_uninitialized_variables") -> HostTensor:
    """Return the names of variables that are not initialized in the session of the run.

    Parameters
    ----------
    var_list : list of Variable

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1., name="w")
    ...     print(sess.run(tf.report_uninitialized_variables()))
    [b'w']
    """
    variables = [*global_variables(), *local_variables()] if var_list is None else list(var_list)

    def names(runner: Any) -> Any:
        import numpy as np

        return np.array([v.slot.name.encode() for v in variables
                         if v.slot not in runner.initialized], object)

    graph: Graph = variables[0].graph if variables else get_default_graph()
    return HostTensor(graph, "ReportUninitializedVariables", name, string, compute=names,
                      shape=[None])


initialize_variables = variables_initializer
initialize_local_variables = local_variables_initializer
