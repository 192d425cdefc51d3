"""Optimizers with Keras' names, which update variables in place by gradients. Each is imported from
its module at the first use."""

from dualflow._util.late_binding import submodule as _submodule

TYPE_CHECKING = False       # type checkers and editors assume True
if TYPE_CHECKING:
    from dualflow.optimizers import schedules as schedules
    from dualflow.optimizers.adagrad import Adagrad as Adagrad
    from dualflow.optimizers.adam import Adam as Adam, AdamW as AdamW
    from dualflow.optimizers.base import Optimizer as Optimizer
    from dualflow.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
    from dualflow.optimizers.rmsprop import RMSprop as RMSprop
    from dualflow.optimizers.sgd import SGD as SGD

# The imports above by name, for the lazy import.
_HOMES = {"SGD": "sgd", "Adagrad": "adagrad", "Adam": "adam", "AdamW": "adam",
          "LossScaleOptimizer": "loss_scale", "Optimizer": "base", "RMSprop": "rmsprop"}

if not TYPE_CHECKING:       # for type checkers, other names are errors
    __all__ = [*_HOMES, "schedules"]

    def __getattr__(name):
        module = _submodule(__name__, _HOMES.get(name, name))
        value = globals()[name] = getattr(module, name) if name in _HOMES else module
        return value

    def __dir__() -> list[str]:
        return __all__
