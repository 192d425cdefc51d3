"""Importing this package fills the table: one module per family of ops."""

from tests.ops.case import CASES
from tests.ops.cases import arithmetic, exponential, gather, matmul  # noqa: F401

__all__ = ["CASES"]
