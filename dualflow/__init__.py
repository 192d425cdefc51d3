"""dualflow: tensor programs that run eagerly or as a graph, on pure-C kernels."""

from dualflow import config, linalg, math, nn
from dualflow._core import Tensor, TensorBase, TensorSpec, Variable, constant, from_dlpack
from dualflow.autodiff import GradientTape, UnconnectedGradients
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
from dualflow.ops.arithmetic import add, multiply
from dualflow.ops.exponential import exp, log
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
from dualflow.ops.matmul import matmul

__version__ = "0.1.0"

__all__ = [
    "DType",
    "GradientTape",
    "Tensor",
    "TensorBase",
    "TensorSpec",
    "UnconnectedGradients",
    "Variable",
    "add",
    "as_dtype",
    "bfloat16",
    "bool_",
    "boolean_mask",
    "config",
    "constant",
    "exp",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "gather",
    "gather_nd",
    "int8",
    "int16",
    "int32",
    "int64",
    "linalg",
    "log",
    "math",
    "matmul",
    "multiply",
    "nn",
    "scatter_nd",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "uint8",
]
