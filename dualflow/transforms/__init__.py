"""Functions made of functions, over the rules that ops have: `vmap`, and Jacobians by it."""

from dualflow.transforms.jacobians import hessian, jacfwd, jacrev
from dualflow.transforms.mapping import vectorized_map, vmap

__all__ = ["hessian", "jacfwd", "jacrev", "vectorized_map", "vmap"]
