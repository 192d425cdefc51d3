"""Recurrent cells: basic, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import nn
from dualflow.compat.v1.init_ops import constant_initializer
from dualflow.compat.v1.layers.base import ZEROS, known
from dualflow.compat.v1.rnn_cell.base import LSTMStateTuple, RNNCell
from dualflow.compat.v1.variables import Variable

__all__ = ["BasicLSTMCell", "BasicRNNCell", "GRUCell", "LSTMCell"]

Activation = Callable[[Any], Any] | None


def affine(x: Any, state: Any, kernel: Any, bias: Any) -> Any:
    """Return ``[x, state] @ kernel + bias``."""
    return nn.bias_add(df.matmul(df.concat([x, state], 1), kernel), bias)


class BasicRNNCell(RNNCell):
    """Elman cell: output and state are ``tanh([inputs, state] @ kernel + bias)``.

    Parameters
    ----------
    num_units : int
    activation : callable, default tanh
    reuse : bool, optional
    name : str, optional
        By default "basic_rnn_cell" with a unique suffix.
    dtype : dtype, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.BasicRNNCell(3)
    ...     y, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    ...     print(y.shape, cell.kernel.shape)
    (2, 3) (7, 3)
    """

    def __init__(self, num_units: int, activation: Activation = None, reuse: Any = None,
                 name: str | None = None, dtype: Any = None, **options: Any) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **options)
        self._num_units, self._activation = num_units, activation or df.tanh

    @property
    def state_size(self) -> int:
        """The size of the state."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """Create the variables."""
        n = known(input_shape, -1, type(self).__name__) + self._num_units
        self.kernel: Variable = self.add_weight("kernel", [n, self._num_units])
        self.bias: Variable = self.add_weight("bias", [self._num_units], ZEROS)

    def call(self, inputs: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output and the new state."""
        y = self._activation(affine(inputs, state, self.kernel, self.bias))
        return y, y


