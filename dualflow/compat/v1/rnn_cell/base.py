"""RNNCell, the base class of cells, and the state of LSTM cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import dualflow as df
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.layers.base import Layer
from dualflow.compat.v1.scopes import variable_scope
from dualflow.nest import map_structure

__all__ = ["LSTMStateTuple", "RNNCell"]


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM: the cell state c and the output h.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.nn.rnn_cell.LSTMStateTuple(3, 4).h
    4
    """

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The dtype of both parts; raises TypeError if they differ."""
        if self.c.dtype is not self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype.name} vs "
                            f"{self.h.dtype.name}")
        return self.c.dtype


class RNNCell(Layer):
    """Base class of cells: ``output, state = cell(inputs, state)``.

    Attributes
    ----------
    state_size : int, or nested tuples of int
    output_size : int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> class Sum(tf.nn.rnn_cell.RNNCell):
    ...     state_size = output_size = 2
    ...     def call(self, inputs, state):
    ...         return state + inputs, state + inputs
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     y, state = tf.nn.static_rnn(Sum(), [tf.ones([1, 2])] * 3, dtype=tf.float32)
    ...     print(sess.run(state))
    [[3. 3.]]
    """

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None,
                 _reuse: Any = None, **options: Any) -> None:
        super().__init__(trainable, name, dtype, _reuse=_reuse, **options)

    @recorded
    def __call__(self, inputs: Any, state: Any = None, scope: Any = None) -> Any:
        if scope is None or hasattr(scope, "name"):
            return super().__call__(inputs, state, scope=scope)
        with variable_scope(scope) as found:
            return super().__call__(inputs, state, scope=found)

    @property
    def state_size(self) -> Any:
        """The sizes of the state."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    @recorded
    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros for `batch_size` sequences."""
        return zeros_of(self.state_size, batch_size, as_dtype(dtype))


def zeros_of(sizes: Any, batch_size: Any, dtype: Any) -> Any:
    """Return nested matrices of zeros with one row per sequence."""
    def made(size: Any) -> Any:
        shape = size.as_list() if hasattr(size, "as_list") else [size]
        return df.zeros([batch_size, *shape], dtype)

    return map_structure(made, sizes)
