"""Linear algebra, under TensorFlow's names. Functions that may need LAPACK are imported lazily."""

from importlib import import_module as _import_module

from dualflow.ops.array.creation import eye as eye
from dualflow.ops.array.diagonal import (
    band_part as band_part,
    diag as diag,
    diag_part as diag_part,
    set_diag as set_diag,
    tensor_diag as tensor_diag,
    tensor_diag_part as tensor_diag_part,
    trace as trace,
    tril as tril,
    triu as triu,
)
from dualflow.ops.linalg.einsum import einsum as einsum, tensordot as tensordot
from dualflow.ops.linalg.factors import cholesky as cholesky, lu as lu, qr as qr
from dualflow.ops.linalg.inverse import det as det, inv as inv, slogdet as slogdet
from dualflow.ops.linalg.matmul import matmul as matmul, matvec as matvec
from dualflow.ops.linalg.solve import solve as solve, triangular_solve as triangular_solve
from dualflow.ops.nn.normalization import l2_normalize as l2_normalize
from dualflow.ops.reduction.norm import norm as norm
from dualflow.ops.state.clip import global_norm as global_norm

TYPE_CHECKING = False       # type checkers and editors assume True
if TYPE_CHECKING:
    from dualflow.ops.linalg.matrix_functions import (
        adjoint as adjoint,
        cholesky_solve as cholesky_solve,
        cross as cross,
        expm as expm,
        logdet as logdet,
        logm as logm,
        matrix_rank as matrix_rank,
        matrix_transpose as matrix_transpose,
        normalize as normalize,
        pinv as pinv,
        sqrtm as sqrtm,
    )
    from dualflow.ops.linalg.spectral import (
        eig as eig,
        eigh as eigh,
        eigvals as eigvals,
        eigvalsh as eigvalsh,
        lstsq as lstsq,
        svd as svd,
    )

_MODULES = {
    **dict.fromkeys(["eig", "eigh", "eigvals", "eigvalsh", "lstsq", "svd"],
                    "dualflow.ops.linalg.spectral"),
    **dict.fromkeys(["adjoint", "cholesky_solve", "cross", "expm", "logdet", "logm", "matrix_rank",
                     "matrix_transpose", "normalize", "pinv", "sqrtm"],
                    "dualflow.ops.linalg.matrix_functions"),
}

if not TYPE_CHECKING:       # type checkers use the imports above
    __all__ = sorted({*_MODULES, *(name for name in globals() if not name.startswith("_"))}
                     - {"TYPE_CHECKING"})

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module 'dualflow.linalg' has no attribute {name!r}")
        value = getattr(_import_module(_MODULES[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return __all__
