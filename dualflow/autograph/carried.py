"""Loop-carried variables: the tensors of a variable, and the structure around them."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from dualflow import nest
from dualflow._core import Symbol, as_tensor, current_graph, unwrapped
from dualflow.autograph.assigned import Partial, parts_of, settled
from dualflow.autograph.conditions import Formula, choice, conditions, disjunction, negation
from dualflow.autograph.errors import first_iteration, not_carried, refusal
from dualflow.autograph.values import (
    UNDEFINED,
    Hole,
    MutableRef,
    filled,
    filler,
    guesses,
    is_number,
    is_tensor,
    same,
    shape_of,
    tensor,
)
from dualflow.dtypes import float64, int64
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.control_flow.state import traced_text


class RetraceBody(Exception):
    """The iteration must be recorded again, as the type of a carried variable has changed."""


class Peel(Exception):
    """A carried variable gets its type in the first iteration, which must be peeled."""


class Carried:
    """One carried variable.

    Parameters
    ----------
    word : str
        Its name.
    value : object
        Its value before the loop.
    what : str
        The loop, for messages.
    constant : bool
        Whether numbers in it are assumed constant, until an iteration changes one.
    can_peel : bool
        Whether the first iteration may be peeled.
    owned : bool
        Whether it is a local variable of the frame, which may be without a value.
    deferred : bool
        Whether an error is raised only when the variable is read.
    place : (CodeType, int)
        Code and line of the loop.

    Attributes
    ----------
    before : Formula
        The condition that it has a value before the loop.
    claim : bool
        Whether every iteration starts with a value if `before` holds.
    holders : list of (Carried, bool)
        Bools that the loop changes: if such a bool has the given value, this variable has a value.
        The implication holds before the loop, is assumed at the start of an iteration and proved at
        its end.
    """

    def __init__(self, word: str, value: Any, what: str, constant: bool, can_peel: bool,
                 owned: bool = False, deferred: bool = False,
                 place: tuple[CodeType, int] | None = None) -> None:
        self.word = word
        self.why: Exception | None = value.error if type(value) is Partial else None
        value, self.before = parts_of(value)
        self.value = value
        self.owned = owned and not word.startswith("ag_")
        self.deferred = deferred and self.owned
        self.place = place
        self.claim: bool = True
        self.tried: bool = False                # whether holders were searched
        self.holders: list[tuple[Carried, bool]] = []
        self.like: Any = None                   # a sample of a value created only in the loop
        self.params: list[Any] = []
        self.final: Any = None
        self.when: Formula = True
        self.what = what
        self.constant: bool = constant
        self.can_peel = can_peel
        self.dtypes: dict[int, Any] = {}        # inferred dtypes of numbers, by index
        self.shapes: dict[int, Any] = {}        # with None for a size that changes
        self.changed: set[tuple[int, ...]] = set()      # paths of static fields that change
        self.replaced: set[int] = set()         # ids of lists and dicts replaced by other objects
        self.late: bool = value is UNDEFINED    # whether an iteration determines its type
        self.at_end: Any = None                 # the structure, with slots
        self.start: list[Any] = []
        self.numbers: list[bool] = []
        self.given: list[Any] = []              # tensors and numbers before the loop

    def begin(self) -> list[Any]:
        """Return its initial tensors."""
        self.start, self.numbers, self.given = [], [], []
        if not self.constant:
            self.value = traced_text(self.value)
        if self.like is not None:
            self.value = nest.rebuild(self.like, lambda x: filler(as_tensor(unwrapped(x)))
                                      if is_tensor(x) else x)
        self._n_tensors = len([x for x in nest.flatten(self.value) if is_tensor(x)])
        self.structure: Any = self.value if self.value is UNDEFINED else self._opened(self.value)
        return self.start

    def _opened(self, x: Any, path: tuple[int, ...] = (), static: bool = False) -> Any:
        """Return part `path` of the value with Holes for what the loop carries. `static`: whether
        numbers in it stay constant until an iteration changes one."""
        if type(x) is MutableRef and id(x.box) in self.replaced:
            x = x.value
        if not is_tensor(x) and nest.is_nested(x):
            static |= getattr(x, "_has_static_fields", False)
            return nest.remade(x, [self._opened(y, (*path, k), static)
                                   for k, y in enumerate(nest.parts(x))])
        number = is_number(x)
        constant = self.constant or (static and path not in self.changed)
        if not (is_tensor(x) or (number and not constant)):
            return x
        k = len(self.start)
        self.start.append(tensor(x, self.dtypes.get(k, guess(x) if number else None)))
        self.numbers.append(number)
        self.given.append(x)
        return Hole(k)

    def shape(self, k: int, x: Any) -> Any:
        """Return the loop-invariant shape of tensor k."""
        return self.shapes.get(k, shape_of(x))

    def inside(self, params: list[Any]) -> Any:
        """Return its value at the start of an iteration."""
        if self.value is UNDEFINED:
            if not self.owned:
                return UNDEFINED
            why = self.why or first_iteration(self.word, self.what)
            return Partial(self.word, [], why, self.place if self.can_peel else None)
        x = filled(self.structure, params)
        when = self._when()
        if when is True:
            return x
        why = self.why or first_iteration(self.word, self.what)
        return settled(Partial(self.word, [(x, when)], why,
                               self.place if self.can_peel else None))

    def _when(self) -> Formula:
        """Return the condition that it has a value at the start of an iteration."""
        found: Formula = self.before if self.claim else False
        self.holders = [(x, says) for x, says in self.holders if x.is_bool() and x.params]
        for x, says in self.holders:
            found = disjunction(found, equals(x.params[0], says))
        return found

    def is_bool(self) -> bool:
        """Return True if it is a bool, traced or not."""
        x = unwrapped(self.value)
        return type(x) is bool or (is_tensor(x) and x.dtype.is_bool and x.ndim == 0)

    def at_first(self, params: list[Any]) -> Any:
        """Return its value in a first iteration, in which numbers are Python numbers."""
        return self.inside([x if number else p for x, number, p in zip(
            self.given, self.numbers, params, strict=True)])

    def learn(self, value: Any) -> None:
        """Store the dtypes that numbers have after a first iteration."""
        if any(self.numbers):
            self._learn(self.structure, parts_of(value)[0])

    def _learn(self, structure: Any, value: Any) -> None:
        if isinstance(structure, Hole):
            if self.numbers[structure.place] and is_tensor(value):
                self.dtypes[structure.place] = unwrapped(value).dtype
        elif same_containers(structure, value):
            for a, b in zip(nest.parts(structure), nest.parts(value), strict=True):
                self._learn(a, b)

    def end(self, value: Any, params: list[Any], wanted: bool, bools: Sequence[Carried] = (),
            ) -> list[Any]:
        """Return its tensors at the end of an iteration. Raise Again, Peel or an error.

        `bools`: variables that may imply that this variable has a value.
        """
        if type(value) is Partial and self.why is None:
            self.why = value.error
        value, self.when = parts_of(value)
        if self.value is UNDEFINED:
            return self._made_inside(value, wanted, bools)
        if self.owned:
            self._check_claims(bools)
        if value is UNDEFINED:
            if not self.owned:
                self._refuse(value, None)
            return list(params)
        found: list[Any] = []
        self._fit(self.structure, value, params, found)
        return found

    def _check_claims(self, bools: Sequence[Carried]) -> None:
        """Prove that the assumptions of an iteration hold for the next one; raise Again if not."""
        implies = conditions().implies
        if self.when is not True and not self.tried:
            self.tried = True
            self.holders = self._holders(bools)
            raise RetraceBody
        if self.claim and not implies(choice(self.before, self.when, True)):
            self.claim = False
            raise RetraceBody
        good = [(x, says) for x, says in self.holders
                if implies(choice(equals(x.final, says), self.when, True))]
        if len(good) < len(self.holders):
            self.holders = good
            raise RetraceBody

    def _holders(self, bools: Sequence[Carried]) -> list[tuple[Carried, bool]]:
        """Return the bools, with values, that imply that the variable has a value."""
        return [(x, says) for x in bools if x is not self and x.is_bool() for says in (True, False)
                if conditions().implies(choice(equals(x.value, says), self.before, True))]

    def _made_inside(self, value: Any, wanted: bool, bools: Sequence[Carried]) -> list[Any]:
        """Return the tensors of a variable that has no value before the loop."""
        if value is UNDEFINED or not wanted:
            self.at_end = UNDEFINED
            return []
        if not self.owned and not self.word.startswith("ag_"):
            if self.can_peel:
                raise Peel
            not_carried(self.word, UNDEFINED, value, self.what, None)
        if self.owned and self.when is not True and not self.tried and (
                any([is_tensor(x) for x in nest.flatten(value)])):
            self.tried, self.holders = True, self._holders(bools)
            if self.holders:
                self.like, self.late, self.before = value, False, False
                raise RetraceBody
        found: list[Any] = []

        def leaf(x: Any) -> Any:
            if not is_tensor(x) and not (is_number(x) and not self.owned):
                return x
            found.append(as_tensor(unwrapped(x)))
            return Hole(len(found) - 1)

        self.at_end = nest.rebuild(value, leaf)
        return found

    def _fit(self, structure: Any, value: Any, params: list[Any], found: list[Any],
             path: tuple[int, ...] = ()) -> None:
        """Decompose the value after an iteration by the structure of the value before it."""
        if isinstance(structure, Hole):
            found.append(self._tensor(value, params[structure.place], structure.place))
            return
        if type(value) is MutableRef and type(structure) is not MutableRef:
            value = value.value
        if same_containers(structure, value):
            both = zip(nest.parts(structure), nest.parts(value), strict=True)
            for k, (a, b) in enumerate(both):
                self._fit(a, b, params, found, (*path, k))
            return
        if same(structure, value):
            return
        if type(structure) is MutableRef:
            self.replaced.add(id(structure.box))
            raise RetraceBody
        if is_number(structure) and (is_number(value) or is_tensor(value)):
            if not self.constant:
                self.changed.add(path)
            self.constant = False
            raise RetraceBody
        self._refuse(value, None)

    def _tensor(self, value: Any, given: Symbol, k: int) -> Any:
        if not (is_tensor(value) or is_number(value)):
            self._refuse(value, None)
        x = tensor(value, given.dtype)
        if x.dtype is not given.dtype:
            if self.numbers[k] and self.dtypes.get(k) is not x.dtype and (
                    x.dtype.is_floating >= given.dtype.is_floating):
                self.dtypes[k] = x.dtype
                raise RetraceBody
            self._refuse(value, DTypeError)
        mine, other = given.known_shape, shape_of(x)
        if len(mine) != len(other) or any([n is not None and m is not None and n != m
                                           for n, m in zip(mine, other, strict=True)]):
            self._refuse(value, ShapeError)
        if any([n is not None and m is None for n, m in zip(mine, other, strict=True)]):
            self.shapes[k] = tuple([None if m is None else n
                                    for n, m in zip(mine, other, strict=True)])
            raise RetraceBody
        return x

    def _refuse(self, value: Any, kind: type[Exception] | None) -> None:
        if len([x for x in nest.flatten(self.value) if is_tensor(x)]) > self._n_tensors:
            raise RetraceBody   # a TensorArray has learned its dtype and shape in the iteration
        if self.deferred:       # each iteration assigns it first, with another type
            self.why = refusal(self.word, self.value, value, self.what, kind)
            self.value, self.before, self.late, self.like = UNDEFINED, False, True, None
            self.holders, self.tried = [], True
            raise RetraceBody
        numbers = any([is_number(x) or x is None for x in nest.flatten(self.value)])
        if self.can_peel and (numbers or value is UNDEFINED):
            raise Peel
        if kind is DTypeError:
            guesses.check()
        not_carried(self.word, self.value, value, self.what, kind)

    def begins(self, made: list[Any]) -> list[Any]:
        """Return initial tensors for a value that is never read before an iteration assigns it."""
        return [filler(x) for x in made]

    def last(self, made: list[Any], ran: Formula) -> Any:
        """Return its value after the loop; `ran`: whether there was an iteration."""
        x = filled(self.structure if self.at_end is None else self.at_end, made)
        if x is UNDEFINED or not self.owned:
            return x
        when = choice(ran, self.when, self.before)
        if when is True:
            return x
        why = self.why or refusal(self.word, UNDEFINED, x, self.what, None)
        return settled(Partial(self.word, [(x, when)], why))


def equals(x: Any, value: bool) -> Formula:
    """Return the condition that a bool, traced or not, equals `value`."""
    now = conditions().of(x)
    return now if value else negation(now)


def same_containers(a: Any, b: Any) -> bool:
    """Return True if two values are containers of one type with equal keys."""
    return nest.is_nested(a) and type(a) is type(b) and (
        list(nest.level(a)[0]) == list(nest.level(b)[0]))


def guess(number: Any) -> Any:
    """Return the dtype assumed for the initial value of a number: float64 or int64 if all float or
    integer tensors of the trace have it, else None, the number's own dtype."""
    trace = current_graph()
    around = {x.dtype for x in (*trace.inputs, *trace.variables.values())}
    if isinstance(number, bool):
        return None
    if isinstance(number, float):
        wanted = {x for x in around if x.is_floating}
        return float64 if wanted == {float64} else None
    return int64 if {x for x in around if x.is_integer} == {int64} else None


class Flag:
    """A flag that ends the loop: False at the start of every iteration."""

    late = True

    def __init__(self, word: str, value: Any) -> None:
        self.word = word
        self.value = value
        self.start: list[Any] = []
        self.numbers: list[bool] = []
        self.given: list[Any] = []
        self.final: Any = None

    def begin(self) -> list[Any]:
        self.start = []
        return self.start

    def inside(self, params: list[Any]) -> Any:
        return False

    at_first = inside

    def learn(self, value: Any) -> None:
        pass

    def end(self, value: Any, params: list[Any], wanted: bool, bools: Sequence[Carried] = (),
            ) -> list[Any]:
        if not wanted or (value is False and self.value is False):
            return []
        return [tensor(value)]

    def begins(self, made: list[Any]) -> list[Any]:
        return [tensor(self.value)] * len(made)

    def last(self, made: list[Any], ran: Formula) -> Any:
        return made[0] if made else False

