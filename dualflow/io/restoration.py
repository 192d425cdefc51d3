"""Restoring from a checkpoint: of the objects that exist at once, of others when they are attached.

A `Restoration` holds the values that are not used yet. It is registered in `modules.waiting`, and
walks the checkpoint's objects again after each assignment of an attribute. The objects that were
given to the checkpoint own it, so it lives as long as one of them, and ends when all values are
used.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dualflow._core import Tensor, Variable
from dualflow.dtypes import as_dtype, float32
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.graph.trace.trace import suspended
from dualflow.io.content import TensorFile
from dualflow.io.object_graph import SLOTS, Tracked, join, public, resolved
from dualflow.modules import waiting
from dualflow.ops.elementwise.cast import cast

if TYPE_CHECKING:
    from dualflow.io.checkpoint import Checkpoint

__all__ = ["Status"]

OWNED = "_restorations"         # the attribute of an object that owns restorations


class Owned:
    """The restorations that an object owns. Copies own none."""

    def __init__(self, *restorations: Restoration) -> None:
        self.restorations = list(restorations)

    def __reduce__(self) -> Any:
        return Owned, ()


def is_waiting(x: Any) -> bool:
    """Return True if an object owns restorations."""
    return OWNED in vars(x) and bool(vars(x)[OWNED].restorations)


class Restoration:
    """The values of a checkpoint that are not used yet.

    Attributes
    ----------
    path : str
        The file.
    kinds : dict of str to (dtype, shape)
        The unused tensors.
    states : dict of str to JSON values
        The unused states.
    same : dict of str to str
        See `TensorFile`.
    names : dict of str to str
        The names of restored objects, by the names in the file.
    """

    def __init__(self, checkpoint: Checkpoint, content: TensorFile) -> None:
        self.path = content.path
        self.kinds, self.states, self.same = dict(content.tensors), content.states, content.same
        self.names: dict[str, str] = {}
        self._checkpoint = checkpoint
        self._busy = False
        self._begun = False
        self._owners: list[Owned] = []
        self._ref: weakref.WeakMethod[Any] | None = None
        self._tensors: dict[str, Tensor] = {}

    def begin(self, content: TensorFile, partial: bool) -> None:
        """Restore the objects that exist. Raise an error, before anything is changed, if they have
        other dtypes or shapes, or, if not `partial`, other names."""
        found = Tracked(self._checkpoint)
        match = Match(found, self)
        match.check(partial)
        self._tensors = content.read()
        self._apply(found, match)
        if self.kinds or self.states:
            owners = [self._checkpoint, *found.nested, vars(self._checkpoint)["_root"],
                      *[x for _, x in public(self._checkpoint)]]
            for x in {id(x): x for x in owners}.values():
                if hasattr(x, "__dict__") and not isinstance(x, Variable):
                    owned = vars(x).setdefault(OWNED, Owned())
                    owned.restorations.append(self)
                    self._owners.append(owned)
            self._ref = weakref.WeakMethod(self.update)
            waiting.append(self._ref)

    def update(self) -> None:
        """Restore the objects that have been attached since the last call."""
        if self._busy or not (self.kinds or self.states):
            return
        with self._checkpoint._lock, suspended():
            self._busy = True
            try:
                with suppress(DTypeError):      # an object that cannot be saved: `save` reports it
                    found = Tracked(self._checkpoint)
                    match = Match(found, self)
                    match.check(True)
                    self._apply(found, match)
            finally:
                self._busy = False

    def _apply(self, found: Tracked, match: Match) -> None:
        self._put_states(found, match)
        for name, theirs in match.pairs.items():
            value = self._tensors[theirs]
            if name in found.variables:
                variable = found.variables[name]
                variable.assign(value if value.dtype is variable.dtype
                                else cast(value, variable.dtype))
            else:
                found.arrays[name][...] = value.numpy()
        for name, of in match.masters.items():
            found.variables[name].assign(cast(found.variables[of], float32))
        for path, optimizer in found.optimizers.items():
            kept = {of: {slot: self._tensors[name] for slot, name in names.items()}
                    for of, names in match.kept[path].items()}
            for of, slots in optimizer.kept.items() if self._begun else ():
                kept[of] = {**slots, **kept.get(of, {})}
            optimizer.keep(kept)
        self._begun = True
        self.names.update(match.names())
        for theirs in self.names:
            self.kinds.pop(theirs, None)
            self.states.pop(theirs, None)
            self._tensors.pop(theirs, None)
        if not (self.kinds or self.states):
            with suppress(ValueError):          # it never waited, or another thread removed it
                waiting.remove(self._ref)       # type: ignore[arg-type]
            for owned in self._owners:
                owned.restorations.remove(self)
            self._owners.clear()

    def _put_states(self, found: Tracked, match: Match) -> None:
        """Restore states that are not tensors. If one raises, undo the ones before."""
        before = {name: found.states[name].get() for name in match.states}
        done: list[str] = []
        try:
            for name, theirs in match.states.items():
                done.append(name)
                found.states[name].put(self.states[theirs])
        except BaseException as error:
            for name in done[:-1]:
                found.states[name].put(before[name])
            error.add_note(f"while {done[-1]} was restored from {self.path}; nothing was")
            raise

    def unused(self) -> list[str]:
        """Return the names in the file without a matching object."""
        self.update()
        return [*self.states, *self.kinds]

    def unmatched(self) -> list[str]:
        """Return the names of objects for which the file has no value."""
        self.update()
        return Match(Tracked(self._checkpoint), self).missing

    def slots(self) -> list[str]:
        """Return descriptions of slots that optimizers have not created yet."""
        return [f"slots of {path}" for path, optimizer in
                Tracked(self._checkpoint).optimizers.items() if optimizer.kept]


class Match:
    """The matching names of objects and of unused values, and the differences.

    Attributes
    ----------
    pairs : dict of str to str
        The names in the file of variables and arrays, by their names here.
    states : dict of str to str
        The same of states.
    missing : list of str
        Names of objects for which the file has no value.
    extra : list of str
        Names that only the file has.
    other : list of str
        Descriptions of tensors with another shape or dtype.
    kept : dict of str to dict of (Variable or int) to dict of str to str
        For each optimizer, the slots to be used when it is built: by variable, or by index of the
        variable, the names of its slots in the file.
    slots : dict of str to str
        The names that these slots will have, by their names in the file.
    masters : dict of str to str
        For each float32 master without a value in the file: the name of its variable, which has
        one.
    later : set of str
        Names of masters without a value in the file that do not exist yet: the optimizer creates
        them from the variables.
    """

    def __init__(self, found: Tracked, rest: Restoration) -> None:
        self.path, self._rest = rest.path, rest
        self._have: dict[str, Any] = {**found.variables, **found.arrays}
        self.pairs: dict[str, str] = {}
        for name in self._have:
            theirs = name if name in rest.kinds else resolved(name, rest.same)
            if theirs in rest.kinds:
                self.pairs[name] = theirs
        self.states: dict[str, str] = {
            name: theirs for name in found.states for theirs in (
                name if name in rest.states else resolved(name, rest.same),)
            if theirs in rest.states}
        self.extra: list[str] = [name for name in rest.states
                                 if name not in self.states.values()]
        self.other: list[str] = []
        self.kept: dict[str, dict[Any, dict[str, str]]] = {path: {} for path in found.optimizers}
        self.slots: dict[str, str] = {}
        self._match_rest(found)
        back = {theirs: name for name, theirs in self.pairs.items()}
        for theirs in rest.kinds:
            if theirs in back:
                name = back[theirs]
                self._compare(theirs, self._have[name], found.slot_in(name) is not None)
        known = set(rest.names.values())
        self.masters: dict[str, str] = {}
        for name in self._have:
            slot = None if name in self.pairs else found.slot_in(name)
            if slot is not None and isinstance(slot.of, Variable) and (
                    slot.name == found.optimizers[slot.optimizer].master) and (
                    found.names[slot.of] in self.pairs):
                self.masters[name] = found.names[slot.of]
        self.later = {join(path, f"{SLOTS}/{optimizer.master}/{found.names[of]}")
                 for path, optimizer in found.optimizers.items()
                 for of, names in self.kept[path].items() if isinstance(of, Variable)
                 and of.dtype.is_reduced_float and optimizer.master not in names}
        self.missing: list[str] = [
            name for name in self._have if name not in self.pairs and name not in known
            and name not in found.optional and name not in self.masters]
        self.missing += [name for name in found.states
                         if name not in self.states and name not in known]
        for path, optimizer in found.optimizers.items():
            self.missing += [name.replace(f"/{slot}/", f"/{other}/", 1)
                             for names in self.kept[path].values() for slot, name in names.items()
                             for other in optimizer.next_layout() if other not in names]

    def _match_rest(self, found: Tracked) -> None:
        """Match the names in the file that are no names here: other paths of an object, slots that
        do not exist yet."""
        rest, used = self._rest, set(self.pairs.values())
        paths = {**found.indices, **found.same}
        known = {**rest.names, **{theirs: name for name, theirs in self.pairs.items()}}
        for theirs in rest.kinds:
            if theirs in used:
                continue
            names = [theirs, resolved(theirs, paths), found.resolved_slot(theirs, paths),
                     found.resolved_slot(theirs, known)]
            mine = next((name for name in names if name in self._have), None)
            slot = next(filter(None, map(found.slot_in, names)), None)
            if mine is not None and mine not in self.pairs:
                self.pairs[mine] = theirs
            elif slot is None or mine is not None:
                self.extra.append(theirs)
            else:
                self.kept[slot.optimizer].setdefault(slot.of, {})[slot.name] = theirs
                self.slots[theirs] = join(slot.optimizer, f"{SLOTS}/{slot.name}/" + (
                    f"@{slot.of}" if isinstance(slot.of, int) else found.names[slot.of]))
                if isinstance(slot.of, Variable):
                    optimizer = found.optimizers[slot.optimizer]
                    self._compare(theirs, optimizer.slot_value(slot.name, slot.of), True)

    def names(self) -> dict[str, str]:
        """Return the names of all objects that are restored, by their names in the file."""
        pairs = [*self.pairs.items(), *self.states.items()]
        return {**self.slots, **{theirs: name for name, theirs in pairs},
                **{name: name for name in (*self.masters, *self.later)}}

    def _compare(self, name: str, mine: Any, slot: bool) -> None:
        dtype, shape = self._rest.kinds[name]
        if slot and as_dtype(dtype).is_reduced_float and mine.dtype is float32:
            dtype = "float32"           # an earlier version had 16-bit slots, which are widened
        if (dtype, shape) != (str(mine.dtype), tuple(mine.shape)):
            self.other.append(f"{name} is {dtype} {shape} in the checkpoint, {mine.dtype} "
                              f"{tuple(mine.shape)} here")

    def check(self, partial: bool) -> None:
        """Raise an error if there are differences that are not permitted."""
        problems = [] if partial else [
            *[f"the checkpoint has no {name}" for name in self.missing],
            *[f"there is no {name} here" for name in self.extra]]
        problems += self.other
        if problems:
            hint = "" if self.other or partial else "\npartial=True restores the rest"
            raise InvalidArgumentError(f"{self.path} does not match, and nothing was restored:\n  "
                                       + "\n  ".join(problems) + hint)


class Status:
    """The result of `restore`, with the methods of TensorFlow's status objects. Each method takes
    objects into account that were attached after `restore`.

    Attributes
    ----------
    path : str or None
        The file; None if there was none.
    unused : list of str
        Names in the checkpoint without a matching object.
    unmatched : list of str
        Names of objects that the checkpoint does not contain.
    """

    def __init__(self, restoration: Restoration | None = None) -> None:
        if not isinstance(restoration, Restoration | None):
            raise DTypeError(f"Status: restoration is a {type(restoration).__name__}, expected the "
                             "restoration of a checkpoint or None")
        self._restoration = restoration
        self.path: str | None = None if restoration is None else restoration.path

    @property
    def unused(self) -> list[str]:
        return [] if self._restoration is None else self._restoration.unused()

    @property
    def unmatched(self) -> list[str]:
        return [] if self._restoration is None else self._restoration.unmatched()

    def assert_consumed(self) -> Status:
        """Raise AssertionError unless all values of the checkpoint were used and all objects were
        restored. Slots of an optimizer that is not built yet count as unused."""
        self.assert_existing_objects_matched()
        left = [*self.unused, *(self._restoration.slots() if self._restoration else ())]
        if left:
            raise AssertionError(f"{self.path} has values that are not used: {', '.join(left)}")
        return self

    def assert_existing_objects_matched(self) -> Status:
        """Raise AssertionError unless all objects were restored."""
        if self.path is None:
            raise AssertionError("nothing was restored: there was no checkpoint")
        if missing := self.unmatched:
            raise AssertionError(f"{self.path} has no values for: {', '.join(missing)}")
        return self

    def assert_nontrivial_match(self) -> Status:
        """Raise AssertionError if no object but the counter of checkpoints was restored."""
        if self._restoration is None:
            raise AssertionError("nothing was restored: there was no checkpoint")
        unused = self.unused
        if not {*self._restoration.names} - {"save_counter"} and not self._restoration.slots():
            raise AssertionError(f"{self.path}: nothing was restored; it has {', '.join(unused)}")
        return self

    def expect_partial(self) -> Status:
        """Do nothing: values that are never used are not reported."""
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Do nothing: `restore` has assigned the values. `session` is ignored."""

    def run_restore_ops(self, session: Any = None) -> None:
        """Do nothing: `restore` has assigned the values. `session` is ignored."""
