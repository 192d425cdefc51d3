"""Functions made of functions, over the rules that ops have already: `vmap`, and Jacobians by it."""

from dualflow.transforms.jacobians import hessian, jacfwd, jacrev
from dualflow.transforms.vmap import vmap

__all__ = ["hessian", "jacfwd", "jacrev", "vmap"]
