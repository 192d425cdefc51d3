"""The op test table, filled on import: the modules of each family of ops."""

from tests.ops.array import creation, join, shape, slicing, space  # noqa: F401
from tests.ops.case import CASES
from tests.ops.conv import (  # noqa: F401
    convolution,
    convolution_int32,
    depthwise,
    pooling,
    pooling_size,
)
from tests.ops.elementwise import (  # noqa: F401
    activation,
    arithmetic,
    bitcast,
    bitwise,
    cast,
    compare,
    complex,
    division,
    exponential,
    gamma,
    hyperbolic,
    incomplete,
    limits,
    quantile,
    relu,
    rounding,
    special,
    trigonometric,
)
from tests.ops.image import crop, resize  # noqa: F401
from tests.ops.indexing import gather  # noqa: F401
from tests.ops.linalg import factors, inverse, matmul, solve  # noqa: F401
from tests.ops.nn import (  # noqa: F401
    attention,
    batch_norm,
    ctc,
    local_response,
    normalization,
    recurrent,
    softmax,
)
from tests.ops.quantization import fake_quant, quantized_weights  # noqa: F401
from tests.ops.random import distributions, random  # noqa: F401
from tests.ops.reduction import cumulative, reduce, reduce_moments  # noqa: F401
from tests.ops.signal import fourier  # noqa: F401
from tests.ops.sorting import sort  # noqa: F401
from tests.ops.sparse import matmul as sparse_matmul  # noqa: F401

__all__ = ["CASES"]
