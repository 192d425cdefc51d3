"""Linear algebra, under TensorFlow's names."""

from dualflow.ops.clip import global_norm as global_norm
from dualflow.ops.creation import eye as eye
from dualflow.ops.diagonal import (
    band_part as band_part,
    diag as diag,
    diag_part as diag_part,
    trace as trace,
    tril as tril,
    triu as triu,
)
from dualflow.ops.einsum import einsum as einsum, tensordot as tensordot
from dualflow.ops.matmul import matmul as matmul, matvec as matvec
from dualflow.ops.norm import norm as norm
