"""Bits of integers: `df.bitwise.bitwise_and`, ..."""

from dualflow.ops.bitwise import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    left_shift,
    right_shift,
)
from dualflow.ops.bitwise import bitwise_not as invert  # TensorFlow's name

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]
