"""Keras's optimizer updates by dualflow's fused update ops, which have the same formulas.

A fused op reads and writes a variable and its slots once. If an optimizer needs more than the fused
op computes, Keras's own update runs.
"""

from collections.abc import Callable
from typing import Any

from keras.src.backend.common.stateless_scope import in_stateless_scope

import dualflow as df
from dualflow._core import current_graph
from dualflow.keras.src.ops.convert import convert_to_tensor
from dualflow.modules import attached, waiting
from dualflow.ops.state import optimizer as fused


def _held(variable: Any) -> Any:
    """Return the dualflow variable of a Keras variable, or a plain variable itself."""
    return variable if isinstance(variable, df.Variable) else getattr(variable, "_value", None)


def _slot(optimizer: Any, slots: Any, variable: Any) -> Any:
    return slots[optimizer._get_variable_index(variable)]._value


def _rate(learning_rate: Any, variable: Any) -> df.Tensor:
    return convert_to_tensor(learning_rate, _held(variable).dtype)


def _sgd(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
    rate = _rate(learning_rate, variable)
    if optimizer.momentum == 0:
        fused.sgd_update(_held(variable), gradient, rate)
    else:
        fused.momentum_update(_held(variable), _slot(optimizer, optimizer.momentums, variable),
                              gradient, rate, optimizer.momentum, optimizer.nesterov)


def _adam(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
    slots = [optimizer._momentums, optimizer._velocities]
    update: Callable[..., None] = fused.adam_update
    if optimizer.amsgrad:
        slots.append(optimizer._velocity_hats)
        update = fused.amsgrad_update
    update(_held(variable), *[_slot(optimizer, x, variable) for x in slots], gradient,
           _rate(learning_rate, variable), convert_to_tensor(optimizer.iterations, "int64"),
           optimizer.beta_1, optimizer.beta_2, optimizer.epsilon)


def _adagrad(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
    fused.adagrad_update(_held(variable), _slot(optimizer, optimizer._accumulators, variable),
                         gradient, _rate(learning_rate, variable), optimizer.epsilon)


# Placeholders for the momentum slot of an optimizer without momentum.
NOTHING = {dtype: df.Variable(df.zeros([0], dtype), trainable=False, name="nothing")
           for dtype in (df.float32, df.float64)}


def _rmsprop(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
    slots = [_slot(optimizer, optimizer._velocities, variable)]
    update: Callable[..., None] = fused.rmsprop_update
    if optimizer.centered:
        slots.append(_slot(optimizer, optimizer._average_gradients, variable))
        update = fused.centered_rmsprop_update
    slots.append(_slot(optimizer, optimizer._momentums, variable) if optimizer.momentum > 0
                 else NOTHING[_held(variable).dtype])
    update(_held(variable), *slots, gradient, _rate(learning_rate, variable), optimizer.rho,
           optimizer.momentum, optimizer.epsilon)


# Updates by the name of Keras's class.
FUSED: dict[str, Callable[..., None]] = {
    "SGD": _sgd, "Adam": _adam, "Adagrad": _adagrad, "RMSprop": _rmsprop}


def _fits(gradient: Any, variable: Any) -> bool:
    """Return True if the fused update supports this gradient: equal dtypes, no stateless scope."""
    values = gradient.values if isinstance(gradient, df.IndexedSlices) else gradient
    held = _held(variable)
    return (isinstance(held, df.Variable) and isinstance(values, df.Tensor)
            and held.dtype in (df.float32, df.float64) and values.dtype is held.dtype
            and not in_stateless_scope())


def install(optimizers: Any) -> None:
    """Let Keras's optimizer classes use the fused updates."""
    for name, update in FUSED.items():
        cls = getattr(optimizers, name)
        cls.update_step = _updating(cls.update_step, update)
    optimizers.Optimizer.build = _building(optimizers.Optimizer.build)
    optimizers.Optimizer.__setattr__ = _noticed(optimizers.Optimizer.__setattr__)


def _building(build: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def build_over(self: Any, variables: Any) -> None:
        """Create the slots. In the trace for any variable as argument this raises, so that the
        function is traced for the variables of the call, for which the optimizer has slots."""
        outliner = getattr(current_graph(), "outliner", None)
        stand_ins = [] if outliner is None else outliner.stand_ins.values()
        if any(v is x for v in variables for x in stand_ins):
            raise df.errors.InvalidArgumentError(
                f"{self.name}: an optimizer has slots for the variables of one call, not for any "
                "variable as argument")
        build(self, variables)

    build_over.__doc__ = build.__doc__
    return build_over


def _noticed(set_attribute: Callable[..., None]) -> Callable[..., None]:
    """Restore values from checkpoints when an optimizer has new slots."""
    def __setattr__(self: Any, name: str, value: Any) -> None:
        set_attribute(self, name, value)
        if waiting and isinstance(value, list):
            attached(value)

    return __setattr__


def _updating(composed: Callable[..., None], update: Callable[..., None]) -> Callable[..., None]:
    def update_step(self: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
        if _fits(gradient, variable):
            update(self, gradient, variable, learning_rate)
        else:
            composed(self, gradient, variable, learning_rate)

    update_step.__doc__ = composed.__doc__
    update_step.fused = True            # type: ignore[attr-defined]
    return update_step


def takes_rows(optimizer: Any) -> bool:
    """Return True if an optimizer passes IndexedSlices to its fused update unchanged."""
    step = getattr(type(optimizer), "update_step", None)
    changes = ("clipnorm", "clipvalue", "global_clipnorm", "gradient_accumulation_steps",
               "loss_scale_factor")
    return (getattr(step, "fused", False)
            and not any(getattr(optimizer, name, None) for name in changes))
