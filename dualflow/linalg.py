"""Linear algebra, under TensorFlow's names."""

from dualflow.ops.clip import global_norm
from dualflow.ops.diagonal import band_part, diag, diag_part, tril, triu
from dualflow.ops.matmul import matmul
from dualflow.ops.reduce import (
    norm,
)

__all__ = [
    "band_part",
    "diag",
    "diag_part",
    "global_norm",
    "matmul",
    "norm",
    "tril",
    "triu",
]
