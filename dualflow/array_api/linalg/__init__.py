"""The extension `linalg`: factorisations, solvers and norms of matrices, the last two dimensions.

Invalid input, like a singular matrix, raises an error, as in `dualflow.linalg`.
"""

from dualflow.array_api.linalg.factors import (
    cholesky as cholesky,
    eigh as eigh,
    eigvalsh as eigvalsh,
    matrix_rank as matrix_rank,
    pinv as pinv,
    qr as qr,
    svd as svd,
    svdvals as svdvals,
)
from dualflow.array_api.linalg.norms import (
    matrix_norm as matrix_norm,
    vector_norm as vector_norm,
)
from dualflow.array_api.linalg.products import (
    cross as cross,
    diagonal as diagonal,
    outer as outer,
    trace as trace,
)
from dualflow.array_api.linalg.solving import (
    det as det,
    inv as inv,
    matrix_power as matrix_power,
    slogdet as slogdet,
    solve as solve,
)
from dualflow.array_api.linear_algebra import (
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    tensordot as tensordot,
    vecdot as vecdot,
)

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul",
           "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr",
           "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm"]


def __dir__() -> list[str]:
    return __all__
