"""Checkpoints, and the messages in files of records, under TensorFlow's names."""

from dualflow.io.checkpoint import (
    Checkpoint as Checkpoint,
    Saving as Saving,
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
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
)
from dualflow.io.manager import CheckpointManager as CheckpointManager
from dualflow.io.options import CheckpointOptions as CheckpointOptions
from dualflow.io.reader import (
    CheckpointReader as CheckpointReader,
    checkpoints_iterator as checkpoints_iterator,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from dualflow.io.restoration import Status as Status
from dualflow.optimizers.averages import ExponentialMovingAverage as ExponentialMovingAverage
