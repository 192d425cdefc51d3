"""All modules that register gradient rules.

A rule is registered when the module of its op is imported. The core imports this module before it
records an op without a rule: an operator, or an op of an imported program, was applied without a
function of the op's module. A module with rules that is not listed here is an error: the backward
pass would raise UnimplementedError.
"""

import dualflow.autodiff.recurrent  # `ops.nn` has a module of this name
import dualflow.ops.sparse.matmul  # noqa: F401  `ops.linalg` has a module of this name
from dualflow.autodiff import backward as backward
from dualflow.ops.array import (
    creation as creation,
    diagonal as diagonal,
    grids as grids,
    join as join,
    shape as shape,
    slicing as slicing,
)
from dualflow.ops.control_flow import registered as registered
from dualflow.ops.conv import convolution as convolution, pooling as pooling
from dualflow.ops.elementwise import (
    activation as activation,
    arithmetic as arithmetic,
    bitcast as bitcast,
    bitwise as bitwise,
    cast as cast,
    compare as compare,
    complex as complex,
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
from dualflow.ops.image import resize as resize
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
from dualflow.ops.quantization import (
    fake_quant as fake_quant,
    quantized_weights as quantized_weights,
)
from dualflow.ops.random import distributions as distributions, random as random
from dualflow.ops.reduction import (
    cumulative as cumulative,
    reduce as reduce,
    reduce_arg as reduce_arg,
    reduce_moments as reduce_moments,
)
from dualflow.ops.signal import fourier as fourier
from dualflow.ops.sorting import count as count, sort as sort
from dualflow.ops.state import optimizer as optimizer
