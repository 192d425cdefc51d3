"""Names of NumPy, PyTorch and JAX that users type, and the dualflow code to use instead.

Loaded when an attribute is missing: the texts complete the message of the AttributeError.
"""

__all__ = ["METHODS", "NAMES", "no_attribute"]

_COPY = "a tensor never changes, so no copy is needed; x.numpy().copy() returns an array to change"
_GRADIENT = ("gradients are computed by `with dualflow.GradientTape() as tape:` and "
             "tape.gradient(y, x), or by dualflow.grad(f)")
_KERAS = "train a Keras model, with dualflow.keras as backend, on a dualflow.data.Dataset"
_MEMORY = "the CPU is the only device, and tensors are contiguous: use x itself"

# Methods and attributes of tensors. dualflow.ops.foreign lists the names.
METHODS = {
    "view": "use x.reshape(shape); for another dtype of the same bits, dualflow.bitcast(x, dtype)",
    "view_as": "use x.reshape(other.shape)",
    "reshape_as": "use x.reshape(other.shape)",
    "detach": "use dualflow.stop_gradient(x)",
    "to": "use x.astype(dtype); the CPU is the only device",
    "type": "use x.astype(dtype), or x.dtype for the current one",
    "type_as": "use x.astype(other.dtype)",
    "float": "use x.astype(dualflow.float32), or float(x) for a Python number",
    "double": "use x.astype(dualflow.float64)",
    "half": "use x.astype(dualflow.float16)",
    "bfloat16": "use x.astype(dualflow.bfloat16)",
    "int": "use x.astype(dualflow.int32), or int(x) for a Python number",
    "long": "use x.astype(dualflow.int64)",
    "bool": "use x.astype(dualflow.bool), or bool(x) for a Python bool",
    "cpu": _MEMORY,
    "cuda": "the CPU is the only device",
    "contiguous": _MEMORY,
    "is_contiguous": _MEMORY,
    "clone": _COPY,
    "unsqueeze": "use dualflow.expand_dims(x, axis)",
    "permute": "use x.transpose(axes)",
    "t": "use x.T",
    "backward": _GRADIENT,
    "grad": _GRADIENT,
    "grad_fn": _GRADIENT,
    "requires_grad": "variables are trainable or not (dualflow.Variable(value, trainable=False)); "
                     "tape.watch(x) watches a tensor",
    "requires_grad_": "use tape.watch(x) within `with dualflow.GradientTape() as tape:`",
    "retain_grad": "pass the tensor to tape.gradient(y, x)",
    "data": "use x.numpy() for the data, or dualflow.stop_gradient(x)",
    "dim": "use x.ndim",
    "numel": "use x.size",
    "element_size": "use x.dtype.itemsize",
    "expand": "use dualflow.broadcast_to(x, shape)",
    "expand_as": "use dualflow.broadcast_to(x, other.shape)",
    "masked_fill": "use dualflow.where(mask, value, x)",
    "index_select": "use dualflow.gather(x, indices, axis=axis)",
    "add_": "use x + y; v.assign_add(y) changes a variable",
    "sub_": "use x - y; v.assign_sub(y) changes a variable",
    "mul_": "use x * y; v.assign(v * y) changes a variable",
    "div_": "use x / y; v.assign(v / y) changes a variable",
    "copy_": "v.assign(value) changes a variable",
    "zero_": "v.assign(dualflow.zeros_like(v)) changes a variable",
    "fill_": "v.assign(dualflow.fill(v.shape, value)) changes a variable",
    "matmul": "use x @ y, or dualflow.matmul(x, y)",
    "mm": "use x @ y, or dualflow.matmul(x, y)",
    "bmm": "use x @ y, or dualflow.matmul(x, y)",
    "exp": "use dualflow.exp(x)",
    "log": "use dualflow.log(x)",
    "sqrt": "use dualflow.sqrt(x)",
    "abs": "use dualflow.abs(x)",
    "pow": "use x ** y, or dualflow.pow(x, y)",
    "sigmoid": "use dualflow.sigmoid(x)",
    "tanh": "use dualflow.tanh(x)",
    "relu": "use dualflow.nn.relu(x)",
    "softmax": "use dualflow.nn.softmax(x, axis)",
    "norm": "use dualflow.norm(x)",
    "add": "use x + y, or dualflow.add(x, y)",
    "mul": "use x * y, or dualflow.multiply(x, y)",
    "eq": "use x == y",
    "at": "a tensor never changes: use dualflow.tensor_scatter_nd_update(x, indices, values)",
    "fill": "a tensor never changes: use dualflow.fill(shape, value)",
    "argsort": "use dualflow.argsort(x)",
    "split": "use dualflow.split(x, sizes, axis)",
    "chunk": "use dualflow.split(x, n, axis)",
    "gather": "use dualflow.gather(x, indices, axis=axis, batch_dims=axis)",
    "dot": "use dualflow.tensordot(x, y, 1)",
    "flip": "use dualflow.reverse(x, axes)",
    "block_until_ready": "ops compute before they return: use x itself",
    "real": "use dualflow.math.real(x)",
    "imag": "use dualflow.math.imag(x)",
    "conj": "use dualflow.math.conj(x)",
    "conjugate": "use dualflow.math.conj(x)",
    "angle": "use dualflow.math.angle(x)",
}

