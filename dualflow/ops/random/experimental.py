"""Names of TensorFlow's `tf.random.experimental`, which are those of `dualflow.random`."""

from dualflow.ops.random.generator_state import (
    Algorithm as Algorithm,
    create_rng_state as create_rng_state,
)
from dualflow.ops.random.random_generator import (
    Generator as Generator,
    get_global_generator as get_global_generator,
    set_global_generator as set_global_generator,
)
from dualflow.ops.random.seeds import (
    stateless_fold_in as stateless_fold_in,
    stateless_shuffle as stateless_shuffle,
    stateless_split as stateless_split,
)
