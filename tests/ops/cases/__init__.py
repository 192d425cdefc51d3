"""Importing this package fills the table: one module per family of ops."""

from tests.ops.case import CASES
from tests.ops.cases import (  # noqa: F401
    activation,
    arithmetic,
    array,
    bitwise,
    cast,
    compare,
    convolution,
    creation,
    crop,
    cumulative,
    division,
    exponential,
    gather,
    hyperbolic,
    image,
    join,
    limits,
    matmul,
    pooling,
    pooling_size,
    normalization,
    random,
    reduce,
    reduce_moments,
    relu,
    rounding,
    slicing,
    softmax,
    sort,
    space,
    special,
    trigonometric,
)

__all__ = ["CASES"]
