"""One function per public op, by family: signature, docstring, the call to `apply`, and right below
it the op's gradient rule. A module here has the name of its kernels' file in csrc/ops."""

from dualflow.ops import arithmetic, array, creation, exponential, gather, join, matmul, random

__all__ = ["arithmetic", "array", "creation", "exponential", "gather", "join", "matmul", "random"]
