"""Recurrent layers: on the kernels of whole sequences where these do what is asked, else a loop."""

from typing import Any

from keras.src import tree

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor


def _time_first(x: Any) -> df.Tensor:
    x = convert_to_tensor(x)
    return df.transpose(x, [1, 0, *range(2, x.ndim)])


def _like(mask: df.Tensor, x: df.Tensor) -> df.Tensor:
    """A mask of rows with the rank of `x`."""
    return df.reshape(mask, [mask.shape[0], *[1] * (x.ndim - 1)])


def rnn(step_function, inputs, initial_states, go_backwards=False, mask=None, constants=None,
        unroll=False, input_length=None, time_major=False, zero_output_for_mask=False,
        return_all_outputs=True):
    order = convert_to_tensor if time_major else _time_first
    xs = tree.map_structure(order, inputs)
    states = tree.map_structure(convert_to_tensor, initial_states)
    constants = tuple(constants or ())
    if mask is not None:
        mask = convert_to_tensor(mask, "bool")
        mask = df.squeeze(mask, -1) if mask.ndim == 3 else mask
        mask = mask if time_major else df.transpose(mask)

    def step(states: Any, before: Any, x: Any, there: Any) -> tuple[Any, Any]:
        """One step; where the mask says that a row has none, states and output stay."""
        output, new = step_function(x, tuple(states) + constants)
        new = tree.pack_sequence_as(states, tree.flatten(new))
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
            before = carry[0]           # the first state is the output before
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


# --- kernels of whole sequences ---

def _named(function: Any) -> str | None:
    return getattr(function, "__name__", None)


def cudnn_ok(activation, recurrent_activation, unroll, use_bias=True):
    """Whether there is a kernel for a layer with these activations."""
    return (_named(activation) == "tanh" and _named(recurrent_activation) == "sigmoid"
            and not unroll)


def _check(mask: Any, activation: Any, recurrent_activation: Any, unroll: bool) -> None:
    if mask is not None or not cudnn_ok(activation, recurrent_activation, unroll):
        raise NotImplementedError           # Keras then takes `rnn`


def _results(y: df.Tensor, last: df.Tensor, states: list[df.Tensor], return_sequences: bool,
             ) -> tuple[Any, Any, Any]:
    return last, y if return_sequences else df.expand_dims(last, 1), states


def lstm(inputs, initial_state_h, initial_state_c, mask, kernel, recurrent_kernel, bias,
         activation, recurrent_activation, return_sequences=False, go_backwards=False,
         unroll=False):
    _check(mask, activation, recurrent_activation, unroll)
    x, kernel, recurrent_kernel, bias = _all(inputs, kernel, recurrent_kernel, bias)
    h, c = _all(initial_state_h, initial_state_c)
    y, (h, c) = df.nn.lstm(x, kernel, recurrent_kernel, bias, (h, c), go_backwards=go_backwards)
    return _results(_in_order(y, go_backwards), h, [h, c], return_sequences)


def _all(*xs: Any) -> Any:
    return [None if x is None else convert_to_tensor(x) for x in xs]


def _in_order(y: df.Tensor, go_backwards: bool) -> df.Tensor:
    """Outputs in the order in which they were made, as Keras has them."""
    return df.reverse(y, [1]) if go_backwards else y


def gru(inputs, initial_state, mask, kernel, recurrent_kernel, bias, activation,
        recurrent_activation, return_sequences=False, go_backwards=False, unroll=False,
        reset_after=True):
    _check(mask, activation, recurrent_activation, unroll)
    x, kernel, recurrent_kernel, bias = _all(inputs, kernel, recurrent_kernel, bias)
    y, h = df.nn.gru(x, kernel, recurrent_kernel, bias, convert_to_tensor(initial_state),
                     reset_after=reset_after, go_backwards=go_backwards)
    return _results(_in_order(y, go_backwards), h, [h], return_sequences)


def bidirectional_lstm(inputs, fwd_initial_state_h, fwd_initial_state_c, bwd_initial_state_h,
                       bwd_initial_state_c, mask, fwd_kernel, fwd_recurrent_kernel, fwd_bias,
                       bwd_kernel, bwd_recurrent_kernel, bwd_bias, activation,
                       recurrent_activation, return_sequences=False, unroll=False):
    ahead = lstm(inputs, fwd_initial_state_h, fwd_initial_state_c, mask, fwd_kernel,
                 fwd_recurrent_kernel, fwd_bias, activation, recurrent_activation,
                 return_sequences, False, unroll)
    back = lstm(inputs, bwd_initial_state_h, bwd_initial_state_c, mask, bwd_kernel,
                bwd_recurrent_kernel, bwd_bias, activation, recurrent_activation,
                return_sequences, True, unroll)
    return ahead, _in_time(back)


def bidirectional_gru(inputs, fwd_initial_state, bwd_initial_state, mask, fwd_kernel,
                      fwd_recurrent_kernel, fwd_bias, bwd_kernel, bwd_recurrent_kernel, bwd_bias,
                      activation, recurrent_activation, return_sequences=False, unroll=False,
                      reset_after=True):
    ahead = gru(inputs, fwd_initial_state, mask, fwd_kernel, fwd_recurrent_kernel, fwd_bias,
                activation, recurrent_activation, return_sequences, False, unroll, reset_after)
    back = gru(inputs, bwd_initial_state, mask, bwd_kernel, bwd_recurrent_kernel, bwd_bias,
               activation, recurrent_activation, return_sequences, True, unroll, reset_after)
    return ahead, _in_time(back)


def _in_time(results: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Outputs of a layer that went backwards, at the places of their inputs."""
    last, outputs, states = results
    return last, df.reverse(outputs, [1]), states