class GRUCell(BasicRNNCell):
    """Gated recurrent unit with a reset gate and an update gate. Source: Cho et al., Learning
    Phrase Representations (2014).

    Parameters
    ----------
    num_units : int
    activation : callable, default tanh
    reuse : bool, optional
    kernel_initializer, bias_initializer : Initializer, optional
        The bias of the gates is 1 by default.
    name : str, optional
        By default "gru_cell" with a unique suffix.
    dtype : dtype, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.GRUCell(3)
    ...     y, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    ...     print([v.name for v in cell.variables][:2])
    ['gru_cell/gates/kernel:0', 'gru_cell/gates/bias:0']
    """

    def __init__(self, num_units: int, activation: Activation = None, reuse: Any = None,
                 kernel_initializer: Any = None, bias_initializer: Any = None,
                 name: str | None = None, dtype: Any = None, **options: Any) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **options)
        self._kernel, self._bias = kernel_initializer, bias_initializer

    def build(self, input_shape: Any) -> None:
        """Create the variables."""
        units = self._num_units
        n = known(input_shape, -1, "GRUCell") + units
        gates = constant_initializer(1.0) if self._bias is None else self._bias
        self.gate_kernel: Variable = self.add_weight("gates/kernel", [n, 2 * units], self._kernel)
        self.gate_bias: Variable = self.add_weight("gates/bias", [2 * units], gates)
        self.kernel: Variable = self.add_weight("candidate/kernel", [n, units], self._kernel)
        self.bias: Variable = self.add_weight("candidate/bias", [units],
                                    ZEROS if self._bias is None else self._bias)

    def call(self, inputs: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output and the new state."""
        gates = df.sigmoid(affine(inputs, state, self.gate_kernel, self.gate_bias))
        read, keep = df.split(gates, 2, 1)
        candidate = self._activation(affine(inputs, read * state, self.kernel, self.bias))
        y = keep * state + (1 - keep) * candidate
        return y, y


class BasicLSTMCell(BasicRNNCell):
    """Long short-term memory cell. Source: Zaremba et al., Recurrent Neural Network Regularization
    (2014).

    Parameters
    ----------
    num_units : int
    forget_bias : float, default 1.0
        Added to the forget gate.
    state_is_tuple : bool, default True
        Whether the state is an `LSTMStateTuple` instead of one matrix.
    activation : callable, default tanh
    reuse : bool, optional
    name : str, optional
        By default "basic_lstm_cell" with a unique suffix.
    dtype : dtype, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    ...     y, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    ...     print(y.shape, state.c.shape, cell.kernel.shape)
    (2, 3) (2, 3) (7, 12)
    """

    def __init__(self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True,
                 activation: Activation = None, reuse: Any = None, name: str | None = None,
                 dtype: Any = None, **options: Any) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **options)
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple

    @property
    def state_size(self) -> Any:
        """The sizes of the state."""
        n = self._num_units
        return LSTMStateTuple(n, n) if self._state_is_tuple else 2 * n

    def build(self, input_shape: Any) -> None:
        """Create the variables."""
        n = known(input_shape, -1, type(self).__name__) + self._num_units
        self.kernel: Variable = self.add_weight("kernel", [n, 4 * self._num_units])
        self.bias: Variable = self.add_weight("bias", [4 * self._num_units], ZEROS)

    def call(self, inputs: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output and the new state."""
        c, h = self._parts(state)
        i, j, f, o = df.split(affine(inputs, h, self.kernel, self.bias), 4, 1)
        c = c * df.sigmoid(f + self._forget_bias) + df.sigmoid(i) * self._activation(j)
        h = self._activation(c) * df.sigmoid(o)
        return h, self._joined(c, h)

    def _parts(self, state: Any) -> Any:
        """Return the cell state and the output in a state."""
        if self._state_is_tuple:
            return state
        return state[:, :self._num_units], state[:, self._num_units:]

    def _joined(self, c: Any, h: Any) -> Any:
        return LSTMStateTuple(c, h) if self._state_is_tuple else df.concat([c, h], 1)


class LSTMCell(BasicLSTMCell):
    """Long short-term memory cell with optional peepholes, projection and clipping. Source: Sak et
    al., Long Short-Term Memory Recurrent Neural Network Architectures (2014).

    Parameters
    ----------
    num_units : int
    use_peepholes : bool, default False
        Whether the gates read the cell state.
    cell_clip : float, optional
        Bound on the absolute value of the cell state.
    initializer : Initializer, optional
        Initializer of all variables except the bias.
    num_proj : int, optional
        Size of the projected output.
    proj_clip : float, optional
        Bound on the absolute value of the projection.
    num_unit_shards, num_proj_shards : ignored
    forget_bias : float, default 1.0
        Added to the forget gate.
    state_is_tuple : bool, default True
    activation : callable, default tanh
    reuse : bool, optional
    name : str, optional
        By default "lstm_cell" with a unique suffix.
    dtype : dtype, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.LSTMCell(8, num_proj=3)
    ...     y, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    ...     print(y.shape, state.c.shape)
    (2, 3) (2, 8)
    """

    def __init__(self, num_units: int, use_peepholes: bool = False,
                 cell_clip: float | None = None, initializer: Any = None,
                 num_proj: int | None = None, proj_clip: float | None = None,
                 num_unit_shards: Any = None, num_proj_shards: Any = None,
                 forget_bias: float = 1.0, state_is_tuple: bool = True,
                 activation: Activation = None, reuse: Any = None, name: str | None = None,
                 dtype: Any = None, **options: Any) -> None:
        super().__init__(num_units, forget_bias, state_is_tuple, activation, reuse, name, dtype,
                         **options)
        self._peepholes, self._initializer = use_peepholes, initializer
        self._cell_clip, self._num_proj, self._proj_clip = cell_clip, num_proj, proj_clip

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> Any:
        """The sizes of the state."""
        c, h = self._num_units, self.output_size
        return LSTMStateTuple(c, h) if self._state_is_tuple else c + h

    def build(self, input_shape: Any) -> None:
        """Create the variables."""
        units, init = self._num_units, self._initializer
        n = known(input_shape, -1, "LSTMCell") + self.output_size
        self.kernel: Variable = self.add_weight("kernel", [n, 4 * units], init)
        self.bias: Variable = self.add_weight("bias", [4 * units], ZEROS)
        if self._peepholes:
            self._f, self._i, self._o = [
                self.add_weight(f"w_{gate}_diag", [units], init) for gate in "fio"]
        if self._num_proj:
            self._projection = self.add_weight("projection/kernel", [units, self._num_proj], init)

    def call(self, inputs: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output and the new state."""
        old, h = self._parts(state)
        i, j, f, o = df.split(affine(inputs, h, self.kernel, self.bias), 4, 1)
        f = f + self._forget_bias
        if self._peepholes:
            f, i = f + self._f * old, i + self._i * old
        c = df.sigmoid(f) * old + df.sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = df.clip_by_value(c, -self._cell_clip, self._cell_clip)
        h = df.sigmoid(o + self._o * c if self._peepholes else o) * self._activation(c)
        if self._num_proj:
            h = df.matmul(h, self._projection)
            if self._proj_clip is not None:
                h = df.clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, self._joined(c, h)
