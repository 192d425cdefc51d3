"""The global step: the variable that counts training steps."""

from __future__ import annotations

from typing import Any

from dualflow.compat.v1.default_graph import default_graph, runs_at_once
from dualflow.compat.v1.defaults import default_session
from dualflow.compat.v1.get_variable import get_variable
from dualflow.compat.v1.graph import Graph
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.init_ops import zeros_initializer
from dualflow.compat.v1.scopes import variable_scope
from dualflow.compat.v1.variables import Variable
from dualflow.dtypes import int64

__all__ = ["create_global_step", "get_global_step", "get_or_create_global_step", "global_step"]


def get_global_step(graph: Graph | None = None) -> Any:
    """Return the variable that counts training steps, or None.

    Parameters
    ----------
    graph : Graph, optional
        By default the default graph.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.train.get_global_step())
    None
    """
    graph = graph or default_graph()
    found = [x for x in graph.get_collection(GraphKeys.GLOBAL_STEP)
             if isinstance(x, Variable) is not runs_at_once()] or [
        x for x in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if x.name == "global_step:0"]
    if not found:
        return None
    if not found[0].dtype.is_integer:
        raise TypeError('Existing "global_step" does not have integer type: '
                        f"{found[0].dtype.name}")
    return found[0]


def create_global_step(graph: Graph | None = None) -> Any:
    """Create the variable that counts training steps.

    Parameters
    ----------
    graph : Graph, optional
        By default the default graph.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.train.create_global_step().name
    'global_step:0'
    """
    graph = graph or default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    if runs_at_once():
        made = Variable(0, False, name="global_step", dtype=int64)
        graph.add_to_collection(GraphKeys.GLOBAL_STEP, made)
        return made
    with graph.as_default(), variable_scope("", auxiliary_name_scope=False):
        return get_variable("global_step", [], int64, zeros_initializer(), trainable=False,
                            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP])


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Return the variable that counts training steps; create it if it does not exist.

    Parameters
    ----------
    graph : Graph, optional
        By default the default graph.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.train.get_or_create_global_step()
    ...     step is tf.train.get_or_create_global_step()
    True
    """
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the number of training steps in a session.

    Parameters
    ----------
    sess : Session
    global_step_tensor : Variable

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     step = tf.train.create_global_step()
    ...     sess.run(step.initializer)
    ...     tf.train.global_step(sess, step)
    0
    """
    if runs_at_once():
        return int(global_step_tensor)
    session = default_session(sess, "global_step", "Cannot evaluate", global_step_tensor.graph)
    return int(session.run(global_step_tensor))
