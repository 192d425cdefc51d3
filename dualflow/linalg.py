"""Linear algebra, under TensorFlow's names."""

from dualflow.ops.matmul import matmul

__all__ = [
    "matmul",
]
