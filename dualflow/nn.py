"""Functions of neural networks, under TensorFlow's names."""

from dualflow.ops.gather import embedding_lookup

__all__ = ["embedding_lookup"]
