"""Recurrent networks: apply a cell to the steps of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dualflow as df
from dualflow.compat.v1.default_graph import of_the_graph, recorded
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.rnn_cell.base import RNNCell
from dualflow.compat.v1.scopes import variable_scope
from dualflow.nest import flatten, map_structure, pack_sequence_as

__all__ = ["bidirectional_dynamic_rnn", "dynamic_rnn", "static_bidirectional_rnn", "static_rnn"]


def begun(cell: Any, batch: Any, initial_state: Any, dtype: Any) -> Any:
    """Return the state before the first step."""
    if not isinstance(cell, RNNCell):
        raise TypeError(f"The argument 'cell' ({cell!r}) is not an RNNCell.")
    if initial_state is not None:
        return map_structure(convert, initial_state)
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    return cell.zero_state(batch, dtype)


def step(cell: Any, x: Any, state: Any, time: Any, lengths: Any) -> tuple[Any, Any]:
    """Return output and state of a cell for one step. After the end of a sequence the output is 0
    and the state is unchanged."""
    y, new = cell(x, state)
    if lengths is None:
        return y, new
    goes_on = df.expand_dims(df.less(df.cast(time, df.int32), lengths), 1)
    states = [df.where(goes_on, a, b)
            for a, b in zip(flatten(new), flatten(state), strict=True)]
    return df.where(goes_on, y, df.zeros_like(y)), pack_sequence_as(state, states)


def lengths_of(sequence_length: Any) -> Any:
    """Return the lengths of sequences as an int32 vector, or None."""
    if sequence_length is None:
        return None
    lengths = df.cast(convert(sequence_length), df.int32)
    if lengths.ndim != 1:
        raise ValueError("sequence_length must be a vector of length batch_size, but saw shape: "
                         f"{lengths.shape}")
    return lengths


@recorded
def static_rnn(cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None,
               sequence_length: Any = None, scope: Any = None) -> Any:
    """Apply a cell to a list of inputs; the graph holds one copy of the cell per step.

    Parameters
    ----------
    cell : RNNCell
    inputs : list of Tensor, each of shape (batch, n)
    initial_state : like the state of the cell, optional
    dtype : dtype
        Dtype of the initial state if it is not given.
    sequence_length : ints, shape (batch,), optional
        Lengths; beyond them outputs are 0 and states do not change.
    scope : str or VariableScope, default "rnn"

    Returns
    -------
    outputs : list of Tensor
    state : like the state of the cell
        The final state.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     steps = tf.unstack(tf.placeholder(tf.float32, [None, 5, 4]), axis=1)
    ...     y, state = tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(3), steps, dtype=tf.float32)
    ...     print(len(y), y[-1].shape)
    5 (?, 3)
    """
    if not isinstance(inputs, list | tuple):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "rnn"):
        steps = [of_the_graph(convert(x)) for x in inputs]
        state = begun(cell, steps[0].shape[0], initial_state, dtype)
        lengths, outputs = lengths_of(sequence_length), []
        for time, x in enumerate(steps):
            y, state = step(cell, x, state, time, lengths)
            outputs.append(y)
        return outputs, state


@recorded
def dynamic_rnn(cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None,
                dtype: Any = None, parallel_iterations: int | None = None,
                swap_memory: bool = False, time_major: bool = False, scope: Any = None) -> Any:
    """Apply a cell to sequences in a loop.

    Parameters
    ----------
    cell : RNNCell
    inputs : Tensor, shape (batch, steps, n)
    sequence_length : ints, shape (batch,), optional
        Lengths; beyond them outputs are 0 and states do not change.
    initial_state : like the state of the cell, optional
    dtype : dtype
        Dtype of the initial state if it is not given.
    parallel_iterations, swap_memory : ignored
    time_major : bool, default False
        Whether inputs and outputs have shape (steps, batch, n).
    scope : str or VariableScope, default "rnn"

    Returns
    -------
    outputs : Tensor, shape (batch, steps, m)
    state : like the state of the cell
        The final state.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     cell = tf.nn.rnn_cell.BasicRNNCell(3)
    ...     y, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 4]), [5, 0], dtype=tf.float32)
    ...     sess.run(tf.global_variables_initializer())
    ...     print(sess.run(y).shape, sess.run(state)[1])
    (2, 5, 3) [0. 0. 0.]
    """
    with variable_scope(scope or "rnn"):
        x = of_the_graph(convert(inputs))
        if x.ndim < 3:
            raise ValueError(f"dynamic_rnn: inputs have shape {x.shape}, expected "
                             "(batch, steps, n)")
        if not time_major:
            x = swapped(x)
        state = begun(cell, x.shape[1], initial_state, dtype)
        lengths = lengths_of(sequence_length)

        def body(carry: Any, row: Any) -> Any:
            time, old = carry
            y, new = step(cell, row, old, time, lengths)
            return (time + 1, new), y

        (_, state), outputs = df.scan(body, (df.constant(0), state), x)
        return outputs if time_major else swapped(outputs), state


def swapped(x: Any) -> Any:
    """Exchange the first two dimensions of a tensor."""
    return df.transpose(x, [1, 0, *range(2, x.ndim)])


@recorded
def static_bidirectional_rnn(cell_fw: Any, cell_bw: Any, inputs: Any,
                             initial_state_fw: Any = None, initial_state_bw: Any = None,
                             dtype: Any = None, sequence_length: Any = None,
                             scope: Any = None) -> Any:
    """Apply two cells to a list of inputs, the second one in reverse order.

    Parameters
    ----------
    cell_fw, cell_bw : RNNCell
    inputs : list of Tensor, each of shape (batch, n)
    initial_state_fw, initial_state_bw : like the states of the cells, optional
    dtype : dtype
        Dtype of the initial states if they are not given.
    sequence_length : ints, shape (batch,), optional
    scope : str or VariableScope, default "bidirectional_rnn"

    Returns
    -------
    outputs : list of Tensor
        Outputs of both cells, concatenated along the last dimension.
    state_fw, state_bw : like the states of the cells

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cells = [tf.nn.rnn_cell.GRUCell(3) for _ in range(2)]
    ...     steps = [tf.ones([2, 4])] * 5
    ...     y, _, _ = tf.nn.static_bidirectional_rnn(*cells, steps, dtype=tf.float32)
    ...     print(len(y), y[0].shape)
    5 (2, 6)
    """
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            ahead, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype,
                                         sequence_length, fw)
        with variable_scope("bw") as bw:
            lengths = lengths_of(sequence_length)
            steps = listed_backwards(inputs, lengths)
            back, state_bw = static_rnn(cell_bw, steps, initial_state_bw, dtype,
                                        sequence_length, bw)
        pairs = zip(ahead, listed_backwards(back, lengths), strict=True)
        return [df.concat([a, b], 1) for a, b in pairs], state_fw, state_bw


def listed_backwards(steps: Sequence[Any], lengths: Any) -> list[Any]:
    """Return steps in reverse order, each sequence within its length."""
    if lengths is None:
        return list(reversed(steps))
    return list(df.unstack(backwards(df.stack([convert(x) for x in steps], 1), lengths), axis=1))


def backwards(x: Any, lengths: Any) -> Any:
    """Return sequences in reverse order, each within its length."""
    if lengths is None:
        return df.reverse(x, [1])
    times = df.expand_dims(df.range(df.shape(x)[1]), 0)
    ends = df.expand_dims(lengths, 1)
    return df.gather(x, df.where(times < ends, ends - 1 - times, times), axis=1, batch_dims=1)


@recorded
def bidirectional_dynamic_rnn(cell_fw: Any, cell_bw: Any, inputs: Any,
                              sequence_length: Any = None, initial_state_fw: Any = None,
                              initial_state_bw: Any = None, dtype: Any = None,
                              parallel_iterations: int | None = None, swap_memory: bool = False,
                              time_major: bool = False, scope: Any = None) -> Any:
    """Apply two cells to sequences, the second one in reverse order.

    Parameters
    ----------
    cell_fw, cell_bw : RNNCell
    inputs : Tensor, shape (batch, steps, n)
    sequence_length : ints, shape (batch,), optional
    initial_state_fw, initial_state_bw : like the states of the cells, optional
    dtype : dtype
        Dtype of the initial states if they are not given.
    parallel_iterations, swap_memory : ignored
    time_major : bool, default False
    scope : str or VariableScope, default "bidirectional_rnn"

    Returns
    -------
    outputs : pair of Tensor
        Outputs of each cell.
    states : pair like the states of the cells

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cells = [tf.nn.rnn_cell.GRUCell(3) for _ in range(2)]
    ...     y, _ = tf.nn.bidirectional_dynamic_rnn(*cells, tf.ones([2, 5, 4]), dtype=tf.float32)
    ...     print(y[0].shape, y[1].shape)
    (2, 5, 3) (2, 5, 3)
    """
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            ahead, state_fw = dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw,
                                          dtype, time_major=time_major, scope=fw)
        with variable_scope("bw") as bw:
            lengths, x = lengths_of(sequence_length), of_the_graph(convert(inputs))
            turned = backwards(swapped(x) if time_major else x, lengths)
            back, state_bw = dynamic_rnn(cell_bw, turned, sequence_length, initial_state_bw,
                                         dtype, scope=bw)
            back = backwards(back, lengths)
        return (ahead, swapped(back) if time_major else back), (state_fw, state_bw)
