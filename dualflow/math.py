"""Mathematical functions, under TensorFlow's names."""

from dualflow.ops.elementwise.activation import softsign as softsign
from dualflow.ops.elementwise.arithmetic import (
    abs as abs,
    add as add,
    add_n as add_n,
    multiply as multiply,
    multiply_no_nan as multiply_no_nan,
    negative as negative,
    sign as sign,
    square as square,
    squared_difference as squared_difference,
    subtract as subtract,
)
from dualflow.ops.elementwise.bitcast import nextafter as nextafter
from dualflow.ops.elementwise.bitwise import (
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
)
from dualflow.ops.elementwise.compare import (
    approximate_equal as approximate_equal,
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    less as less,
    less_equal as less_equal,
    not_equal as not_equal,
)
from dualflow.ops.elementwise.complex import (
    angle as angle,
    conj as conj,
    imag as imag,
    polar as polar,
    real as real,
)
from dualflow.ops.elementwise.composed import (
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
    lbeta as lbeta,
    polyval as polyval,
    reciprocal_no_nan as reciprocal_no_nan,
    scalar_mul as scalar_mul,
)
from dualflow.ops.elementwise.division import (
    divide as divide,
    divide_no_nan as divide_no_nan,
    floordiv as floordiv,
    floormod as floormod,
    gcd as gcd,
    lcm as lcm,
    mod as mod,
    reciprocal as reciprocal,
    truediv as truediv,
)
from dualflow.ops.elementwise.exponential import (
    exp as exp,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    pow as pow,
    rsqrt as rsqrt,
    sqrt as sqrt,
)
from dualflow.ops.elementwise.gamma import (
    digamma as digamma,
    lgamma as lgamma,
    polygamma as polygamma,
    zeta as zeta,
)
from dualflow.ops.elementwise.hyperbolic import (
    acosh as acosh,
    asinh as asinh,
    atanh as atanh,
    cosh as cosh,
    sinh as sinh,
    tanh as tanh,
)
from dualflow.ops.elementwise.incomplete import (
    betainc as betainc,
    igamma as igamma,
    igammac as igammac,
)
from dualflow.ops.elementwise.limits import maximum as maximum, minimum as minimum
from dualflow.ops.elementwise.quantile import erfcinv as erfcinv, erfinv as erfinv, ndtri as ndtri
from dualflow.ops.elementwise.rounding import (
    ceil as ceil,
    floor as floor,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    rint as rint,
    round as round,
    trunc as trunc,
)
from dualflow.ops.elementwise.special import (
    erf as erf,
    erfc as erfc,
    log_sigmoid as log_sigmoid,
    sigmoid as sigmoid,
    softplus as softplus,
    xdivy as xdivy,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from dualflow.ops.elementwise.trigonometric import (
    acos as acos,
    asin as asin,
    atan as atan,
    atan2 as atan2,
    cos as cos,
    sin as sin,
    tan as tan,
)
from dualflow.ops.indexing.segment import (
    segment_sum as segment_sum,
    unsorted_segment_sum as unsorted_segment_sum,
)
from dualflow.ops.indexing.segment_reductions import (
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
)
from dualflow.ops.nn.normalization import l2_normalize as l2_normalize
from dualflow.ops.nn.softmax import log_softmax as log_softmax, softmax as softmax
from dualflow.ops.reduction.cumulative import (
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_logsumexp as cumulative_logsumexp,
)
from dualflow.ops.reduction.norm import (
    count_nonzero as count_nonzero,
    zero_fraction as zero_fraction,
)
from dualflow.ops.reduction.reduce import (
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
)
from dualflow.ops.reduction.reduce_arg import argmax as argmax, argmin as argmin
from dualflow.ops.reduction.reduce_moments import (
    reduce_euclidean_norm as reduce_euclidean_norm,
    reduce_mean as reduce_mean,
    reduce_std as reduce_std,
    reduce_variance as reduce_variance,
)
from dualflow.ops.sorting.count import (
    bincount as bincount,
    confusion_matrix as confusion_matrix,
    in_top_k as in_top_k,
)
from dualflow.ops.sorting.sort import top_k as top_k
