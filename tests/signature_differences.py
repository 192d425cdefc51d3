"""Differences between functions and the TensorFlow functions of the same name, with reasons.

`EVERYWHERE` lists arguments that differ in every function; `DIFFERENCES` those of one function,
keyed by ``(function, argument)``, or ``(function, "*")`` for the function as a whole."""

EVERYWHERE = {
    "name": "ops that are not named get a name of their own kind; TensorFlow's defaults differ",
    "layout": "of DTensor; there is one device",
    "bad_indices_policy": "indices out of range raise",
    "kwargs": "arguments are named one by one",
    "args": "arguments are named one by one",
    "input_axes": "fans follow from the last two dimensions, as Keras's defaults say",
    "output_axes": "fans follow from the last two dimensions, as Keras's defaults say",
    "expand_composites": "composite tensors are always expanded",
    "window_fn": "the function's address",
    "forward_window_fn": "the function's address",
    "parallel_iterations": "nothing runs in parallel but branches and kernels",
}

REQUIRED = "TensorFlow raises without it too"
OWN = "the signature is dualflow's own"

DIFFERENCES = {
    ("GradientTape.batch_jacobian", "experimental_use_pfor"): "one way to compute them",
    ("GradientTape.jacobian", "experimental_use_pfor"): "one way to compute them",
    ("TensorArray", "dynamic_size"): "None means False",
    ("UnconnectedGradients", "*"): "a class of names, not an Enum",
    ("autograph.to_code", "*"): OWN,
    ("autograph.to_graph", "*"): OWN,
    ("cond", "true_fn"): REQUIRED,
    ("cond", "false_fn"): REQUIRED,
    ("custom_gradient", "f"): REQUIRED,
    ("constant_initializer", "support_partition"): "variables are not cut into parts",
    ("debugging.assert_all_finite", "message"): "not required",
    ("debugging.assert_shapes", "data"): "errors show the shapes",
    ("debugging.assert_shapes", "summarize"): "errors show the shapes",
    ("debugging.enable_check_numerics", "stack_height_limit"): "frames are not recorded",
    ("debugging.enable_check_numerics", "path_length_limit"): "frames are not recorded",
    ("function", "*"): "dualflow's own options come by keyword; those of experiments are left out",
    ("image.stateless_random_saturation", "seed"): REQUIRED,
    ("gradients", "*"): "TensorFlow 1's, for graphs that sessions run",
    **{(f"initializers.{family}_{kind}", "*"): "takes a shape besides, and then makes the tensor "
       "at once" for family in ("glorot", "he", "lecun")
       for kind in ("normal", "uniform")},
    ("linalg.lu", "output_idx_type"): "int32 always",
    **{(f, g): "of sparse gradients" for f in ("linalg.matmul", "matmul")
       for g in ("grad_a", "grad_b")},
    **{(f, "dim"): "the name of axis in TensorFlow 1"
       for f in ("linalg.l2_normalize", "math.l2_normalize", "nn.l2_normalize")},
    **{(f, "keepdims"): "None means False" for f in ("linalg.norm", "math.count_nonzero", "norm")},
    ("nn.bias_add", "data_format"): "None means NHWC",
    ("nn.depthwise_conv2d_backprop_filter", "dilations"): "None means 1",
    ("nn.depthwise_conv2d_backprop_input", "dilations"): "None means 1",
    ("nn.pool", "strides"): "None means 1",
    ("nn.pool", "dilations"): "None means 1",
    ("nn.sigmoid_cross_entropy_with_logits", "labels"): REQUIRED,
    ("nn.sigmoid_cross_entropy_with_logits", "logits"): REQUIRED,
    ("print", "inputs"): "called values",
    ("py_function", "*"): "takes use_tape_cache besides, before name",
    ("random.Generator", "*"): "made from a seed",
    ("random.categorical", "dtype"): "None means int64",
    ("scan", "*"): "takes JAX's arguments by position and TensorFlow's by name",
    ("shape", "out_type"): "None means int32",
    ("size", "out_type"): "None means int32",
    ("strided_slice", "var"): "of TensorFlow 1, for assignment",
}

# Different results for the same arguments: {call: (result in dualflow, reason)}.
BEHAVIOUR = {
    "add([1], [1.5])": ("[2.5]", "dtypes are promoted; TensorFlow raises"),
    "divide(1, 2)": ("0.5", "a quotient of integers is float32, float64 in TensorFlow"),
    "reduce_mean([1, 2])": ("1.5", "as in NumPy; TensorFlow's is the integer 1"),
    "gather([1, 2], [-1])": ("[2]", "indices count from the end as in Python"),
    "zeros([], 'int32') + 1.5": ("1.5", "numbers are weak within a kind; TensorFlow raises"),
}
