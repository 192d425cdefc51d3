"""Reverse-mode differentiation: one backward walker, GradientTape and plain functions on top."""

from dualflow.autodiff.tape import GradientTape, UnconnectedGradients

__all__ = ["GradientTape", "UnconnectedGradients"]
