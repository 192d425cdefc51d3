"""Linear algebra, under TensorFlow's names."""

from dualflow.ops.clip import global_norm
from dualflow.ops.creation import eye
from dualflow.ops.diagonal import band_part, diag, diag_part, trace, tril, triu
from dualflow.ops.einsum import einsum, tensordot
from dualflow.ops.matmul import matmul, matvec
from dualflow.ops.norm import norm

__all__ = [
    "band_part",
    "diag",
    "diag_part",
    "einsum",
    "eye",
    "global_norm",
    "matmul",
    "matvec",
    "norm",
    "tensordot",
    "trace",
    "tril",
    "triu",
]
