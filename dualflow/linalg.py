"""Linear algebra, under TensorFlow's names."""

from dualflow.ops.clip import global_norm
from dualflow.ops.matmul import matmul
from dualflow.ops.reduce import (
    norm,
)

__all__ = [
    "global_norm",
    "matmul",
    "norm",
]
