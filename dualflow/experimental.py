"""Names of tf.experimental: classes with typed fields, and the array API under NumPy's names."""

from dualflow import array_api as numpy
from dualflow.ops.extension_type import ExtensionType as ExtensionType

__all__ = ["ExtensionType", "numpy"]
