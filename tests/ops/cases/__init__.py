"""Importing this package fills the table: one module per family of ops."""

from tests.ops.case import CASES
from tests.ops.cases import (  # noqa: F401
    arithmetic,
    array,
    creation,
    exponential,
    gather,
    join,
    matmul,
    random,
    reduce,
    scan,
    slicing,
    sort,
)

__all__ = ["CASES"]
