"""The variables of a graph, and operations that initialize them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dualflow.compat.v1.dtypes import as_dtype, string
from dualflow.compat.v1.graph import Graph
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import group
from dualflow.compat.v1.in_force import get_default_graph
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
    """The variables of the graph in force; `scope`: those whose names match it at the start.

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
    """Variables that are not saved: counts of metrics, say.

    Parameters
    ----------
    scope : str, optional
        Only what has a name that it matches the start of.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.local_variables()
    []
    """
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """Variables in the collection ``MODEL_VARIABLES``.

    Parameters
    ----------
    scope : str, optional
        Only what has a name that it matches the start of.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.model_variables()
    []
    """
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """Variables whose averages are kept.

    Parameters
    ----------
    scope : str, optional
        Only what has a name that it matches the start of.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.moving_average_variables()
    []
    """
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """Variables that optimizers go through.

    Parameters
    ----------
    scope : str, optional
        Only what has a name that it matches the start of.

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
    """An operation that gives variables their initial values.

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
    """An operation that gives all global variables their initial values.

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
    """An operation that gives all local variables their initial values.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.local_variables_initializer())
    """
    return variables_initializer(local_variables())


def initialize_all_variables() -> Operation:
    """The older name of `global_variables_initializer`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1.)
    ...     sess.run(tf.initialize_all_variables())
    """
    return global_variables_initializer()


def is_variable_initialized(variable: Variable) -> HostTensor:
    """A bool: whether a variable has a value in the session that runs.

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
    """A bool as a session gives it."""
    import numpy as np

    return np.bool_(x)


def report_uninitialized_variables(var_list: Iterable[Variable] | None = None,
                                   name: str = "report_uninitialized_variables") -> HostTensor:
    """The names of variables that have no value in the session that runs.

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
