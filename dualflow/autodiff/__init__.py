"""Reverse-mode differentiation: one backward walker, GradientTape and plain functions on top."""

import dualflow.autodiff.recurrent  # noqa: F401  the rules of its ops
from dualflow.autodiff.functional import custom_gradient, grad, hessian, jacobian, value_and_grad
from dualflow.autodiff.py_function import py_function
from dualflow.autodiff.tape import GradientTape, UnconnectedGradients

__all__ = [
    "GradientTape",
    "UnconnectedGradients",
    "custom_gradient",
    "grad",
    "hessian",
    "jacobian",
    "py_function",
    "value_and_grad",
]
