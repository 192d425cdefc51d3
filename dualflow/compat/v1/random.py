"""`tf.random`: random numbers."""

from dualflow.compat.v1.random_ops import (
    random_normal,
    random_shuffle,
    random_uniform,
    set_random_seed,
    truncated_normal,
)

__all__ = ["normal", "set_random_seed", "shuffle", "truncated_normal", "uniform"]

normal, shuffle, uniform = random_normal, random_shuffle, random_uniform
