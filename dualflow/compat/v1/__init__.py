"""The API of TensorFlow 1.x: graphs, sessions and placeholders. docs/compat_v1.md has the names."""

from dualflow import nest as nest
from dualflow._core import Tensor as Tensor, TensorSpec as TensorSpec
from dualflow.autodiff import (
    GradientTape as GradientTape,
    UnconnectedGradients as UnconnectedGradients,
)
from dualflow.compat.v1 import (
    app as app,
    contrib as contrib,
    data as data,
    debugging as debugging,
    errors as errors,
    flags as flags,
    gfile as gfile,
    image as image,
    initializers as initializers,
    io as io,
    layers as layers,
    logging as logging,
    losses as losses,
    math as math,
    metrics as metrics,
    nn as nn,
    python_io as python_io,
    random as random,
    saved_model as saved_model,
    strings as strings,
    summary as summary,
    test as test,
    train as train,
)
from dualflow.compat.v1.array_ops import (
    batch_to_space as batch_to_space,
    batch_to_space_nd as batch_to_space_nd,
    boolean_mask as boolean_mask,
    broadcast_to as broadcast_to,
    concat as concat,
    depth_to_space as depth_to_space,
    diag as diag,
    ensure_shape as ensure_shape,
    expand_dims as expand_dims,
    eye as eye,
    fill as fill,
    gather as gather,
    gather_nd as gather_nd,
    matrix_band_part as matrix_band_part,
    matrix_diag as matrix_diag,
    matrix_diag_part as matrix_diag_part,
    meshgrid as meshgrid,
    one_hot as one_hot,
    ones as ones,
    ones_like as ones_like,
    pad as pad,
    range as range,
    rank as rank,
    repeat as repeat,
    reshape as reshape,
    reverse as reverse,
    reverse_v2 as reverse_v2,
    roll as roll,
    scatter_nd as scatter_nd,
    searchsorted as searchsorted,
    sequence_mask as sequence_mask,
    shape as shape,
    shape_n as shape_n,
    size as size,
    sort as sort,
    space_to_batch as space_to_batch,
    space_to_batch_nd as space_to_batch_nd,
    space_to_depth as space_to_depth,
    split as split,
    squeeze as squeeze,
    stack as stack,
    stop_gradient as stop_gradient,
    strided_slice as strided_slice,
    tensor_scatter_add as tensor_scatter_add,
    tensor_scatter_nd_add as tensor_scatter_nd_add,
    tensor_scatter_nd_max as tensor_scatter_nd_max,
    tensor_scatter_nd_min as tensor_scatter_nd_min,
    tensor_scatter_nd_sub as tensor_scatter_nd_sub,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
    tensor_scatter_sub as tensor_scatter_sub,
    tensor_scatter_update as tensor_scatter_update,
    tile as tile,
    transpose as transpose,
    unique as unique,
    unique_with_counts as unique_with_counts,
    where as where,
    zeros as zeros,
    zeros_like as zeros_like,
)
from dualflow.compat.v1.assign import (
    assign as assign,
    assign_add as assign_add,
    assign_sub as assign_sub,
)
from dualflow.compat.v1.casts import (
    cast as cast,
    saturate_cast as saturate_cast,
    to_bfloat16 as to_bfloat16,
    to_complex64 as to_complex64,
    to_complex128 as to_complex128,
    to_double as to_double,
    to_float as to_float,
    to_int32 as to_int32,
    to_int64 as to_int64,
)
from dualflow.compat.v1.check_ops import (
    Assert as Assert,
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
)
from dualflow.compat.v1.control_flow import (
    case as case,
    cond as cond,
    foldl as foldl,
    foldr as foldr,
    map_fn as map_fn,
    scan as scan,
    while_loop as while_loop,
)
from dualflow.compat.v1.creation import (
    constant as constant,
    convert_to_tensor as convert_to_tensor,
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
)
from dualflow.compat.v1.default_graph import (
    get_default_graph as get_default_graph,
    reset_default_graph as reset_default_graph,
)
from dualflow.compat.v1.defaults import (
    disable_eager_execution as disable_eager_execution,
    enable_eager_execution as enable_eager_execution,
    executing_eagerly as executing_eagerly,
    get_default_session as get_default_session,
)
from dualflow.compat.v1.dtypes import (
    DType as DType,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    double as double,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    half as half,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    string as string,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from dualflow.compat.v1.errors import (
    OpError as OpError,
)
from dualflow.compat.v1.functions import (
    custom_gradient as custom_gradient,
    hessians as hessians,
    make_template as make_template,
)
from dualflow.compat.v1.get_variable import (
    get_local_variable as get_local_variable,
    get_variable as get_variable,
    no_regularizer as no_regularizer,
)
from dualflow.compat.v1.gradients import (
    gradients as gradients,
)
from dualflow.compat.v1.graph import (
    Graph as Graph,
)
from dualflow.compat.v1.graph_keys import (
    GraphKeys as GraphKeys,
)
from dualflow.compat.v1.groups import (
    add_to_collection as add_to_collection,
    add_to_collections as add_to_collections,
    control_dependencies as control_dependencies,
    device as device,
    get_collection as get_collection,
    get_collection_ref as get_collection_ref,
    group as group,
    identity as identity,
    name_scope as name_scope,
    no_op as no_op,
    op_scope as op_scope,
    tuple as tuple,
)
from dualflow.compat.v1.histograms import (
    bincount as bincount,
    histogram_fixed_width as histogram_fixed_width,
    histogram_fixed_width_bins as histogram_fixed_width_bins,
)
from dualflow.compat.v1.init_ops import (
    constant_initializer as constant_initializer,
    glorot_normal_initializer as glorot_normal_initializer,
    glorot_uniform_initializer as glorot_uniform_initializer,
    identity_initializer as identity_initializer,
    ones_initializer as ones_initializer,
    orthogonal_initializer as orthogonal_initializer,
    random_normal_initializer as random_normal_initializer,
    random_uniform_initializer as random_uniform_initializer,
    truncated_normal_initializer as truncated_normal_initializer,
    uniform_unit_scaling_initializer as uniform_unit_scaling_initializer,
    variance_scaling_initializer as variance_scaling_initializer,
    zeros_initializer as zeros_initializer,
)
from dualflow.compat.v1.logging_ops import (
    Print as Print,
    add_check_numerics_ops as add_check_numerics_ops,
    check_numerics as check_numerics,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from dualflow.compat.v1.math_ops import (
    abs as abs,
    accumulate_n as accumulate_n,
    acos as acos,
    acosh as acosh,
    add as add,
    add_n as add_n,
    angle as angle,
    arg_max as arg_max,
    arg_min as arg_min,
    argmax as argmax,
    argmin as argmin,
    argsort as argsort,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    ceil as ceil,
    clip_by_average_norm as clip_by_average_norm,
    clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm,
    clip_by_value as clip_by_value,
    complex as complex,
    confusion_matrix as confusion_matrix,
    conj as conj,
    cos as cos,
    cosh as cosh,
    count_nonzero as count_nonzero,
    cumprod as cumprod,
    cumsum as cumsum,
    digamma as digamma,
    div as div,
    div_no_nan as div_no_nan,
    divide as divide,
    einsum as einsum,
    equal as equal,
    erf as erf,
    erfc as erfc,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    floor_div as floor_div,
    floordiv as floordiv,
    floormod as floormod,
    global_norm as global_norm,
    greater as greater,
    greater_equal as greater_equal,
    imag as imag,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    less as less,
    less_equal as less_equal,
    lgamma as lgamma,
    lin_space as lin_space,
    linspace as linspace,
    log as log,
    log1p as log1p,
    log_sigmoid as log_sigmoid,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    matmul as matmul,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    multiply as multiply,
    negative as negative,
    norm as norm,
    not_equal as not_equal,
    pow as pow,
    real as real,
    realdiv as realdiv,
    reciprocal as reciprocal,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
    rint as rint,
    round as round,
    rsqrt as rsqrt,
    scalar_mul as scalar_mul,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    squared_difference as squared_difference,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    tensordot as tensordot,
    trace as trace,
    truediv as truediv,
    truncatediv as truncatediv,
    truncatemod as truncatemod,
)
from dualflow.compat.v1.operation import (
    Operation as Operation,
)
from dualflow.compat.v1.random_ops import (
    get_seed as get_seed,
    multinomial as multinomial,
    random_crop as random_crop,
    random_gamma as random_gamma,
    random_normal as random_normal,
    random_poisson as random_poisson,
    random_shuffle as random_shuffle,
    random_uniform as random_uniform,
    set_random_seed as set_random_seed,
    truncated_normal as truncated_normal,
)
from dualflow.compat.v1.rows import (
    batch_gather as batch_gather,
    cross as cross,
    diag_part as diag_part,
    dynamic_partition as dynamic_partition,
    dynamic_stitch as dynamic_stitch,
    invert_permutation as invert_permutation,
    matrix_set_diag as matrix_set_diag,
    matrix_transpose as matrix_transpose,
    parallel_stack as parallel_stack,
    reverse_sequence as reverse_sequence,
    setdiff1d as setdiff1d,
    unravel_index as unravel_index,
)
from dualflow.compat.v1.run_metadata import (
    RunMetadata as RunMetadata,
    RunOptions as RunOptions,
)
from dualflow.compat.v1.scatter import (
    scatter_add as scatter_add,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_nd_add as scatter_nd_add,
    scatter_nd_sub as scatter_nd_sub,
    scatter_nd_update as scatter_nd_update,
    scatter_sub as scatter_sub,
    scatter_update as scatter_update,
)
from dualflow.compat.v1.scopes import (
    AUTO_REUSE as AUTO_REUSE,
    VariableScope as VariableScope,
    get_variable_scope as get_variable_scope,
    variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
)
from dualflow.compat.v1.script_ops import (
    numpy_function as numpy_function,
    py_func as py_func,
    py_function as py_function,
)
from dualflow.compat.v1.segments import (
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_sum as segment_sum,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
    unsorted_segment_sum as unsorted_segment_sum,
)
from dualflow.compat.v1.session import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    InteractiveSession as InteractiveSession,
    Session as Session,
)
from dualflow.compat.v1.shapes import (
    Dimension as Dimension,
    TensorShape as TensorShape,
)
from dualflow.compat.v1.slicing import (
    slice as slice,
    unstack as unstack,
)
from dualflow.compat.v1.sparse_ops import (
    SparseTensor as SparseTensor,
    SparseTensorValue as SparseTensorValue,
    sparse_add as sparse_add,
    sparse_concat as sparse_concat,
    sparse_placeholder as sparse_placeholder,
    sparse_reduce_max as sparse_reduce_max,
    sparse_reduce_sum as sparse_reduce_sum,
    sparse_reorder as sparse_reorder,
    sparse_reshape as sparse_reshape,
    sparse_retain as sparse_retain,
    sparse_slice as sparse_slice,
    sparse_softmax as sparse_softmax,
    sparse_tensor_dense_matmul as sparse_tensor_dense_matmul,
    sparse_tensor_to_dense as sparse_tensor_to_dense,
    sparse_to_dense as sparse_to_dense,
    sparse_transpose as sparse_transpose,
)
from dualflow.compat.v1.static_checks import (
    assert_integer as assert_integer,
    assert_proper_iterable as assert_proper_iterable,
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_same_float_dtype as assert_same_float_dtype,
    assert_scalar as assert_scalar,
    assert_type as assert_type,
    is_numeric_tensor as is_numeric_tensor,
)
from dualflow.compat.v1.summary import messages as _messages
from dualflow.compat.v1.switches import (
    disable_control_flow_v2 as disable_control_flow_v2,
    disable_resource_variables as disable_resource_variables,
    disable_tensor_equality as disable_tensor_equality,
    disable_v2_behavior as disable_v2_behavior,
    disable_v2_tensorshape as disable_v2_tensorshape,
    enable_resource_variables as enable_resource_variables,
    enable_tensor_equality as enable_tensor_equality,
    resource_variables_enabled as resource_variables_enabled,
)
from dualflow.compat.v1.text_ops import (
    as_string as as_string,
    reduce_join as reduce_join,
    string_join as string_join,
    string_strip as string_strip,
)
from dualflow.compat.v1.train.input import (
    FIFOQueue as FIFOQueue,
    RandomShuffleQueue as RandomShuffleQueue,
    TextLineReader as TextLineReader,
    TFRecordReader as TFRecordReader,
    WholeFileReader as WholeFileReader,
)
from dualflow.compat.v1.variable_lists import (
    all_variables as all_variables,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    initialize_all_variables as initialize_all_variables,
    initialize_local_variables as initialize_local_variables,
    initialize_variables as initialize_variables,
    is_variable_initialized as is_variable_initialized,
    local_variables as local_variables,
    local_variables_initializer as local_variables_initializer,
    model_variables as model_variables,
    moving_average_variables as moving_average_variables,
    report_uninitialized_variables as report_uninitialized_variables,
    trainable_variables as trainable_variables,
    variables_initializer as variables_initializer,
)
from dualflow.compat.v1.variables import Variable as Variable
from dualflow.ops.control_flow.tensor_array import TensorArray as TensorArray
from dualflow.ops.indexing.indexed_slices import IndexedSlices as IndexedSlices
from dualflow.ops.printing import print as print

newaxis = None
FixedLenFeature, FixedLenSequenceFeature = io.FixedLenFeature, io.FixedLenSequenceFeature
VarLenFeature, decode_csv, decode_raw = io.VarLenFeature, io.decode_csv, io.decode_raw
parse_example, parse_single_example = io.parse_example, io.parse_single_example
parse_single_sequence_example = io.parse_single_sequence_example
string_to_number = strings.to_number
__version__ = VERSION = "1.15.0"      # TensorFlow's version that the API follows

_NAMESPACES = {"app", "contrib", "data", "debugging", "errors", "flags", "gfile", "image",
               "initializers", "io", "layers", "logging", "losses", "math", "metrics", "nest", "nn",
               "python_io", "random", "saved_model", "strings", "summary", "test", "train"}
__getattr__ = _messages(__name__)


def __dir__() -> list[str]:     # without submodules that are not public
    return [name for name, thing in globals().items() if name not in ("_NAMESPACES", "_messages")
            and (name in _NAMESPACES or type(thing) is not type(nest))]
