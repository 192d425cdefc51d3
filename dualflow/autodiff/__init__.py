"""Differentiation: one backward pass, used by GradientTape and by plain functions."""

from dualflow.autodiff.forward import ForwardAccumulator, hvp, jvp, vjp
from dualflow.autodiff.functional import custom_gradient, grad, hessian, jacobian, value_and_grad
from dualflow.autodiff.py_function import py_function
from dualflow.autodiff.recompute import checkpoint, recompute_grad
from dualflow.autodiff.tape import GradientTape, UnconnectedGradients

__all__ = [
    "ForwardAccumulator",
    "GradientTape",
    "UnconnectedGradients",
    "checkpoint",
    "custom_gradient",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "py_function",
    "recompute_grad",
    "value_and_grad",
    "vjp",
]


def __dir__() -> list[str]:
    return __all__
