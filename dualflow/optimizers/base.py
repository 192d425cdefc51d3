"""What all optimizers share: learning rate, clipping, slots, and the loop over variables."""

from __future__ import annotations

import copy
import functools
import warnings
import weakref

import dualflow as df
from dualflow._core import Variable, current_graph, unwrapped
from dualflow.arguments import unknown_argument
from dualflow.errors import DTypeError, GradientWarning, InvalidArgumentError
from dualflow.ops.clip import clip_gradient_by_value
from dualflow.ops.host import host_call
from dualflow.optimizers.options import Options, Signature
from dualflow.optimizers.rate import LearningRate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

__all__ = ["Optimizer"]

class Optimizer(Options):
    """Base of optimizers. A subclass names its slots and says how one variable is updated.

    Parameters
    ----------
    learning_rate : float, Variable, schedule or callable
        A schedule is called with `iterations`, a callable without arguments, at each update; while
        tracing also once more.
    clipnorm : float, optional
        Each gradient is scaled down to at most this norm.
    clipvalue : float, optional
        Each element of a gradient is limited to [-clipvalue, clipvalue].
    global_clipnorm : float, optional
        All gradients are scaled down so that their common norm is at most this.
    weight_decay : float, optional
        The share ``learning_rate * weight_decay`` of a variable is lost before its update.
    use_ema : bool
        Whether averages of the variables are kept, see `finalize_variable_values`.
    ema_momentum : float, default 0.99
        How much of an average is kept at each update.
    ema_overwrite_frequency : int, optional
        Every so many updates the variables become their averages.
    loss_scale_factor : float, optional
        See `scale_loss`.
    gradient_accumulation_steps : int, optional
        Gradients are added up, and every so many steps there is an update by their mean.
    name : str, optional

    Attributes
    ----------
    iterations : Variable, int64, shape ()
        Updates made so far; assign a number to change it.

    Notes
    -----
    Attributes may be changed at any time, for eager and traced updates alike; a change that needs
    slots which the variables do not have raises.

    A gradient that is `IndexedSlices` gives the same update as the dense one, to the bit, without
    being made dense: running means of rows that are not named decay, as in Keras.

    Slots belong to the variables themselves: copied or pickled together, an optimizer and its
    variables continue as they would have.
    """

    slot_names: Sequence[str] = ()
    weight_decay: float | None
    loss_scale_factor: float | None
    use_ema: bool
    ema_momentum: float
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None

    def __init__(self, learning_rate: LearningRate, weight_decay: float | None = None,
                 clipnorm: float | None = None, clipvalue: float | None = None,
                 global_clipnorm: float | None = None, use_ema: bool = False,
                 ema_momentum: float = 0.99, ema_overwrite_frequency: int | None = None,
                 loss_scale_factor: float | None = None,
                 gradient_accumulation_steps: int | None = None, name: str | None = None,
                 **unknown: Any) -> None:
        if unknown:
            raise TypeError(unknown_argument(type(self), next(iter(unknown))))
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
        self._slots: dict[df.Variable, tuple[df.Variable, ...]] = {}
        self._layout: Sequence[str] = ()            # names of the slots that were made
        self._holds: frozenset[str] = frozenset()   # those that hold something
        # Values of slots that are not made yet, by variable, or by its place among them.
        self._kept: dict[Any, dict[str, df.Tensor]] = {}
        # In a copy that has made no update yet: the variables it was copied from, and its own.
        self._copied: list[tuple[Callable[[], Any], df.Variable]] | None = None
        self._warned = False
        Optimizer.validate(self)

    __signature__: Any = Signature(__init__)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "iterations" and name in self.__dict__:
            self.iterations.assign(value)
        else:
            super().__setattr__(name, value)

    def validate(self) -> None:
        super().validate()
        clips = [key for key in ("clipnorm", "clipvalue", "global_clipnorm")
                 if getattr(self, key) is not None]
        if len(clips) > 1:
            raise InvalidArgumentError(f"{self.name}: got {' and '.join(clips)}, want one of them")
        needed = (*self.needed_slots(), *self.extra_slots()) if self._slots else ()
        if missing := [slot for slot in needed if slot not in self._holds]:
            raise InvalidArgumentError(f"{self.name}: its variables have no slot for "
                                       f"{' and '.join(missing)}; make a new optimizer that has")

    # --- slots ---

    def layout(self) -> Sequence[str]:
        """Names of the slots that a variable gets, given the current attributes."""
        return self.slot_names

    def next_layout(self) -> Sequence[str]:
        """Names of the slots that the next variable gets."""
        return self._layout if self._slots else (*self.layout(), *self.extra_slots())

    def needed_slots(self) -> Sequence[str]:
        """Names of the slots that updates use."""
        return self.layout()

    def build(self, var_list: Iterable[df.Variable]) -> None:
        """Creates the slots of variables that have none; the first update does so if need be."""
        for var in map(unwrapped, var_list):
            if not isinstance(var, df.Variable):
                raise DTypeError(
                    f"{self.name}: got {type(var).__name__} to update, want a Variable")
            if not self._slots:
                self._layout, self._holds = tuple(self.next_layout()), frozenset(
                    (*self.needed_slots(), *self.extra_slots()))
            if var not in self._slots:
                kept = self._kept.get(var) or self._kept.get(len(self._slots)) or {}
                self._slots[var] = tuple([self._new_slot(slot, var, kept.get(slot))
                                          for slot in self._layout])
                kept.clear()
        self._copied = None

    def _new_slot(self, slot: str, var: df.Variable, kept: df.Tensor | None) -> df.Variable:
        value = self.initial_slot(slot, var)
        if kept is not None:
            if (kept.shape, kept.dtype) != (value.shape, value.dtype):
                raise InvalidArgumentError(
                    f"{self.name}: a checkpoint has kept {kept.dtype} {kept.shape} as {slot} of "
                    f"{var.name}, want {value.dtype} {value.shape}")
            value = kept
        return df.Variable(value, trainable=False, name=f"{var.name}/{slot}")

    def initial_slot(self, slot: str, var: df.Variable) -> df.Tensor:
        """The initial value of a slot."""
        return var.value() if slot == "average" else df.zeros(var.shape, var.dtype)

    @property
    def variables(self) -> list[df.Variable]:
        """Everything that changes from update to update: iterations, learning rate, slots."""
        slots = [slot for own in self._slots.values() for slot in own]
        return [*self.numbers.values(), *slots]

    @property
    def numbers(self) -> dict[str, df.Variable]:
        """Of these, what belongs to no variable."""
        own = {"learning_rate": self._rate} if isinstance(self._rate, df.Variable) else {}
        sums = {} if self._steps is None else {"steps": self._steps}
        return {"iterations": self.iterations, **own, **sums}

    @property
    def slots(self) -> dict[df.Variable, dict[str, df.Variable]]:
        """The slots that were made, by variable and name."""
        return {var: dict(zip(self._layout, slots, strict=True))
                for var, slots in self._slots.items()}

    @property
    def kept(self) -> dict[Any, dict[str, df.Tensor]]:
        """What `keep` was given and no `build` has asked for."""
        return {of: slots for of, slots in self._kept.items() if slots}

    def keep(self, values: dict[Any, dict[str, df.Tensor]]) -> None:
        """Keeps values of slots until `build` makes these: by variable, or its place among those
        that are built, and name."""
        self._kept = values

    def state(self) -> list[df.Tensor]:
        """The values of `variables`: all that is needed to continue from here later.

        Examples
        --------
        >>> import dualflow as df
        >>> v, opt = df.Variable([1.]), df.optimizers.Adam(0.1)
        >>> opt.apply_gradients([(df.constant([1.]), v)])
        >>> again = df.optimizers.Adam(0.1)
        >>> again.build([v])
        >>> again.restore(opt.state())
        >>> again.iterations.numpy().item()
        1
        """
        return [v.value() for v in self.variables]

    def restore(self, state: Sequence[Any]) -> None:
        """Restores what `state` returned; first `build` the same variables in the same order."""
        if len(state) != len(self.variables):
            raise InvalidArgumentError(f"{self.name}: got the values of {len(state)} variables, "
                                       f"have {len(self.variables)}; build it first")
        for variable, value in zip(self.variables, state, strict=True):
            variable.assign(value)

    # --- copies ---

    def __deepcopy__(self, memo: dict[int, Any]) -> Optimizer:
        made = memo[id(self)] = type(self).__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        originals = [(ref, memo[id(own)]) for ref, own in self._copied or ()]
        made._copied = originals + [(weakref.ref(var), memo[id(var)]) for var in self._slots]
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_copied": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _settle(self, variables: list[df.Variable]) -> None:
        """Called at the first update of a copy: its slots are for the variables that were copied
        with it or, if it was copied alone, for those of the original."""
        known, slots = set(variables), self._slots
        stands_for = {own: original for ref, own in self._copied or ()
                      if (original := ref()) in known and own not in known}
        slots = {stands_for.get(var, var): slot for var, slot in slots.items()}
        if slots and self._layout and not any(var in slots for var in known):
            raise InvalidArgumentError(
                f"{self.name}: a copy of an optimizer, without the variables that it is to update: "
                "copy or pickle them together, as in copy.deepcopy((model, optimizer)), or let it "
                "start anew by build(variables)")
        self._slots, self._copied = slots, None

    # --- updates ---

    def update(self, grad: Any, var: df.Variable, slots: tuple[df.Variable, ...],
               rate: Any) -> None:
        """Updates one variable and its slots, by ops that write them."""
        raise NotImplementedError

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, df.Variable]]) -> None:
        """Makes one update.

        Parameters
        ----------
        grads_and_vars : pairs of gradient and Variable
            A variable whose gradient is None stays as it is, with a warning the first time.

        Raises
        ------
        InvalidArgumentError
            If every gradient is None.
        DTypeError, ShapeError
            If a gradient is not like its variable.
        """
        pairs = list(grads_and_vars)
        grads = [g for g, _ in pairs]
        variables = [unwrapped(v) for _, v in pairs]
        if not pairs or any(g is None for g in grads):
            grads, variables = self._connected(grads, variables)
        self.used()
        if self._copied is not None:
            self._settle(variables)
        slots = self._slots
        if any(v not in slots for v in variables):
            self.build(variables)
        graph = current_graph()
        flowed = [None if graph is None else graph.flowed.get(g) for g in grads]
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
        """One update of all variables; a flag tells in a run whether there is a gradient."""
        rate, own = self.learning_rate, len(self._layout) - len(self.extra_slots())
        for grad, var, flag in zip(self._clipped(grads), variables, flags, strict=True):
            step = functools.partial(self._one_update, grad, var, self._slots[var][:own], rate)
            if flag is None:
                step()
            else:
                df.cond(flag, step, lambda: None)
        if self.use_ema:
            self.average([(var, self._slot(var, "average")) for var in variables])
        self.iterations.assign_add(self._one)

    def _one_update(self, grad: Any, var: df.Variable, slots: tuple[df.Variable, ...],
                    rate: Any) -> None:
        self.decay(var, rate)
        self.update(grad, var, slots, rate)

    def _connected(self, grads: list[Any], variables: list[df.Variable]) -> tuple[list, list]:
        """The gradients that are not None, and their variables."""
        missing = [getattr(v, "name", "?") for g, v in zip(grads, variables, strict=True)
                   if g is None]
        if len(missing) == len(grads):
            raise InvalidArgumentError(self._none_flowed(missing))
        if not self._warned:
            self._warned = True
            warnings.warn(f"{self.name}: no gradient for {missing}; they stay as they are",
                          GradientWarning, stacklevel=3)
        left = [(g, v) for g, v in zip(grads, variables, strict=True) if g is not None]
        return [g for g, _ in left], [v for _, v in left]

    def _none_flowed(self, names: list[str]) -> str:
        return (f"{self.name}: no gradient for any of {names}: is the loss computed from them, "
                "inside the tape?")

    def _check_flowed(self, flags: list[Any], variables: list[df.Variable]) -> None:
        """Raises, where it runs, if nothing flowed to any variable."""
        told = self._none_flowed([v.name for v in variables])

        def check(*flags: Any) -> None:
            if not any(flags):
                raise InvalidArgumentError(told)

        host_call(check, flags, "assert")

    def _clipped(self, grads: list[Any]) -> list[Any]:
        if self.clipnorm is not None:
            return [df.clip_by_norm(g, self.clipnorm) for g in grads]
        if self.global_clipnorm is not None:
            return df.clip_by_global_norm(grads, self.global_clipnorm)[0]
        if self.clipvalue is not None:
            return [clip_gradient_by_value(g, self.clipvalue) for g in grads]
        return grads

    def minimize(self, loss: Any, var_list: Sequence[df.Variable],
                 tape: df.GradientTape | None = None) -> Any:
        """Differentiates a loss and makes one update.

        Parameters
        ----------
        loss : callable without arguments, or Tensor
            A Tensor needs the tape that recorded it.
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
                                       "tape is given, want a callable or the tape")
        else:
            with tape:
                scaled = self.scale_loss(loss)
        self.apply_gradients(zip(tape.gradient(scaled, var_list), var_list, strict=True))
        return loss
