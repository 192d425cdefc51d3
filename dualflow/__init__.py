"""dualflow: tensor programs that run eagerly or as a graph, on pure-C kernels.

Graph mode is loaded when one of its names is first used: eager programs start in half the time.
"""

import importlib
from typing import TYPE_CHECKING, Any

from dualflow import (
    autodiff,
    bitwise,
    config,
    image,
    initializers,
    linalg,
    math,
    memory,
    nest,
    nn,
    ops,
    optimizers,
    random,
    testing,
)
from dualflow._core import Tensor, TensorBase, TensorSpec, Variable, from_dlpack
from dualflow.autodiff import (
    GradientTape,
    UnconnectedGradients,
    custom_gradient,
    grad,
    value_and_grad,
)
from dualflow.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from dualflow.ops.arithmetic import abs, add, add_n, multiply, negative, sign, square, subtract
from dualflow.ops.array import (
    broadcast_to,
    ensure_shape,
    expand_dims,
    identity,
    rank,
    reshape,
    shape,
    size,
    squeeze,
    stop_gradient,
    transpose,
)
from dualflow.ops.bitwise import logical_and, logical_not, logical_or
from dualflow.ops.cast import cast, saturate_cast
from dualflow.ops.clip import clip_by_global_norm, clip_by_norm
from dualflow.ops.compare import equal, greater, greater_equal, less, less_equal, not_equal, where
from dualflow.ops.creation import (
    constant,
    convert_to_tensor,
    eye,
    fill,
    linspace,
    meshgrid,
    one_hot,
    ones,
    ones_like,
    range,
    zeros,
    zeros_like,
)
from dualflow.ops.cumulative import (
    cumsum,
)
from dualflow.ops.division import divide, truediv
from dualflow.ops.einsum import einsum, tensordot
from dualflow.ops.exponential import exp, log, pow, sqrt
from dualflow.ops.gather import (
    boolean_mask,
    gather,
    gather_nd,
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from dualflow.ops.hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from dualflow.ops.indexed_slices import IndexedSlices
from dualflow.ops.join import concat, split, stack, unstack
from dualflow.ops.limits import clip_by_value, maximum, minimum
from dualflow.ops.matmul import matmul
from dualflow.ops.norm import norm
from dualflow.ops.reduce import (
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from dualflow.ops.reduce_arg import argmax, argmin
from dualflow.ops.reduce_moments import reduce_mean
from dualflow.ops.rounding import floor, round
from dualflow.ops.slicing import pad, repeat, reverse, roll, slice, strided_slice, tile
from dualflow.ops.sort import argsort, searchsorted, sort, unique, unique_with_counts
from dualflow.ops.space import batch_to_space, space_to_batch
from dualflow.ops.special import sigmoid
from dualflow.ops.trigonometric import acos, asin, atan, atan2, cos, sin, tan
from dualflow.printing import print

if TYPE_CHECKING:
    from dualflow import debugging
    from dualflow.graph.calls.function import ConcreteFunction, Function, function
    from dualflow.graph.deferred.gradients import gradients
    from dualflow.graph.deferred.graph import Graph, name_scope

__version__ = "0.1.0"

# Names of graph mode, and where they are.
_GRAPH_MODE = {
    "ConcreteFunction": "dualflow.graph.calls.function",
    "Function": "dualflow.graph.calls.function",
    "Graph": "dualflow.graph.deferred.graph",
    "function": "dualflow.graph.calls.function",
    "gradients": "dualflow.graph.deferred.gradients",
    "name_scope": "dualflow.graph.deferred.graph",
}

__all__ = [
    "ConcreteFunction",
    "DType",
    "Function",
    "GradientTape",
    "Graph",
    "IndexedSlices",
    "Tensor",
    "TensorBase",
    "TensorSpec",
    "UnconnectedGradients",
    "Variable",
    "abs",
    "acos",
    "acosh",
    "add",
    "add_n",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "autodiff",
    "batch_to_space",
    "bfloat16",
    "bitwise",
    "bool_",
    "boolean_mask",
    "broadcast_to",
    "cast",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "concat",
    "config",
    "constant",
    "convert_to_tensor",
    "cos",
    "cosh",
    "cumsum",
    "custom_gradient",
    "debugging",
    "divide",
    "einsum",
    "ensure_shape",
    "equal",
    "exp",
    "expand_dims",
    "eye",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "from_dlpack",
    "function",
    "gather",
    "gather_nd",
    "grad",
    "gradients",
    "greater",
    "greater_equal",
    "identity",
    "image",
    "initializers",
    "int8",
    "int16",
    "int32",
    "int64",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "math",
    "matmul",
    "maximum",
    "memory",
    "meshgrid",
    "minimum",
    "multiply",
    "name_scope",
    "negative",
    "nest",
    "nn",
    "norm",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "ops",
    "optimizers",
    "pad",
    "pow",
    "print",
    "random",
    "range",
    "rank",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "repeat",
    "reshape",
    "reverse",
    "roll",
    "round",
    "saturate_cast",
    "scatter_nd",
    "searchsorted",
    "shape",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "size",
    "slice",
    "sort",
    "space_to_batch",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "subtract",
    "tan",
    "tanh",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensordot",
    "testing",
    "tile",
    "transpose",
    "truediv",
    "uint8",
    "unique",
    "unique_with_counts",
    "unstack",
    "value_and_grad",
    "where",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str) -> Any:
    if name == "debugging":
        return importlib.import_module("dualflow.debugging")
    if name not in _GRAPH_MODE:
        raise AttributeError(f"module 'dualflow' has no attribute {name!r}")
    value = getattr(importlib.import_module(_GRAPH_MODE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_GRAPH_MODE, "debugging"})
