"""Random functions, with explicit keys or the global generator."""

from dualflow.ops.random import experimental as experimental
from dualflow.ops.random.distributions import (
    stateless_binomial as stateless_binomial,
    stateless_categorical as stateless_categorical,
    stateless_gamma as stateless_gamma,
    stateless_poisson as stateless_poisson,
)
from dualflow.ops.random.generator_state import (
    Algorithm as Algorithm,
    create_rng_state as create_rng_state,
)
from dualflow.ops.random.random import (
    stateless_normal as stateless_normal,
    stateless_permutation as stateless_permutation,
    stateless_truncated_normal as stateless_truncated_normal,
    stateless_uniform as stateless_uniform,
)
from dualflow.ops.random.random_generator import (
    Generator as Generator,
    get_global_generator as get_global_generator,
    set_global_generator as set_global_generator,
    set_seed as set_seed,
)
from dualflow.ops.random.random_samples import (
    binomial as binomial,
    categorical as categorical,
    gamma as gamma,
    normal as normal,
    poisson as poisson,
    shuffle as shuffle,
    truncated_normal as truncated_normal,
    uniform as uniform,
)
from dualflow.ops.random.seeds import (
    fold_in as fold_in,
    split as split,
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
)
