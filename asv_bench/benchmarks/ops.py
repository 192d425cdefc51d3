"""Every op of the C table on medium sizes, called through `apply`.

Elementwise ops need no entry: their inputs are derived from the op's record.
`tests/test_complete.py` fails if another op has no entry.
"""

import dualflow as df
from dualflow import _core

N = 1 << 18        # elements of an elementwise input: 1 MB of float32, within L2
ROWS, COLUMNS = 1024, 512

BYTES = {"least": 0.0, "most": 255.0}
ELEMENTWISE_ATTRS = {"cast": {"dtype": "float64"}, "polygamma": {"n": 1},
                     "fake_quant": {**BYTES, "divide": True},
                     "fake_quant_grad": {**BYTES, "side": 0}}


def floats(*shape):
    return df.random.uniform(shape, 0.1, 0.9, seed=1)


def indices(n, below):
    return df.random.uniform([n], 0, below, dtype=df.int64, seed=2)


# Series and continued fractions, which take a microsecond or more per element.
SERIES = {"igamma", "igammac", "igamma_grad_a", "betainc", "zeta"}


def elementwise_inputs(op):
    """Return inputs of the first dtype among float32, int32 and bool with a kernel for the op."""
    dtypes = op.dtypes or ("float32",)
    dtype = next(d for d in ("float32", "int32", "bool", *dtypes) if d in dtypes)
    n = N // 256 if op.name in SERIES else N
    x = df.cast(df.random.uniform([n], 0.1, 0.9, seed=1) * (1 if dtype == "float32" else 3), dtype)
    if op.name == "where":
        return [x > 0.5, x, x]
    if op.name == "zeta":                   # undefined for x < 1
        return [x + 1, x]
    return [x] * op.n_in


def elementwise_attrs(op):
    return ELEMENTWISE_ATTRS.get(op.name, {name: 0.5 for name in op.attrs})


def matrix(**attrs):
    """Return an entry for an op on one matrix."""
    return lambda: ([floats(ROWS, COLUMNS)], attrs)


def positive_definite():
    """Return a square matrix whose factorisations and inverse exist."""
    x = floats(COLUMNS, COLUMNS)
    return df.matmul(x, x, transpose_b=True) + df.eye(COLUMNS)


def pair(*rest, **attrs):
    """Return an entry for an op on two matrices and further inputs."""
    return lambda: ([floats(ROWS, COLUMNS), floats(ROWS, COLUMNS), *(r() for r in rest)], attrs)


def normalized(*rest, **attrs):
    """Return an entry for a normalization of a matrix's rows; `rest`: lengths of parameters, or
    None for another matrix."""
    return lambda: ([floats(ROWS, COLUMNS), *(floats(n) if n else floats(ROWS, COLUMNS)
                                              for n in rest)], {"ndim": 1, **attrs})


