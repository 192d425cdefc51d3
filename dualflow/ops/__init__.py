"""Public ops by family: signature, docstring, the call to `apply`, and below it the op's gradient
rule. The folders are the families, as in csrc/ops and tests/ops, and a module has the name of the
file with its kernels. Modules that several families share are beside the folders.

This file imports the modules that define tensor methods or operators, so that both are complete.
The other modules are loaded at first use; `autodiff/gradient_rules.py` imports those with gradient
rules.
"""

from __future__ import annotations

from dualflow._core import (
    Tensor as Tensor,
    TensorBase as TensorBase,
    TensorSpec as TensorSpec,
    Variable as Variable,
    from_dlpack as from_dlpack,
    rebuild as rebuild,
)
from dualflow._util.late_binding import submodule
from dualflow.ops import (
    display as display,
    foreign as foreign,
    interchange as interchange,
    methods as methods,
    ufuncs as ufuncs,
)
from dualflow.ops.array import shape as shape
from dualflow.ops.elementwise import bitwise as bitwise, rounding as rounding
from dualflow.ops.indexing.indexing import getitem as getitem  # `indexing` is the package
from dualflow.ops.linalg import matmul as matmul
from dualflow.ops.state import variable as variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    return submodule(__name__, name)
