"""Functions made of functions, over the rules that ops have: `vmap`, and Jacobians by it."""

from dualflow.transforms.jacobians import hessian, jacfwd, jacrev
from dualflow.transforms.mapping import vmap

__all__ = ["hessian", "jacfwd", "jacrev", "vmap"]
