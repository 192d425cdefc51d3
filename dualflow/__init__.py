"""dualflow: tensor programs that run eagerly or as a graph, on pure-C kernels.

Graph mode is loaded when one of its names is first used: eager programs start in half the time.
"""

import importlib as _importlib
import typing as _typing

from dualflow import (
    autodiff as autodiff,
    bitwise as bitwise,
    config as config,
    image as image,
    initializers as initializers,
    linalg as linalg,
    math as math,
    memory as memory,
    nest as nest,
    nn as nn,
    ops as ops,
    optimizers as optimizers,
    random as random,
    testing as testing,
)
from dualflow._core import (
    Tensor as Tensor,
    TensorBase as TensorBase,
    TensorSpec as TensorSpec,
    Variable as Variable,
    from_dlpack as from_dlpack,
)
from dualflow.autodiff import (
    GradientTape as GradientTape,
    UnconnectedGradients as UnconnectedGradients,
    checkpoint as checkpoint,
    custom_gradient as custom_gradient,
    grad as grad,
    hvp as hvp,
    jvp as jvp,
    py_function as py_function,
    recompute_grad as recompute_grad,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from dualflow.dtypes import (
    DType as DType,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool_ as bool_,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from dualflow.ops.arithmetic import (
    abs as abs,
    add as add,
    add_n as add_n,
    multiply as multiply,
    negative as negative,
    sign as sign,
    square as square,
    subtract as subtract,
)
from dualflow.ops.array import (
    broadcast_to as broadcast_to,
    ensure_shape as ensure_shape,
    expand_dims as expand_dims,
    identity as identity,
    rank as rank,
    reshape as reshape,
    shape as shape,
    size as size,
    squeeze as squeeze,
    stop_gradient as stop_gradient,
    transpose as transpose,
)
from dualflow.ops.bitcast import (
    bitcast as bitcast,
)
from dualflow.ops.bitwise import (
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
)
from dualflow.ops.cast import (
    cast as cast,
    saturate_cast as saturate_cast,
)
from dualflow.ops.clip import (
    clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm,
)
from dualflow.ops.compare import (
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    less as less,
    less_equal as less_equal,
    not_equal as not_equal,
    where as where,
)
from dualflow.ops.control_flow import (
    case as case,
    cond as cond,
    switch_case as switch_case,
)
from dualflow.ops.creation import (
    constant as constant,
    convert_to_tensor as convert_to_tensor,
    eye as eye,
    fill as fill,
    linspace as linspace,
    meshgrid as meshgrid,
    one_hot as one_hot,
    ones as ones,
    ones_like as ones_like,
    range as range,
    zeros as zeros,
    zeros_like as zeros_like,
)
from dualflow.ops.cumulative import (
    cumsum as cumsum,
)
from dualflow.ops.division import (
    divide as divide,
    truediv as truediv,
)
from dualflow.ops.einsum import (
    einsum as einsum,
    tensordot as tensordot,
)
from dualflow.ops.exponential import (
    exp as exp,
    log as log,
    pow as pow,
    sqrt as sqrt,
)
from dualflow.ops.gather import (
    boolean_mask as boolean_mask,
    gather as gather,
    gather_nd as gather_nd,
    scatter_nd as scatter_nd,
    tensor_scatter_nd_add as tensor_scatter_nd_add,
    tensor_scatter_nd_max as tensor_scatter_nd_max,
    tensor_scatter_nd_min as tensor_scatter_nd_min,
    tensor_scatter_nd_sub as tensor_scatter_nd_sub,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
)
from dualflow.ops.hyperbolic import (
    acosh as acosh,
    asinh as asinh,
    atanh as atanh,
    cosh as cosh,
    sinh as sinh,
    tanh as tanh,
)
from dualflow.ops.indexed_slices import (
    IndexedSlices as IndexedSlices,
)
from dualflow.ops.join import (
    concat as concat,
    split as split,
    stack as stack,
    unstack as unstack,
)
from dualflow.ops.limits import (
    clip_by_value as clip_by_value,
    maximum as maximum,
    minimum as minimum,
)
from dualflow.ops.masks import (
    dynamic_partition as dynamic_partition,
    sequence_mask as sequence_mask,
)
from dualflow.ops.matmul import (
    matmul as matmul,
)
from dualflow.ops.norm import (
    norm as norm,
)
from dualflow.ops.reduce import (
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
)
from dualflow.ops.reduce_arg import (
    argmax as argmax,
    argmin as argmin,
)
from dualflow.ops.reduce_moments import (
    reduce_mean as reduce_mean,
)
from dualflow.ops.registered import (
    numpy_function as numpy_function,
    register_op as register_op,
)
from dualflow.ops.rounding import (
    floor as floor,
    round as round,
)
from dualflow.ops.scan import (
    foldl as foldl,
    foldr as foldr,
    map_fn as map_fn,
    scan as scan,
    vectorized_map as vectorized_map,
)
from dualflow.ops.scatter import (
    tensor_scatter_nd_mul as tensor_scatter_nd_mul,
)
from dualflow.ops.slicing import (
    pad as pad,
    repeat as repeat,
    reverse as reverse,
    roll as roll,
    slice as slice,
    strided_slice as strided_slice,
    tile as tile,
)
from dualflow.ops.sort import (
    argsort as argsort,
    searchsorted as searchsorted,
    sort as sort,
    unique as unique,
    unique_with_counts as unique_with_counts,
)
from dualflow.ops.space import (
    batch_to_space as batch_to_space,
    space_to_batch as space_to_batch,
)
from dualflow.ops.special import (
    sigmoid as sigmoid,
)
from dualflow.ops.tensor_array import (
    TensorArray as TensorArray,
)
from dualflow.ops.trigonometric import (
    acos as acos,
    asin as asin,
    atan as atan,
    atan2 as atan2,
    cos as cos,
    sin as sin,
    tan as tan,
)
from dualflow.ops.while_loop import (
    while_loop as while_loop,
)
from dualflow.printing import (
    print as print,
)

if _typing.TYPE_CHECKING:
    from dualflow import (
        array_api as array_api,
        autograph as autograph,
        data as data,
        debugging as debugging,
        keras as keras,
        onnx as onnx,
        saved_model as saved_model,
        signal as signal,
        summary as summary,
        train as train,
        version as version,
    )
    from dualflow.aot.export import (
        export as export,
    )
    from dualflow.compat.v1.gradients import (
        gradients as gradients,
    )
    from dualflow.compat.v1.graph import (
        Graph as Graph,
        name_scope as name_scope,
    )
    from dualflow.compat.v1.operation import (
        Operation as Operation,
    )
    from dualflow.context import (
        VariableAggregation as VariableAggregation,
        VariableSynchronization as VariableSynchronization,
        control_dependencies as control_dependencies,
        device as device,
        executing_eagerly as executing_eagerly,
        get_logger as get_logger,
        get_static_value as get_static_value,
        group as group,
        init_scope as init_scope,
        is_symbolic_tensor as is_symbolic_tensor,
        is_tensor as is_tensor,
        no_op as no_op,
        timestamp as timestamp,
    )
    from dualflow.debugging.assertions import (
        Assert as Assert,
        assert_equal as assert_equal,
        assert_greater as assert_greater,
        assert_less as assert_less,
        assert_rank as assert_rank,
    )
    from dualflow.graph.calls.decorator import (
        function as function,
    )
    from dualflow.graph.calls.function import (
        ConcreteFunction as ConcreteFunction,
        Function as Function,
    )
    from dualflow.initializer_classes import (
        constant_initializer as constant_initializer,
        ones_initializer as ones_initializer,
        random_normal_initializer as random_normal_initializer,
        random_uniform_initializer as random_uniform_initializer,
        zeros_initializer as zeros_initializer,
    )
    from dualflow.io.load import (
        load as load,
    )
    from dualflow.io.save import (
        save as save,
    )
    from dualflow.modules import (
        Module as Module,
    )
    from dualflow.ops.broadcast_shapes import (
        broadcast_dynamic_shape as broadcast_dynamic_shape,
        broadcast_static_shape as broadcast_static_shape,
    )
    from dualflow.ops.types import (
        DTypeLike as DTypeLike,
        TensorLike as TensorLike,
    )
    from dualflow.tensor_shape import (
        TensorShape as TensorShape,
    )
    from dualflow.transforms import (
        hessian as hessian,
        jacfwd as jacfwd,
        jacrev as jacrev,
        vmap as vmap,
    )

__version__ = "0.1.0"

newaxis = None  # in an index: a new dimension
bool: DType = bool_
half: DType = float16
double: DType = float64

# Names that few programs need, and where they are.
_LATE = {
    "ConcreteFunction": "dualflow.graph.calls.function",
    "DTypeLike": "dualflow.ops.types",
    "Function": "dualflow.graph.calls.function",
    "Graph": "dualflow.compat.v1.graph",
    "Module": "dualflow.modules",
    "TensorLike": "dualflow.ops.types",
    "export": "dualflow.aot.export",
    "function": "dualflow.graph.calls.decorator",
    "gradients": "dualflow.compat.v1.gradients",
    "hessian": "dualflow.transforms",
    "jacfwd": "dualflow.transforms",
    "jacrev": "dualflow.transforms",
    "load": "dualflow.io.load",
    "name_scope": "dualflow.compat.v1.graph",
    "save": "dualflow.io.save",
    "vmap": "dualflow.transforms",
    "Operation": "dualflow.compat.v1.operation",
    **dict.fromkeys(
        ["VariableAggregation", "VariableSynchronization", "control_dependencies", "device",
         "executing_eagerly", "get_logger", "get_static_value", "group", "init_scope",
         "is_symbolic_tensor", "is_tensor", "no_op", "timestamp"], "dualflow.context"),
    **dict.fromkeys(
        ["Assert", "assert_equal", "assert_greater", "assert_less", "assert_rank"],
        "dualflow.debugging.assertions"),
    **dict.fromkeys(["broadcast_dynamic_shape", "broadcast_static_shape"],
                    "dualflow.ops.broadcast_shapes"),
    "TensorShape": "dualflow.tensor_shape",
    **dict.fromkeys(["constant_initializer", "ones_initializer", "random_normal_initializer",
                     "random_uniform_initializer", "zeros_initializer"],
                    "dualflow.initializer_classes"),
}

# Packages that are loaded when they are first used.
_PACKAGES = {"array_api", "autograph", "data", "debugging", "keras", "onnx", "saved_model",
             "signal", "summary", "train", "version"}

# Modules that are here because others import them.
_INTERNAL = {"arguments", "devices", "dtypes", "errors", "frames", "gradient_registry",
             "printing", "settings", "switches", "tensor_shape"}

# All that is imported above is public, here and for type checkers.
__all__ = sorted({*_LATE, *_PACKAGES, *globals()} - _INTERNAL)
__all__ = [name for name in __all__ if not name.startswith("_")]


if not _typing.TYPE_CHECKING:       # to type checkers what is not imported above is an error
    def __getattr__(name: str) -> _typing.Any:
        if name in _PACKAGES:
            return _importlib.import_module(f"dualflow.{name}")
        if name not in _LATE:
            raise AttributeError(f"module 'dualflow' has no attribute {name!r}")
        value = getattr(_importlib.import_module(_LATE[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "dtypes", "errors", "__version__"])
