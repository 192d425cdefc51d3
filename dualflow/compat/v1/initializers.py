"""`tf.initializers`: initializers under their short names."""

from dualflow.compat.v1.init_ops import (
    constant_initializer as constant,
    glorot_normal_initializer as glorot_normal,
    glorot_uniform_initializer as glorot_uniform,
    identity_initializer as identity,
    ones_initializer as ones,
    orthogonal_initializer as orthogonal,
    random_normal_initializer as random_normal,
    random_uniform_initializer as random_uniform,
    truncated_normal_initializer as truncated_normal,
    uniform_unit_scaling_initializer as uniform_unit_scaling,
    variance_scaling_initializer as variance_scaling,
    zeros_initializer as zeros,
)

__all__ = ["constant", "glorot_normal", "glorot_uniform", "identity", "ones", "orthogonal",
           "random_normal", "random_uniform", "truncated_normal", "uniform_unit_scaling",
           "variance_scaling", "zeros"]
