"""dualflow: tensor programs that run eagerly or as a graph, on pure-C kernels.

Importing the package loads only the compiled core. Any other name is imported from its module at
the first use.
"""

import dualflow._util.imports as _imports

_imports.import_modules("dualflow._util.late_binding", "dualflow._core", "dualflow.dtypes")

import dualflow._util.late_binding as _late_binding  # noqa: E402  is loaded already
from dualflow import _core as _core  # noqa: E402
from dualflow.dtypes import (  # noqa: E402
    DType as DType,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool_ as bool_,
    complex64 as complex64,
    complex128 as complex128,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    qint8 as qint8,
    qint16 as qint16,
    qint32 as qint32,
    quint8 as quint8,
    quint16 as quint16,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)

TYPE_CHECKING = False       # type checkers and editors assume True
if TYPE_CHECKING:
    from dualflow import (
        array_api as array_api,
        autodiff as autodiff,
        autograph as autograph,
        bitwise as bitwise,
        compat as compat,
        config as config,
        data as data,
        debugging as debugging,
        distribute as distribute,
        experimental as experimental,
        image as image,
        initializers as initializers,
        io as io,
        keras as keras,
        linalg as linalg,
        lookup as lookup,
        math as math,
        memory as memory,
        nest as nest,
        nn as nn,
        onnx as onnx,
        ops as ops,
        optimizers as optimizers,
        quantization as quantization,
        ragged as ragged,
        random as random,
        saved_model as saved_model,
        sets as sets,
        signal as signal,
        sparse as sparse,
        strings as strings,
        summary as summary,
        test as test,
        testing as testing,
        train as train,
        version as version,
    )
    from dualflow.aot.export import export as export
    from dualflow.aot.library import export_library as export_library
    from dualflow.aot.load_program import load_program as load_program
    from dualflow.aot.save_program import save_program as save_program
    from dualflow.array_api.data_types import (
        finfo as finfo,
        iinfo as iinfo,
    )
    from dualflow.autodiff import (
        GradientTape as GradientTape,
        UnconnectedGradients as UnconnectedGradients,
        checkpoint as checkpoint,
        custom_gradient as custom_gradient,
        grad as grad,
        hvp as hvp,
        jvp as jvp,
        recompute_grad as recompute_grad,
        value_and_grad as value_and_grad,
        vjp as vjp,
    )
    from dualflow.autodiff.py_function import py_function as py_function
    from dualflow.compat.v1.gradients import gradients as gradients
    from dualflow.compat.v1.graph import (
        Graph as Graph,
        name_scope as name_scope,
    )
    from dualflow.compat.v1.operation import Operation as Operation
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
    from dualflow.graph.calls.decorator import function as function
    from dualflow.graph.calls.function import (
        ConcreteFunction as ConcreteFunction,
        Function as Function,
    )
    from dualflow.initializers.classes import (
        constant_initializer as constant_initializer,
        ones_initializer as ones_initializer,
        random_normal_initializer as random_normal_initializer,
        random_uniform_initializer as random_uniform_initializer,
        zeros_initializer as zeros_initializer,
    )
    from dualflow.io.load import load as load
    from dualflow.io.save import save as save
    from dualflow.modules import Module as Module
    from dualflow.nest import type_spec_from_value as type_spec_from_value
    from dualflow.ops import (
        Tensor as Tensor,
        TensorBase as TensorBase,
        TensorSpec as TensorSpec,
        Variable as Variable,
        from_dlpack as from_dlpack,
    )
    from dualflow.ops.array.broadcast_shapes import (
        broadcast_dynamic_shape as broadcast_dynamic_shape,
        broadcast_static_shape as broadcast_static_shape,
    )
    from dualflow.ops.array.creation import (
        constant as constant,
        convert_to_tensor as convert_to_tensor,
        eye as eye,
        fill as fill,
        one_hot as one_hot,
        ones as ones,
        ones_like as ones_like,
        range as range,
        zeros as zeros,
        zeros_like as zeros_like,
    )
    from dualflow.ops.array.grids import linspace as linspace, meshgrid as meshgrid
    from dualflow.ops.array.join import (
        concat as concat,
        split as split,
        stack as stack,
        unstack as unstack,
    )
    from dualflow.ops.array.padding import pad as pad
    from dualflow.ops.array.shape import (
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
    from dualflow.ops.array.slicing import (
        repeat as repeat,
        reverse as reverse,
        roll as roll,
        slice as slice,
        strided_slice as strided_slice,
        tile as tile,
    )
    from dualflow.ops.array.space import (
        batch_to_space as batch_to_space,
        space_to_batch as space_to_batch,
    )
    from dualflow.ops.autocast import autocast as autocast
    from dualflow.ops.control_flow.cond import (
        case as case,
        cond as cond,
        switch_case as switch_case,
    )
    from dualflow.ops.control_flow.registered import (
        numpy_function as numpy_function,
        register_op as register_op,
    )
    from dualflow.ops.control_flow.scan import (
        foldl as foldl,
        foldr as foldr,
        map_fn as map_fn,
        scan as scan,
    )
    from dualflow.ops.control_flow.tensor_array import TensorArray as TensorArray
    from dualflow.ops.control_flow.while_loop import while_loop as while_loop
    from dualflow.ops.elementwise.arithmetic import (
        abs as abs,
        add as add,
        add_n as add_n,
        multiply as multiply,
        negative as negative,
        sign as sign,
        square as square,
        subtract as subtract,
    )
    from dualflow.ops.elementwise.bitcast import bitcast as bitcast
    from dualflow.ops.elementwise.bitwise import (
        logical_and as logical_and,
        logical_not as logical_not,
        logical_or as logical_or,
    )
    from dualflow.ops.elementwise.cast import (
        cast as cast,
        saturate_cast as saturate_cast,
    )
    from dualflow.ops.elementwise.compare import (
        equal as equal,
        greater as greater,
        greater_equal as greater_equal,
        less as less,
        less_equal as less_equal,
        not_equal as not_equal,
        where as where,
    )
    from dualflow.ops.elementwise.complex import complex as complex
    from dualflow.ops.elementwise.division import (
        divide as divide,
        truediv as truediv,
    )
    from dualflow.ops.elementwise.exponential import (
        exp as exp,
        log as log,
        pow as pow,
        sqrt as sqrt,
    )
    from dualflow.ops.elementwise.hyperbolic import (
        acosh as acosh,
        asinh as asinh,
        atanh as atanh,
        cosh as cosh,
        sinh as sinh,
        tanh as tanh,
    )
    from dualflow.ops.elementwise.limits import (
        clip_by_value as clip_by_value,
        maximum as maximum,
        minimum as minimum,
    )
    from dualflow.ops.elementwise.rounding import (
        floor as floor,
        round as round,
    )
    from dualflow.ops.elementwise.special import sigmoid as sigmoid
    from dualflow.ops.elementwise.trigonometric import (
        acos as acos,
        asin as asin,
        atan as atan,
        atan2 as atan2,
        cos as cos,
        sin as sin,
        tan as tan,
    )
    from dualflow.ops.indexing.gather import (
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
    from dualflow.ops.indexing.indexed_slices import IndexedSlices as IndexedSlices
    from dualflow.ops.indexing.masks import (
        dynamic_partition as dynamic_partition,
        sequence_mask as sequence_mask,
    )
    from dualflow.ops.indexing.scatter import tensor_scatter_nd_mul as tensor_scatter_nd_mul
    from dualflow.ops.linalg.einsum import (
        einsum as einsum,
        tensordot as tensordot,
    )
    from dualflow.ops.linalg.matmul import matmul as matmul
    from dualflow.ops.printing import print as print
    from dualflow.ops.ragged.ragged_tensor import RaggedTensor as RaggedTensor
    from dualflow.ops.ragged.spec import RaggedTensorSpec as RaggedTensorSpec
    from dualflow.ops.reduction.cumulative import cumsum as cumsum
    from dualflow.ops.reduction.norm import norm as norm
    from dualflow.ops.reduction.reduce import (
        reduce_all as reduce_all,
        reduce_any as reduce_any,
        reduce_logsumexp as reduce_logsumexp,
        reduce_max as reduce_max,
        reduce_min as reduce_min,
        reduce_prod as reduce_prod,
        reduce_sum as reduce_sum,
    )
    from dualflow.ops.reduction.reduce_arg import (
        argmax as argmax,
        argmin as argmin,
    )
    from dualflow.ops.reduction.reduce_moments import reduce_mean as reduce_mean
    from dualflow.ops.sorting.sort import (
        argsort as argsort,
        searchsorted as searchsorted,
        sort as sort,
        unique as unique,
        unique_with_counts as unique_with_counts,
    )
    from dualflow.ops.sparse.sparse_tensor import (
        SparseTensor as SparseTensor,
        SparseTensorSpec as SparseTensorSpec,
    )
    from dualflow.ops.state.clip import (
        clip_by_global_norm as clip_by_global_norm,
        clip_by_norm as clip_by_norm,
    )
    from dualflow.ops.string_tensor import string as string
    from dualflow.ops.tensor_shape import TensorShape as TensorShape
    from dualflow.ops.types import (
        DTypeLike as DTypeLike,
        TensorLike as TensorLike,
    )
    from dualflow.transforms import (
        hessian as hessian,
        jacfwd as jacfwd,
        jacrev as jacrev,
        vectorized_map as vectorized_map,
        vmap as vmap,
    )
    from dualflow.version import show_versions as show_versions

__version__ = "0.1.0"

newaxis = None  # in an index: a new dimension
bool: DType = bool_
half: DType = float16
double: DType = float64

# The imports above by module, for the lazy import of names.
_NAMES = {
    "aot.export": "export",
    "aot.library": "export_library",
    "aot.load_program": "load_program",
    "aot.save_program": "save_program",
    "array_api.data_types": "finfo iinfo",
    "autodiff": "GradientTape UnconnectedGradients checkpoint custom_gradient grad hvp jvp "
                "recompute_grad value_and_grad vjp",
    "autodiff.py_function": "py_function",
    "compat.v1.gradients": "gradients",
    "compat.v1.graph": "Graph name_scope",
    "compat.v1.operation": "Operation",
    "context": "VariableAggregation VariableSynchronization control_dependencies device "
               "executing_eagerly get_logger get_static_value group init_scope is_symbolic_tensor "
               "is_tensor no_op timestamp",
    "debugging.assertions": "Assert assert_equal assert_greater assert_less assert_rank",
    "graph.calls.decorator": "function",
    "graph.calls.function": "ConcreteFunction Function",
    "initializers.classes": "constant_initializer ones_initializer random_normal_initializer "
                            "random_uniform_initializer zeros_initializer",
    "io.load": "load",
    "io.save": "save",
    "modules": "Module",
    "nest": "type_spec_from_value",
    "ops": "Tensor TensorBase TensorSpec Variable from_dlpack",
    "ops.array.broadcast_shapes": "broadcast_dynamic_shape broadcast_static_shape",
    "ops.array.creation": "constant convert_to_tensor eye fill one_hot ones ones_like range zeros "
                          "zeros_like",
    "ops.array.grids": "linspace meshgrid",
    "ops.array.join": "concat split stack unstack",
    "ops.array.shape": "broadcast_to ensure_shape expand_dims identity rank reshape shape size "
                       "squeeze stop_gradient transpose",
    "ops.array.padding": "pad",
    "ops.array.slicing": "repeat reverse roll slice strided_slice tile",
    "ops.array.space": "batch_to_space space_to_batch",
    "ops.autocast": "autocast",
    "ops.control_flow.cond": "case cond switch_case",
    "ops.control_flow.registered": "numpy_function register_op",
    "ops.control_flow.scan": "foldl foldr map_fn scan",
    "ops.control_flow.tensor_array": "TensorArray",
    "ops.control_flow.while_loop": "while_loop",
    "ops.elementwise.arithmetic": "abs add add_n multiply negative sign square subtract",
    "ops.elementwise.bitcast": "bitcast",
    "ops.elementwise.bitwise": "logical_and logical_not logical_or",
    "ops.elementwise.cast": "cast saturate_cast",
    "ops.elementwise.compare": "equal greater greater_equal less less_equal not_equal where",
    "ops.elementwise.complex": "complex",
    "ops.elementwise.division": "divide truediv",
    "ops.elementwise.exponential": "exp log pow sqrt",
    "ops.elementwise.hyperbolic": "acosh asinh atanh cosh sinh tanh",
    "ops.elementwise.limits": "clip_by_value maximum minimum",
    "ops.elementwise.rounding": "floor round",
    "ops.elementwise.special": "sigmoid",
    "ops.elementwise.trigonometric": "acos asin atan atan2 cos sin tan",
    "ops.indexing.gather": "boolean_mask gather gather_nd scatter_nd tensor_scatter_nd_add "
                           "tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub "
                           "tensor_scatter_nd_update",
    "ops.indexing.indexed_slices": "IndexedSlices",
    "ops.indexing.masks": "dynamic_partition sequence_mask",
    "ops.indexing.scatter": "tensor_scatter_nd_mul",
    "ops.linalg.einsum": "einsum tensordot",
    "ops.linalg.matmul": "matmul",
    "ops.printing": "print",
    "ops.ragged.spec": "RaggedTensorSpec",
    "ops.ragged.ragged_tensor": "RaggedTensor",
    "ops.reduction.cumulative": "cumsum",
    "ops.reduction.norm": "norm",
    "ops.reduction.reduce": "reduce_all reduce_any reduce_logsumexp reduce_max reduce_min "
                            "reduce_prod reduce_sum",
    "ops.reduction.reduce_arg": "argmax argmin",
    "ops.reduction.reduce_moments": "reduce_mean",
    "ops.sorting.sort": "argsort searchsorted sort unique unique_with_counts",
    "ops.sparse.sparse_tensor": "SparseTensor SparseTensorSpec",
    "ops.state.clip": "clip_by_global_norm clip_by_norm",
    "ops.string_tensor": "string",
    "ops.tensor_shape": "TensorShape",
    "ops.types": "DTypeLike TensorLike",
    "transforms": "hessian jacfwd jacrev vectorized_map vmap",
    "version": "show_versions",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_PACKAGES = {"array_api", "autodiff", "autograph", "bitwise", "compat", "config", "data",
             "debugging", "distribute", "experimental", "image", "initializers", "io", "keras",
             "linalg", "lookup", "math", "memory", "nest", "nn", "onnx", "ops", "optimizers",
             "quantization", "ragged", "random", "saved_model", "sets", "signal", "sparse",
             "strings", "summary", "test", "testing", "train", "version"}

# Functions of higher layers that lower layers call, and functions that many programs do not need:
# by name, the module and the attribute.
for _name, _module, _attribute in (
        ("array_api", "array_api", ""),
        ("batched_vjp", "autodiff.batched_vjp", ""), ("composites", "autodiff.composites", ""),
        ("cluster_compiler", "aot.clusters.request", "Compiler"),
        ("compile_backward", "graph.calls.compile_backward", "compile_backward"),
        ("declare_shape", "ops.control_flow.declared_shape", "declare_shape"),
        ("draw", "graph.inspect.draw", "draw"),
        ("gradient_rules", "autodiff.gradient_rules", ""),
        ("graph_text", "graph.ir.text", "to_text"),
        ("eval_shape", "graph.trace.eval_shape", "eval_shape"),
        ("no_attribute", "_util.foreign_names", "no_attribute"),
        ("recorded_call", "graph.calls.differentiate", "Call"),
        ("section_of", "graph.calls.section", "section_of"),
        ("string_tensor", "ops.string_tensor", ""),
        ("tensor_shape", "ops.tensor_shape", ""),
        ("traced_dataset", "data.traced", ""),
        ("vmap", "transforms", "vmap")):
    _late_binding.register(_name, f"dualflow.{_module}", _attribute)
del _name, _module, _attribute

# Names that only appear because other modules import them.
_INTERNAL = {"TYPE_CHECKING", "dtypes", "errors"}

if not TYPE_CHECKING:       # for type checkers, other names are errors
    # Every name imported above is public.
    __all__ = sorted({*_HOMES, *_PACKAGES, *globals()} - _INTERNAL)
    __all__ = [name for name in __all__ if not name.startswith("_")]

    def __getattr__(name):
        if name not in _HOMES and name not in _PACKAGES:
            raise AttributeError(_late_binding.late("no_attribute")("", name), name=name)
        # First import the common modules and the enclosing packages completely. Otherwise threads
        # that import different names could each wait for a module that the other is importing.
        paths = ["dualflow"]
        for part in _HOMES.get(name, name).split("."):
            paths.append(f"{paths[-1]}.{part}")
        module = _imports.import_modules("dualflow.autodiff", *paths[1:])
        if name in _PACKAGES:
            return module
        value = globals()[name] = getattr(module, name)
        return value

    def __dir__() -> list[str]:
        return sorted([*__all__, "dtypes", "errors", "__version__"])
