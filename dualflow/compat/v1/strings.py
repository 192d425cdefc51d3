"""`tf.strings`: text."""

from dualflow.compat.v1.io.parsing import string_to_number as to_number
from dualflow.compat.v1.text_ops import (
    as_string as as_string,
    reduce_join as reduce_join,
    string_join as join,
    string_lower as lower,
    string_strip as strip,
    string_upper as upper,
)

__all__ = ["as_string", "join", "lower", "reduce_join", "strip", "to_number", "upper"]
