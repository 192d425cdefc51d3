"""One function per public op, by family: signature, docstring, the call to `apply`, and right below
it the op's gradient rule. A module here has the name of its kernels' file in csrc/ops."""

from dualflow.ops import (
    activation,
    arithmetic,
    array,
    bitwise,
    cast,
    compare,
    creation,
    exponential,
    gather,
    hyperbolic,
    join,
    limits,
    matmul,
    random,
    rounding,
    special,
    trigonometric,
)

__all__ = [
    "activation",
    "arithmetic",
    "array",
    "bitwise",
    "cast",
    "compare",
    "creation",
    "exponential",
    "gather",
    "hyperbolic",
    "join",
    "limits",
    "matmul",
    "random",
    "rounding",
    "special",
    "trigonometric",
]
