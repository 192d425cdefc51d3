"""Linear algebra, under TensorFlow's names."""

from dualflow.ops.clip import global_norm
from dualflow.ops.matmul import matmul

__all__ = [
    "global_norm",
    "matmul",
]
