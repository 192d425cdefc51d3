"""Sets along the last dimension, under TensorFlow's names."""

from dualflow.ops.sparse.sets import (
    difference as difference,
    intersection as intersection,
    size as size,
    union as union,
)
