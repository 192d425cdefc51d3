"""The base of optimizers: learning rate, clipping, slots, and the loop over variables."""

from __future__ import annotations

import functools
import warnings
from itertools import repeat
from operator import is_

import dualflow as df
from dualflow._core import (
    Symbol,
    Tensor,
    TraceContext,
    Updates,
    Variable,
    current_graph,
    unwrapped,
)
from dualflow._util.arguments import unknown_argument
from dualflow._util.notebook import card
from dualflow.errors import GradientWarning, InvalidArgumentError
from dualflow.ops.indexing.indexed_slices import IndexedSlices
from dualflow.optimizers.formula import Formula
from dualflow.optimizers.options import Signature, widened
from dualflow.optimizers.rate import LearningRate
from dualflow.optimizers.slots import Slots
from dualflow.tracebacks import filtered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

__all__ = ["Optimizer"]


class Optimizer(Slots):
    """Base of optimizers. A subclass names its slots and defines the update of one variable.

    Parameters
    ----------
    learning_rate : float, Variable, schedule or callable
        A schedule is called with `iterations`, a callable without arguments, once per update, and
        once more during tracing.
    clipnorm : float, optional
        Maximal norm of each gradient; larger ones are scaled down.
    clipvalue : float, optional
        Each element of a gradient is clipped to [-clipvalue, clipvalue].
    global_clipnorm : float, optional
        Maximal common norm of all gradients; larger ones are scaled down.
    weight_decay : float, optional
        A variable is multiplied by ``1 - learning_rate * weight_decay`` before its update.
    use_ema : bool
        Whether to maintain averages of the variables; see `finalize_variable_values`.
    ema_momentum : float, default 0.99
        Decay rate of the averages.
    ema_overwrite_frequency : int, optional
        Number of updates after which the variables are replaced by their averages.
    loss_scale_factor : float, optional
        See `scale_loss`.
    gradient_accumulation_steps : int, optional
        Number of steps over which gradients are summed for one update by their mean.
    name : str, optional

    Attributes
    ----------
    iterations : Variable, int64, shape ()
        Number of updates; assign a number to change it.

    Notes
    -----
    Attributes may be changed at any time, for eager and traced updates. A change that requires
    slots which the variables do not have raises.

    Updates of a 16-bit variable are computed in float32: slot ``master`` is the float32 value of
    the variable, other slots are float32, and the variable is the rounded master. An element that
    was assigned to the variable between two updates replaces the master's, unless it equals the old
    one. An overridden `update` gets the master in place of the variable.

    A gradient that is `IndexedSlices` gives an update bit-identical to the dense gradient without
    being converted: running means of rows without an index decay, as in Keras.

    Slots belong to variables: an optimizer and its variables that are copied or pickled together
    continue training identically.
    """

    _is_formula = False
    _again: Updates | None = None           # the last update, if it can be repeated
    weight_decay: float | None
    loss_scale_factor: float | None
    use_ema: bool
    ema_momentum: float

    def __init__(self, learning_rate: LearningRate, weight_decay: float | None = None,
                 clipnorm: float | None = None, clipvalue: float | None = None,
                 global_clipnorm: float | None = None, use_ema: bool = False,
                 ema_momentum: float = 0.99, ema_overwrite_frequency: int | None = None,
                 loss_scale_factor: float | None = None,
                 gradient_accumulation_steps: int | None = None, name: str | None = None,
                 **unknown: Any) -> None:
        if unknown:
            raise TypeError(unknown_argument(type(self), next(iter(unknown))))
        Slots.__init__(self)
        self.name: str = name if name is not None else type(self).__name__
        self.weight_decay, self.loss_scale_factor = weight_decay, loss_scale_factor
        self.use_ema, self.ema_momentum = use_ema, ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.clipnorm, self.clipvalue, self.global_clipnorm = clipnorm, clipvalue, global_clipnorm
        self.iterations: Variable = df.Variable(0, trainable=False, name="iterations",
                                                dtype=df.int64)
        self._steps = df.Variable(0, trainable=False, name="steps", dtype=df.int64) \
            if gradient_accumulation_steps else None
        self._one = df.constant(1, df.int64)
        self._rate = self.as_rate(learning_rate)
        self._warned = False
        Optimizer.validate(self)

    __signature__: Any = Signature(__init__)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)                     # overriding `update` disables the inherited formula
        cls._is_formula = "formula" in own or (cls._is_formula and "update" not in own)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["_again"] = None
        if name == "iterations" and name in self.__dict__:
            self.iterations.assign(value)
        else:
            super().__setattr__(name, value)

    def validate(self) -> None:
        super().validate()
        needed = (*self.needed_slots(), *self.extra_slots()) if self._slots else ()
        if missing := [slot for slot in needed if slot not in self._holds]:
            raise InvalidArgumentError(f"{self.name}: its variables have no slot for "
                                       f"{' and '.join(missing)}; create a new optimizer")

    def __repr__(self) -> str:
        parts = [f"{name}={value}" for name, value in settings_of(self)]
        return f"<{type(self).__name__} {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return card(type(self).__name__, settings_of(self))

    # --- updates ---

    def formula(self) -> Formula | None:
        """Return the op of an update, or None if `update` is overridden."""
        return None

    def update(self, grad: Any, var: df.Variable, slots: tuple[df.Variable, ...],
               rate: Any) -> None:
        """Update one variable and its slots by ops that write them."""
        formula = self.formula()
        if formula is None:
            raise NotImplementedError
        formula.update(grad, var, [slots[self._layout.index(s)] for s in formula.slots], rate)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, df.Variable]]) -> None:
        """Apply one update.

        Parameters
        ----------
        grads_and_vars : pairs of gradient and Variable
            A variable whose gradient is None is not changed, with a warning the first time.

        Raises
        ------
        InvalidArgumentError
            If every gradient is None.
        DTypeError, ShapeError
            If a gradient does not have the dtype and shape of its variable.
        """
        pairs = list(grads_and_vars)
        if self._again is not None and self._again.again(pairs):
            return
        grads = [g for g, _ in pairs]
        variables = [unwrapped(v) for _, v in pairs]
        if not pairs or any(map(is_, grads, repeat(None))):
            grads, variables = self._connected(grads, variables)
        self.used()
        self.prepare(variables)
        graph = current_graph()
        flowed = [None] * len(grads) if graph is None else list(map(graph.flowed.get, grads))
        if None not in flowed:
            self._check_flowed(flowed, variables)
        grads = self.unscaled(grads)
        if self._steps is None:
            self._update(grads, variables, flowed)
        else:
            sums = [self._slot(v, "accumulated") for v in variables]
            self.accumulate(grads, flowed, sums, self._steps, lambda means: self._update(
                means, variables, [None] * len(means)))

    def _slot(self, var: df.Variable, name: str) -> df.Variable:
        return self._slots[var][self._layout.index(name)]

    def _update(self, grads: list[Any], variables: list[df.Variable], flags: list[Any]) -> None:
        """Update all variables. A flag other than None is true at run time if a gradient exists."""
        rate, grads = widened(self.learning_rate), self.clipped(grads)
        formula = self._common_formula(grads, variables, rate)
        if formula is None:
            self._update_one_by_one(grads, variables, flags, rate)
        else:
            grads, others = self._update_special(grads, variables, rate)
            for reduced in False, True:
                group = [(g, v) for g, v in zip(grads, others, strict=True)
                         if v.dtype.is_reduced_float is reduced]
                if group:
                    self._update_alike(formula.mixed(self.master) if reduced else formula, group,
                                       rate, len(variables))
        if self.use_ema:
            self.average([(self.master_of(v), self._slot(v, "average")) for v in variables])
            for var in variables if self.ema_overwrite_frequency is not None else ():
                if (master := self.master_of(var)) is not var:
                    var.assign(df.cast(master, var.dtype))
        self.iterations.assign_add(self._one)

    def _common_formula(self, grads: list[Any], variables: list[df.Variable],
                        rate: Any) -> Formula | None:
        """Return the formula if each update is only decay and formula, and eager; else None."""
        if current_graph() is not None or type(rate) is Symbol or not self._is_formula:
            return None
        for g in grads:
            if type(g) is not Tensor:
                known = all([type(g) in (Tensor, IndexedSlices) for g in grads])
                if known and len(set(variables)) == len(variables):     # in any order
                    break
                return None
        return self.formula()

    def _update_special(self, grads: list[Any], variables: list[df.Variable],
                        rate: Any) -> tuple[list[Any], list[df.Variable]]:
        """Update the variables with IndexedSlices, and 16-bit variables with a separate decay.
        Return the other gradients, which are Tensors, and their variables, decayed."""
        decays = bool(self.weight_decay) and not self.decays_itself
        if not decays and all([type(g) is Tensor for g in grads]):
            return grads, variables
        pairs: list[list[Any]] = [[], []]
        for g, v in zip(grads, variables, strict=True):
            pairs[type(g) is Tensor and not (decays and v.dtype.is_reduced_float)].append((g, v))
        special, others = pairs
        self._update_one_by_one([g for g, _ in special], [v for _, v in special],
                                [None] * len(special), rate)
        for _, v in others:
            self.decay(v, rate)
        return [g for g, _ in others], [v for _, v in others]

    def _update_alike(self, formula: Formula, pairs: list[tuple[Any, Variable]], rate: Any,
                      n: int) -> None:
        """Update variables by one formula, all or none; `n`: number of variables of the update."""
        rows = formula.update_each([g for g, _ in pairs], [v for _, v in pairs],
                                   [self._inputs(formula, v) for _, v in pairs], rate)
        if len(rows) == n and self._is_plain():
            self.__dict__["_again"] = formula.repeated(rows, rate, self.iterations)

    def _inputs(self, formula: Formula, var: Variable) -> list[Variable]:
        names = (*self._layout, self.master)
        return [self._slots[var][names.index(slot)] for slot in formula.slots]

    def _is_plain(self) -> bool:
        """Return True if an update is only its formula until an attribute changes. False for
        classes outside dualflow, which may change in other ways."""
        extras = (self._steps, self.loss_scale_factor, self.clipnorm, self.clipvalue,
                  self.global_clipnorm, self.use_ema or None)
        return (all([x is None for x in extras]) and type(self).__module__.startswith("dualflow.")
                and (self.decays_itself or not self.weight_decay))

    def _update_one_by_one(self, grads: list[Any], variables: list[df.Variable], flags: list[Any],
                           rate: Any) -> None:
        own = len(self._layout) - len(self.extra_slots())
        for grad, var, flag in zip(grads, variables, flags, strict=True):
            step = functools.partial(self._one_update, grad, var, self._slots[var][:own], rate)
            if flag is None:
                step()
            else:
                df.cond(flag, step, lambda: None)

    def _one_update(self, grad: Any, var: df.Variable, slots: tuple[df.Variable, ...],
                    rate: Any) -> None:
        master = self.master_of(var)
        formula = self.formula() if master is not var and self._is_formula else None
        if master is var:
            self.decay(var, rate)
            self.update(grad, var, slots, rate)
        elif formula is not None and (self.decays_itself or not self.weight_decay):
            mixed = formula.mixed(self.master)
            mixed.update(grad, var, self._inputs(mixed, var), rate)
        else:
            same = df.equal(df.cast(master, var.dtype), var)
            master.assign(df.where(same, master, df.cast(var, df.float32)))
            self.decay(master, rate)
            self.update(widened(grad), master, slots, rate)
            var.assign(df.cast(master, var.dtype))

    def _connected(self, grads: list[Any], variables: list[df.Variable]) -> tuple[list, list]:
        """Return the gradients that are not None, and their variables."""
        missing = [getattr(v, "name", "?") for g, v in zip(grads, variables, strict=True)
                   if g is None]
        if len(missing) == len(grads):
            raise InvalidArgumentError(self._none_flowed(missing))
        if not self._warned:
            self._warned = True
            warnings.warn(f"{self.name}: no gradient for {missing}; they are not updated",
                          GradientWarning, stacklevel=3)
        left = [(g, v) for g, v in zip(grads, variables, strict=True) if g is not None]
        return [g for g, _ in left], [v for _, v in left]

    def _none_flowed(self, names: list[str]) -> str:
        return (f"{self.name}: no gradient for any of {names}: is the loss computed from them, "
                "inside the tape?")

    def _check_flowed(self, flags: list[Any], variables: list[df.Variable]) -> None:
        """Raise at run time if no variable has a gradient."""
        message = self._none_flowed([v.name for v in variables])
        df.ops.control_flow.host.host_call(functools.partial(check_any, message), flags, "assert")

    @filtered
    def minimize(self, loss: Any, var_list: Sequence[df.Variable],
                 tape: df.GradientTape | None = None) -> Any:
        """Differentiate a loss and apply one update.

        Parameters
        ----------
        loss : callable without arguments, or Tensor
            A Tensor requires the tape that recorded it.
        var_list : sequence of Variable
        tape : GradientTape, optional

        Returns
        -------
        Tensor, the loss before the update

        Examples
        --------
        >>> import dualflow as df
        >>> v = df.Variable(3.)
        >>> df.optimizers.SGD(0.25).minimize(lambda: v * v, [v]).numpy().item()
        9.0
        >>> v.numpy().item()
        1.5
        """
        var_list = list(var_list)
        if callable(loss):
            with df.GradientTape() if tape is None else tape as tape:
                loss = loss()
                scaled = self.scale_loss(loss)
        elif tape is None:
            raise InvalidArgumentError(f"{self.name}: the loss is a {type(loss).__name__} and no "
                                       "tape is given, expected a callable or the tape")
        else:
            with tape:
                scaled = self.scale_loss(loss)
        self.apply_gradients(zip(tape.gradient(scaled, var_list), var_list, strict=True))
        return loss


def check_any(message: str, *flags: Any) -> None:
    """Raise unless a flag is true."""
    if not any(flags):
        raise InvalidArgumentError(message)


def settings_of(optimizer: Optimizer) -> list[tuple[str, str]]:
    """Return the learning rate, the options that have an effect, and the state, as texts."""
    with TraceContext(None):                     # also while a function is traced
        rate = optimizer._rate
        plain = isinstance(rate, df.TensorBase) and not isinstance(rate, Symbol)
        found = [("learning_rate", f"{rate}" if plain else getattr(rate, "__name__",
                                                                   type(rate).__name__))]
        found += [(name, repr(value)) for name, value in vars(optimizer).items()
                  if isinstance(value, bool | int | float) and value is not False
                  and not name.startswith("_")
                  and (name != "ema_momentum" or optimizer.use_ema)]
        return [*found, ("iterations", f"{optimizer.iterations}"),
                ("variables", str(len(optimizer._slots)))]
