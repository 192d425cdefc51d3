"""Slots, the variables that an optimizer maintains per variable: creation, checkpoints, copies."""

from __future__ import annotations

import weakref

import dualflow as df
from dualflow._core import unwrapped
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.optimizers.options import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

__all__ = ["Slots"]


class Slots(Options):
    """Base of `Optimizer`: the slots of variables."""

    slot_names: Sequence[str] = ()
    master = "master"               # the last slot of a 16-bit variable, its float32 value

    _steps: df.Variable | None              # number of accumulated gradients

    def __init__(self) -> None:
        self._slots: dict[df.Variable, tuple[df.Variable, ...]] = {}
        self._layout: Sequence[str] = ()            # names of the existing slots
        self._holds: frozenset[str] = frozenset()   # names of the slots that updates use
        # Values of slots that do not exist yet, by variable, or by its index in build order.
        self._kept: dict[Any, dict[str, df.Tensor]] = {}
        # In a copy before its first update: references to the original variables, and the copies.
        self._copied: list[tuple[Callable[[], Any], df.Variable]] | None = None

    def layout(self) -> Sequence[str]:
        """Return the names of a variable's slots for the current attributes."""
        return self.slot_names

    def next_layout(self) -> Sequence[str]:
        """Return the names of the slots of the next variable."""
        return self._layout if self._slots else (*self.layout(), *self.extra_slots())

    def needed_slots(self) -> Sequence[str]:
        """Return the names of the slots that updates use."""
        return self.layout()

    def build(self, var_list: Iterable[df.Variable]) -> None:
        """Create the slots of variables that have none; the first update calls this."""
        for var in map(unwrapped, var_list):
            if not isinstance(var, df.Variable):
                raise DTypeError(
                    f"{self.name}: got {type(var).__name__} to update, expected a Variable")
            if not self._slots:
                self._layout, self._holds = tuple(self.next_layout()), frozenset(
                    (*self.needed_slots(), *self.extra_slots()))
            if var not in self._slots:
                kept = self._kept.get(var) or self._kept.get(len(self._slots)) or {}
                self._slots[var] = self._new_slots(var, kept)
                kept.clear()
        self._copied = None

    def prepare(self, variables: list[df.Variable]) -> None:
        """Create what an update of these variables needs."""
        if self._copied is not None:
            self._settle(variables)
        if not all(map(self._slots.__contains__, variables)):
            self.build(variables)

    def _new_slots(self, var: df.Variable, kept: dict[str, df.Tensor]) -> tuple[df.Variable, ...]:
        own = self._layout
        if not var.dtype.is_reduced_float:
            return tuple([self._new_slot(slot, var, self.initial_slot(slot, var), kept.get(slot))
                          for slot in own])
        name = self.master
        master = self._new_slot(name, var, df.cast(var, df.float32), kept.get(name))
        return (*[self._new_slot(slot, var, self.initial_slot(slot, master), kept.get(slot))
                  for slot in own], master)

    def slot_value(self, slot: str, var: df.Variable) -> df.Tensor:
        """Return the initial value of a slot of `var`, which for a 16-bit variable is float32."""
        wide = df.Variable(df.cast(var, df.float32)) if var.dtype.is_reduced_float else var
        return wide.value() if slot == self.master else self.initial_slot(slot, wide)

    def master_of(self, var: df.Variable) -> df.Variable:
        """Return the variable that updates compute with: the master of a 16-bit variable, or the
        variable itself."""
        return self._slots[var][-1] if var.dtype.is_reduced_float else var

    def _new_slot(self, slot: str, var: df.Variable, value: df.Tensor,
                  kept: df.Tensor | None) -> df.Variable:
        if kept is not None:
            if kept.dtype.is_reduced_float and value.dtype is df.float32:
                kept = df.cast(kept, df.float32)        # saved before slots were float32
            if (kept.shape, kept.dtype) != (value.shape, value.dtype):
                raise InvalidArgumentError(
                    f"{self.name}: a checkpoint has {kept.dtype} {kept.shape} as {slot} of "
                    f"{var.name}, expected {value.dtype} {value.shape}")
            value = kept
        return df.Variable(value, trainable=False, name=f"{var.name}/{slot}")

    def initial_slot(self, slot: str, var: df.Variable) -> df.Tensor:
        """Return the initial value of a slot of `var`, in the place of which updates of a 16-bit
        variable pass its master."""
        return var.value() if slot == "average" else df.zeros(var.shape, var.dtype)

    @property
    def variables(self) -> list[df.Variable]:
        """All variables that updates change: iterations, learning rate, slots."""
        slots = [slot for own in self._slots.values() for slot in own]
        return [*self.numbers.values(), *slots]

    @property
    def numbers(self) -> dict[str, df.Variable]:
        """The variables of the optimizer that belong to no model variable."""
        own = {"learning_rate": self._rate} if isinstance(self._rate, df.Variable) else {}
        sums = {} if self._steps is None else {"steps": self._steps}
        return {"iterations": self.iterations, **own, **sums}

    @property
    def slots(self) -> dict[df.Variable, dict[str, df.Variable]]:
        """The existing slots, by variable and name."""
        names = (*self._layout, self.master)
        return {var: dict(zip(names, slots, strict=False)) for var, slots in self._slots.items()}

    @property
    def kept(self) -> dict[Any, dict[str, df.Tensor]]:
        """The values given to `keep` that `build` has not used yet."""
        return {of: slots for of, slots in self._kept.items() if slots}

    def keep(self, values: dict[Any, dict[str, df.Tensor]]) -> None:
        """Store slot values until `build` creates the slots. Keys are variables or their indices in
        build order, then slot names."""
        self._kept = values

    def state(self) -> list[df.Tensor]:
        """Return the values of `variables`, the complete state for continuing later.

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
        """Restore a result of `state`; first `build` the same variables in the same order."""
        if len(state) != len(self.variables):
            raise InvalidArgumentError(f"{self.name}: got the values of {len(state)} variables, "
                                       f"expected {len(self.variables)}; build it first")
        for variable, value in zip(self.variables, state, strict=True):
            variable.assign(value)

    # --- copies ---

    def __deepcopy__(self, memo: dict[int, Any]) -> Slots:
        import copy  # slow import

        made = memo[id(self)] = type(self).__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        originals = [(ref, memo[id(own)]) for ref, own in self._copied or ()]
        made._copied = originals + [(weakref.ref(var), memo[id(var)]) for var in self._slots]
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_copied": [], "_again": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _settle(self, variables: list[df.Variable]) -> None:
        """Assign the slots of a copy at its first update: to the variables copied with it or, if it
        was copied alone, to the original variables."""
        known, slots = set(variables), self._slots
        stands_for = {own: original for ref, own in self._copied or ()
                      if (original := ref()) in known and own not in known}
        slots = {stands_for.get(var, var): slot for var, slot in slots.items()}
        if slots and self._layout and not any(var in slots for var in known):
            raise InvalidArgumentError(
                f"{self.name}: a copy of an optimizer, without the variables that it updates: "
                "copy or pickle them together, as in copy.deepcopy((model, optimizer)), or start "
                "with new slots by build(variables)")
        self._slots, self._copied = slots, None
