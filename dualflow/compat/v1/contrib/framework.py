"""`tf.contrib.framework`: the global step."""

from dualflow.compat.v1.train.step import (
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
)

__all__ = ["create_global_step", "get_global_step", "get_or_create_global_step"]
