"""Public ops by family: signature, docstring, the call to `apply`, and below it the op's gradient
rule. The folders are the families, as in csrc/ops and tests/ops, and a module has the name of the
file with its kernels. Modules that several families share are beside the folders.

This file imports the modules that register gradient rules or tensor methods, so that both are
complete; the other modules are loaded at first use.
"""

from dualflow._core import (
    Tensor as Tensor,
    TensorBase as TensorBase,
    TensorSpec as TensorSpec,
    Variable as Variable,
    from_dlpack as from_dlpack,
    rebuild as rebuild,
)
from dualflow.ops import (
    display as display,
    foreign as foreign,
    interchange as interchange,
    methods as methods,
    ufuncs as ufuncs,
)
from dualflow.ops.array import (
    creation as creation,
    diagonal as diagonal,
    join as join,
    shape as shape,
    slicing as slicing,
)
from dualflow.ops.control_flow import (
    registered as registered,
)
from dualflow.ops.conv import (
    convolution as convolution,
    pooling as pooling,
)
from dualflow.ops.elementwise import (
    activation as activation,
    arithmetic as arithmetic,
    bitcast as bitcast,
    bitwise as bitwise,
    cast as cast,
    compare as compare,
    division as division,
    exponential as exponential,
    gamma as gamma,
    hyperbolic as hyperbolic,
    incomplete as incomplete,
    limits as limits,
    quantile as quantile,
    relu as relu,
    rounding as rounding,
    special as special,
    trigonometric as trigonometric,
)
from dualflow.ops.image import (
    resize as resize,
)
from dualflow.ops.indexing import (
    gather as gather,
    indexed_slices as indexed_slices,
    scatter as scatter,
    segment as segment,
)
from dualflow.ops.linalg import (
    factors as factors,
    inverse as inverse,
    matmul as matmul,
    solve as solve,
)
from dualflow.ops.nn import (
    attention as attention,
    batch_norm as batch_norm,
    ctc as ctc,
    group_norm as group_norm,
    local_response as local_response,
    normalization as normalization,
    recurrent as recurrent,
    softmax as softmax,
)
from dualflow.ops.random import (
    distributions as distributions,
)
from dualflow.ops.reduction import (
    cumulative as cumulative,
    reduce as reduce,
    reduce_arg as reduce_arg,
    reduce_moments as reduce_moments,
)
from dualflow.ops.sorting import (
    count as count,
    sort as sort,
)
from dualflow.ops.state import (
    optimizer as optimizer,
    variable as variable,
)
