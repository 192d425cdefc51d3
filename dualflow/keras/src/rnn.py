"""Recurrent layers: kernels for whole sequences if they support the layer, else a loop."""

import functools
from typing import Any

from keras.src import tree

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor


def _time_first(x: Any) -> df.Tensor:
    x = convert_to_tensor(x)
    return df.transpose(x, [1, 0, *range(2, x.ndim)])


def _like(mask: df.Tensor, x: df.Tensor) -> df.Tensor:
    """Reshape a mask of rows to the rank of `x`."""
    return df.reshape(mask, [mask.shape[0], *[1] * (x.ndim - 1)])


def rnn(step_function: Any, inputs: Any, initial_states: Any, go_backwards: Any = False,
        mask: Any = None, constants: Any = None,
        unroll: Any = False, input_length: Any = None, time_major: Any = False,
        zero_output_for_mask: Any = False,
        return_all_outputs: Any = True) -> Any:
    order = convert_to_tensor if time_major else _time_first
    xs = tree.map_structure(order, inputs)
    states = tree.map_structure(convert_to_tensor, initial_states)
    constants = tuple(constants or ())
    if mask is not None:
        mask = convert_to_tensor(mask, "bool")
        mask = df.squeeze(mask, -1) if mask.ndim == 3 else mask
        mask = mask if time_major else df.transpose(mask)

    def step(states: Any, before: Any, x: Any, there: Any) -> tuple[Any, Any]:
        """Run one step; rows that are masked out retain their states and output."""
        output, new = step_function(x, tuple(states) + constants)
        new = tree.pack_sequence_as(states, tree.flatten(new))
        # Cast back: Keras's promotion rules may have narrowed float64 to float32.
        new = tree.map_structure(lambda n, s: df.cast(n, s.dtype), new, states)
        if there is None:
            return output, new
        new = tree.map_structure(lambda n, s: df.where(_like(there, n), n, s), new, states)
        instead = df.zeros_like(output) if before is None else before
        return df.where(_like(there, output), output, instead), new

    run = _unrolled if unroll else _looped
    last, outputs, states = run(step, xs, states, mask, go_backwards, zero_output_for_mask,
                                return_all_outputs)
    if not time_major:
        outputs = tree.map_structure(_time_first, outputs)
    return last, outputs, states


def _unrolled(step: Any, xs: Any, states: Any, mask: Any, go_backwards: bool,
              zero_output: bool, all_outputs: bool) -> tuple[Any, Any, Any]:
    n = tree.flatten(xs)[0].shape[0]
    if not n:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    outputs: list[Any] = []
    for k in reversed(range(n)) if go_backwards else range(n):
        x = tree.map_structure(lambda x, k=k: x[k], xs)
        before = outputs[-1] if outputs and not zero_output else None
        output, states = step(states, before, x, None if mask is None else mask[k])
        outputs = [*outputs, output] if all_outputs else [output]
    return outputs[-1], df.stack(outputs), states


def _looped(step: Any, xs: Any, states: Any, mask: Any, go_backwards: bool, zero_output: bool,
            all_outputs: bool) -> tuple[Any, Any, Any]:
    def body(carry: Any, rows: Any) -> tuple[Any, Any]:
        x, there = rows if mask is not None else (rows, None)
        before = None
        if mask is not None and not zero_output:
            before = carry[0]           # the first state is the previous output
            if tree.is_nested(before):
                before = carry[-1][0]
        output, carry = step(carry, before, x, there)
        return carry, output

    states, outputs = df.scan(body, states, xs if mask is None else (xs, mask),
                              reverse=go_backwards)
    if go_backwards:
        outputs = tree.map_structure(lambda y: df.reverse(y, [0]), outputs)
    last = tree.map_structure(lambda y: y[-1], outputs)
    if not all_outputs:
        outputs = tree.map_structure(lambda y: df.expand_dims(y, 0), last)
    return last, outputs, states


# --- kernels for whole sequences ---

def _named(function: Any) -> str | None:
    return getattr(function, "__name__", None)


def cudnn_ok(activation: Any, recurrent_activation: Any, unroll: Any, use_bias: Any = True) -> Any:
    """Return True if a kernel supports a layer with these activations."""
    return (_named(activation) == "tanh" and _named(recurrent_activation) == "sigmoid"
            and not unroll)


def _check(activation: Any, recurrent_activation: Any, unroll: bool) -> None:
    if not cudnn_ok(activation, recurrent_activation, unroll):
        raise NotImplementedError           # Keras then calls `rnn`


def lstm(inputs: Any, initial_state_h: Any, initial_state_c: Any, mask: Any, kernel: Any,
         recurrent_kernel: Any, bias: Any,
         activation: Any, recurrent_activation: Any, return_sequences: Any = False,
         go_backwards: Any = False,
         unroll: Any = False) -> Any:
    _check(activation, recurrent_activation, unroll)
    kernel, recurrent_kernel, bias = _all(kernel, recurrent_kernel, bias)
    h, c = _all(initial_state_h, initial_state_c)

    def run(x: df.Tensor, lengths: df.Tensor | None) -> tuple[df.Tensor, list[df.Tensor]]:
        y, (last_h, last_c) = df.nn.lstm(x, kernel, recurrent_kernel, bias, (h, c), lengths,
                                         go_backwards=go_backwards)
        return y, [last_h, last_c]

    return _over(run, inputs, h, mask, return_sequences, go_backwards)


