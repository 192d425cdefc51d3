"""Names of tf.experimental: classes with typed fields, and functions under NumPy's names."""

from dualflow.experimental import numpy as numpy
from dualflow.ops.extension_type import (
    BatchableExtensionType as BatchableExtensionType,
    ExtensionType as ExtensionType,
)
from dualflow.ops.ragged.dynamic_shape import (
    DynamicRaggedShape as DynamicRaggedShape,
    RowPartition as RowPartition,
)

__all__ = ["BatchableExtensionType", "DynamicRaggedShape", "ExtensionType", "RowPartition", "numpy"]
