"""Collections: lists in a graph, by name."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["GraphKeys"]


class GraphKeys:
    """Names of the collections that this package uses.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     w = tf.Variable(1., name="w")
    ...     tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES) == [w]
    True
    """

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    METRIC_VARIABLES = "metric_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    BIASES = "biases"
    WEIGHTS = "weights"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVERS = "savers"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    VARIABLES = GLOBAL_VARIABLES


class Collections:
    """The collections of one graph."""

    def __init__(self) -> None:
        self._by_name: dict[Any, list[Any]] = {}

    def add(self, names: Any, value: Any) -> None:
        """Append to one collection, or to each of several."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.ref(name).append(value)

    def get(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return the items of a collection; `scope` is a regex for the start of their names."""
        found = list(self._by_name.get(name, ()))
        if scope is None:
            return found
        return [x for x in found if hasattr(x, "name") and re.match(scope, x.name)]

    def ref(self, name: Any) -> list[Any]:
        """Return the list object of a collection."""
        return self._by_name.setdefault(name, [])

    def clear(self, name: Any) -> None:
        """Remove all items of a collection."""
        self._by_name.pop(name, None)

    def keys(self) -> list[Any]:
        """Return the names of the collections in use."""
        return [name for name in self._by_name if isinstance(name, str)]
