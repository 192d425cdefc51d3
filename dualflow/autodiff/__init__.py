"""Differentiation: one backward pass, used by GradientTape and by plain functions. Most
functions are imported from their modules at the first use."""

from dualflow._util.late_binding import submodule as _submodule
from dualflow.autodiff.py_function import py_function as py_function
from dualflow.autodiff.tape import (
    GradientTape as GradientTape,
    UnconnectedGradients as UnconnectedGradients,
)

TYPE_CHECKING = False       # type checkers and editors assume True
if TYPE_CHECKING:
    from dualflow.autodiff.forward import (
        ForwardAccumulator as ForwardAccumulator,
        hvp as hvp,
        jvp as jvp,
        vjp as vjp,
    )
    from dualflow.autodiff.functional import (
        custom_gradient as custom_gradient,
        grad as grad,
        hessian as hessian,
        jacobian as jacobian,
        value_and_grad as value_and_grad,
    )
    from dualflow.autodiff.recompute import (
        checkpoint as checkpoint,
        recompute_grad as recompute_grad,
    )

# The imports above by module, for the lazy import of names.
_NAMES = {
    "forward": "ForwardAccumulator hvp jvp vjp",
    "functional": "custom_gradient grad hessian jacobian value_and_grad",
    "recompute": "checkpoint recompute_grad",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:       # for type checkers, other names are errors
    __all__ = sorted(["GradientTape", "UnconnectedGradients", "py_function", *_HOMES])

    def __getattr__(name):
        module = _submodule(__name__, _HOMES.get(name, name))
        value = globals()[name] = getattr(module, name) if name in _HOMES else module
        return value

    def __dir__() -> list[str]:
        return __all__
