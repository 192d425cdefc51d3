"""dualflow: tensor programs that run eagerly or as a graph, on pure-C kernels."""

from dualflow import config
from dualflow._core import Tensor, TensorBase, TensorSpec, Variable, constant
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
    "config",
    "constant",
    "exp",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "log",
    "multiply",
    "uint8",
]
