"""Functions of neural networks, under TensorFlow's names."""

from dualflow.ops.activation import elu, gelu, selu, silu, softsign, swish
from dualflow.ops.gather import (
    embedding_lookup,
)
from dualflow.ops.hyperbolic import (
    tanh,
)
from dualflow.ops.nn import (
    batch_normalization,
    bias_add,
    dropout,
    l2_loss,
    l2_normalize,
    layer_norm,
    moments,
)
from dualflow.ops.norm import zero_fraction
from dualflow.ops.relu import leaky_relu, relu, relu6
from dualflow.ops.softmax import (
    log_softmax,
    sigmoid_cross_entropy_with_logits,
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from dualflow.ops.sort import (
    in_top_k,
    top_k,
)
from dualflow.ops.special import (
    sigmoid,
    softplus,
)

__all__ = [
    "batch_normalization",
    "bias_add",
    "dropout",
    "elu",
    "embedding_lookup",
    "gelu",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "moments",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softplus",
    "softsign",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
    "tanh",
    "top_k",
    "zero_fraction",
]
