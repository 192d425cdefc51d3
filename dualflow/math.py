"""Mathematical functions, under TensorFlow's names."""

from dualflow.ops.gather import segment_sum, unsorted_segment_sum

__all__ = ["segment_sum", "unsorted_segment_sum"]