def image(*rest, **attrs):
    """Return an entry for a normalization of the channels of 4 images."""
    def shaped():
        return floats(4, ROWS // 4, COLUMNS)

    return lambda: ([shaped(), *(floats(n) if n else shaped() for n in rest)],
                    {"channels_first": False, **attrs})


def bools():
    return [floats(ROWS, COLUMNS) > 0.5], {"axes": [1], "keepdims": False}


def variable():
    return [df.Variable(floats(N)), floats(N)], {}


def scattered():
    return [floats(ROWS, COLUMNS), rows(), floats(ROWS, COLUMNS)], {}


def rows():
    """Return row indices, in the form of index tuples."""
    return df.reshape(indices(ROWS, ROWS), [ROWS, 1])


def segments():
    return df.constant([i // 8 for i in range(ROWS)], dtype="int64")


def drawn(dtype="float32", **attrs):
    """Return an entry for a random op with scalar parameters."""
    return lambda: ([df.constant([1, 0], dtype="int64")], {"shape": [N], "dtype": dtype, **attrs})


def distributed(n_parameters):
    """Return an entry for a random op with parameters for each element."""
    return lambda: ([df.constant([1, 0], dtype="int64"), *[floats(N)] * n_parameters], {})


def labelled(gradient=False):
    """Return an entry for CTC: 32 texts of 20 letters, 100 steps of 28 classes."""
    def inputs():
        labels = df.random.uniform([32, 20], 1, 28, dtype=df.int32, seed=2)
        lengths = df.fill([32], 20), df.fill([32], 100)
        given = [labels, floats(100, 32, 28), *lengths, *([floats(32)] if gradient else [])]
        return given, {"blank_index": 0, "time_major": True}

    return inputs


ATTENTION = {"is_causal": True, "scale": 1.0, "over_root": True, "rate": 0.0,
             "heads_inner": False}


def attended():
    """Return query, key, value, mask and PRNG key; 8 texts of 128 tokens, 4 heads of 64."""
    return [floats(8, 4, 128, 64)] * 3 + [df.constant(True), df.constant([0, 0], dtype="int64")]


def attention_grads():
    made = _core.apply("scaled_dot_product_attention", *attended(), **ATTENTION)
    return [*attended(), *made, floats(8, 4, 128, 64)], ATTENTION

# Optimizer updates: number of slots, inputs after the learning rate, attributes.
STEP = df.constant(1, dtype="int64")
ADAM = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7, "weight_decay": 0.0}
RMSPROP = {"rho": 0.9, "momentum": 0.0, "epsilon": 1e-7}
UPDATES = {"sgd_update": (0, [], {}), "momentum_update": (1, [], {"momentum": 0.9,
                                                                  "nesterov": False}),
           "adam_update": (2, [STEP], ADAM), "amsgrad_update": (3, [STEP], ADAM),
           "rmsprop_update": (2, [], RMSPROP), "centered_rmsprop_update": (3, [], RMSPROP),
           "adagrad_update": (1, [], {"epsilon": 1e-7})}


def update(n_slots, rest, attrs, rows=False, mixed=False):
    """Return an entry for an optimizer's update. `rows`: the gradient consists of rows. `mixed`:
    variable and gradient are bfloat16, and the first slot is the master."""
    def entry():
        dtype = "bfloat16" if mixed else "float32"
        variable = df.cast(floats(ROWS, COLUMNS), dtype)
        slots = [df.Variable(floats(ROWS, COLUMNS)) for _ in range(n_slots + mixed)]
        gradient = [df.cast(floats(ROWS // 8, COLUMNS), dtype),
                    indices(ROWS // 8, ROWS)] if rows else [variable]
        return [df.Variable(variable), *slots, *gradient, df.constant(0.01), *rest], attrs

    return entry


# x[:, ::2]
EVERY_SECOND = {"begin": [0, 0], "end": [ROWS, COLUMNS], "strides": [1, 2], "kind": [0, 0]}
REDUCED = {"axes": [1], "keepdims": False}
CONVOLVED = {"strides": [1, 1], "dilations": [1, 1], "same": True, "pads": [],
             "exact": False}
RESPONSE = {"depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5}
CUMULATED = {"axis": 1, "exclusive": False, "reverse": False}

HALVED = {"window": [2, 2], "strides": [2, 2], "dilations": [1, 1], "paddings": [0] * 4, "rule": 0}

THREES = {"window": [3, 3], "strides": [1, 1], "dilations": [1, 1], "paddings": [1] * 4, "rule": 0}
HALF_HEIGHT = {"axis": 1, "size": 32, "method": 0, "antialias": True}


def quantized():
    """Return a row, a matrix with 4 bits, and attributes."""
    q = df.quantization.quantize_weights(floats(ROWS, COLUMNS), 4)
    return [floats(1, ROWS), q.values, q.scales, q.zero_points], {
        "bits": 4, "group_size": 32, "channels": COLUMNS, "depth": ROWS}


def pooled(pixels, places=False):
    """Return an entry for an op that reads or produces images, with windows of 2x2 pixels."""
    def make():
        x = floats(16, 28, 28, 32)
        y, at = _core.apply("max_pool", x, places="uint8", **HALVED)
        given, attrs = (x, {}) if pixels == "read" else (y, {"shape": x.shape})
        return [given, at][:1 + places], {**attrs, **HALVED}
    return make


# op -> function without arguments that returns (inputs, attributes)
OTHERS = {
    "add_n": lambda: ([floats(N)] * 4, {}),
    "strided_slice": matrix(**EVERY_SECOND),
    "strided_slice_grad": lambda: ([floats(ROWS, COLUMNS // 2)],
                                   {"shape": [ROWS, COLUMNS], **EVERY_SECOND}),
    "pad": lambda: ([floats(ROWS, COLUMNS), df.constant(0.0)], {"paddings": [1, 1, 1, 1]}),
    "roll": matrix(shift=3, axis=1),
    "band_part": matrix(num_lower=-1, num_upper=0),
    "range": lambda: ([df.constant(0.0), df.constant(float(N)), df.constant(1.0)], {"n": N}),
    "linspace": lambda: ([df.constant(0.0), df.constant(1.0)], {"num": N}),
    "one_hot": lambda: ([indices(ROWS, COLUMNS), df.constant(1.0), df.constant(0.0)],
                        {"depth": COLUMNS, "axis": -1}),
    "max_pool": lambda: ([floats(16, 28, 28, 32)], {"places": "uint8", **HALVED}),
    "max_pool_pick": pooled("read", places=True),
    "max_pool_grad": pooled("made", places=True),
    "avg_pool": pooled("read"),
    "avg_pool_grad": pooled("made"),
    "resample": lambda: ([floats(16, 64, 64, 16)], HALF_HEIGHT),
    "resample_grad": lambda: ([floats(16, 32, 64, 16)], {**HALF_HEIGHT, "size": 64}),
    "extract_patches": lambda: ([floats(16, 28, 28, 8)], THREES),
    "extract_patches_grad": lambda: ([floats(16, 28, 28, 72)],
                                     {"shape": [16, 28, 28, 8], **THREES}),
    "softmax": matrix(axis=-1),
    "log_softmax": matrix(axis=-1),
    "softmax_grad": pair(axis=-1),
    "log_softmax_grad": pair(axis=-1),
    "softmax_cross_entropy": pair(axis=-1),
    "softmax_cross_entropy_grad": pair(lambda: floats(ROWS), axis=-1),
    "sparse_softmax_cross_entropy": lambda: ([indices(ROWS, COLUMNS), floats(ROWS, COLUMNS)], {}),
    "sparse_softmax_cross_entropy_grad": lambda: ([indices(ROWS, COLUMNS), floats(ROWS, COLUMNS),
                                                   floats(ROWS)], {}),
    "ctc_loss": labelled(),
    "ctc_loss_grad": labelled(True),
    "ctc_beam_search": lambda: ([floats(100, 32, 28), df.fill([32], 100)],
                                {"blank_index": 0, "beam_width": 10, "top_paths": 1}),
    "layer_norm": normalized(COLUMNS, COLUMNS, epsilon=1e-5),
    "layer_norm_grad": normalized(None, COLUMNS, epsilon=1e-5),
    "rms_norm": normalized(COLUMNS, epsilon=1e-6),
    "rms_norm_grad": normalized(None, COLUMNS, epsilon=1e-6),
    "l2_normalize": normalized(epsilon=1e-12),
    "l2_normalize_grad": normalized(None, epsilon=1e-12),
    "fused_batch_norm": image(COLUMNS, COLUMNS, epsilon=1e-3),
    "fused_batch_norm_grad": image(None, COLUMNS, epsilon=1e-3),
    "group_norm": image(COLUMNS, COLUMNS, epsilon=1e-5, groups=32),
    "group_norm_grad": image(None, COLUMNS, epsilon=1e-5, groups=32),
    "local_response_normalization": lambda: ([floats(4, 32, 32, 64)], RESPONSE),
    "local_response_normalization_grad": lambda: ([floats(4, 32, 32, 64)] * 2, RESPONSE),
    "matmul": lambda: ([floats(256, 256), floats(256, 256)],
                       {"transpose_a": False, "transpose_b": False}),
    "matmul_int32": lambda: ([df.cast(floats(256, 256) * 40, df.int8)] * 2,
                             {"transpose_a": False, "transpose_b": False}),
    "conv": lambda: ([floats(8, 28, 28, 32), floats(3, 3, 32, 64)], CONVOLVED),
    "conv_int32": lambda: ([df.cast(floats(8, 28, 28, 32) * 40, df.int8),
                            df.cast(floats(3, 3, 32, 64) * 40, df.int8), df.constant(0, df.int8)],
                           CONVOLVED),
    "conv_backprop_input": lambda: ([floats(3, 3, 32, 64), floats(8, 28, 28, 64)],
                                    {"shape": [8, 28, 28, 32], **CONVOLVED}),
    "conv_backprop_filter": lambda: ([floats(8, 28, 28, 32), floats(8, 28, 28, 64)],
                                     {"shape": [3, 3, 32, 64], **CONVOLVED}),
    "scaled_dot_product_attention": lambda: (attended(), ATTENTION),
    "scaled_dot_product_attention_grad": attention_grads,
    "assign": variable,
    "assign_add": variable,
    "assign_sub": variable,
    "reduce_sum": matrix(**REDUCED),
    "reduce_prod": matrix(**REDUCED),
    "reduce_max": matrix(**REDUCED),
    "reduce_min": matrix(**REDUCED),
    "reduce_mean": matrix(**REDUCED),
    "reduce_variance": matrix(**REDUCED),
    "reduce_std": matrix(**REDUCED),
    "reduce_euclidean_norm": matrix(**REDUCED),
    "reduce_logsumexp": matrix(**REDUCED),
    "reduce_any": bools,
    "reduce_all": bools,
    "argmax": matrix(axis=1, output_type="int64"),
    "argmin": matrix(axis=1, output_type="int64"),
    "bitcast": matrix(dtype="int32"),
    "cumulative_logsumexp": matrix(**CUMULATED),
    "cumsum": matrix(**CUMULATED),
    "cumprod": matrix(**CUMULATED),
    "cumulative_recurrence": lambda: ([floats(ROWS, COLUMNS), floats(ROWS, COLUMNS)], CUMULATED),
    "reshape": matrix(shape=[COLUMNS, ROWS]),
    "expand_dims": matrix(axis=0),
    "squeeze": lambda: ([floats(1, N)], {"axis": [0]}),
    "identity": matrix(),
    "stop_gradient": matrix(),
    "broadcast_to": lambda: ([floats(COLUMNS)], {"shape": [ROWS, COLUMNS]}),
    "transpose": matrix(perm=[1, 0]),
    "shape": matrix(),
    "size": matrix(),
    "concat": lambda: ([floats(ROWS, COLUMNS // 2)] * 2, {"axis": 1}),
    "stack": lambda: ([floats(ROWS, COLUMNS // 2)] * 2, {"axis": 1}),
    "split": matrix(axis=1, sizes=[], num=4),
    "unstack": lambda: ([floats(4, N // 4)], {"axis": 0}),
    "gather": lambda: ([floats(ROWS, COLUMNS), indices(ROWS, ROWS)], {"axis": 0, "batch_dims": 0}),
    "gather_grad": lambda: ([floats(ROWS, COLUMNS), indices(ROWS, ROWS)],
                            {"shape": [ROWS, COLUMNS], "axis": 0, "batch_dims": 0}),
    "gather_nd": lambda: ([floats(ROWS, COLUMNS), rows()], {"axis": 0, "batch_dims": 0}),
    "scatter_nd": lambda: ([rows(), floats(ROWS, COLUMNS)],
                           {"shape": [ROWS, COLUMNS], "axis": 0, "batch_dims": 0}),
    "tensor_scatter_nd_add": scattered,
    "tensor_scatter_nd_sub": scattered,
    "tensor_scatter_nd_update": scattered,
    "tensor_scatter_nd_min": scattered,
    "tensor_scatter_nd_max": scattered,
    "tensor_scatter_nd_mul": scattered,
    "scatter_update_grad": lambda: ([floats(ROWS, COLUMNS), rows()], {}),
    "segment_sum": lambda: ([floats(ROWS, COLUMNS), segments()], {"num_segments": -1}),
    "segment_gather": lambda: ([floats(ROWS // 8, COLUMNS), segments()], {}),
    "where_indices": lambda: ([floats(ROWS, COLUMNS) > 0.5], {}),
    **{name: update(*of) for name, of in UPDATES.items()},
    **{f"{name}_rows": update(*of, rows=True) for name, of in UPDATES.items()},
    **{f"{name}_mixed": update(*of, mixed=True) for name, of in UPDATES.items()},
    **{f"{name}_mixed_rows": update(*of, True, True) for name, of in UPDATES.items()},
    "merge_rows": lambda: ([floats(ROWS, COLUMNS), indices(ROWS, ROWS // 8)],
                           {"n": ROWS, "spread": False}),
    "matmul_quantized": quantized,
    "sparse_dense_matmul": lambda: (
        [df.stack([indices(ROWS, ROWS), indices(ROWS, COLUMNS)], 1), floats(ROWS),
         floats(COLUMNS, COLUMNS)], {"rows": ROWS, "adjoint": False}),
    "random_uniform": drawn(minval=0.0, maxval=1.0),
    "random_normal": drawn(mean=0.0, stddev=1.0),
    "truncated_normal": drawn(mean=0.0, stddev=1.0),
    "random_integers": drawn("int32", minval=0, maxval=10),
    "random_permutation": lambda: ([df.constant([1, 0], dtype="int64")], {"n": N}),
    "random_gamma": distributed(1),
    "random_poisson": distributed(1),
    "random_binomial": distributed(2),
    "cholesky": lambda: ([positive_definite()], {}),
    "triangular_solve": lambda: ([positive_definite(), floats(COLUMNS, COLUMNS)],
                                 {"lower": True, "adjoint": False}),
    "lu": lambda: ([positive_definite()], {}),
    "qr": lambda: ([positive_definite()], {"full": False}),
    "solve": lambda: ([positive_definite(), *df.linalg.lu(positive_definite()),
                       floats(COLUMNS, COLUMNS)], {"adjoint": False}),
    "inv": lambda: ([positive_definite()], {}),
    "det": lambda: ([positive_definite()], {}),
    "slogdet": lambda: ([positive_definite()], {}),
    "fft": lambda: ([df.cast(floats(64, 1024), "complex64")],
                    {"axis": 1, "inverse": False, "norm": 0}),
    "rfft": lambda: ([floats(64, 1024)],
                     {"n": 1024, "inverse": False, "norm": 0, "adjoint": False}),
    "sort": matrix(descending=False),
    "argsort": matrix(descending=False),
    "top_k": matrix(k=10),
    "searchsorted": lambda: ([df.sort(floats(N)), floats(N)],
                             {"right": False, "out_type": "int32"}),
    "in_top_k": lambda: ([indices(ROWS, COLUMNS), floats(ROWS, COLUMNS)], {"k": 5}),
    "unique": lambda: ([indices(N, ROWS)], {"out_idx": "int32"}),
    "bincount": lambda: ([indices(N, ROWS)], {"minlength": 0, "maxlength": -1, "dtype": "int32"}),
    "confusion_matrix": lambda: ([indices(N, 10), indices(N, 10)],
                                 {"num_classes": 10, "dtype": "int32"}),
}


def recurrent(gates, n_biases, n_states, **attrs):
    """Return an entry for 16 steps of 32 sequences, 64 features to 128 units."""
    def inputs():
        weights = [floats(64, gates * 128), floats(128, gates * 128), floats(gates * 128)]
        states = [floats(128)] * (n_biases - 1) + [floats(32, 128)] * n_states
        lengths = df.fill([32], df.constant(16, dtype="int64"))
        return ([floats(32, 16, 64), *weights, *states, lengths],
                {"reverse": False, "time_major": False, **attrs})

    return inputs


OTHERS |= {
    "simple_rnn": recurrent(1, 1, 1, relu=False),
    "lstm": recurrent(4, 1, 2),
    "gru": recurrent(3, 2, 1, reset_after=True),
}


def has_benchmark(name):
    return _core.get_op(name).kind == "elementwise" or name in OTHERS


class Ops:
    params = [name for name in _core.ops() if has_benchmark(name)]
    param_names = ["op"]

    def setup(self, op):
        handle = _core.get_op(op)
        if handle.kind == "elementwise":
            self.inputs, self.attrs = elementwise_inputs(handle), elementwise_attrs(handle)
        else:
            self.inputs, self.attrs = OTHERS[op]()
        _core.apply(op, *self.inputs, **self.attrs)

    def time_apply(self, op):
        _core.apply(op, *self.inputs, **self.attrs)


class HalfOps:
    """Ops on 16-bit floats whose kernels widen pieces of their operands."""

    images = ["fused_batch_norm", "fused_batch_norm_grad", "max_pool", "max_pool_grad", "avg_pool",
              "conv", "conv_backprop_input", "conv_backprop_filter"]
    rows = ["layer_norm", "layer_norm_grad", "rms_norm", "sparse_softmax_cross_entropy"]
    params = [["bfloat16", "float16"],
              ["sum of rows", "sum of columns", "softmax", "cross entropy", *images, *rows]]
    param_names = ["dtype", "op"]

    def setup(self, dtype, op):
        x = df.cast(df.random.normal([512, 1024], seed=1), dtype)
        if op in (*self.images, *self.rows):
            inputs, attrs = OTHERS[op]()
            inputs = [df.cast(x, dtype) if x.dtype.is_floating else x for x in inputs]
            self.run = lambda: _core.apply(op, *inputs, **attrs)
            self.run()
            return
        self.run = {"sum of rows": lambda: df.reduce_sum(x, 1),
                    "sum of columns": lambda: df.reduce_sum(x, 0),
                    "softmax": lambda: df.nn.softmax(x),
                    "cross entropy": lambda: df.nn.softmax_cross_entropy_with_logits(x, x)}[op]
        self.run()

    def time_apply(self, dtype, op):
        self.run()
