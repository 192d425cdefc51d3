"""Bitwise operations on integers: `df.bitwise.bitwise_and`, ..."""

from dualflow.ops.elementwise.bitwise import (
    bitwise_and as bitwise_and,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    left_shift as left_shift,
    right_shift as right_shift,
)

invert = bitwise_not    # TensorFlow's name
