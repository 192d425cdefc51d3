"""Checkpoints of training, under TensorFlow's names."""

from dualflow.io.checkpoint import (
    Checkpoint as Checkpoint,
    Saving as Saving,
    Status as Status,
)
from dualflow.io.index import (
    CheckpointState as CheckpointState,
    checkpoint_exists as checkpoint_exists,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
)
from dualflow.io.manager import CheckpointManager as CheckpointManager
