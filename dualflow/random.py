"""Random numbers."""

from dualflow.ops.random import (
    stateless_normal,
    stateless_permutation,
    stateless_truncated_normal,
    stateless_uniform,
)
from dualflow.ops.random_generator import (
    Generator,
    get_global_generator,
    normal,
    set_seed,
    shuffle,
    truncated_normal,
    uniform,
)

__all__ = [
    "Generator",
    "get_global_generator",
    "normal",
    "set_seed",
    "shuffle",
    "stateless_normal",
    "stateless_permutation",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
