"""Functions of neural networks, under TensorFlow's names."""

from dualflow.ops.activation import (
    elu,
    gelu,
    leaky_relu,
    relu,
    relu6,
    selu,
    silu,
    softsign,
    swish,
)
from dualflow.ops.gather import (
    embedding_lookup,
)
from dualflow.ops.hyperbolic import (
    tanh,
)
from dualflow.ops.reduce import (
    zero_fraction,
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
    "elu",
    "embedding_lookup",
    "gelu",
    "in_top_k",
    "leaky_relu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softplus",
    "softsign",
    "swish",
    "tanh",
    "top_k",
    "zero_fraction",
]
