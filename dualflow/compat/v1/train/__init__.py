"""`tf.train`: optimizers, learning rates, checkpoints."""

from dualflow.compat.v1.train.by_formula import (
    AdadeltaOptimizer as AdadeltaOptimizer,
    FtrlOptimizer as FtrlOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from dualflow.compat.v1.train.checkpoint import (
    NewCheckpointReader as NewCheckpointReader,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from dualflow.compat.v1.train.coordinator import (
    Coordinator as Coordinator,
    QueueRunner as QueueRunner,
    add_queue_runner as add_queue_runner,
    start_queue_runners as start_queue_runners,
)
from dualflow.compat.v1.train.decay import (
    cosine_decay as cosine_decay,
    exponential_decay as exponential_decay,
    inverse_time_decay as inverse_time_decay,
    natural_exp_decay as natural_exp_decay,
    piecewise_constant as piecewise_constant,
    piecewise_constant_decay as piecewise_constant_decay,
    polynomial_decay as polynomial_decay,
)
from dualflow.compat.v1.train.graph_io import write_graph as write_graph
from dualflow.compat.v1.train.initial_values import init_from_checkpoint as init_from_checkpoint
from dualflow.compat.v1.train.input import (
    batch as batch,
    input_producer as input_producer,
    range_input_producer as range_input_producer,
    shuffle_batch as shuffle_batch,
    slice_input_producer as slice_input_producer,
    string_input_producer as string_input_producer,
)
from dualflow.compat.v1.train.moving_average import (
    ExponentialMovingAverage as ExponentialMovingAverage,
)
from dualflow.compat.v1.train.optimizer import Optimizer as Optimizer
from dualflow.compat.v1.train.optimizers import (
    AdagradOptimizer as AdagradOptimizer,
    AdamOptimizer as AdamOptimizer,
    GradientDescentOptimizer as GradientDescentOptimizer,
    MomentumOptimizer as MomentumOptimizer,
    RMSPropOptimizer as RMSPropOptimizer,
)
from dualflow.compat.v1.train.saver import Saver as Saver
from dualflow.compat.v1.train.step import (
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
)
from dualflow.io.example import (
    Example as Example,
    FeatureList as FeatureList,
    FeatureLists as FeatureLists,
    Features as Features,
    SequenceExample as SequenceExample,
)
from dualflow.io.feature import (
    BytesList as BytesList,
    Feature as Feature,
    FloatList as FloatList,
    Int64List as Int64List,
)
from dualflow.io.index import (
    CheckpointState as CheckpointState,
    checkpoint_exists as checkpoint_exists,
)

_MODULES = {"by_formula", "checkpoint", "coordinator", "decay", "graph_io", "initial_values",
            "input", "moving_average", "optimizer", "optimizers", "queues", "saver", "step"}


def __dir__() -> list[str]:
    return sorted({*globals()} - {*_MODULES, "_MODULES"})