# Names of the package.
NAMES = {
    "cat": "use dualflow.concat(tensors, axis)",
    "concatenate": "use dualflow.concat(tensors, axis)",
    "hstack": "use dualflow.concat(tensors, 1)",
    "vstack": "use dualflow.concat(tensors, 0)",
    "chunk": "use dualflow.split(x, n, axis)",
    "arange": "use dualflow.range(start, stop, step)",
    "tensor": "use dualflow.constant(value, dtype)",
    "array": "use dualflow.constant(value, dtype)",
    "asarray": "use dualflow.convert_to_tensor(value, dtype)",
    "as_tensor": "use dualflow.convert_to_tensor(value, dtype)",
    "from_numpy": "use dualflow.constant(array), which copies it, or "
                  "dualflow.convert_to_tensor(array)",
    "ndarray": "use dualflow.Tensor",
    "no_grad": "ops are recorded only within `with dualflow.GradientTape() as tape:`; "
               "tape.stop_recording() interrupts the recording",
    "enable_grad": _GRADIENT,
    "inference_mode": "ops are recorded only within `with dualflow.GradientTape()`: no mode is "
                      "needed",
    "set_grad_enabled": "ops are recorded only within `with dualflow.GradientTape()`",
    "autograd": _GRADIENT,
    "jit": "use dualflow.function(f)",
    "compile": "use dualflow.function(f)",
    "optim": "use dualflow.optimizers",
    "utils": "datasets are in dualflow.data",
    "numpy": "use dualflow itself, or dualflow.array_api for NumPy's names",
    "manual_seed": "use dualflow.random.set_seed(seed)",
    "seed": "use dualflow.random.set_seed(seed)",
    "rand": "use dualflow.random.uniform(shape)",
    "randn": "use dualflow.random.normal(shape)",
    "randint": "use dualflow.random.uniform(shape, low, high, dtype=dualflow.int32)",
    "randperm": "use dualflow.random.shuffle(dualflow.range(n))",
    "empty": "use dualflow.zeros(shape)",
    "empty_like": "use dualflow.zeros_like(x)",
    "full": "use dualflow.fill(shape, value)",
    "full_like": "use dualflow.fill(x.shape, value)",
    "permute": "use dualflow.transpose(x, axes)",
    "swapaxes": "use dualflow.transpose(x, axes)",
    "moveaxis": "use dualflow.transpose(x, axes)",
    "unsqueeze": "use dualflow.expand_dims(x, axis)",
    "flatten": "use dualflow.reshape(x, [-1])",
    "ravel": "use dualflow.reshape(x, [-1])",
    "flip": "use dualflow.reverse(x, axes)",
    "clamp": "use dualflow.clip_by_value(x, low, high)",
    "clip": "use dualflow.clip_by_value(x, low, high)",
    "sum": "use dualflow.reduce_sum(x, axis)",
    "mean": "use dualflow.reduce_mean(x, axis)",
    "prod": "use dualflow.reduce_prod(x, axis)",
    "max": "use dualflow.reduce_max(x, axis)",
    "min": "use dualflow.reduce_min(x, axis)",
    "amax": "use dualflow.reduce_max(x, axis)",
    "amin": "use dualflow.reduce_min(x, axis)",
    "any": "use dualflow.reduce_any(x, axis)",
    "all": "use dualflow.reduce_all(x, axis)",
    "std": "use dualflow.math.reduce_std(x, axis)",
    "var": "use dualflow.math.reduce_variance(x, axis)",
    "logsumexp": "use dualflow.reduce_logsumexp(x, axis)",
    "mul": "use dualflow.multiply(x, y)",
    "sub": "use dualflow.subtract(x, y)",
    "real": "use dualflow.math.real(x)",
    "imag": "use dualflow.math.imag(x)",
    "conj": "use dualflow.math.conj(x)",
    "angle": "use dualflow.math.angle(x)",
    "view_as_complex": "use dualflow.complex(x[..., 0], x[..., 1])",
    "view_as_real": "use dualflow.stack([dualflow.math.real(x), dualflow.math.imag(x)], -1)",
    "div": "use dualflow.divide(x, y)",
    "neg": "use dualflow.negative(x)",
    "power": "use dualflow.pow(x, y)",
    "absolute": "use dualflow.abs(x)",
    "mm": "use dualflow.matmul(x, y)",
    "bmm": "use dualflow.matmul(x, y)",
    "dot": "use dualflow.tensordot(x, y, 1)",
    "outer": "use dualflow.tensordot(x, y, 0)",
    "eq": "use dualflow.equal(x, y)",
    "ne": "use dualflow.not_equal(x, y)",
    "gt": "use dualflow.greater(x, y)",
    "ge": "use dualflow.greater_equal(x, y)",
    "lt": "use dualflow.less(x, y)",
    "le": "use dualflow.less_equal(x, y)",
    "nonzero": "use dualflow.where(x)",
    "take": "use dualflow.gather(x, indices, axis=axis)",
    "index_select": "use dualflow.gather(x, indices, axis=axis)",
    "expand": "use dualflow.broadcast_to(x, shape)",
    "relu": "use dualflow.nn.relu(x)",
    "gelu": "use dualflow.nn.gelu(x)",
    "softmax": "use dualflow.nn.softmax(x, axis)",
    "log_softmax": "use dualflow.nn.log_softmax(x, axis)",
    "dropout": "use dualflow.nn.dropout(x, rate)",
    "layers": "dualflow has modules (dualflow.Module) and the ops of dualflow.nn; layers are "
              "Keras's, with dualflow.keras as backend",
    "float": "use dualflow.float32, or dualflow.float64 as Python's float",
    "int": "use dualflow.int32, or dualflow.int64",
    "long": "use dualflow.int64",
    "is_available": "the CPU is the only device",
    "cuda": "the CPU is the only device",
    "set_num_threads": "use dualflow.config.set_num_threads(n)",
    "set_default_dtype": "pass a dtype: Python floats become float32",
    "device_put": "the CPU is the only device: use dualflow.convert_to_tensor(x)",
    "placeholder": "use dualflow.function; TensorFlow 1's names are in dualflow.compat.v1",
    "Session": "use dualflow.function; TensorFlow 1's names are in dualflow.compat.v1",
    "global_variables_initializer": "variables have values from the start; TensorFlow 1's names "
                                    "are in dualflow.compat.v1",
    "estimator": _KERAS,
    "feature_column": _KERAS,
    "tpu": "the CPU is the only device",
    "xla": "use dualflow.function(f, jit_compile=True)",
    "lite": "use dualflow.export_library for a program in C",
}


def no_attribute(owner: str, name: str) -> str:
    """Return the message of an AttributeError.

    Parameters
    ----------
    owner : str
        The class of a tensor, or the empty string for the package.
    name : str

    Returns
    -------
    str

    Examples
    --------
    >>> from dualflow._util.foreign_names import no_attribute
    >>> no_attribute("", "arange")
    "module 'dualflow' has no attribute 'arange'; use dualflow.range(start, stop, step)"
    """
    start = f"'{owner}' object" if owner else "module 'dualflow'"
    advice = (METHODS if owner else NAMES).get(name)
    return f"{start} has no attribute {name!r}" + (f"; {advice}" if advice else "")