def gru(inputs: Any, initial_state: Any, mask: Any, kernel: Any, recurrent_kernel: Any, bias: Any,
        activation: Any,
        recurrent_activation: Any, return_sequences: Any = False, go_backwards: Any = False,
        unroll: Any = False,
        reset_after: Any = True) -> Any:
    _check(activation, recurrent_activation, unroll)
    kernel, recurrent_kernel, bias = _all(kernel, recurrent_kernel, bias)
    h = convert_to_tensor(initial_state)

    def run(x: df.Tensor, lengths: df.Tensor | None) -> tuple[df.Tensor, list[df.Tensor]]:
        y, last = df.nn.gru(x, kernel, recurrent_kernel, bias, h, lengths, reset_after,
                            go_backwards=go_backwards)
        return y, [last]

    return _over(run, inputs, h, mask, return_sequences, go_backwards)


def _all(*xs: Any) -> Any:
    return [None if x is None else convert_to_tensor(x) for x in xs]


def _over(run: Any, inputs: Any, h: df.Tensor, mask: Any, return_sequences: bool,
          go_backwards: bool) -> tuple[Any, Any, Any]:
    """Run a kernel; return the last output, the outputs in order of computation, and the states.

    Masked steps, at any position of a row, are moved behind the others, and the kernel gets the
    number of unmasked steps. The output of a masked step is the output of the previous step.
    """
    x = convert_to_tensor(inputs)
    if mask is None:
        y, states = run(x, None)
    else:
        there = _there(mask)
        x = df.gather(x, df.argsort(df.logical_not(there), 1, stable=True), batch_dims=1)
        seen = df.cumsum(df.cast(there, df.int32), 1)
        y, states = run(x, seen[:, -1])
        if return_sequences:
            at = seen - df.cast(there, df.int32) if go_backwards else seen - 1
            none = df.equal(at, seen[:, -1:]) if go_backwards else at < 0
            y = df.gather(y, df.clip_by_value(at, 0, y.shape[1] - 1), batch_dims=1)
            y = df.where(df.expand_dims(none, 2), df.expand_dims(h, 1), y)
    last = states[0]
    if not return_sequences:
        return last, df.expand_dims(last, 1), states
    return last, df.reverse(y, [1]) if go_backwards else y, states


def _there(mask: Any) -> df.Tensor:
    mask = convert_to_tensor(mask, "bool")
    return df.squeeze(mask, -1) if mask.ndim == 3 else mask


def install(layers: Any) -> None:
    """Make LSTM and GRU layers that use kernels respect `zero_output_for_mask`."""
    for kind in (layers.LSTM, layers.GRU):
        kind.inner_loop = _obeying(kind.inner_loop)


def _obeying(inner_loop: Any) -> Any:
    @functools.wraps(inner_loop)
    def call(self: Any, sequences: Any, initial_state: Any, mask: Any, training: bool = False,
             ) -> tuple[Any, Any, Any]:
        last, outputs, states = inner_loop(self, sequences, initial_state, mask, training)
        mask = mask[0] if tree.is_nested(mask) else mask
        if mask is None or not self.zero_output_for_mask:
            return last, outputs, states
        there = _there(mask)
        there = df.reverse(there, [1]) if self.go_backwards else there
        last = df.where(there[:, -1:], last, df.zeros_like(last))
        if not self.return_sequences:
            return last, df.expand_dims(last, 1), states
        outputs = df.where(df.expand_dims(there, 2), outputs, df.zeros_like(outputs))
        return last, outputs, states

    return call


def bidirectional_lstm(inputs: Any, fwd_initial_state_h: Any, fwd_initial_state_c: Any,
                       bwd_initial_state_h: Any,
                       bwd_initial_state_c: Any, mask: Any, fwd_kernel: Any,
                       fwd_recurrent_kernel: Any, fwd_bias: Any,
                       bwd_kernel: Any, bwd_recurrent_kernel: Any, bwd_bias: Any, activation: Any,
                       recurrent_activation: Any, return_sequences: Any = False,
                       unroll: Any = False) -> Any:
    ahead = lstm(inputs, fwd_initial_state_h, fwd_initial_state_c, mask, fwd_kernel,
                 fwd_recurrent_kernel, fwd_bias, activation, recurrent_activation,
                 return_sequences, False, unroll)
    back = lstm(inputs, bwd_initial_state_h, bwd_initial_state_c, mask, bwd_kernel,
                bwd_recurrent_kernel, bwd_bias, activation, recurrent_activation,
                return_sequences, True, unroll)
    return ahead, _in_time(back)


def bidirectional_gru(inputs: Any, fwd_initial_state: Any, bwd_initial_state: Any, mask: Any,
                      fwd_kernel: Any,
                      fwd_recurrent_kernel: Any, fwd_bias: Any, bwd_kernel: Any,
                      bwd_recurrent_kernel: Any, bwd_bias: Any,
                      activation: Any, recurrent_activation: Any, return_sequences: Any = False,
                      unroll: Any = False,
                      reset_after: Any = True) -> Any:
    ahead = gru(inputs, fwd_initial_state, mask, fwd_kernel, fwd_recurrent_kernel, fwd_bias,
                activation, recurrent_activation, return_sequences, False, unroll, reset_after)
    back = gru(inputs, bwd_initial_state, mask, bwd_kernel, bwd_recurrent_kernel, bwd_bias,
               activation, recurrent_activation, return_sequences, True, unroll, reset_after)
    return ahead, _in_time(back)


def _in_time(results: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Return the outputs of a reversed layer in the order of its inputs."""
    last, outputs, states = results
    return last, df.reverse(outputs, [1]), states
