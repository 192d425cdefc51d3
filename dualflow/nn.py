"""Neural network functions, under TensorFlow's names. Each is imported from its module at the first
use."""

from dualflow._util.late_binding import submodule as _submodule

TYPE_CHECKING = False       # type checkers and editors assume True
if TYPE_CHECKING:
    from dualflow.ops.array.space import (
        batch_to_space as batch_to_space,
        depth_to_space as depth_to_space,
        space_to_batch as space_to_batch,
        space_to_depth as space_to_depth,
    )
    from dualflow.ops.conv.convolution import (
        atrous_conv2d as atrous_conv2d,
        conv1d as conv1d,
        conv2d as conv2d,
        conv3d as conv3d,
        convolution as convolution,
    )
    from dualflow.ops.conv.convolution_int32 import conv_int32 as conv_int32
    from dualflow.ops.conv.convolution_transpose import (
        atrous_conv2d_transpose as atrous_conv2d_transpose,
        conv1d_transpose as conv1d_transpose,
        conv2d_backprop_filter as conv2d_backprop_filter,
        conv2d_backprop_input as conv2d_backprop_input,
        conv2d_transpose as conv2d_transpose,
        conv3d_transpose as conv3d_transpose,
        conv_transpose as conv_transpose,
    )
    from dualflow.ops.conv.depthwise import (
        depthwise_conv2d as depthwise_conv2d,
        depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter,
        depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input,
        separable_conv2d as separable_conv2d,
    )
    from dualflow.ops.conv.pooling import (
        avg_pool as avg_pool,
        avg_pool1d as avg_pool1d,
        avg_pool2d as avg_pool2d,
        avg_pool3d as avg_pool3d,
        max_pool as max_pool,
        max_pool1d as max_pool1d,
        max_pool2d as max_pool2d,
        max_pool3d as max_pool3d,
        max_pool_with_argmax as max_pool_with_argmax,
        pool as pool,
    )
    from dualflow.ops.conv.pooling_size import (
        adaptive_avg_pool as adaptive_avg_pool,
        adaptive_max_pool as adaptive_max_pool,
        global_avg_pool as global_avg_pool,
        global_max_pool as global_max_pool,
    )
    from dualflow.ops.elementwise.activation import (
        elu as elu,
        gelu as gelu,
        selu as selu,
        silu as silu,
        softsign as softsign,
        swish as swish,
    )
    from dualflow.ops.elementwise.hyperbolic import tanh as tanh
    from dualflow.ops.elementwise.relu import (
        leaky_relu as leaky_relu,
        relu as relu,
        relu6 as relu6,
    )
    from dualflow.ops.elementwise.special import sigmoid as sigmoid, softplus as softplus
    from dualflow.ops.nn.attention import (
        scaled_dot_product_attention as scaled_dot_product_attention,
    )
    from dualflow.ops.nn.batch_norm import (
        batch_normalization as batch_normalization,
        fused_batch_norm as fused_batch_norm,
    )
    from dualflow.ops.nn.ctc import (
        ctc_beam_search_decoder as ctc_beam_search_decoder,
        ctc_greedy_decoder as ctc_greedy_decoder,
        ctc_loss as ctc_loss,
    )
    from dualflow.ops.nn.embedding import embedding_lookup as embedding_lookup
    from dualflow.ops.nn.group_norm import group_norm as group_norm, instance_norm as instance_norm
    from dualflow.ops.nn.local_response import (
        local_response_normalization as local_response_normalization,
        lrn as lrn,
    )
    from dualflow.ops.nn.loss import (
        compute_average_loss as compute_average_loss,
        scale_regularization_loss as scale_regularization_loss,
        weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
    )
    from dualflow.ops.nn.nn import (
        bias_add as bias_add,
        dropout as dropout,
        l2_loss as l2_loss,
        moments as moments,
    )
    from dualflow.ops.nn.normalization import (
        l2_normalize as l2_normalize,
        layer_norm as layer_norm,
        rms_norm as rms_norm,
    )
    from dualflow.ops.nn.recurrent import (
        gru as gru,
        lstm as lstm,
        simple_rnn as simple_rnn,
    )
    from dualflow.ops.nn.softmax import (
        log_softmax as log_softmax,
        sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
        softmax as softmax,
        softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
        sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
    )
    from dualflow.ops.reduction.norm import zero_fraction as zero_fraction
    from dualflow.ops.sorting.count import in_top_k as in_top_k
    from dualflow.ops.sorting.sort import top_k as top_k

# The imports above by module of `dualflow.ops`, for the lazy import of names.
_NAMES = {
    "array.space": "batch_to_space depth_to_space space_to_batch space_to_depth",
    "conv.convolution": "atrous_conv2d conv1d conv2d conv3d convolution",
    "conv.convolution_int32": "conv_int32",
    "conv.convolution_transpose": "atrous_conv2d_transpose conv1d_transpose "
                                  "conv2d_backprop_filter conv2d_backprop_input conv2d_transpose "
                                  "conv3d_transpose conv_transpose",
    "conv.depthwise": "depthwise_conv2d depthwise_conv2d_backprop_filter "
                      "depthwise_conv2d_backprop_input separable_conv2d",
    "conv.pooling": "avg_pool avg_pool1d avg_pool2d avg_pool3d max_pool max_pool1d max_pool2d "
                    "max_pool3d max_pool_with_argmax pool",
    "conv.pooling_size": "adaptive_avg_pool adaptive_max_pool global_avg_pool global_max_pool",
    "elementwise.activation": "elu gelu selu silu softsign swish",
    "elementwise.hyperbolic": "tanh",
    "elementwise.relu": "leaky_relu relu relu6",
    "elementwise.special": "sigmoid softplus",
    "nn.attention": "scaled_dot_product_attention",
    "nn.batch_norm": "batch_normalization fused_batch_norm",
    "nn.ctc": "ctc_beam_search_decoder ctc_greedy_decoder ctc_loss",
    "nn.embedding": "embedding_lookup",
    "nn.group_norm": "group_norm instance_norm",
    "nn.local_response": "local_response_normalization lrn",
    "nn.loss": "compute_average_loss scale_regularization_loss weighted_cross_entropy_with_logits",
    "nn.nn": "bias_add dropout l2_loss moments",
    "nn.normalization": "l2_normalize layer_norm rms_norm",
    "nn.recurrent": "gru lstm simple_rnn",
    "nn.softmax": "log_softmax sigmoid_cross_entropy_with_logits softmax "
                  "softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits",
    "reduction.norm": "zero_fraction",
    "sorting.count": "in_top_k",
    "sorting.sort": "top_k",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:       # for type checkers, other names are errors
    __all__ = sorted(_HOMES)

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module 'dualflow.nn' has no attribute {name!r}", name=name)
        value = globals()[name] = getattr(_submodule("dualflow.ops", _HOMES[name]), name)
        return value

    def __dir__() -> list[str]:
        return __all__
