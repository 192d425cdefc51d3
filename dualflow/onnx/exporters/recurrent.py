"""Export rules of recurrent layers, and reasons for ops that cannot be exported."""

from __future__ import annotations

from dualflow.dtypes import int32
from dualflow.onnx.exporters.registry import refuse, rule

# The standard's order of gates, as indices into dualflow's order; simple_rnn has one.
GATES = {"RNN": [0], "LSTM": [0, 3, 1, 2], "GRU": [0, 1, 2]}


def _gates(w, kind, x, symbol):
    """Return the columns of gates in the standard's order, (..., gates * units)."""
    if kind != "LSTM":
        return x
    axis = symbol.ndim - 1
    parts = w.ops("Split", [x], [x.dtype] * 4, axis=axis, num_outputs=4)
    return w.op("Concat", *[parts[k] for k in GATES[kind]], axis=axis)


def _layer(w, node, kind, x, kernel, recurrent, bias, states, lengths, **more):
    """Write one layer in one direction; weights and states get a leading direction dimension."""
    k_at, r_at = node.inputs[1:3]
    if not node["time_major"]:
        x = w.transpose(x, [1, 0, 2])
    weights = [w.unsqueeze(w.transpose(_gates(w, kind, m, s), [1, 0]), 0)
               for m, s in ((kernel, k_at), (recurrent, r_at))]
    units = node.fixed("units", [r_at.known_shape[0]])[0]
    dtypes = [x.dtype] * (1 + len(states))
    made = w.ops(kind, [x, *weights, bias, lengths.cast(int32),
                        *[w.unsqueeze(s, 0) for s in states]], dtypes, hidden_size=units,
                 direction="reverse" if node["reverse"] else "forward", **more)
    y = w.squeeze(made[0], 1)
    y = y if node["time_major"] else w.transpose(y, [1, 0, 2])
    ended = w.unsqueeze(lengths.is_(0), -1)         # empty sequence: runtimes differ
    return [y, *[w.where(ended, s, w.squeeze(m, 0))
                 for s, m in zip(states, made[1:], strict=True)]]


def _biases(w, first, second=None):
    """Concatenate the biases of both products."""
    second = first - first if second is None else second
    return w.unsqueeze(w.op("Concat", first, second, axis=0), 0)


@rule("simple_rnn")
def _(w, node, x, kernel, recurrent, bias, h, lengths):
    made = _layer(w, node, "RNN", x, kernel, recurrent, _biases(w, bias), [h], lengths,
                  activations=["Relu" if node["relu"] else "Tanh"])
    return [*made, *[None] * (len(node.outputs) - 2)]


@rule("lstm")
def _(w, node, x, kernel, recurrent, bias, h, c, lengths):
    bias = _gates(w, "LSTM", bias, node.inputs[3])
    made = _layer(w, node, "LSTM", x, kernel, recurrent, _biases(w, bias), [h, c], lengths)
    return [*made, *[None] * (len(node.outputs) - 3)]


@rule("gru")
def _(w, node, x, kernel, recurrent, bias, inner, h, lengths):
    zeros = w.op("Concat", inner - inner, inner - inner, inner, axis=0)
    made = _layer(w, node, "GRU", x, kernel, recurrent, _biases(w, bias, zeros), [h], lengths,
                  linear_before_reset=int(node["reset_after"]))
    return [*made, *[None] * (len(node.outputs) - 2)]


refuse("it writes a variable, and a file has no state", "assign", "assign_add", "assign_sub",
       *[f"{name}_update{rows}" for name in ("sgd", "momentum", "adam", "amsgrad", "rmsprop",
                                             "centered_rmsprop", "adagrad")
         for rows in ("", "_rows", "_mixed", "_mixed_rows")])
refuse("it draws from a generator, and a file has no state", "random_uniform",
       "random_integers", "random_normal", "truncated_normal", "random_permutation", "next_key",
       "random_gamma", "random_poisson", "random_binomial")
refuse("ONNX has no operators of complex numbers", "complex", "real", "imag", "conj", "angle")
refuse("it calls Python", "host_call", "host_compute", "host_start", "host_wait")
refuse("ONNX files have no complex numbers", "fft", "rfft")
refuse("gradients of recurrent layers are not written; save the function without them",
       "simple_rnn_grad", "lstm_grad", "gru_grad")
refuse("only passes create it, and files are written before passes run", "matmul_cluster",
       "matmul_int32_cluster", "conv_int32_cluster",
       "pack_matrix", "matmul_packed", "matmul_packed_cluster", "conv_cluster", "conv_transform",
       "conv_transformed", "conv_transformed_cluster", "conv_pack", "conv_packed",
       "conv_packed_cluster", "conv_scaled", "conv_scaled_cluster", "pack_kernel",
       "simple_rnn_packed", "lstm_packed", "gru_packed", "channel_sum", "channel_mean",
       "channel_sum_of_squares", "channel_mean_of_squares", "channel_variance", "cluster",
       "dynamic_attrs", "dimension", "assert_sizes", "sum_of_slices", "add_rows")
