"""Function transformations based on rules per op: `vmap`, and Jacobians that use `vmap`."""

from dualflow.transforms.jacobians import hessian, jacfwd, jacrev
from dualflow.transforms.mapping import vectorized_map, vmap

__all__ = ["hessian", "jacfwd", "jacrev", "vectorized_map", "vmap"]
