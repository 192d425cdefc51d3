"""Cells that combine or wrap other cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dualflow as df
from dualflow.compat.v1 import nn_ops
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.rnn_cell.base import LSTMStateTuple, RNNCell
from dualflow.compat.v1.scopes import variable_scope

__all__ = ["DropoutWrapper", "MultiRNNCell", "ResidualWrapper"]


class MultiRNNCell(RNNCell):
    """A stack of cells: the output of each cell is the input of the next one.

    Parameters
    ----------
    cells : sequence of RNNCell
    state_is_tuple : bool, default True
        Whether the state is a tuple of the cells' states instead of one matrix.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(n) for n in (3, 2)])
    ...     y, state = cell(tf.ones([1, 4]), cell.zero_state(1, tf.float32))
    ...     print(y.shape, cell.state_size)
    (1, 2) (3, 2)
    """

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, list | tuple):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        self._cells, self._state_is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any([isinstance(c.state_size, tuple) for c in cells]):
            raise ValueError("Some cells return tuples of states, but the flag state_is_tuple is "
                             f"not set.  State sizes are: {[c.state_size for c in cells]}")

    @property
    def state_size(self) -> Any:
        """The sizes of the state."""
        sizes = [cell.state_size for cell in self._cells]
        return tuple(sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        return self._cells[-1].output_size

    @property
    def variables(self) -> list[Any]:
        """The variables of all cells."""
        return [v for cell in self._cells for v in cell.variables]

    def call(self, inputs: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output and the new state."""
        if not self._state_is_tuple:
            state = df.split(state, [cell.state_size for cell in self._cells], 1)
        made = []
        for k, (cell, old) in enumerate(zip(self._cells, state, strict=True)):
            with variable_scope(f"cell_{k}"):
                inputs, new = cell(inputs, old)
            made.append(new)
        return inputs, tuple(made) if self._state_is_tuple else df.concat(made, 1)


class Wrapper(RNNCell):
    """Base class of wrappers of a cell."""

    def __init__(self, cell: RNNCell) -> None:
        super().__init__()
        if not isinstance(cell, RNNCell):
            raise TypeError(f"The argument 'cell' is not an RNNCell: {type(cell).__name__}.")
        self._cell = cell

    @property
    def wrapped_cell(self) -> RNNCell:
        """The wrapped cell."""
        return self._cell

    @property
    def state_size(self) -> Any:
        """The sizes of the state."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        return self._cell.output_size

    @property
    def variables(self) -> list[Any]:
        """The variables of the wrapped cell."""
        return self._cell.variables

    @recorded
    def __call__(self, inputs: Any, state: Any = None, scope: Any = None) -> Any:
        return self.around(convert(inputs), state, scope)       # in the scope of the wrapped cell

    def around(self, inputs: Any, state: Any, scope: Any) -> Any:
        """Return the output and the new state."""
        raise NotImplementedError


class DropoutWrapper(Wrapper):
    """A cell with dropout of its inputs, outputs and states.

    Parameters
    ----------
    cell : RNNCell
    input_keep_prob, output_keep_prob, state_keep_prob : float or Tensor, default 1.0
    variational_recurrent, input_size, dtype
        Must have their defaults.
    seed : int, optional
    dropout_state_filter_visitor : ignored
        Dropout never applies to the cell state of an LSTM, only to its output.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     keep = tf.placeholder_with_default(1., [])
    ...     cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(3), output_keep_prob=keep)
    ...     print(cell.output_size)
    3
    """

    def __init__(self, cell: RNNCell, input_keep_prob: Any = 1.0, output_keep_prob: Any = 1.0,
                 state_keep_prob: Any = 1.0, variational_recurrent: bool = False,
                 input_size: Any = None, dtype: Any = None, seed: int | None = None,
                 dropout_state_filter_visitor: Any = None) -> None:
        super().__init__(cell)
        if variational_recurrent:
            raise NotImplementedError("DropoutWrapper: variational_recurrent is not supported")
        self._keep = input_keep_prob, output_keep_prob, state_keep_prob
        self._seed = seed

    def around(self, inputs: Any, state: Any, scope: Any) -> Any:
        """Return the output and the new state."""
        of_input, of_output, of_state = self._keep
        y, new = self._cell(self._dropped(inputs, of_input), state, scope)
        return self._dropped(y, of_output), self._dropped_state(new, of_state)

    def _dropped_state(self, state: Any, keep: Any) -> Any:
        if isinstance(state, LSTMStateTuple):
            return LSTMStateTuple(state.c, self._dropped(state.h, keep))
        if isinstance(state, tuple):
            return tuple([self._dropped_state(x, keep) for x in state])
        return self._dropped(state, keep)

    def _dropped(self, x: Any, keep: Any) -> Any:
        return x if isinstance(keep, int | float) and keep == 1 else nn_ops.dropout(
            x, keep, seed=self._seed)


class ResidualWrapper(Wrapper):
    """A cell whose inputs are added to its outputs.

    Parameters
    ----------
    cell : RNNCell
    residual_fn : callable, optional
        Function of inputs and outputs; replaces their sum.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(4))
    ...     y, state = cell(tf.ones([1, 4]), cell.zero_state(1, tf.float32))
    ...     print(y.shape)
    (1, 4)
    """

    def __init__(self, cell: RNNCell, residual_fn: Any = None) -> None:
        super().__init__(cell)
        self._residual_fn = residual_fn or (lambda x, y: x + y)

    def around(self, inputs: Any, state: Any, scope: Any) -> Any:
        """Return the output and the new state."""
        y, new = self._cell(inputs, state, scope)
        return self._residual_fn(inputs, y), new
