"""The loss collections of a graph."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow.compat.v1.default_graph import default_graph, recorded
from dualflow.compat.v1.graph_keys import GraphKeys

__all__ = ["add_loss", "get_losses", "get_regularization_loss", "get_regularization_losses",
           "get_total_loss"]


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Append to the losses of the default graph.

    Parameters
    ----------
    loss : Tensor
    loss_collection : str or None
        Collection to which the loss is added.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.losses.add_loss(tf.constant(1.))
    ...     len(tf.losses.get_losses())
    1
    """
    if loss_collection is not None:
        default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Return the losses of the default graph.

    Parameters
    ----------
    scope : str, optional
        Regular expression for the start of the names.
    loss_collection : str or None
        Collection to read.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.losses.get_losses()
    []
    """
    return default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return the regularization losses of the default graph.

    Parameters
    ----------
    scope : str, optional
        Regular expression for the start of the names.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     w = tf.get_variable("w", [2], regularizer=tf.nn.l2_loss)
    ...     len(tf.losses.get_regularization_losses())
    1
    """
    return default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@recorded
def get_regularization_loss(scope: str | None = None,
                            name: str = "total_regularization_loss") -> Any:
    """Return the sum of the regularization losses.

    Parameters
    ----------
    scope : str, optional
        Regular expression for the start of the names.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.get_regularization_loss()))
    0.0
    """
    found = get_regularization_losses(scope)
    return df.add_n(found, name=name) if found else df.constant(0.0)


@recorded
def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss",
                   scope: str | None = None) -> Any:
    """Return the sum of all losses.

    Parameters
    ----------
    add_regularization_losses : bool, default True
    scope : str, optional
        Regular expression for the start of the names.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     tf.losses.add_loss(tf.constant(1.))
    ...     print(sess.run(tf.losses.get_total_loss()))
    1.0
    """
    found = get_losses(scope)
    if add_regularization_losses:
        found = found + get_regularization_losses(scope)
    return df.add_n(found, name=name)
